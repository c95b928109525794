// Which columns rows of attention see: arithmetic only.
#pragma once

#include <cstdint>

#include <ckgen/fmha.hpp>

namespace ckgen {
inline namespace v1 {

/// As visible() of ckgen/fmha.hpp has it.
struct FmhaMask {
  bool masked = false;
  FmhaCorner corner = FmhaCorner::bottom_right;
  std::int32_t window_left = -1;
  std::int32_t window_right = 0;
  std::int32_t sink_tokens = 0;
};

/// Columns that any of some rows sees: [0, sink_end) and [begin, end); sink_end <= begin <= end.
struct FmhaColumns {
  std::int64_t sink_end;
  std::int64_t begin;
  std::int64_t end;
};

/// Of queries first .. last of a request, 0 <= first <= last < length_q.
constexpr FmhaColumns fmha_columns(const FmhaMask& mask, std::int64_t length_q, std::int64_t length_k,
                                   std::int64_t first, std::int64_t last) noexcept {
  if (!mask.masked) return {0, 0, length_k};
  const auto inside = [](std::int64_t x, std::int64_t most) { return x < 0 ? 0 : x > most ? most : x; };
  const std::int64_t shift = mask.corner == FmhaCorner::top_left ? 0 : length_k - length_q;
  const std::int64_t end = mask.window_right < 0 ? length_k : inside(last + shift + mask.window_right + 1, length_k);
  const std::int64_t begin = mask.window_left < 0 ? 0 : inside(first + shift - mask.window_left, end);
  return mask.sink_tokens < begin ? FmhaColumns{mask.sink_tokens, begin, end} : FmhaColumns{0, 0, end};
}

}  // namespace v1
}  // namespace ckgen
