// Groups of one signature: planned together, run in one launch; every result is checked.
#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <ckgen/ckgen.hpp>
#include <ckgen/codecs.hpp>
#include <my_kernels/register.hpp>

namespace {

constexpr std::array<ckgen::GroupSize, 5> kSizes{{{300, 64, 96}, {1, 128, 96}, {0, 64, 96}, {17, 40, 0}, {64, 8, 160}}};

// Small integers whose sums fp16 holds exactly, whatever the order.
float a_value(std::int64_t m, std::int64_t k) {
  return static_cast<float>((m + 2 * k) % 3 - 1);
}
float b_value(std::int64_t n, std::int64_t k) {
  return static_cast<float>((3 * n + k) % 5 - 2);
}

std::vector<std::uint16_t> matrix(std::int64_t rows, std::int64_t k, float (*value)(std::int64_t, std::int64_t)) {
  std::vector<std::uint16_t> codes(static_cast<std::size_t>(rows * k));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    codes[i] = static_cast<std::uint16_t>(ckgen::encode(ckgen::DType::fp16, value(at / k, at % k)));
  }
  return codes;
}

struct Group {
  std::vector<std::uint16_t> a, b, c;
};

int fail(const ckgen::Status& status) {
  std::printf("failed: %s\n", status.message);
  return 1;
}

bool is_right(const ckgen::GroupSize& size, const std::vector<std::uint16_t>& c) {
  for (std::int64_t m = 0; m < size.m; ++m) {
    for (std::int64_t n = 0; n < size.n; ++n) {
      float want = 0;
      for (std::int64_t k = 0; k < size.k; ++k) want += a_value(m, k) * b_value(n, k);
      if (ckgen::decode(ckgen::DType::fp16, c[static_cast<std::size_t>(m * size.n + n)]) != want) return false;
    }
  }
  return true;
}

int run(const ckgen::Dispatcher& dispatcher, const ckgen::Device& device) {
  const ckgen::Groups groups(kSizes.data(), kSizes.size());
  const auto plan = dispatcher.plan(ckgen::grouped_gemm("fp16").groups(groups), device);
  if (!plan) return fail(plan.status());

  std::array<Group, kSizes.size()> data;
  std::array<ckgen::GroupOperands, kSizes.size()> operands{};
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    const auto [m, n, k] = kSizes[i];
    data[i] = {matrix(m, k, a_value), matrix(n, k, b_value),
               std::vector<std::uint16_t>(static_cast<std::size_t>(m * n))};
    operands[i].a = data[i].a.data();
    operands[i].b = data[i].b.data();
    operands[i].c = data[i].c.data();
    operands[i].lda = k;
    operands[i].ldb = k;
    operands[i].ldc = n;
  }
  ckgen::GroupedArgs args{};
  args.operands = operands.data();
  args.sizes = kSizes.data();
  args.count = static_cast<std::int64_t>(kSizes.size());
  if (const ckgen::Status status = dispatcher.run(*plan, args, nullptr); !status.ok()) return fail(status);

  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    if (!is_right(kSizes[i], data[i].c)) {
      std::printf("group %d is wrong\n", static_cast<int>(i));
      return 1;
    }
  }
  std::printf("%s: %d groups, %d of them with results: correct\n  %s\n", device.gfx(), static_cast<int>(groups.count()),
              static_cast<int>(groups.busy()), dispatcher.registry().instance(plan->selection.instance).name);
  return 0;
}

}  // namespace

int main() {
  ckgen::Registry registry;
  if (const ckgen::Status status = my_kernels::register_all(registry); !status.ok()) return fail(status);
  const ckgen::Dispatcher dispatcher(registry);
  const ckgen::Device gpu = ckgen::Device::simulated("gfx942:304");
  if (run(dispatcher, gpu) != 0 || run(dispatcher, ckgen::Device::host()) != 0) return 1;

  // no product has a negative size
  const ckgen::GroupSize bad[] = {{8, 8, 8}, {8, -8, 8}};
  const ckgen::Groups groups(bad, 2);
  const ckgen::Selection refused = dispatcher.select(ckgen::grouped_gemm("fp16").groups(groups), gpu);
  if (refused) return 1;
  std::printf("\nrefused: %s\n", ckgen::reason(refused).c_str());
  return 0;
}
