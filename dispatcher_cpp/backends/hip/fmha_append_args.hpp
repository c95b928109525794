// What our kernel that appends to a KV cache takes: one struct, the same on both sides of a launch. C++17, no HIP.
#pragma once

#include <cstdint>

#include <ckgen/fmha.hpp>

namespace ckgen::hip {

inline constexpr int kAppendRows = 8;   // tokens of a workgroup
inline constexpr int kAppendLines = 4;  // heads of K, V or Q of a workgroup, one per 64 lanes
inline constexpr int kAppendThreads = kAppendLines * 64;

/// Strides count elements. Null and 0 where the kernel's signature has no such thing.
struct FmhaAppendArgs {
  const void* q;
  void* o;
  const void* k_new;
  const void* v_new;
  void* k_cache;
  void* v_cache;
  const void* cos;
  const void* sin;
  const float* k_descale;
  const float* v_descale;
  const std::int32_t* seqstart_q;
  const std::int32_t* seqlen_q;
  const std::int32_t* seqstart_k;
  const std::int32_t* seqlen_k;
  const std::int32_t* pages;  // of block_table or kv_pages
  const std::int32_t* page_starts;
  const std::int32_t* last_page;
  FmhaStrides q_strides, o_strides, k_new_strides, v_new_strides, k_strides, v_strides;
  std::int64_t table_stride;
  std::int32_t batch, heads_q, heads_k;
  std::int32_t hdim_q, hdim_v, half;  // half of rotary_dim
  std::int32_t added, rotated;        // rows of a sequence that is not of varlen; of varlen `rotated` is 0 or not
  std::int32_t page_size;
  std::int32_t tiles;  // of kAppendRows tokens, of the longest sequence
};

}  // namespace ckgen::hip
