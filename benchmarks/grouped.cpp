// One grouped GEMM and as many single ones, on this CPU. Arguments: groups, the rows of the largest, N, K.
// Prints "<operands> <us of the groups> <us of the single calls>" and the least of both, a line each;
// benchmarks/grouped.py reads them.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <bench/register.hpp>
#include <ckgen/ckgen.hpp>

namespace {

using namespace ckgen;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 201;
constexpr int kWarmUp = 20;

[[noreturn]] void fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message);
  std::exit(1);
}

void check(const Status& status) {
  if (!status.ok()) fail(status);
}

/// A plan with memory of its own for its workspace.
struct Ready {
  Ready(const Dispatcher& dispatcher, const Problem& problem, const Device& device) {
    const Result<Plan> made = dispatcher.plan(problem, device);
    if (!made) fail(made.status());
    plan = *made;
    memory.resize(plan.workspace_size + 64);
  }
  void* workspace() {
    const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(memory.data());
    return memory.data() + (64 - at % 64) % 64;
  }

  Plan plan;
  std::vector<unsigned char> memory;
};

/// Few groups have most of the rows: group i has `most` / (1 + i / 4) of them, N and K halved for some.
std::vector<GroupSize> skewed(std::int64_t count, std::int64_t most, std::int64_t n, std::int64_t k) {
  std::vector<GroupSize> sizes;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = i * 37 % count;  // large and small ones in no order
    sizes.push_back({std::max<std::int64_t>(1, most / (1 + at / 4)), at % 3 == 0 ? n / 2 : n, at % 5 == 0 ? k / 2 : k});
  }
  return sizes;
}

double median(std::vector<double>& times) {
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

double least(const std::vector<double>& times) {
  return *std::min_element(times.begin(), times.end());
}

template <class Body>
double timed(const Body& body) {
  const Clock::time_point begin = Clock::now();
  body();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

void measure(const Dispatcher& dispatcher, const Device& device, const std::string& operands,
             const std::vector<GroupSize>& sizes) {
  const std::string rest = "gemm_" + operands + "_rcr";
  const Groups groups(sizes.data(), static_cast<std::int64_t>(sizes.size()));
  Ready all(dispatcher, grouped_gemm("grouped_" + rest).groups(groups), device);
  std::vector<Ready> each;
  std::vector<std::vector<std::uint16_t>> memory;  // 1.0 in bf16 is 0x3f80, a small normal number in fp16
  std::vector<GroupOperands> grouped;
  std::vector<GemmArgs> single;
  const auto room = [&](std::int64_t elements) {
    memory.emplace_back(static_cast<std::size_t>(elements), static_cast<std::uint16_t>(0x3f80));
    return memory.back().data();
  };
  for (const GroupSize& size : sizes) {
    each.emplace_back(dispatcher, gemm(rest).shape(size.m, size.n, size.k), device);
    GemmArgs args{};
    args.m = size.m, args.n = args.ldc = size.n, args.k = args.lda = args.ldb = size.k, args.batch = 1;
    args.a = room(size.m * size.k), args.b = room(size.n * size.k), args.c = room(size.m * size.n);
    single.push_back(args);
    GroupOperands own{};
    own.a = args.a, own.b = args.b, own.c = args.c, own.lda = args.lda, own.ldb = args.ldb, own.ldc = args.ldc;
    grouped.push_back(own);
  }
  GroupedArgs args{};
  args.operands = grouped.data(), args.sizes = sizes.data(), args.count = static_cast<std::int64_t>(sizes.size());
  args.alpha = 1.0f;

  const auto together = [&] { check(dispatcher.run(all.plan, args, all.workspace(), nullptr)); };
  const auto loop = [&] {
    for (std::size_t i = 0; i < each.size(); ++i)
      check(dispatcher.run(each[i].plan, single[i], each[i].workspace(), nullptr));
  };
  std::vector<double> of_groups, of_loop;
  for (int round = -kWarmUp; round < kRounds; ++round) {
    const double first = timed(together), second = timed(loop);
    if (round < 0) continue;
    of_groups.push_back(first);
    of_loop.push_back(second);
  }
  std::printf("%s %.1f %.1f %.1f %.1f\n", operands.c_str(), median(of_groups), median(of_loop), least(of_groups),
              least(of_loop));
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) return 2;
  Registry registry;
  check(bench::register_all(registry));
  const Dispatcher dispatcher(registry);
  const std::vector<GroupSize> sizes =
      skewed(std::atoll(words[1]), std::atoll(words[2]), std::atoll(words[3]), std::atoll(words[4]));
  for (const char* operands : {"bf16", "fp16"}) measure(dispatcher, Device::host(), operands, sizes);
}
