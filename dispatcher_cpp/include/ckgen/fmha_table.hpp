// Measured attention problems as plain constants, and which of them answers a problem.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>

#include <ckgen/arch_data.hpp>
#include <ckgen/fmha.hpp>
#include <ckgen/lookup.hpp>

namespace ckgen {
inline namespace v1 {

/// A measured problem but for its lengths. What a signature has no use for is 0: pages, or a mask (corner included).
struct FmhaContext {
  std::int32_t batch, heads_q, heads_k, hdim_q, hdim_v, page_size;
  FmhaCorner corner;
  std::int32_t window_left, window_right, sink_tokens;
};

/// Lengths that were measured, and what won. A k_batch of 0: as many splits of the keys as cost least.
struct FmhaRung {
  FmhaContext context;
  std::int64_t seqlen_q, seqlen_k;
  Choice choice;
};

/// All rows of one (signature, target), ascending by context, seqlen_q, seqlen_k. near_add and near_factor are those of
/// LadderPolicy, of either length. With a sku it holds the contexts of which that product has a row, and is asked
/// before the one without.
struct FmhaTable {
  Arch arch;
  std::uint32_t cu_num;
  std::uint32_t near_add;
  std::uint32_t near_factor;
  const FmhaRung* rungs;
  std::uint32_t rung_count;
  const char* sku = nullptr;
};

/// The context of a problem, as a table has it.
constexpr FmhaContext fmha_context(const FmhaTraits& traits, const FmhaShape& x) noexcept {
  FmhaContext c{static_cast<std::int32_t>(x.batch), x.heads_q, x.heads_k, x.hdim_q, x.hdim_v, 0, FmhaCorner{}, 0, 0, 0};
  if (traits.kv != FmhaKv::contiguous) c.page_size = x.page_size;
  if (!traits.masked) return c;
  c.corner = x.corner;
  c.window_left = x.window_left;
  c.window_right = x.window_right;
  c.sink_tokens = x.sink_tokens;
  return c;
}

constexpr auto fmha_key(const FmhaContext& c) noexcept {
  return std::make_tuple(c.batch, c.heads_q, c.heads_k, c.hdim_q, c.hdim_v, c.page_size, static_cast<int>(c.corner),
                         c.window_left, c.window_right, c.sink_tokens);
}

constexpr bool operator<(const FmhaRung& x, const FmhaRung& y) noexcept {
  const auto a = fmha_key(x.context);
  const auto b = fmha_key(y.context);
  return a != b ? a < b : std::make_pair(x.seqlen_q, x.seqlen_k) < std::make_pair(y.seqlen_q, y.seqlen_k);
}

/// The first rung of the context whose lengths are at least those, neither of them beyond max(length + near_add,
/// length * near_factor); null where there is none.
constexpr const FmhaRung* find_rung(const FmhaTable& table, const FmhaContext& context, std::int64_t seqlen_q,
                                    std::int64_t seqlen_k) noexcept {
  const auto is_near = [&table](std::int64_t measured, std::int64_t length) {
    return measured <= std::max(length + table.near_add, length * table.near_factor);
  };
  const FmhaRung wanted{context, seqlen_q, 0, {0, 0}};
  const FmhaRung* first = table.rungs;
  for (std::uint32_t count = table.rung_count; count > 0;) {
    const std::uint32_t half = count / 2;
    const bool below = first[half] < wanted;
    first = below ? first + half + 1 : first;
    count = below ? count - half - 1 : half;
  }
  const auto key = fmha_key(context);
  for (; first != table.rungs + table.rung_count && fmha_key(first->context) == key; ++first) {
    if (!is_near(first->seqlen_q, seqlen_q)) return nullptr;
    if (first->seqlen_k >= seqlen_k && is_near(first->seqlen_k, seqlen_k)) return first;
  }
  return nullptr;
}

}  // namespace v1
}  // namespace ckgen
