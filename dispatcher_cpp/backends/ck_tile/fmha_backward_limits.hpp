// Which problems the kernels of FmhaBackward compute: ck_tile's classes ask nothing, so every rule is here.
//
// C++17, no ck_tile, no HIP. Pure functions.
#pragma once

#include "fmha_limits.hpp"

namespace ckgen::tile {

/// A Config as far as it decides. pad as of FmhaBackwardTile.
struct FmhaBackwardLimits {
  DType type;
  FmhaTraits traits;
  std::int32_t hdim, pad;
  bool grouped;
};

/// dbias as ck_tile writes it, an element for each score: nothing adds up what shares one.
inline Status check_fmha_dbias(const FmhaTraits& traits, const FmhaShape& x, const FmhaArgs& a) noexcept {
  if (traits.bias != FmhaBias::elementwise || x.seqlen_q == 0) return Status::success();
  const FmhaStrides& of = a.bias_strides;
  const bool shared = (x.seqlen_q > 1 && of.row == 0) || (x.heads_q > 1 && of.head == 0) ||
                      (!traits.varlen && x.batch > 1 && of.batch == 0);
  if (shared)
    return Status::error(StatusCode::unsupported,
                         "a bias that rows, heads or sequences share: this kernel sums no dbias, host kernels do");
  return Status::success();
}

/// Whether the kernels compute the problem: a refusal names the first rule that is broken.
inline Status check_fmha_backward(const FmhaBackwardLimits& limits, const FmhaShape& x, const FmhaArgs& a) noexcept {
  const FmhaTraits& traits = limits.traits;
  for (const std::int32_t hdim : {x.hdim_q, x.hdim_v}) {
    if (limits.pad == 0 ? hdim != limits.hdim : hdim > limits.hdim || hdim % limits.pad != 0)
      return Status::error(StatusCode::unsupported, "a head dim of %d does not fit tiles of %d", hdim, limits.hdim);
  }
  if (!limits.grouped && x.heads_q != x.heads_k)
    return Status::error(StatusCode::unsupported, "%d query heads of %d KV heads: this kernel sums no heads", x.heads_q,
                         x.heads_k);
  if (traits.masked && x.sink_tokens != 0)
    return Status::error(StatusCode::unsupported, "the CK tree's masks have no sink tokens, %d are asked for",
                         x.sink_tokens);
  if (const Status status = check_fmha_dropout(traits, a); !status.ok()) return status;
  if (const Status status = check_fmha_slopes(traits, x, a); !status.ok()) return status;
  if (const Status status = check_fmha_dbias(traits, x, a); !status.ok()) return status;
  const bool biased = traits.bias == FmhaBias::elementwise;
  const bool vector = limits.pad != 1;
  const std::int64_t batch = traits.varlen ? 1 : x.batch;
  const FmhaStrides lse{1, a.lse_head_stride, a.lse_batch_stride};
  constexpr std::int64_t kNone = 0;
  const FmhaStrides sums{x.hdim_q, kNone, kNone}, parts_k{x.hdim_q, kNone, kNone}, parts_v{x.hdim_v, kNone, kNone};
  const auto* const room = reinterpret_cast<const void*>(std::uintptr_t{256});  // the workspace is aligned
  const FmhaTensor tensors[] = {
      {"Q", a.q, a.q_strides, x.seqlen_q, x.hdim_q, x.heads_q, batch, limits.type, vector},
      {"K", a.k, a.k_strides, x.seqlen_k, x.hdim_q, x.heads_k, batch, limits.type, vector},
      {"V", a.v, a.v_strides, x.seqlen_k, x.hdim_v, x.heads_k, batch, limits.type, vector},
      {"O", a.o, a.o_strides, x.seqlen_q, x.hdim_v, x.heads_q, batch, limits.type, vector},
      {"dO", a.dout, a.dout_strides, x.seqlen_q, x.hdim_v, x.heads_q, batch, limits.type, vector},
      {"dQ", a.dq, a.dq_strides, x.seqlen_q, x.hdim_q, x.heads_q, batch, limits.type, vector},
      {"dK", a.dk, a.dk_strides, x.seqlen_k, x.hdim_q, x.heads_k, batch, limits.type, vector && !limits.grouped},
      {"dV", a.dv, a.dv_strides, x.seqlen_k, x.hdim_v, x.heads_k, batch, limits.type, vector && !limits.grouped},
      {"lse", a.lse, lse, x.seqlen_q, 1, x.heads_q, batch, DType::fp32, false},
      {"bias", a.bias, a.bias_strides, x.seqlen_q, x.seqlen_k, 1, 1, limits.type, false, biased},
      {"dbias", a.dbias, a.dbias_strides, x.seqlen_q, x.seqlen_k, 1, 1, limits.type, false, biased},
      {"the sums of dQ", room, sums, x.seqlen_q, x.hdim_q, 1, 1, DType::fp32, false},
      {"dK of a query head", room, parts_k, x.seqlen_k, x.hdim_q, 1, 1, DType::fp32, false, limits.grouped},
      {"dV of a query head", room, parts_v, x.seqlen_k, x.hdim_v, 1, 1, DType::fp32, false, limits.grouped}};
  for (const FmhaTensor& one : tensors) {
    if (!one.is_used) continue;
    if (const Status status = check_fmha_tensor(one); !status.ok()) return status;
  }
  if (traits.bias == FmhaBias::alibi && a.bias == nullptr)
    return Status::error(StatusCode::invalid_argument, "the slopes are null");
  if (traits.varlen && (a.seqstart_q == nullptr || a.seqstart_k == nullptr))
    return Status::error(StatusCode::invalid_argument, "seqstart_q or seqstart_k is null");
  return Status::success();
}

}  // namespace ckgen::tile
