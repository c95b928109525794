// In which order workgroups of CUTLASS's kernels take tiles.
#include <gtest/gtest.h>

#include <backends/cutlass/strips.hpp>

namespace ckgen::cutlass_gemm {
namespace test_cutlass_strips {

constexpr std::int64_t kAtOnce = 132;

Tiling of(std::int64_t rows, std::int64_t columns, std::int64_t cluster_m = 1, std::int64_t cluster_n = 1) {
  return {rows, columns, 1, {128, 128}, {cluster_m, cluster_n}};
}

TEST(CutlassStrips, RoundsCountWhatBothSidesArePaddedTo) {
  EXPECT_EQ(rounds(of(128 * 11, 128 * 12), 1, kAtOnce), 1);
  EXPECT_EQ(rounds(of(128 * 11, 128 * 12), 2, kAtOnce), 2);       // 12 x 12
  EXPECT_EQ(rounds(of(128 * 11 + 1, 128 * 12), 1, kAtOnce), 2);   // a tile begun is one
  EXPECT_EQ(rounds(of(128 * 9, 128 * 22, 2, 1), 1, kAtOnce), 2);  // 10 x 22
  EXPECT_EQ(rounds(of(128 * 9, 128 * 25, 2, 1), 2, kAtOnce), 3);  // 12 x 26
  Tiling batch = of(128, 128);
  batch.batch = 133;
  EXPECT_EQ(rounds(batch, 1, kAtOnce), 2);
}

TEST(CutlassStrips, FewRoundsKeepTheirOrder) {
  EXPECT_FALSE(goes_in_strips(of(2048, 2048), kAtOnce));  // 256 tiles, two rounds
  EXPECT_TRUE(goes_in_strips(of(4096, 4096), kAtOnce));   // 1024, eight
}

TEST(CutlassStrips, PaddingMayCostOneRoundOfSixteen) {
  EXPECT_FALSE(goes_in_strips(of(128, 128 * 132 * 8), kAtOnce));  // twice the rows of tiles
  EXPECT_FALSE(goes_in_strips(of(128 * 33, 128 * 36), kAtOnce));  // 9 rounds, 10 in strips
  EXPECT_TRUE(goes_in_strips(of(128 * 33, 128 * 128), kAtOnce));  // 32 rounds, 33 in strips
}

}  // namespace test_cutlass_strips
}  // namespace ckgen::cutlass_gemm
