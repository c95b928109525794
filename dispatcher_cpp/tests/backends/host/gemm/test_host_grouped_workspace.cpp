// The workspace of grouped GEMM on the CPU: two lists of the groups, then a slot per thread for the largest part.
#include "backends/host/gemm/driver.hpp"
#include "backends/host/gemm/grouped.hpp"
#include "backends/host/gemm/parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace test_host_grouped_workspace {

using namespace ckgen;
using namespace ckgen::host;

constexpr GemmTraits kTraits{DType::fp32, DType::fp32, DType::fp32, DType::fp32,
                             Layout::rcr, Quant::none, false,       false};

HostConfig config_of(int threads) {
  return {Isa::x86_64_v3, 6, 16, 64, 64, 256, threads};
}

std::size_t lists(std::size_t groups) {
  return aligned_64(groups * 8) + aligned_64((groups + 1) * 8);
}

// A part has a share of the launch: of one thread all of it, else an eighth of a thread's, but 1e6 operations at least.
std::size_t wanted(const std::vector<GroupSize>& sizes, int threads) {
  double all = 0;
  for (const GroupSize& s : sizes)
    all += 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  if (all < 1e6) threads = 1;
  const double share = threads == 1 ? all : std::max(1e6, all / (8 * threads));
  const HostConfig config = config_of(threads);
  const Cutting cutting(kTraits, config);
  std::size_t slot = 0;
  for (const GroupSize& s : sizes) {
    if (s.m == 0 || s.n == 0) continue;
    const Blocking blocking = cutting.part_blocking(s.k);
    const Cut cut = cut_product(blocking, s.m, s.n, s.k, share);
    slot = std::max(slot, part_bytes(kTraits, blocking, cut.rows, cut.columns, s.k));
  }
  return lists(sizes.size()) + aligned_64(slot) * static_cast<std::size_t>(threads);
}

TEST(HostGroupedWorkspace, HoldsTheLargestPartOfEachThread) {
  const std::vector<std::vector<GroupSize>> launches = {
      {{300, 700, 200}},
      {{300, 700, 200}, {0, 700, 200}, {3, 50, 5000}},
      {{100, 100, 49}},
      {{100, 100, 49}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
      {{100, 100, 50}},
      {{2000, 3000, 50}, {10, 10, 10}},
      {{8, 8, 8}, {8, 8, 8}, {8, 8, 8}, {8, 8, 8}, {8, 8, 8}, {8, 8, 8}, {8, 8, 8}, {8, 8, 8}},
      {{200, 900, 300}, {9, 0, 9}, {9, 9, 9}, {9, 9, 9}, {9, 9, 9}, {9, 9, 9}, {9, 9, 9}, {9, 9, 9}, {9, 9, 9}},
  };
  for (const auto& sizes : launches)
    for (const int threads : {1, std::min(2, thread_count()), thread_count()}) {
      const Groups groups(sizes.data(), static_cast<std::int64_t>(sizes.size()));
      EXPECT_EQ(grouped_host_workspace(kTraits, config_of(threads), groups), wanted(sizes, threads))
          << sizes.size() << " groups on " << threads << " threads";
    }
}

TEST(HostGroupedWorkspace, OfSizesOnTheDeviceHoldsTheLargestProductOfEachThread) {
  for (const int threads : {1, thread_count()}) {
    const HostConfig config = config_of(threads);
    const std::size_t slot = part_bytes(kTraits, Cutting(kTraits, config).part_blocking(64), 300, 96, 64);
    EXPECT_EQ(grouped_host_workspace(kTraits, config, Groups::on_device(9, 300, 96, 64)),
              lists(9) + aligned_64(slot) * static_cast<std::size_t>(threads));
  }
  EXPECT_EQ(grouped_host_workspace(kTraits, config_of(1), Groups::on_device(9, 0, 96, 64)), 0U);
  EXPECT_EQ(grouped_host_workspace(kTraits, config_of(-1), Groups::on_device(9, 3, 96, 64)), 0U);
}

TEST(HostGroupedWorkspace, APartHasRoomForEachHeight) {
  const Blocking blocking{&kIsaV3, PackKind::f32, 6, 16, 64, 64, 256, 300, 0, 1, false};
  const auto bytes = [&](std::int64_t rows) { return make_geometry(kTraits, blocking, {rows, 500, 300, 1}).bytes; };
  // One block of rows packs its own B; more share what is packed before.
  EXPECT_EQ(part_bytes(kTraits, blocking, 66, 500, 300), bytes(66));
  EXPECT_EQ(part_bytes(kTraits, blocking, 67, 500, 300), std::max(bytes(67), bytes(66)));
  EXPECT_EQ(part_bytes(kTraits, blocking, 2000, 500, 300), std::max(bytes(2000), bytes(66)));
}

}  // namespace test_host_grouped_workspace
