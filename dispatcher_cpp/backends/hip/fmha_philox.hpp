// The bytes that dropout draws of one place. C++20, for the device half of a HIP compile.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "../device/philox.hpp"

namespace ckgen::hip {

/// Those of rows 4 (row / 4) to 4 (row / 4) + 3 and one key, the first in the lowest byte; `plane`: of all query heads
/// of all sequences.
__device__ inline std::uint32_t drawn_bytes(std::uint64_t seed, std::uint64_t offset, std::uint64_t plane,
                                            std::uint32_t row, std::uint32_t key) {
  const std::uint64_t call = offset + 64 * plane + 32 * (row / 8 % 2) + key % 32;
  std::uint32_t x[4][1] = {
      {static_cast<std::uint32_t>(call)}, {static_cast<std::uint32_t>(call >> 32)}, {row / 32}, {key / 32}};
  philox(seed, x);
  const std::uint32_t low = row / 4 % 2 == 0 ? x[0][0] : x[1][0], high = row / 4 % 2 == 0 ? x[2][0] : x[3][0];
  return row / 16 % 2 == 0 ? low : high;
}

}  // namespace ckgen::hip
