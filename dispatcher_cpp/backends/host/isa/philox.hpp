// Philox4x32-7, compiled once per ISA: columns side by side. Included by the files of levels only.
#pragma once

#include "backends/host/isa/table.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

inline void fmha_philox(std::uint64_t seed, std::uint64_t base, std::uint32_t rows, std::int64_t column,
                        std::int64_t count, unsigned char* out) {
  constexpr int kSide = 16, kRounds = 7;
  constexpr std::uint64_t kMultiply0 = 0xD2511F53U, kMultiply1 = 0xCD9E8D57U;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9U, kWeyl1 = 0xBB67AE85U;
  for (std::int64_t done = 0; done < count; done += kSide) {
    std::uint32_t x[4][kSide];
    for (int i = 0; i < kSide; ++i) {
      const std::uint64_t j = static_cast<std::uint64_t>(column + done + i), n = base + j % 32;
      x[0][i] = static_cast<std::uint32_t>(n);
      x[1][i] = static_cast<std::uint32_t>(n >> 32);
      x[2][i] = rows;
      x[3][i] = static_cast<std::uint32_t>(j / 32);
    }
    std::uint32_t key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 0; i < kSide; ++i) {
        const std::uint64_t a = kMultiply0 * x[0][i], b = kMultiply1 * x[2][i];
        x[0][i] = static_cast<std::uint32_t>(b >> 32) ^ x[1][i] ^ key0;
        x[2][i] = static_cast<std::uint32_t>(a >> 32) ^ x[3][i] ^ key1;
        x[1][i] = static_cast<std::uint32_t>(b);
        x[3][i] = static_cast<std::uint32_t>(a);
      }
      key0 += kWeyl0;
      key1 += kWeyl1;
    }
    const int live = static_cast<int>(count - done < kSide ? count - done : kSide);
    for (int i = 0; i < live; ++i)
      for (int w = 0; w < 4; ++w) __builtin_memcpy(out + (done + i) * 16 + w * 4, &x[w][i], 4);
  }
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
