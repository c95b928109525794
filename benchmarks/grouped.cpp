// One grouped GEMM and as many single ones, on this CPU. Arguments: groups, the rows of the largest, N, K.
// Prints "<operands> <us of the groups> <us of the single calls>" and the least of both, a line each;
// benchmarks/grouped.py reads them.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <bench/register.hpp>
#include <ckgen/ckgen.hpp>

#include "interleaved.hpp"

namespace {

using namespace ckgen;

/// Few groups have most of the rows: group i has `most` / (1 + i / 4) of them, N and K halved for some.
std::vector<GroupSize> skewed(std::int64_t count, std::int64_t most, std::int64_t n, std::int64_t k) {
  std::vector<GroupSize> sizes;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = i * 37 % count;  // large and small ones in no order
    sizes.push_back({std::max<std::int64_t>(1, most / (1 + at / 4)), at % 3 == 0 ? n / 2 : n, at % 5 == 0 ? k / 2 : k});
  }
  return sizes;
}

void measure(const Dispatcher& dispatcher, const Device& device, const std::string& operands,
             const std::vector<GroupSize>& sizes) {
  const std::string rest = "gemm_" + operands + "_rcr";
  const Groups groups(sizes.data(), static_cast<std::int64_t>(sizes.size()));
  bench::Ready all(dispatcher, grouped_gemm("grouped_" + rest).groups(groups), device);
  std::vector<bench::Ready> each;
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

  const auto together = [&] { all.run(args); };
  const auto loop = [&] {
    for (std::size_t i = 0; i < each.size(); ++i) each[i].run(single[i]);
  };
  bench::Turns turns = bench::by_turns(together, loop);
  std::printf("%s %.1f %.1f %.1f %.1f\n", operands.c_str(), turns.first.median(), turns.second.median(),
              turns.first.least(), turns.second.least());
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) return 2;
  Registry registry;
  bench::check(bench::register_all(registry));
  const Dispatcher dispatcher(registry);
  const std::vector<GroupSize> sizes =
      skewed(std::atoll(words[1]), std::atoll(words[2]), std::atoll(words[3]), std::atoll(words[4]));
  for (const char* operands : {"bf16", "fp16"}) measure(dispatcher, Device::host(), operands, sizes);
}
