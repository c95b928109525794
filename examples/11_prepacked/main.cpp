// Weights packed once for this CPU: the same bytes as with plain ones, and what a wrong buffer is told.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <ckgen/ckgen.hpp>
#include <my_kernels/register.hpp>

namespace {

constexpr std::int64_t N = 100, K = 300;

int fail(const ckgen::Status& status) {
  std::printf("failed: %s\n", status.message);
  return 1;
}

}  // namespace

int main() {
  ckgen::Registry registry;
  if (const ckgen::Status status = my_kernels::register_all(registry); !status.ok()) return fail(status);
  const ckgen::Dispatcher dispatcher(registry);
  std::vector<float> b(N * K);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 7) / 3.0F;

  const ckgen::Signature signature = ckgen::gemm("gemm_fp32_rcr").signature();
  const auto bytes = ckgen::packed_b_bytes(signature, N, K);
  if (!bytes) return fail(bytes.status());
  std::vector<unsigned char> packed(*bytes);
  if (const auto status = ckgen::pack_b(signature, {b.data(), N, K}, packed.data(), *bytes); !status.ok())
    return fail(status);

  for (const std::int64_t m : {1, 8, 70}) {  // one packed B for all
    const auto problem = ckgen::gemm("gemm_fp32_rcr").shape(m, N, K).batch_invariant();
    const auto plan = dispatcher.plan(problem, ckgen::Device::host());
    if (!plan) return fail(plan.status());
    std::vector<float> a(static_cast<std::size_t>(m * K), 0.1F), c(static_cast<std::size_t>(m * N)), again(c.size());
    ckgen::GemmArgs args{};
    args.a = a.data(), args.b = b.data(), args.c = c.data();
    args.m = m, args.n = N, args.k = K, args.batch = 1;
    args.lda = K, args.ldb = K, args.ldc = N;
    if (const auto status = dispatcher.run(*plan, args, nullptr); !status.ok()) return fail(status);
    args.b = packed.data(), args.b_prepacked = true, args.c = again.data();
    if (const auto status = dispatcher.run(*plan, args, nullptr); !status.ok()) return fail(status);
    std::printf("M = %d: %s\n", static_cast<int>(m), c == again ? "the same bytes" : "other bytes");
  }
  std::printf("%llu bytes of weights as %llu packed ones\nrefused: %s\n", 4ULL * N * K,
              static_cast<unsigned long long>(*bytes),
              ckgen::check_packed_b(ckgen::DType::bf16, N, K, 1, packed.data()).message);
  return 0;
}
