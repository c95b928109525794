// Is an attention problem legal, and can an instance run it? Integers, equal to
// codegen/ckgen/families/fmha/problem.py.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include <ckgen/problem.hpp>

#include "src/fmha/append_rules.hpp"
#include "src/operation/request.hpp"
#include "src/operation/verdict.hpp"

namespace ckgen::inline v1::detail {

inline constexpr std::int64_t kMostFmha = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int32_t kMostHeads = 65535;
inline constexpr std::int32_t kMostHdim = 256;
inline constexpr std::int32_t kMostPageSize = 2048;
inline constexpr std::int32_t kMostSplitTile = 4096;

constexpr bool is_paged(const FmhaTraits& traits) noexcept {
  return traits.kv != FmhaKv::contiguous;
}

/// Whether sequences may have fewer keys than seqlen_k whatever the arguments.
constexpr bool has_lengths(const FmhaTraits& traits) noexcept {
  return traits.varlen || is_paged(traits);
}

inline Verdict check_window(const FmhaShape& x) noexcept {
  if (x.window_left < -1) return broken(ProblemRule::fmha_shape_window, x.window_left, -1);
  if (x.window_right < -1) return broken(ProblemRule::fmha_shape_window, x.window_right, -1);
  if (x.sink_tokens < 0) return broken(ProblemRule::fmha_shape_window, x.sink_tokens, 0);
  return {};
}

inline Verdict check_pages(const FmhaShape& x) noexcept {
  if (x.page_size < 1 || x.page_size > kMostPageSize)
    return broken(ProblemRule::fmha_shape_page_size, x.page_size, kMostPageSize);
  if (x.pages < 0 || x.pages > kMostFmha) return broken(ProblemRule::fmha_shape_pages, x.pages, kMostFmha);
  return {};
}

inline Verdict check_schedule(const FmhaShape& x) noexcept {
  if (x.split_items < 0 || x.split_items > kMostFmha)
    return broken(ProblemRule::fmha_shape_split_items, x.split_items, kMostFmha);
  const std::int64_t most = x.split_items == 0 ? 0 : kMostFmha;
  for (const std::int64_t count : {x.split_combines, x.split_rows}) {
    if (count < 0 || count > most) return broken(ProblemRule::fmha_shape_split_items, count, most);
  }
  for (const std::int32_t tile : {x.split_m0, x.split_n0}) {
    if (x.split_items != 0 && (tile < 1 || tile > kMostSplitTile))
      return broken(ProblemRule::fmha_shape_split_tile, tile, kMostSplitTile);
  }
  return {};
}

/// The first rule that makes the sizes illegal. What the signature has no use for is not looked at.
inline Verdict check_fmha(const FmhaTraits& traits, const FmhaShape& x) noexcept {
  if (x.batch < 1) return broken(ProblemRule::fmha_shape_batch, x.batch, 1);
  if (x.batch > kMostFmha) return broken(ProblemRule::fmha_shape_batch_max, x.batch, kMostFmha);
  for (const std::int32_t heads : {x.heads_q, x.heads_k}) {
    if (heads < 1) return broken(ProblemRule::fmha_shape_heads, heads, 1);
    if (heads > kMostHeads) return broken(ProblemRule::fmha_shape_heads_max, heads, kMostHeads);
  }
  if (x.heads_q % x.heads_k != 0) return broken(ProblemRule::fmha_shape_head_groups, x.heads_q, x.heads_k);
  for (const std::int32_t hdim : {x.hdim_q, x.hdim_v}) {
    if (hdim < 1 || hdim > kMostHdim) return broken(ProblemRule::fmha_shape_hdim, hdim, kMostHdim);
  }
  for (const std::int64_t length : {x.seqlen_q, x.seqlen_k}) {
    if (length < 0 || length > kMostFmha) return broken(ProblemRule::fmha_shape_seqlen, length, kMostFmha);
  }
  if (traits.masked) {
    if (const Verdict verdict = check_window(x); !verdict.ok()) return verdict;
  }
  if (is_paged(traits)) {
    if (const Verdict verdict = check_pages(x); !verdict.ok()) return verdict;
  }
  if (traits.varlen && (x.total_q < 0 || x.total_q > kMostFmha))
    return broken(ProblemRule::fmha_shape_total_q, x.total_q, kMostFmha);
  if (has_lengths(traits) && (x.min_seqlen_k < 0 || x.min_seqlen_k > x.seqlen_k))
    return broken(ProblemRule::fmha_shape_min_seqlen, x.min_seqlen_k, x.seqlen_k);
  if (appends(traits)) {
    if (const Verdict verdict = check_fmha_append(traits, x); !verdict.ok()) return verdict;
  }
  return check_schedule(x);
}

/// The same, and what K's type adds: a page in vectors of 16 bytes is of whole ones, along K's rows and V's keys.
inline Verdict check_fmha(const Signature& signature, const FmhaShape& x) noexcept {
  if (signature.fmha.kv_layout != FmhaKvLayout::vectorized) return check_fmha(signature.fmha, x);
  if (const Verdict verdict = check_fmha(signature.fmha, x); !verdict.ok()) return verdict;
  const std::int32_t vector = 128 / std::max(bits(signature.b), 1);  // a caller's signature may have no type
  for (const std::int32_t size : {x.hdim_q, x.page_size}) {
    if (size % vector != 0) return broken(ProblemRule::fmha_shape_vectors, size, vector);
  }
  return {};
}

/// Why nothing can have a signature of which there is no instance at all.
inline Verdict no_fmha_instance(const FmhaTraits& traits, const FmhaShape& x) noexcept {
  if (appends(traits)) return broken(ProblemRule::fmha_no_append, 0, 0);
  if (goes_back(traits)) return broken(ProblemRule::fmha_no_backward, 0, 0);
  if (is_paged(traits)) return broken(ProblemRule::fmha_no_paged_kv, x.page_size, 0);
  return no_instance();
}

/// Whether a kernel reads the problem's schedule of splits, which was made for its tiles.
template <class Answer>
Answer supports_schedule(const FmhaConfig& c, const FmhaShape& x) noexcept {
  if (!c.takes_items) return broken_as<Answer>(ProblemRule::fmha_instance_items, x.split_items, 0);
  if (x.split_m0 != c.m0) return broken_as<Answer>(ProblemRule::fmha_instance_split_tile, x.split_m0, c.m0);
  if (x.split_n0 % c.n0 != 0) return broken_as<Answer>(ProblemRule::fmha_instance_split_tile, x.split_n0, c.n0);
  if (x.split_merged != c.merge_heads)
    return broken_as<Answer>(ProblemRule::fmha_instance_split_heads, int{x.split_merged}, int{c.merge_heads});
  return {};
}

/// Whether the diagonal of a mask has this corner; where lengths are the same it has both.
constexpr bool has_corner(const FmhaTraits& traits, const FmhaShape& x, FmhaCorner corner) noexcept {
  return x.corner == corner || (!has_lengths(traits) && x.seqlen_q == x.seqlen_k);
}

/// Whether each row sees all keys up to its own: the first row the first key, or the last row the last one.
constexpr bool is_causal(const FmhaTraits& traits, const FmhaShape& x, FmhaCorner corner) noexcept {
  return !traits.masked || (x.window_left == -1 && x.window_right == 0 && has_corner(traits, x, corner));
}

/// What few instances take no more of, or nothing at all.
template <class Answer>
Answer beyond_fmha_limits(const FmhaConfig& c, const FmhaTraits& traits, const FmhaShape& x) noexcept {
  if (c.max_keys != 0 && x.seqlen_k > c.max_keys)
    return broken_as<Answer>(ProblemRule::fmha_instance_max_keys, x.seqlen_k, c.max_keys);
  if (traits.masked && x.sink_tokens != 0 && !c.sink_tokens)
    return broken_as<Answer>(ProblemRule::fmha_instance_sink_tokens, x.sink_tokens, 0);
  if (!c.topleft_slopes && !has_corner(traits, x, FmhaCorner::bottom_right))
    return broken_as<Answer>(ProblemRule::fmha_instance_slopes, 0, 0);
  if (is_paged(traits) && c.max_page != 0 && x.page_size > c.max_page)
    return broken_as<Answer>(ProblemRule::fmha_instance_page, x.page_size, c.max_page);
  if (c.max_rows != 0 && x.seqlen_q > c.max_rows)
    return broken_as<Answer>(ProblemRule::fmha_instance_rows, x.seqlen_q, c.max_rows);
  if (c.max_group != 0 && x.heads_q / x.heads_k > c.max_group)
    return broken_as<Answer>(ProblemRule::fmha_instance_group, x.heads_q / x.heads_k, c.max_group);
  if (c.causal_only && !is_causal(traits, x, FmhaCorner::bottom_right))
    return broken_as<Answer>(ProblemRule::fmha_instance_mask, 0, 0);
  if (c.topleft_only && !is_causal(traits, x, FmhaCorner::top_left))
    return broken_as<Answer>(ProblemRule::fmha_instance_mask_topleft, 0, 0);
  return {};
}

/// Whether a size is of whole steps: no division where the step is a power of two, as most are.
constexpr bool is_whole(std::int64_t size, std::int32_t step) noexcept {
  const std::int64_t of = step;
  return (of & (of - 1)) == 0 ? (size & (of - 1)) == 0 : size % of == 0;
}

/// What must be whole vectors, tiles or steps.
template <class Answer>
Answer fmha_multiples(const FmhaConfig& c, const FmhaTraits& traits, const FmhaShape& x) noexcept {
  const std::int32_t of_q = c.d_multiple != 0 ? c.d_multiple : c.hdim_q;
  const std::int32_t of_v = c.dv_multiple != 0 ? c.dv_multiple : c.hdim_v;
  if (!is_whole(x.hdim_q, of_q)) return broken_as<Answer>(ProblemRule::fmha_instance_hdim_multiple, x.hdim_q, of_q);
  if (!is_whole(x.hdim_v, of_v)) return broken_as<Answer>(ProblemRule::fmha_instance_hdim_multiple, x.hdim_v, of_v);
  if (appends(traits)) {
    if (const Answer verdict = supports_fmha_append<Answer>(c, traits, x); !verdict.ok()) return verdict;
  } else if (!c.pad_q && !is_whole(x.seqlen_q, c.m0)) {
    return broken_as<Answer>(ProblemRule::fmha_instance_q_tile, x.seqlen_q, c.m0);
  } else if (!c.pad_k && (x.seqlen_k == 0 || !is_whole(x.seqlen_k, c.n0))) {
    return broken_as<Answer>(ProblemRule::fmha_instance_k_tile, x.seqlen_k, c.n0);
  }
  if (is_paged(traits) && !is_whole(x.page_size, c.page_multiple))
    return broken_as<Answer>(ProblemRule::fmha_instance_page_multiple, x.page_size, c.page_multiple);
  return {};
}

/// The first demand of an instance that a legal problem of its signature fails. `splits` of KV: 0 counts as 1. Keys
/// that do not fill their tiles are the padded instances', and no keys at all fill none.
template <class Answer>
Answer supports_fmha(const FmhaConfig& c, const FmhaTraits& traits, const FmhaShape& x, std::uint32_t splits) noexcept {
  if (traits.varlen && !(c.pad_q && c.pad_k)) return broken_as<Answer>(ProblemRule::fmha_instance_varlen, c.m0, c.n0);
  if (x.hdim_q > c.hdim_q) return broken_as<Answer>(ProblemRule::fmha_instance_hdim, x.hdim_q, c.hdim_q);
  if (x.hdim_v > c.hdim_v) return broken_as<Answer>(ProblemRule::fmha_instance_hdim, x.hdim_v, c.hdim_v);
  if (const Answer verdict = beyond_fmha_limits<Answer>(c, traits, x); !verdict.ok()) return verdict;
  if (const Answer verdict = fmha_multiples<Answer>(c, traits, x); !verdict.ok()) return verdict;
  const std::int32_t most_splits = x.split_items != 0 ? 1 : c.max_splits;
  if (splits > static_cast<std::uint32_t>(most_splits))
    return broken_as<Answer>(ProblemRule::fmha_instance_splits, splits, most_splits);
  if (traits.varlen && x.gaps_q && !c.takes_gaps_q) return broken_as<Answer>(ProblemRule::fmha_instance_gaps_q, 0, 0);
  if (is_paged(traits) && c.cache_limit != 0) {
    const std::int64_t rows = x.pages * x.page_size;
    const std::int64_t most = c.cache_limit / (std::int64_t{x.heads_k} * std::max(x.hdim_q, x.hdim_v));
    if (rows < 1 || rows > most) return broken_as<Answer>(ProblemRule::fmha_instance_cache, rows, most);
  }
  const std::int64_t least = has_lengths(traits) ? x.min_seqlen_k : x.seqlen_k;
  if (c.needs_keys && least < 1) return broken_as<Answer>(ProblemRule::fmha_instance_keys, least, 1);
  if (c.needs_finite && !x.finite_kv) return broken_as<Answer>(ProblemRule::fmha_instance_finite, 0, 0);
  return x.split_items != 0 ? supports_schedule<Answer>(c, x) : Answer{};
}

/// Whether a deterministic result may be asked for: two tiles of keys add up alike in either order.
template <class Answer>
Answer fmha_order(const FmhaConfig& c, const FmhaShape& x) noexcept {
  constexpr std::int64_t kMostUnordered = 2;
  const std::int64_t tiles = x.seqlen_k / c.n0 + (x.seqlen_k % c.n0 != 0 ? 1 : 0);
  if (!c.unordered_dq || tiles <= kMostUnordered) return {};
  return broken_as<Answer>(ProblemRule::fmha_instance_unordered_dq, tiles, kMostUnordered);
}

/// The first demand of an instance that a problem fails, of its sizes or of its wishes.
template <class Answer>
Answer fmha_verdict(const Request& q, const FmhaConfig& c, std::uint32_t splits) noexcept {
  const FmhaShape& shape = q.problem.fmha();
  const Answer found = supports_fmha<Answer>(c, q.signature.fmha, shape, splits);
  return found.ok() && q.deterministic ? fmha_order<Answer>(c, shape) : found;
}

}  // namespace ckgen::inline v1::detail
