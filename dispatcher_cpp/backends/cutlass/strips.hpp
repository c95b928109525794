// In which order workgroups take the tiles of C. Free of CUTLASS; functions are pure.
#pragma once

#include <cstdint>

namespace ckgen::cutlass_gemm {

/// C in tiles, as the kernel has its sides; `cluster` along both.
struct Tiling {
  std::int64_t rows, columns, batch;
  std::int64_t tile[2];
  std::int64_t cluster[2];
};

/// Rounds of so many workgroups at once, where both sides are padded to whole strips of clusters.
constexpr std::int64_t rounds(const Tiling& of, std::int64_t strip, std::int64_t at_once) noexcept {
  std::int64_t tiles = of.batch;
  for (int side = 0; side < 2; ++side) {
    const std::int64_t extent = side == 0 ? of.rows : of.columns, grain = strip * of.cluster[side];
    const std::int64_t whole = (extent + of.tile[side] - 1) / of.tile[side];
    tiles *= (whole + grain - 1) / grain * grain;
  }
  return (tiles + at_once - 1) / at_once;
}

/// Whether tiles go in strips of two, whose loads meet in the L2. What that pads may cost one round of 16. Measured on
/// an H200: 2 to 5 % less time where there are more than two rounds, none where there are fewer
/// (docs/nvidia_kernels.md).
constexpr bool goes_in_strips(const Tiling& of, std::int64_t at_once) noexcept {
  const std::int64_t plain = rounds(of, 1, at_once);
  return plain > 2 && rounds(of, 2, at_once) <= plain + plain / 16;
}

}  // namespace ckgen::cutlass_gemm
