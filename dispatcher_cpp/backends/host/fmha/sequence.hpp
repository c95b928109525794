// One sequence of a problem of op fmha: its lengths, and where its rows are.
#pragma once

#include "ckgen/dtype.hpp"
#include "ckgen/fmha.hpp"
#include "ckgen/signature.hpp"

#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

/// Offsets in elements of head 0's first row; of paged KV those of page 0.
struct FmhaSequence {
  std::int64_t length_q, length_k;
  std::int64_t q, k, v, o, bias, rand_val, lse;
  const std::int32_t* pages;  // of paged KV
};

/// Of arguments that were checked. Inline everywhere but in the units of one ISA.
inline FmhaSequence sequence_of(const Signature& s, const FmhaShape& shape, const FmhaArgs& a,
                                std::int64_t b) noexcept {
  const FmhaTraits& t = s.fmha;
  FmhaSequence x{};
  if (t.varlen) {
    const std::int64_t q = a.seqstart_q[b];
    x.length_q = a.seqlen_q != nullptr ? a.seqlen_q[b] : a.seqstart_q[b + 1] - q;
    x.q = q * a.q_strides.row;
    x.o = q * a.o_strides.row;
    x.bias = t.bias == FmhaBias::alibi ? b * a.bias_strides.batch : q * a.bias_strides.row;
    x.rand_val = q * a.rand_val_strides.row;
    x.lse = q;
  } else {
    x.length_q = shape.seqlen_q;
    x.q = b * a.q_strides.batch;
    x.o = b * a.o_strides.batch;
    x.bias = b * a.bias_strides.batch;
    x.rand_val = b * a.rand_val_strides.batch;
    x.lse = b * a.lse_batch_stride;
  }
  if (t.kv == FmhaKv::page_list) {
    const std::int64_t count = a.kv_indptr[b + 1] - a.kv_indptr[b];
    x.pages = a.kv_pages + a.kv_indptr[b];
    x.length_k = count == 0 ? 0 : (count - 1) * shape.page_size + a.kv_last_page[b];
  } else if (t.kv == FmhaKv::block_table) {
    x.pages = a.block_table + b * a.block_table_stride;
    x.length_k = a.seqlen_k[b];
  } else if (t.varlen) {
    const std::int64_t k = a.seqstart_k[b];
    x.length_k = a.seqlen_k != nullptr ? a.seqlen_k[b] : a.seqstart_k[b + 1] - k;
    x.k = k * a.k_strides.row;
    x.v = t.v_column ? k : k * a.v_strides.row;
  } else {
    x.length_k = a.seqlen_k != nullptr ? a.seqlen_k[b] : shape.seqlen_k;
    x.k = b * a.k_strides.batch;
    x.v = b * a.v_strides.batch;
  }
  return x;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
