#include "backends/host/moe/rows.hpp"

#include "backends/host/workspace.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// Lists of `count` words: row, token, place, weight.
constexpr std::int64_t kLists = 4;

}  // namespace

std::size_t expert_rows_bytes(std::int64_t tokens, Routing routing) noexcept {
  const std::int64_t words = routing.experts + 1 + kLists * tokens * routing.top_k;
  return words_bytes(words, 1);
}

ExpertRows expert_rows_in(void* memory, std::int64_t tokens, Routing routing) noexcept {
  ExpertRows lists{};
  lists.experts = routing.experts;
  lists.top_k = routing.top_k;
  lists.count = tokens * routing.top_k;
  lists.first = static_cast<std::int32_t*>(memory);
  lists.row = lists.first + routing.experts + 1;
  lists.token = lists.row + lists.count;
  lists.place = lists.token + lists.count;
  lists.weight = reinterpret_cast<float*>(lists.place + lists.count);
  return lists;
}

bool list_rows(const std::int32_t* ids, const float* weights, const ExpertRows& x) noexcept {
  const auto is_expert = [&x](std::int32_t id) { return id >= 0 && id < x.experts; };
  if (!std::all_of(ids, ids + x.count, is_expert)) return false;
  if (weights != x.weight) std::copy_n(weights, x.count, x.weight);
  std::fill_n(x.first, x.experts + 1, 0);
  for (std::int64_t r = 0; r < x.count; ++r) ++x.first[ids[r] + 1];
  for (std::int32_t e = 0; e < x.experts; ++e) x.first[e + 1] += x.first[e];
  // first[e] moves on to the end of its rows, which is where those of e + 1 begin
  for (std::int64_t r = 0; r < x.count; ++r) {
    const std::int32_t at = x.first[ids[r]]++;
    x.row[at] = static_cast<std::int32_t>(r);
    x.token[at] = static_cast<std::int32_t>(r / x.top_k);
  }
  for (std::int32_t e = x.experts; e > 0; --e) x.first[e] = x.first[e - 1];
  x.first[0] = 0;
  for (std::int64_t at = 0; at < x.count; ++at) x.place[x.row[at]] = static_cast<std::int32_t>(at);
  return true;
}

bool list_rows(const SortedTokens& sorted, std::int64_t tokens, Routing routing, std::int64_t block_m,
               const ExpertRows& lists) noexcept {
  std::int32_t* ids = lists.place;  // written last, when no id is read any more
  return unsort_tokens(sorted, tokens, routing, block_m, ids, lists.weight) && list_rows(ids, lists.weight, lists);
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
