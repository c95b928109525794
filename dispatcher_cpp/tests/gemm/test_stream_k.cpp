// The stream-K partition against a brute-force dealing of iterations, one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <ckgen/stream_k.hpp>

namespace test_stream_k {

using namespace ckgen;

static_assert(std::is_trivially_copyable_v<StreamKPartition>, "kernel arguments are copied as bytes");
static_assert(stream_k_partition(9, 4, 4).dp_tiles == 4 && stream_k_partition(9, 4, 4).sk_tiles == 5);

struct Owners {
  std::vector<std::int64_t> of;  // of each (tile, iteration): its workgroup
};

/// Deals every iteration of every tile as the header's comment says, without its formulas.
Owners deal(const StreamKPartition& p) {
  Owners owners{std::vector<std::int64_t>(static_cast<std::size_t>(p.num_tiles * p.iters_per_tile), -1)};
  const std::int64_t whole = p.dp_tiles * p.iters_per_tile;
  for (std::int64_t i = 0; i < whole; ++i) owners.of[static_cast<std::size_t>(i)] = i / p.iters_per_tile % p.grid;
  std::vector<std::int64_t> share(static_cast<std::size_t>(p.grid), 0);
  const auto total = static_cast<std::int64_t>(owners.of.size()) - whole;
  for (std::int64_t i = 0; i < total; ++i) ++share[static_cast<std::size_t>(i % p.grid)];
  std::int64_t at = whole;
  for (std::int64_t g = 0; g < p.grid; ++g)
    for (std::int64_t i = 0; i < share[static_cast<std::size_t>(g)]; ++i) owners.of[static_cast<std::size_t>(at++)] = g;
  return owners;
}

void expect_dealt(const StreamKPartition& p) {
  SCOPED_TRACE(testing::Message() << p.num_tiles << " tiles of " << p.iters_per_tile << " on " << p.grid);
  const Owners owners = deal(p);
  std::vector<std::int64_t> load(static_cast<std::size_t>(p.grid), 0);
  for (const std::int64_t g : owners.of) {
    ASSERT_GE(g, 0);
    ++load[static_cast<std::size_t>(g)];
  }
  EXPECT_EQ(p.max_iters_per_workgroup(), *std::max_element(load.begin(), load.end()));
  for (std::int64_t g = 0; g < p.grid; ++g) {
    const std::int64_t own = p.dp_tiles_per_workgroup() * p.iters_per_tile + p.end(g) - p.begin(g);
    EXPECT_EQ(own, load[static_cast<std::size_t>(g)]);
    for (std::int64_t i = p.begin(g); i < p.end(g); ++i) {
      EXPECT_EQ(owners.of[static_cast<std::size_t>(p.dp_tiles * p.iters_per_tile + i)], g);
      EXPECT_EQ(p.workgroup_of(i), g);
      // a part that another workgroup finishes is of the first tile of the range, so that one slice is enough
      const std::int64_t tile = p.tile_of(i);
      if (p.first_workgroup(tile) != g) {
        EXPECT_EQ(tile, p.tile_of(p.begin(g)));
      }
    }
  }
  std::int64_t most = 1;
  for (std::int64_t t = 0; t < p.num_tiles; ++t) {
    const auto begin = owners.of.begin() + static_cast<std::ptrdiff_t>(t * p.iters_per_tile);
    std::vector<std::int64_t> own(begin, begin + static_cast<std::ptrdiff_t>(p.iters_per_tile));
    EXPECT_TRUE(std::is_sorted(own.begin(), own.end()));
    EXPECT_EQ(own.front(), p.first_workgroup(t));
    EXPECT_EQ(own.back(), p.last_workgroup(t));
    own.erase(std::unique(own.begin(), own.end()), own.end());
    EXPECT_EQ(static_cast<std::int64_t>(own.size()), p.splits(t));
    most = std::max(most, p.splits(t));
  }
  EXPECT_EQ(p.max_splits(), most);
}

TEST(StreamK, EveryIterationIsDealtOnce) {
  int feasible = 0;
  for (std::int64_t tiles = 1; tiles <= 26; ++tiles)
    for (std::int64_t iters = 1; iters <= 9; ++iters)
      for (std::int64_t grid = 1; grid <= 12; ++grid) {
        const StreamKPartition p = stream_k_partition(tiles, iters, grid);
        ASSERT_EQ(p.dp_tiles + p.sk_tiles, tiles);
        ASSERT_EQ(p.dp_tiles % grid, 0);
        if (tiles % grid == 0)
          ASSERT_EQ(p.sk_tiles, 0) << tiles << " tiles on " << grid << " are split";
        else if (tiles < grid)
          ASSERT_EQ(p.sk_tiles, tiles);
        else  // each workgroup has more than a tile to share, less than two
          ASSERT_TRUE(grid < p.sk_tiles && p.sk_tiles < 2 * grid) << p.sk_tiles << " of " << tiles << " on " << grid;
        ASSERT_EQ(p.feasible(), p.sk_tiles == 0 || p.sk_tiles * iters >= grid);
        if (!p.feasible()) continue;
        ++feasible;
        expect_dealt(p);
      }
  EXPECT_GT(feasible, 2000);
}

TEST(StreamK, TooFewTilesAndNoWork) {
  EXPECT_EQ(stream_k_partition(1, 257, 257, 257, 128, 128, 32, 304).feasibility(), StreamKFeasibility::too_few_tiles);
  EXPECT_EQ(stream_k_partition(1, 257, 257, 257, 128, 128, 32, 80).feasibility(), StreamKFeasibility::ok);
  EXPECT_EQ(stream_k_partition(0, 4, 4).feasibility(), StreamKFeasibility::no_work);
  EXPECT_EQ(stream_k_partition(4, 0, 4).feasibility(), StreamKFeasibility::no_work);
  EXPECT_EQ(stream_k_partition(4, 4, 0).feasibility(), StreamKFeasibility::no_work);
}

TEST(StreamK, SizesBeyond32Bits) {
  const std::int64_t m = 2147483647, n = 2147483647, k = 2147483647;
  const StreamKPartition p = stream_k_partition(1, m, n, k, 128, 128, 32, 304);
  EXPECT_EQ(p.num_tiles, std::int64_t{16777216} * 16777216);
  EXPECT_TRUE(p.feasible());
  EXPECT_EQ(p.end(303), p.sk_iters());
  EXPECT_EQ(p.tile_of(p.sk_iters() - 1), p.num_tiles - 1);
  const StreamKPartition wide = stream_k_partition(65535, 64, 65536);
  const StreamKWorkspace w = stream_k_workspace(wide, 256, 256, 4);
  EXPECT_EQ(w.flags_offset, std::int64_t{256} * 256 * 4 * 65536);  // 16 GiB
  EXPECT_EQ(w.total(), w.flags_offset + 4 * 65536);
}

TEST(StreamK, WorkspaceIsExact) {
  const StreamKPartition p = stream_k_partition(5, 7, 3);
  const StreamKWorkspace w = stream_k_workspace(p, 16, 48, 4);
  EXPECT_EQ(w.slice_bytes, 16 * 48 * 4);
  EXPECT_EQ(w.flags_offset, 3 * 16 * 48 * 4);
  EXPECT_EQ(w.flags_bytes, 128);
  const StreamKWorkspace odd = stream_k_workspace(p, 1, 1, 4);
  EXPECT_EQ(odd.flags_offset, 128);
  EXPECT_EQ(stream_k_workspace(stream_k_partition(6, 7, 3), 16, 48, 4).total(), 0);
}

}  // namespace test_stream_k
