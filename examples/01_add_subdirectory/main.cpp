// One block-scaled fp8 GEMM, dispatched as an MI300X would (on its host twin) and for this CPU; both results are
// checked.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <ckgen/ckgen.hpp>
#include <ckgen/codecs.hpp>
#include <my_kernels/register.hpp>

namespace {

constexpr std::int64_t M = 20, N = 512, K = 7168, group = 128;
constexpr std::int64_t groups_k = K / group, groups_n = N / group;

// Operands as plain numbers: small integers, which every fp8 flavour holds exactly, and power-of-two scales.
float a_value(std::int64_t m, std::int64_t k) {
  return static_cast<float>((m * 7 + k * 3) % 9 - 4);
}
float b_value(std::int64_t n, std::int64_t k) {
  return static_cast<float>((n * 5 + k * 11) % 7 - 3);
}
float a_scale(std::int64_t m, std::int64_t g) {
  return std::ldexp(1.0f, static_cast<int>((m + g) % 3) - 6);
}
float b_scale(std::int64_t n, std::int64_t g) {
  return std::ldexp(1.0f, static_cast<int>((n + 2 * g) % 3) - 6);
}

double expected(std::int64_t m, std::int64_t n) {
  double sum = 0;
  for (std::int64_t k = 0; k < K; ++k) {
    const double scale = static_cast<double>(a_scale(m, k / group)) * b_scale(n / group, k / group);
    sum += scale * a_value(m, k) * b_value(n, k);
  }
  return sum;
}

int fail(const ckgen::Status& status) {
  std::printf("failed: %s\n", status.message);
  return 1;
}

int multiply_on(const ckgen::Device& device, const ckgen::Dispatcher& dispatcher) {
  const auto problem = ckgen::gemm("a8w8_blockscale").shape(M, N, K);
  std::printf("%s\n", dispatcher.explain(problem, device).c_str());

  const auto plan = dispatcher.plan(problem, device);  // pure; may be kept
  if (!plan) return fail(plan.status());

  // The plan names the fp8 flavour of its device: e4m3fnuz on gfx942, e4m3fn on a CPU.
  const ckgen::DType fp8 = plan->problem.signature().a;
  std::vector<std::uint8_t> a(M * K), b(N * K);
  std::vector<std::uint16_t> c(M * N);
  std::vector<float> scales_a(M * groups_k), scales_b(groups_n * groups_k);
  for (std::int64_t i = 0; i < M * K; ++i) a[i] = static_cast<std::uint8_t>(ckgen::encode(fp8, a_value(i / K, i % K)));
  for (std::int64_t i = 0; i < N * K; ++i) b[i] = static_cast<std::uint8_t>(ckgen::encode(fp8, b_value(i / K, i % K)));
  for (std::int64_t i = 0; i < M * groups_k; ++i) scales_a[i] = a_scale(i / groups_k, i % groups_k);
  for (std::int64_t i = 0; i < groups_n * groups_k; ++i) scales_b[i] = b_scale(i / groups_k, i % groups_k);

  ckgen::GemmArgs args{};
  args.a = a.data();
  args.b = b.data();
  args.c = c.data();
  args.a_scale = scales_a.data();
  args.b_scale = scales_b.data();
  args.a_scale_row_major = true;
  args.m = M;
  args.n = N;
  args.k = K;
  args.batch = 1;
  args.lda = K;
  args.ldb = K;
  args.ldc = N;
  const ckgen::Status status = dispatcher.run(*plan, args, nullptr);  // nullptr: the default stream
  if (!status.ok()) return fail(status);

  for (std::int64_t m = 0; m < M; ++m) {
    for (std::int64_t n = 0; n < N; ++n) {
      const double want = expected(m, n);
      const double got = ckgen::decode(ckgen::DType::bf16, c[m * N + n]);
      if (std::fabs(got - want) > std::fabs(want) / 256) {  // half an ulp of bf16 is 1/512
        std::printf("wrong at (%d, %d): %g, expected %g\n", static_cast<int>(m), static_cast<int>(n), got, want);
        return 1;
      }
    }
  }
  std::printf("correct: %d x %d results\n\n", static_cast<int>(M), static_cast<int>(N));
  return 0;
}

}  // namespace

int main() {
  ckgen::Registry registry;
  const ckgen::Status registered = my_kernels::register_all(registry);  // nothing happens before main
  if (!registered.ok()) return fail(registered);
  const ckgen::Dispatcher dispatcher{registry};

  return multiply_on(ckgen::Device::simulated("gfx942", 304), dispatcher) |
         multiply_on(ckgen::Device::host(), dispatcher);
}
