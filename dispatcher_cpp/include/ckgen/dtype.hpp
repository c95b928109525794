// Bytes of elements; the types, their width and names are words.
#pragma once

#include <cstdint>

#include <ckgen/words.hpp>

namespace ckgen {
inline namespace v1 {

// Bytes that `elements` consecutive elements occupy; a last half byte counts as a whole one.
constexpr std::int64_t bytes_of(DType t, std::int64_t elements) noexcept {
  const int b = bits(t);
  return b == 4 ? (elements + 1) / 2 : elements * (b / 8);
}

}  // namespace v1
}  // namespace ckgen
