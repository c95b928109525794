// What the block-scale kernels take: a plain struct, the same on both sides of a launch. C++17, no HIP.
#pragma once

#include <cstdint>

namespace ckgen::hip {

inline constexpr int kScaleGroup = 128;  // elements of k, and rows of B, that share a scale

/// C = sum over groups g of k of ((A_g * B_g) * a_scale[m][g]) * b_scale[n / 128][g]: A is m x k, B n x k of fp8, C
/// m x n. Strides count elements; those of A and B are multiples of 16, their memory is aligned to 16 bytes. The scale
/// of row m and group g of A lies at m * a_scale_row + g * a_scale_group.
struct BlockScaleArgs {
  const void* a;
  const void* b;
  void* c;
  const float* a_scale;
  const float* b_scale;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t lda;
  std::int64_t ldb;
  std::int64_t ldc;
  std::int64_t a_scale_row;
  std::int64_t a_scale_group;
};

}  // namespace ckgen::hip
