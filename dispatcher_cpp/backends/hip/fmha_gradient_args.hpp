// What our kernels of attention's gradients take: one struct, the same on both sides of a launch. C++17, no HIP.
#pragma once

#include <cstdint>

#include <ckgen/fmha.hpp>

#include "fmha_tile.hpp"

namespace ckgen::hip {

/// Strides count elements; [batch][heads_q][rows] of delta by its own. Null and 0 where the kernel's signature has no
/// such thing; dbias and dsink null: not wanted. What rows, heads or sequences share of dbias is summed over them.
struct FmhaGradientArgs {
  const void* q;
  const void* k;
  const void* v;
  const void* o;
  const void* dout;
  const float* lse;
  const void* bias;
  const float* sink;
  const std::uint8_t* rand_val;
  float* delta;
  void* dq;
  void* dk;
  void* dv;
  void* dbias;
  float* dsink;
  const std::int32_t* seqstart_q;
  const std::int32_t* seqstart_k;
  const std::int32_t* seqlen_q;
  const std::int32_t* seqlen_k;
  FmhaStrides q_strides, k_strides, v_strides, o_strides, dout_strides;
  FmhaStrides dq_strides, dk_strides, dv_strides;
  FmhaStrides bias_strides, dbias_strides, rand_val_strides;
  FmhaStrides lse_strides, delta_strides;
  std::uint64_t seed, offset;
  std::int32_t batch, heads_q, heads_k;
  std::int32_t seqlen_of_q, seqlen_of_k;  // the longest
  std::int32_t hdim_q, hdim_v;
  std::int32_t window_left, window_right, sink_tokens;
  std::int32_t most_kept;  // the largest byte that dropout keeps
  std::int32_t key_tiles;  // of the longest sequence
  float scale, softcap;
  float kept_factor;  // of what dropout keeps
  bool top_left;
  bool shares_batch, shares_heads, shares_rows;  // elements of dbias
};

}  // namespace ckgen::hip
