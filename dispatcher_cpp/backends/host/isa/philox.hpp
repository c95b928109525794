// The bytes that dropout draws, compiled once per ISA: columns side by side. Included by the files of levels only.
#pragma once

#include "backends/device/philox.hpp"
#include "backends/host/isa/table.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

inline void fmha_philox(std::uint64_t seed, std::uint64_t base, std::uint32_t rows, std::int64_t column,
                        std::int64_t count, unsigned char* out) {
  constexpr int kSide = 16;
  for (std::int64_t done = 0; done < count; done += kSide) {
    std::uint32_t x[4][kSide];
    for (int i = 0; i < kSide; ++i) {
      const std::uint64_t j = static_cast<std::uint64_t>(column + done + i), n = base + j % 32;
      x[0][i] = static_cast<std::uint32_t>(n);
      x[1][i] = static_cast<std::uint32_t>(n >> 32);
      x[2][i] = rows;
      x[3][i] = static_cast<std::uint32_t>(j / 32);
    }
    philox(seed, x);
    const int live = static_cast<int>(count - done < kSide ? count - done : kSide);
    for (int i = 0; i < live; ++i)
      for (int w = 0; w < 4; ++w) __builtin_memcpy(out + (done + i) * 16 + w * 4, &x[w][i], 4);
  }
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
