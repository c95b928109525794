// Numbers of docs/selection.md, worked out by hand; tests/families/gemm/test_candidates.py asserts the same of Python.
#include <gtest/gtest.h>

#include <cstdint>

#include "src/gemm/tiling.hpp"
#include "tiny_library.hpp"

namespace test_tiling {

using namespace ckgen;
using detail::default_cost;
using detail::recomputed_k_batch;
using detail::Sizes;
using detail::Wide;

constexpr std::int64_t kMost = 2147483647;
constexpr std::int64_t kLong = std::int64_t{1} << 20;
constexpr Strategy kPlain = Strategy::data_parallel;

InstanceDesc gpu(std::int32_t n, Strategy strategy = kPlain, std::int32_t blocks = 1) {
  InstanceDesc d = tiny::instance("gpu", 1, tiny::fp16, {128, n, 32}, {0, 0, 0, 0, 0, 128, false});
  d.stream_k = {strategy, blocks};
  return d;
}

InstanceDesc cpu(Strategy strategy = kPlain, std::int32_t threads = 0) {
  InstanceDesc d = tiny::instance("cpu", 2, tiny::fp16, {64, 128, 32}, {0, 0, 0, 0, 0, 1, false});
  d.host_config = {Isa::x86_64_v3, 4, 16, 64, 128, 32, threads};
  d.stream_k = {strategy, 1};
  return d;
}

TEST(Tiling, SplitsDoubleWhileUnitsKAndTheKernelAllowIt) {
  struct Case {
    Sizes sizes;
    std::uint32_t cu_num, expected;
  };
  for (const Case& x : {
           Case{{128, 64, kLong, 0}, 32, 32},  // one tile: as many splits as units
           Case{{128, 64, kLong, 0}, 31, 16},
           Case{{512, 64, kLong, 0}, 32, 8},  // four tiles
           Case{{512, 64, kLong, 0}, 31, 4},
           Case{{385, 64, kLong, 0}, 32, 8},  // four of which one is not full
           Case{{512, 64, kLong, 2}, 32, 4},
           Case{{512, 64, kLong, 1}, 32, 8},
           Case{{128, 64, 512, 0}, 304, 8},  // two K tiles for each split
           Case{{128, 64, 511, 0}, 304, 4},
           Case{{128, 64, 64, 0}, 304, 1},
           Case{{1, 1, kMost, 0}, 1U << 20, 128},  // what the kernel takes
           Case{{128, 65, kLong, 0}, 1, 1},
           Case{{kMost, kMost, kMost, 0}, 304, 1},
       })
    EXPECT_EQ(recomputed_k_batch(gpu(64), x.sizes, x.cu_num), x.expected)
        << x.sizes.m << 'x' << x.sizes.n << 'x' << x.sizes.k << " on " << x.cu_num;
}

TEST(Tiling, ADefaultCostsItsWavesOfTiles) {
  const auto cost = [](const InstanceDesc& of, const Sizes& sizes, std::uint32_t cu_num) {
    return static_cast<std::uint64_t>(default_cost(of, sizes, cu_num));
  };
  EXPECT_EQ(cost(gpu(64), {1, 1, 1, 0}, 304), 20480U);          // a wave of 128 * 64 + 64 * (128 + 64)
  EXPECT_EQ(cost(gpu(64), {2048, 1216, 100, 0}, 304), 20480U);  // 304 tiles
  EXPECT_EQ(cost(gpu(64), {2049, 1216, 100, 0}, 304), 2 * 20480U);
  EXPECT_EQ(cost(gpu(64), {128, 6464, 8, 3}, 304), 20480U);  // 303 tiles
  EXPECT_EQ(cost(gpu(64), {128, 6464, 8, 4}, 304), 2 * 20480U);
  EXPECT_EQ(cost(gpu(64), {2049, 1216, 100, 0}, 1), 323 * 20480U);
  EXPECT_EQ(cost(gpu(64), {2049, 1216, 100, 0}, 0), 323 * 20480U);
  EXPECT_TRUE(default_cost(gpu(64), {kMost, kMost, kMost, kMost}, 3) == ((Wide{kMost} << 49) + 2) / 3 * 20480);
  EXPECT_EQ(cost(cpu(), {9, 33, 64, 0}, 2), 5 * 1344U);  // nine register tiles of 4 * 16 + 64 * (4 + 16) on two cores
}

TEST(Tiling, AStreamKDefaultCostsTheBusiestWorkgroupAndTheMeetingOfParts) {
  constexpr Strategy linear = Strategy::linear, tree = Strategy::tree, atomic = Strategy::atomic;
  constexpr std::uint64_t wave = 32 * (128 * 128 + 64 * (128 + 128));  // one iteration of a workgroup of gpu(128)
  constexpr std::uint64_t step = 128 * 128 * 128;  // one of its tiles stored or loaded where parts meet
  struct Case {
    InstanceDesc of;
    Sizes sizes;
    std::uint32_t cu_num;
    std::uint64_t work;
  };
  for (const Case& x : {
           Case{gpu(128, linear), {1024, 1280, 320, 0}, 80, 10 * wave},  // 80 tiles of 10 iterations: none is split
           // 120 tiles: 15 iterations for each of 80, tiles in two parts
           Case{gpu(128, linear), {1280, 1536, 320, 0}, 80, 15 * wave + 2 * step},
           Case{gpu(128, tree), {1280, 1536, 320, 0}, 80, 15 * wave + 3 * step},
           Case{gpu(128, atomic), {1280, 1536, 320, 0}, 80, 15 * wave + 4 * step},
           Case{gpu(128, linear), {1280, 2560, 320, 0}, 80, 25 * wave + 2 * step},  // a whole tile for each before them
           // one tile of 128 iterations: at most two for one workgroup, at least one, so at most 128 parts
           Case{gpu(128, linear), {128, 128, 4096, 0}, 80, 2 * wave + 128 * step},
           Case{gpu(128, tree), {128, 128, 4096, 0}, 80, 2 * wave + 15 * step},
           Case{gpu(128, atomic), {128, 128, 4096, 0}, 80, 2 * wave + 256 * step},
           Case{gpu(128, linear), {128, 896, 70, 0}, 5, 5 * wave + 2 * step},  // 21 iterations for five workgroups
           Case{gpu(128, linear, 5), {128, 896, 70, 0}, 1, 5 * wave + 2 * step},
           Case{gpu(128, linear), {128, 128, 96, 2}, 5, 2 * wave + 3 * step},  // six for five: three parts
           Case{gpu(128, tree), {128, 128, 96, 2}, 5, 2 * wave + 5 * step},
           Case{gpu(128, linear), {128, 896, 20, 0}, 5, 2 * wave + step},  // tiles of one iteration: one part
           Case{gpu(128, tree), {128, 896, 20, 0}, 5, 2 * wave + step},
           Case{gpu(128, atomic), {128, 896, 20, 0}, 5, 2 * wave + 2 * step},
           // blocks of 64 x 128 on two threads: nine register tiles of one, then all 16 * 8 of four
           Case{cpu(linear, 2), {9, 33, 64, 0}, 7, 32 * 9 * 1344 + 2 * 128 * 64 * 128},
           Case{cpu(linear, 2), {65, 129, 64, 0}, 7, 4 * 32 * 128 * 1344},
       }) {
    const auto k = static_cast<std::uint64_t>(x.sizes.k);
    EXPECT_EQ(static_cast<std::uint64_t>(default_cost(x.of, x.sizes, x.cu_num)), (x.work + k - 1) / k)
        << name(x.of.stream_k.strategy) << ' ' << x.sizes.m << 'x' << x.sizes.n << 'x' << x.sizes.k;
  }
}

TEST(Tiling, TilesBeyond2To62CountAsThat) {
  constexpr std::int64_t most = std::int64_t{1} << 62;
  const auto tiles = [](std::int64_t batch) {
    return detail::partition_of(gpu(128, Strategy::linear), Sizes{kMost, kMost, 32, batch}, 304).num_tiles;
  };
  EXPECT_EQ(tiles(1), std::int64_t{1} << 48);
  EXPECT_EQ(tiles(1 << 13), std::int64_t{1} << 61);
  EXPECT_EQ(tiles(1 << 15), most);
  EXPECT_EQ(tiles(kMost), most);
}

}  // namespace test_tiling
