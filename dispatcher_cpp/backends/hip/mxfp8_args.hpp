// What the MX-FP8 kernels take: plain structs, the same on both sides of a launch. C++17, no HIP.
//
// An MX-FP8 matrix is rows of e4m3 bytes, k contiguous, and rows of e8m0 scales, one per 32 elements of k, without
// gaps. Strides count elements; those of A and B are multiples of 16, their memory is aligned to 16 bytes.
#pragma once

#include <cstdint>

namespace ckgen::hip {

inline constexpr int kMxBlock = 32;  // elements of k per scale

/// C = A * B: A is m x k, B is n x k, C is m x n of bf16.
struct MxGemmArgs {
  const void* a;
  const void* a_scale;
  const void* b;
  const void* b_scale;
  void* c;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t lda;
  std::int64_t ldb;
  std::int64_t ldc;
};

/// Rows of A gathered by sorted token ids (ckgen/moe.hpp) times their expert's rows of B, of which gated products have
/// n for the gate and n for up. Results have a row per token and slot, token * top_k + slot.
struct MxMoeArgs {
  const void* a;        // gate_up: a row per token; down: per token and slot
  const void* a_scale;  // in the order of these rows
  const void* b;        // experts x n (gated: 2 n) rows of k
  const void* b_scale;  // the same of k / 32
  void* c;              // gate_up: bf16; down: fp32, not yet added up
  const std::int32_t* token_ids;
  const std::int32_t* expert_ids;
  const std::int32_t* valid;
  const float* weights;  // in the order of token_ids, multiply the sums; null: none
  std::int64_t tokens;
  std::int64_t n;
  std::int64_t k;
  std::int64_t lda;
  std::int64_t ldc;
  std::int32_t experts;
  std::int32_t top_k;
};

}  // namespace ckgen::hip
