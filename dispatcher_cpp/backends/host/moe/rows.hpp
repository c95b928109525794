// Which rows go to which expert, in lists that the caller's workspace holds.
#pragma once

#include "ckgen/moe.hpp"

#include <cstddef>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

/// Row t * top_k + s stands for slot s of token t. Rows are ordered by expert, then token, then slot.
struct ExpertRows {
  std::int32_t experts, top_k;
  std::int64_t count;   // tokens * top_k, below 2^31
  std::int32_t* first;  // experts + 1: where the rows of each begin
  std::int32_t* row;    // count: the row at each place
  std::int32_t* token;  // count: its token
  std::int32_t* place;  // count: the place of each row
  float* weight;        // count: of each row

  std::int64_t rows_of(std::int32_t expert) const noexcept { return first[expert + 1] - first[expert]; }
};

/// Bytes of those lists, and of the ids that a sorted form is turned into; a multiple of 64.
std::size_t expert_rows_bytes(std::int64_t tokens, Routing routing) noexcept;

/// The lists in `memory`, aligned to 4 bytes; not filled.
ExpertRows expert_rows_in(void* memory, std::int64_t tokens, Routing routing) noexcept;

/// From ids, one per row: false where one is not an expert.
bool list_rows(const std::int32_t* ids, const float* weights, const ExpertRows& lists) noexcept;
/// From what sort_tokens() wrote: false where it is no such form.
bool list_rows(const SortedTokens& sorted, std::int64_t tokens, Routing routing, std::int64_t block_m,
               const ExpertRows& lists) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
