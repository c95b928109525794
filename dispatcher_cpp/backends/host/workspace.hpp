// Sizes of what lies in a workspace, each of which begins on a cache line.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

constexpr std::size_t aligned_64(std::size_t bytes) noexcept {
  return (bytes + 63) / 64 * 64;
}

/// Of a x b words of 4 bytes, neither negative.
constexpr std::size_t words_bytes(std::int64_t a, std::int64_t b) noexcept {
  return aligned_64(static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * 4);
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
