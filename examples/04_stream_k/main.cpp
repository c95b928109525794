// Strategies of one GEMM: chosen, asked for, refused; every result is checked.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <ckgen/ckgen.hpp>
#include <ckgen/codecs.hpp>
#include <my_kernels/register.hpp>

namespace {

constexpr std::int64_t M = 128, N = 256, K = 16384;

// Small integers whose sums fp16 holds exactly, whatever the order.
float a_value(std::int64_t m, std::int64_t k) {
  return k % 64 == m % 64 ? 1.0F : 0.0F;
}
float b_value(std::int64_t n, std::int64_t k) {
  return static_cast<float>((n + k) % 5 - 2);
}

int fail(const ckgen::Status& status) {
  std::printf("failed: %s\n", status.message);
  return 1;
}

int run(const ckgen::Dispatcher& dispatcher, const ckgen::Device& device, ckgen::Strategy strategy) {
  const auto plan = dispatcher.plan(ckgen::gemm("fp16").shape(M, N, K).strategy(strategy), device);
  if (!plan) return fail(plan.status());
  std::vector<std::uint16_t> a(M * K), b(N * K), c(M * N);
  for (std::int64_t i = 0; i < M * K; ++i)
    a[i] = static_cast<std::uint16_t>(ckgen::encode(ckgen::DType::fp16, a_value(i / K, i % K)));
  for (std::int64_t i = 0; i < N * K; ++i)
    b[i] = static_cast<std::uint16_t>(ckgen::encode(ckgen::DType::fp16, b_value(i / K, i % K)));

  ckgen::GemmArgs args{};
  args.a = a.data();
  args.b = b.data();
  args.c = c.data();
  args.m = M;
  args.n = N;
  args.k = K;
  args.batch = 1;
  args.lda = K;
  args.ldb = K;
  args.ldc = N;
  if (const ckgen::Status status = dispatcher.run(*plan, args, nullptr); !status.ok()) return fail(status);

  for (std::int64_t m = 0; m < M; ++m) {
    for (std::int64_t n = 0; n < N; ++n) {
      float want = 0;
      for (std::int64_t k = m % 64; k < K; k += 64) want += b_value(n, k);
      const float got = ckgen::decode(ckgen::DType::fp16, c[m * N + n]);
      if (got != want) {
        std::printf("wrong at (%d, %d): %g, expected %g\n", static_cast<int>(m), static_cast<int>(n),
                    static_cast<double>(got), static_cast<double>(want));
        return 1;
      }
    }
  }
  const ckgen::InstanceDesc& chosen = dispatcher.registry().instance(plan->selection.instance);
  std::printf("%s:%u  asked for %-13s got %-13s %3u workgroups, %9llu bytes of workspace: correct\n", device.gfx(),
              device.cu_num(), ckgen::name(strategy).data(), ckgen::name(chosen.stream_k.strategy).data(),
              plan->stages[0].workgroups, static_cast<unsigned long long>(plan->workspace_size));
  return 0;
}

}  // namespace

int main() {
  ckgen::Registry registry;
  if (const ckgen::Status status = my_kernels::register_all(registry); !status.ok()) return fail(status);
  const ckgen::Dispatcher dispatcher(registry);
  using ckgen::Strategy;
  for (const char* target : {"gfx942:80", "gfx942:304"}) {
    const ckgen::Device device = ckgen::Device::simulated(target);
    for (const Strategy strategy :
         {Strategy::any, Strategy::data_parallel, Strategy::atomic, Strategy::linear, Strategy::tree}) {
      if (run(dispatcher, device, strategy) != 0) return 1;
    }
  }
  // 64 x 64 x 64 has 8 iterations of 32 x 32 x 32: too few for 304 workgroups
  const auto small = ckgen::gemm("fp16").shape(64, 64, 64);
  const ckgen::Device big = ckgen::Device::simulated("gfx942:304");
  const ckgen::Selection refused = dispatcher.select(ckgen::Problem(small).strategy(Strategy::tree), big);
  if (refused) return 1;
  std::printf("\nrefused: %s\n\n%s", ckgen::reason(refused).c_str(), dispatcher.explain(small, big).c_str());
  return 0;
}
