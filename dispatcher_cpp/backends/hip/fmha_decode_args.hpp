// What the attention kernel over a KV cache takes: one struct, the same on both sides of a launch. C++17, no HIP.
#pragma once

#include <cstdint>

#include <ckgen/fmha.hpp>
#include <ckgen/fmha_split.hpp>

namespace ckgen::hip {

inline constexpr int kDecodeRows = 16;  // of a query tile: queries x query heads of one KV head
inline constexpr int kDecodeWaves = 4;
inline constexpr int kDecodeThreads = kDecodeWaves * 64;

/// Keys that a workgroup takes at a time, of KV elements of so many bytes: what cuts of a plan are multiples of.
constexpr int decode_step(int kv_bytes) noexcept {
  return kDecodeWaves * 64 / kv_bytes;
}

/// x / size for 0 <= x < 2^31: the upper half of 2 x times `factor`, shifted right by `shift`.
struct PageDivision {
  std::uint32_t factor;
  std::uint32_t shift;
};

/// `size` from 1 to 2^31 - 1.
constexpr PageDivision page_division(std::uint32_t size) noexcept {
  std::uint32_t shift = 0;
  while ((std::uint64_t{1} << shift) < size) ++shift;
  return {static_cast<std::uint32_t>(((std::uint64_t{1} << (31 + shift)) + size - 1) / size), shift};
}

/// Strides count elements. Null and 0 where the kernel's signature has no such thing.
struct FmhaDecodeArgs {
  const void* q;
  const void* k;
  const void* v;
  void* o;
  float* lse;
  float* o_acc;  // fp32 rows of each of several splits
  float* lse_acc;
  const float* sink;
  const float* k_descale;
  const float* v_descale;
  const FmhaSplitItem* items;  // null: `splits` equal ones of each tile
  const std::int32_t* seqstart_q;
  const std::int32_t* seqstart_k;
  const std::int32_t* seqlen_q;
  const std::int32_t* seqlen_k;
  const std::int32_t* pages;  // of block_table or kv_pages
  const std::int32_t* page_starts;
  const std::int32_t* last_page;
  FmhaStrides q_strides, k_strides, v_strides, o_strides;
  std::int64_t lse_head_stride, lse_batch_stride;
  std::int64_t table_stride;
  std::int64_t partial_rows;  // of a head: with items of the plan, else of a split
  FmhaShape shape;
  float scale;           // of scores: scale, descale of K; with softcap over softcap
  float softcap;         // of scores to powers of 2
  std::int32_t q_tiles;  // without items, of a request
  std::int32_t splits;
  PageDivision page;
};

}  // namespace ckgen::hip
