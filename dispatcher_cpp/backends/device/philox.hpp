// Philox4x32-7, of which dropout draws its bytes, for host code and device code. C++17, no HIP.
#pragma once

#include <cstdint>

namespace ckgen {

/// Word w of counter i is x[w][i], and becomes that of its result. constexpr: HIP compiles it for the device too.
/// static: each level of the CPU has a copy of its own, which the linker must not take for another's.
template <int kSide>
static constexpr void philox(std::uint64_t seed, std::uint32_t (&x)[4][kSide]) noexcept {
  constexpr int kRounds = 7;
  constexpr std::uint64_t kMultiply0 = 0xD2511F53U, kMultiply1 = 0xCD9E8D57U;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9U, kWeyl1 = 0xBB67AE85U;
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
}

}  // namespace ckgen
