// The bytes that dropout draws: Philox4x32-7. C++20, for the device half of a HIP compile.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

namespace ckgen::hip {

/// Those of rows 4 (row / 4) to 4 (row / 4) + 3 and one key, the first in the lowest byte; `plane`: of all query heads
/// of all sequences.
__device__ inline std::uint32_t drawn_bytes(std::uint64_t seed, std::uint64_t offset, std::uint64_t plane,
                                            std::uint32_t row, std::uint32_t key) {
  constexpr std::uint64_t kMultiply0 = 0xD2511F53U, kMultiply1 = 0xCD9E8D57U;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9U, kWeyl1 = 0xBB67AE85U;
  const std::uint64_t call = offset + 64 * plane + 32 * (row / 8 % 2) + key % 32;
  std::uint32_t x[4] = {static_cast<std::uint32_t>(call), static_cast<std::uint32_t>(call >> 32), row / 32, key / 32};
  std::uint32_t key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
#pragma unroll
  for (int round = 0; round < 7; ++round) {
    const std::uint64_t a = kMultiply0 * x[0], b = kMultiply1 * x[2];
    x[0] = static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ key0;
    x[2] = static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ key1;
    x[1] = static_cast<std::uint32_t>(b);
    x[3] = static_cast<std::uint32_t>(a);
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  const std::uint32_t low = row / 4 % 2 == 0 ? x[0] : x[1], high = row / 4 % 2 == 0 ? x[2] : x[3];
  return row / 16 % 2 == 0 ? low : high;
}

}  // namespace ckgen::hip
