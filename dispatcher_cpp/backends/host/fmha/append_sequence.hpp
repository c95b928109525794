// One sequence of a problem that appends to a cache: its rows, and where they are.
#pragma once

#include "ckgen/dtype.hpp"
#include "ckgen/fmha.hpp"
#include "ckgen/signature.hpp"

#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

inline constexpr std::int32_t kAppendMaxHdim = 256;

/// Offsets in elements of head 0's first row; those of a paged cache are page 0's.
struct AppendSequence {
  std::int64_t before;          // rows of the cache
  std::int64_t added, rotated;  // new rows, and rows of Q
  std::int64_t room;            // rows that the cache has for it
  std::int64_t k_new, v_new, q, o, k, v;
  const std::int32_t* pages;  // of a paged cache
};

/// Of lengths and page lists that are not null.
inline AppendSequence append_sequence(const FmhaTraits& t, const FmhaShape& shape, const FmhaArgs& a,
                                      std::int64_t b) noexcept {
  AppendSequence x{};
  const bool has_q = t.rope != FmhaRope::none && shape.seqlen_q != 0;
  if (t.varlen) {
    const std::int64_t first = a.seqstart_q[b];
    x.added = a.seqlen_q != nullptr ? a.seqlen_q[b] : a.seqstart_q[b + 1] - first;
    x.rotated = has_q ? x.added : 0;
    x.k_new = first * a.k_new_strides.row;
    x.v_new = first * a.v_new_strides.row;
    x.q = first * a.q_strides.row;
    x.o = first * a.o_strides.row;
  } else {
    x.added = shape.seqlen_new;
    x.rotated = has_q ? shape.seqlen_q : 0;
    x.k_new = b * a.k_new_strides.batch;
    x.v_new = b * a.v_new_strides.batch;
    x.q = b * a.q_strides.batch;
    x.o = b * a.o_strides.batch;
  }
  x.room = shape.seqlen_k;
  if (t.kv == FmhaKv::page_list) {
    const std::int64_t count = std::int64_t{a.kv_indptr[b + 1]} - a.kv_indptr[b];
    x.pages = a.kv_pages + a.kv_indptr[b];
    x.before = (count == 0 ? 0 : (count - 1) * shape.page_size + a.kv_last_page[b]) - x.added;
    return x;
  }
  x.before = a.seqlen_k[b];
  if (t.kv == FmhaKv::block_table) {
    x.pages = a.block_table + b * a.block_table_stride;
  } else if (t.varlen) {
    x.room = std::int64_t{a.seqstart_k[b + 1]} - a.seqstart_k[b];
    x.k = a.seqstart_k[b] * a.k_strides.row;
    x.v = t.v_column ? a.seqstart_k[b] : a.seqstart_k[b] * a.v_strides.row;
  } else {
    x.k = b * a.k_strides.batch;
    x.v = b * a.v_strides.batch;
  }
  return x;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
