// What our kernel of attention of any options takes: one struct, the same on both sides of a launch. C++17, no HIP.
#pragma once

#include <cstdint>

#include <ckgen/fmha.hpp>

#include "fmha_tile.hpp"

namespace ckgen::hip {

/// Strides count elements. Null and 0 where the kernel's signature has no such thing.
struct FmhaForwardArgs {
  const void* q;
  const void* k;
  const void* v;
  void* o;
  float* lse;
  float* o_acc;  // fp32 rows of each of several splits
  float* lse_acc;
  const void* bias;
  const float* sink;
  const std::uint8_t* rand_val;
  const float* q_descale;
  const float* k_descale;
  const float* v_descale;
  const std::int32_t* seqstart_q;
  const std::int32_t* seqstart_k;
  const std::int32_t* seqlen_q;
  const std::int32_t* seqlen_k;
  const std::int32_t* pages;  // of block_table or kv_pages
  const std::int32_t* page_starts;
  const std::int32_t* last_page;
  FmhaStrides q_strides, k_strides, v_strides, o_strides;
  FmhaStrides bias_strides, rand_val_strides, lse_strides;
  std::int64_t table_stride;
  std::int64_t partial_rows;  // of a head and split
  std::uint64_t seed, offset;
  FmhaShape shape;
  std::int32_t splits;
  std::int32_t most_kept;  // the largest byte that dropout keeps
  float scale, softcap;
  float kept_factor;  // of what dropout keeps
};

}  // namespace ckgen::hip
