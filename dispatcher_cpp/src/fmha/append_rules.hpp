// The same questions as rules.hpp of problems that append to a cache; equal to
// codegen/ckgen/families/fmha/append_problem.py.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ckgen/dtype.hpp>
#include <ckgen/fmha.hpp>
#include <ckgen/instance.hpp>

#include "src/operation/cost.hpp"
#include "src/operation/verdict.hpp"

namespace ckgen::inline v1::detail {

constexpr bool appends(const FmhaTraits& traits) noexcept {
  return traits.entry == FmhaEntry::append;
}

constexpr bool goes_back(const FmhaTraits& traits) noexcept {
  return traits.entry == FmhaEntry::backward;
}

/// Rows of Q that rotate.
constexpr std::int64_t rotated_rows(const FmhaTraits& traits, const FmhaShape& x) noexcept {
  return traits.rope == FmhaRope::none ? 0 : x.seqlen_q;
}

/// Whether a run of the legal problem does nothing. Backward writes zeros where only one side has no row.
constexpr bool fmha_is_empty(const FmhaTraits& traits, const FmhaShape& x) noexcept {
  if (goes_back(traits)) return x.seqlen_q == 0 && x.seqlen_k == 0;
  return appends(traits) ? x.seqlen_new == 0 && rotated_rows(traits, x) == 0 : x.seqlen_q == 0;
}

/// The first rule that makes the sizes of append illegal, behind those of all of attention.
inline Verdict check_fmha_append(const FmhaTraits& traits, const FmhaShape& x) noexcept {
  const std::int64_t rows = rotated_rows(traits, x);
  for (const std::int64_t length : {x.seqlen_new, rows}) {
    if (length < 0 || length > x.seqlen_k) return broken(ProblemRule::fmha_shape_seqlen_new, length, x.seqlen_k);
  }
  if (traits.varlen && rows != 0 && rows != x.seqlen_new)
    return broken(ProblemRule::fmha_shape_append_q, rows, x.seqlen_new);
  if (traits.rope != FmhaRope::none && (x.rotary_dim < 2 || x.rotary_dim > x.hdim_q || x.rotary_dim % 2 != 0))
    return broken(ProblemRule::fmha_shape_rotary_dim, x.rotary_dim, x.hdim_q);
  return {};
}

/// What an instance asks of append alone.
template <class Answer>
Answer supports_fmha_append(const FmhaConfig& c, const FmhaTraits& traits, const FmhaShape& x) noexcept {
  const std::int64_t rows = rotated_rows(traits, x);
  if (!c.pad_q && rows % c.m0 != 0) return broken_as<Answer>(ProblemRule::fmha_instance_q_tile, rows, c.m0);
  if (traits.rope != FmhaRope::none && x.rotary_dim % c.rotary_multiple != 0)
    return broken_as<Answer>(ProblemRule::fmha_instance_rotary_multiple, x.rotary_dim, c.rotary_multiple);
  return {};
}

/// Rounds of workgroups times the elements of one, then how many sizes are padded.
inline Wide fmha_append_cost(const FmhaConfig& c, const FmhaTraits& traits, const FmhaShape& x,
                             std::uint32_t cu_num) noexcept {
  const auto tiles = [](std::int64_t rows, std::int32_t tile) {
    return ceil_div(static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(tile));
  };
  const std::int64_t rows = rotated_rows(traits, x);
  const std::uint64_t most = std::max(tiles(rows, c.m0), tiles(x.seqlen_new, c.n0)), cus = cu_num == 0 ? 1 : cu_num;
  const Wide workgroups =
      Wide{most * static_cast<std::uint64_t>(x.batch)} * static_cast<std::uint64_t>(rows != 0 ? x.heads_q : x.heads_k);
  const Wide rounds = (workgroups + cus - 1) / cus;
  const int pads = int{c.pad_q} + int{c.pad_k} + int{c.d_multiple != 0} + int{c.dv_multiple != 0};
  return rounds * static_cast<std::uint64_t>(std::max(c.m0, c.n0)) * static_cast<std::uint64_t>(x.hdim_q + x.hdim_v) *
             8 +
         static_cast<unsigned>(pads);
}

}  // namespace ckgen::inline v1::detail
