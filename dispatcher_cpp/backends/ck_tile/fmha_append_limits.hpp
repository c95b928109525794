// Which problems a kernel of FmhaAppend computes: ck_tile's class asks nothing, so every rule of its kernel is here.
//
// C++17, no ck_tile, no HIP. Pure functions.
#pragma once

#include "fmha_limits.hpp"

namespace ckgen::tile {

/// A Config as far as it decides.
struct FmhaAppendLimits {
  DType type;
  FmhaTraits traits;
  std::int32_t m0, n0, hdim;
  bool pad_q, pad_hdim_q, pad_hdim_v;
};

/// What the kernel asks of rotation: cosines in vectors, Q that rotates where it is.
inline Status check_append_rotation(const FmhaAppendLimits& limits, const FmhaShape& shape,
                                    const FmhaArgs& x) noexcept {
  constexpr std::int32_t kTurn = 16;
  if (limits.traits.rope == FmhaRope::none) return Status::success();
  if (shape.rotary_dim % kTurn != 0 || shape.rotary_dim > limits.hdim)
    return Status::error(StatusCode::unsupported, "a rotary_dim of %d is no multiple of %d up to %d", shape.rotary_dim,
                         kTurn, limits.hdim);
  for (const void* table : {x.rotary_cos, x.rotary_sin}) {
    if (table == nullptr || reinterpret_cast<std::uintptr_t>(table) % 16 != 0)
      return Status::error(StatusCode::unsupported, "rotary_cos or rotary_sin is null or not aligned to 16 bytes");
  }
  if (shape.seqlen_k * (shape.rotary_dim / 2) > std::numeric_limits<std::int32_t>::max() / 2)
    return Status::error(StatusCode::unsupported, "cosines of %lld positions take 2 GiB or more",
                         static_cast<long long>(shape.seqlen_k));
  if (shape.seqlen_q == 0) return Status::success();
  const FmhaStrides &q = x.q_strides, &o = x.o_strides;
  if (x.o != x.q || q.row != o.row || q.head != o.head || (shape.batch > 1 && q.batch != o.batch))
    return Status::error(StatusCode::unsupported, "ck_tile rotates Q where it is: O must be Q");
  return Status::success();
}

/// Whether the kernel computes the problem: a refusal names the first rule that is broken.
inline Status check_fmha_append(const FmhaAppendLimits& limits, const FmhaShape& shape, const FmhaArgs& x) noexcept {
  const auto fits = [&](std::int32_t hdim, bool padded) {
    return padded ? hdim <= limits.hdim && hdim % 8 == 0 : hdim == limits.hdim;
  };
  if (!fits(shape.hdim_q, limits.pad_hdim_q) || !fits(shape.hdim_v, limits.pad_hdim_v))
    return Status::error(StatusCode::unsupported, "head dims of %d and %d do not fit tiles of %d", shape.hdim_q,
                         shape.hdim_v, limits.hdim);
  const bool rotates = limits.traits.rope != FmhaRope::none && shape.seqlen_q != 0;
  if (rotates && !limits.pad_q && shape.seqlen_q % limits.m0 != 0)
    return Status::error(StatusCode::unsupported, "%lld rows of Q are no whole tiles of %d",
                         static_cast<long long>(shape.seqlen_q), limits.m0);
  const bool paged = limits.traits.kv == FmhaKv::block_table;
  if (paged && shape.page_size % limits.n0 != 0)
    return Status::error(StatusCode::unsupported, "pages of %d rows: new rows come in tiles of %d", shape.page_size,
                         limits.n0);
  if (paged && (x.block_table == nullptr || x.block_table_stride > std::numeric_limits<std::int32_t>::max()))
    return Status::error(StatusCode::invalid_argument, "block_table is null, or its rows are too long");
  if (x.seqlen_k == nullptr) return Status::error(StatusCode::invalid_argument, "seqlen_k is null");
  if (const Status status = check_append_rotation(limits, shape, x); !status.ok()) return status;
  const std::int64_t rows = paged ? shape.page_size : shape.seqlen_k, entries = paged ? shape.pages : shape.batch;
  const FmhaTensor tensors[] = {
      {"Q", x.q, x.q_strides, shape.seqlen_q, shape.hdim_q, shape.heads_q, shape.batch, limits.type, true, rotates},
      {"the cache of K", x.k_cache, x.k_strides, rows, shape.hdim_q, shape.heads_k, entries, limits.type, true},
      {"the cache of V", x.v_cache, x.v_strides, rows, shape.hdim_v, shape.heads_k, entries, limits.type, true},
      {"k_new", x.k_new, x.k_new_strides, shape.seqlen_new, shape.hdim_q, shape.heads_k, shape.batch, limits.type,
       true},
      {"v_new", x.v_new, x.v_new_strides, shape.seqlen_new, shape.hdim_v, shape.heads_k, shape.batch, limits.type,
       true}};
  for (const FmhaTensor& one : tensors) {
    if (!one.is_used || (shape.seqlen_new == 0 && &one != tensors)) continue;
    if (const Status status = check_fmha_tensor(one); !status.ok()) return status;
  }
  return Status::success();
}

}  // namespace ckgen::tile
