// The words of a problem's sizes: once for all who write, hash or read them.
#pragma once

#include <ckgen/fmha.hpp>

#include "src/fmha/rules.hpp"

namespace ckgen::inline v1::detail {

/// When a size that a signature has is said.
enum class Said : std::uint8_t { always, if_set, with_items };

/// Calls `visit(word, member, Said)` for the sizes that a signature has, and `visit(shape)` where its mask is said.
template <class Shape, class Visit>
void visit_shape(const FmhaTraits& traits, Shape& x, Visit visit) {
  visit("batch", x.batch, Said::always);
  visit("heads_q", x.heads_q, Said::always);
  visit("heads_k", x.heads_k, Said::always);
  visit("seqlen_q", x.seqlen_q, Said::always);
  visit("seqlen_k", x.seqlen_k, Said::always);
  visit("hdim_q", x.hdim_q, Said::always);
  visit("hdim_v", x.hdim_v, Said::always);
  if (traits.masked) visit(x);
  if (is_paged(traits)) visit("page_size", x.page_size, Said::always);
  if (is_paged(traits)) visit("pages", x.pages, Said::always);
  if (appends(traits)) visit("seqlen_new", x.seqlen_new, Said::always);
  if (traits.rope != FmhaRope::none) visit("rotary_dim", x.rotary_dim, Said::always);
  if (traits.varlen) visit("total_q", x.total_q, Said::if_set);
  if (has_lengths(traits)) visit("min_seqlen_k", x.min_seqlen_k, Said::if_set);
  if (is_paged(traits)) visit("finite_kv", x.finite_kv, Said::if_set);
  if (traits.varlen) visit("gaps_q", x.gaps_q, Said::if_set);
  visit("split_items", x.split_items, Said::if_set);
  visit("split_combines", x.split_combines, Said::with_items);
  visit("split_rows", x.split_rows, Said::with_items);
  visit("split_m0", x.split_m0, Said::with_items);
  visit("split_n0", x.split_n0, Said::with_items);
  visit("split_merged", x.split_merged, Said::with_items);
}

}  // namespace ckgen::inline v1::detail
