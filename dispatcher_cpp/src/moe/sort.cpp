// Tokens by expert, and back. Counting sorts over windows of experts: the counters are a stack array, so nothing is
// allocated however many experts there are.
#include <ckgen/moe.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace ckgen {
inline namespace v1 {
namespace {

constexpr std::int64_t kMostTokens = (std::int64_t{1} << 24) - 1;
constexpr std::int32_t kMostSlots = 255;
constexpr std::int32_t kWindow = 4096;  // experts that one pass over the ids counts

bool is_legal(std::int64_t tokens, Routing routing, std::int64_t block_m) noexcept {
  return tokens >= 0 && tokens <= kMostTokens && routing.experts >= 1 && routing.top_k >= 1 &&
         routing.top_k <= std::min<std::int32_t>(routing.experts, kMostSlots) && block_m >= 1 &&
         block_m <= std::numeric_limits<std::int32_t>::max();
}

std::int32_t entry(std::int64_t slot, std::int64_t token) noexcept {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(slot) << 24 | static_cast<std::uint32_t>(token));
}

/// Sorts the experts [first, first + kWindow) and returns where the next window's rows begin.
std::int64_t sort_window(const std::int32_t* ids, const float* weights, std::int64_t rows, Routing routing,
                         std::int64_t block_m, std::int32_t first, std::int64_t begin,
                         const SortedTokens& out) noexcept {
  std::int64_t next[kWindow] = {};  // rows of each expert, then where its next one goes
  const std::int32_t experts = std::min(kWindow, routing.experts - first);
  const auto in_window = [&](std::int64_t row) { return ids[row] >= first && ids[row] - first < experts; };
  for (std::int64_t row = 0; row < rows; ++row) {
    if (in_window(row)) ++next[ids[row] - first];
  }
  for (std::int32_t e = 0; e < experts; ++e) {
    const std::int64_t blocks = (next[e] + block_m - 1) / block_m;
    next[e] = begin;
    for (std::int64_t b = 0; b < blocks; ++b) out.expert_ids[begin / block_m + b] = first + e;
    begin += blocks * block_m;
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    if (!in_window(row)) continue;
    const std::int64_t at = next[ids[row] - first]++;
    out.token_ids[at] = entry(row % routing.top_k, row / routing.top_k);
    out.weights[at] = weights[row];
  }
  return begin;
}

}  // namespace

std::int64_t sorted_capacity(std::int64_t tokens, Routing routing, std::int64_t block_m) noexcept {
  if (!is_legal(tokens, routing, block_m)) return -1;
  const std::int64_t rows = tokens * routing.top_k;  // below 2^32
  // Most blocks begin where each expert has a row of its own in a block of its own.
  const std::int64_t busy = std::min<std::int64_t>(routing.experts, rows);
  const std::int64_t blocks = busy + (rows - busy) / block_m;
  return blocks <= std::numeric_limits<std::int32_t>::max() / block_m ? blocks * block_m : -1;
}

bool sort_tokens(const std::int32_t* topk_ids, const float* topk_weights, std::int64_t tokens, Routing routing,
                 std::int64_t block_m, const SortedTokens& out) noexcept {
  const std::int64_t capacity = sorted_capacity(tokens, routing, block_m);
  if (capacity < 0) return false;
  const std::int64_t rows = tokens * routing.top_k;
  const auto is_expert = [&](std::int32_t id) { return id >= 0 && id < routing.experts; };
  if (!std::all_of(topk_ids, topk_ids + rows, is_expert)) return false;
  std::fill_n(out.token_ids, capacity, entry(routing.top_k, tokens));
  std::fill_n(out.weights, capacity, 0.0F);
  std::fill_n(out.expert_ids, capacity / block_m, -1);
  std::int64_t end = 0;
  for (std::int32_t first = 0; first < routing.experts; first += kWindow)
    end = sort_window(topk_ids, topk_weights, rows, routing, block_m, first, end, out);
  out.valid[0] = static_cast<std::int32_t>(end);
  out.valid[1] = static_cast<std::int32_t>(tokens);
  return true;
}

bool unsort_tokens(const SortedTokens& sorted, std::int64_t tokens, Routing routing, std::int64_t block_m,
                   std::int32_t* topk_ids, float* topk_weights) noexcept {
  const std::int64_t capacity = sorted_capacity(tokens, routing, block_m);
  if (capacity < 0 || sorted.valid[1] != tokens) return false;
  const std::int64_t end = sorted.valid[0];
  if (end < 0 || end > capacity || end % block_m != 0) return false;
  const std::int64_t rows = tokens * routing.top_k;
  std::fill_n(topk_ids, rows, -1);
  for (std::int64_t i = 0; i < end; ++i) {
    const auto packed = static_cast<std::uint32_t>(sorted.token_ids[i]);
    const std::int64_t slot = packed >> 24;
    const std::int64_t token = packed & static_cast<std::uint32_t>(kMostTokens);
    if (slot == routing.top_k && token == tokens) continue;
    const std::int32_t expert = sorted.expert_ids[i / block_m];
    if (slot >= routing.top_k || token >= tokens || expert < 0 || expert >= routing.experts) return false;
    const std::int64_t row = token * routing.top_k + slot;
    if (topk_ids[row] >= 0) return false;
    topk_ids[row] = expert;
    topk_weights[row] = sorted.weights[i];
  }
  return std::find(topk_ids, topk_ids + rows, -1) == topk_ids + rows;
}

}  // namespace v1
}  // namespace ckgen
