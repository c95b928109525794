// int8 A times int8 B with a scale per row and column: `int8 M N K` selects, explains, runs and checks on two devices.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <ckgen/ckgen.hpp>
#include <ckgen/codecs.hpp>
#include <int8_kernels/register.hpp>

namespace {

struct Operands {
  std::int64_t m, n, k;
  std::vector<std::int8_t> a, b;
  std::vector<float> a_scale, b_scale;

  Operands(std::int64_t m_, std::int64_t n_, std::int64_t k_)
      : m(m_), n(n_), k(k_), a(m * k), b(n * k), a_scale(m), b_scale(n) {
    for (std::int64_t i = 0; i < m * k; ++i) a[i] = static_cast<std::int8_t>(i * 7 % 255 - 127);
    for (std::int64_t i = 0; i < n * k; ++i) b[i] = static_cast<std::int8_t>(i * 13 % 255 - 127);
    for (std::int64_t i = 0; i < m; ++i) a_scale[i] = 0.01f / static_cast<float>(1 + i % 3);
    for (std::int64_t i = 0; i < n; ++i) b_scale[i] = 0.02f / static_cast<float>(1 + i % 5);
  }

  double expected(std::int64_t row, std::int64_t column) const {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < k; ++i) sum += std::int64_t{a[row * k + i]} * b[column * k + i];
    return static_cast<double>(sum) * a_scale[row] * b_scale[column];
  }
};

int fail(const ckgen::Status& status) {
  std::printf("failed: %s\n", status.message);
  return 1;
}

int multiply_on(const ckgen::Device& device, const ckgen::Dispatcher& dispatcher, const Operands& operands) {
  const auto problem = ckgen::gemm("a8w8:int8").shape(operands.m, operands.n, operands.k);

  const ckgen::Selection selection = dispatcher.select(problem, device);
  std::printf("%s:%u picks %s (%s)\n", device.gfx(), device.cu_num(),
              selection ? dispatcher.registry().instance(selection.instance).name : "nothing",
              ckgen::tier_name(selection.tier));
  if (!selection) std::printf("%s\n", dispatcher.explain(problem, device).c_str());

  const auto plan = dispatcher.plan(problem, device);
  if (!plan) return fail(plan.status());

  std::vector<std::uint16_t> c(operands.m * operands.n);
  ckgen::GemmArgs args{};
  args.a = operands.a.data();
  args.b = operands.b.data();
  args.c = c.data();
  args.a_scale = operands.a_scale.data();
  args.b_scale = operands.b_scale.data();
  args.m = operands.m;
  args.n = operands.n;
  args.k = operands.k;
  args.batch = 1;
  args.lda = args.ldb = operands.k;
  args.ldc = operands.n;
  const ckgen::Status status = dispatcher.run(*plan, args, nullptr);
  if (!status.ok()) return fail(status);

  for (std::int64_t i = 0; i < operands.m * operands.n; ++i) {
    const double want = operands.expected(i / operands.n, i % operands.n);
    const double got = ckgen::decode(ckgen::DType::bf16, c[i]);
    if (std::fabs(got - want) > std::fabs(want) / 256) {
      std::printf("wrong: element %lld is %g, expected %g\n", static_cast<long long>(i), got, want);
      return 1;
    }
  }
  std::printf("correct: %zu results\n", c.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 1 && argc != 4) {
    std::printf("usage: int8 [M N K]\n");
    return 2;
  }
  const auto size = [&](int at, std::int64_t otherwise) { return argc == 4 ? std::atoll(argv[at]) : otherwise; };
  const Operands operands{size(1, 33), size(2, 96), size(3, 512)};

  ckgen::Registry registry;
  const ckgen::Status registered = int8_kernels::register_all(registry);
  if (!registered.ok()) return fail(registered);
  const ckgen::Dispatcher dispatcher{registry};

  return multiply_on(ckgen::Device::simulated("gfx942", 304), dispatcher, operands) |
         multiply_on(ckgen::Device::host(), dispatcher, operands);
}
