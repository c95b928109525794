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

/// Rows of A gathered by sorted token ids (ckgen/moe.hpp) times their expert's rows of B. C has a row per token and
/// slot, token * top_k + slot; an id's row of A is its row of C divided by a_div, top_k or 1.
struct MxMoeArgs {
  const void* a;
  const void* a_scale;
  const void* b;        // experts x n rows of k
  const void* b_scale;  // experts x n rows of k / 32
  void* c;
  const std::int32_t* token_ids;
  const std::int32_t* expert_ids;
  const std::int32_t* valid;
  const float* weights;  // multiply the rows of C; null: none
  std::int64_t tokens;
  std::int64_t n;
  std::int64_t k;
  std::int64_t lda;
  std::int64_t ldc;
  std::int32_t experts;
  std::int32_t top_k;
  std::int32_t a_div;
  std::int32_t weight_by_position;  // 1: weights go with token_ids; 0: with rows of C
};

}  // namespace ckgen::hip
