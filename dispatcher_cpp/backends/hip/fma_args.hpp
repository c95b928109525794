// What the kernels of fused multiply-adds take: a plain struct, the same on both sides of a launch. C++17, no HIP.
#pragma once

#include <cstdint>

#include <ckgen/words.hpp>

namespace ckgen::hip {

inline constexpr int kFmaLanes = 256;

/// A GEMM as GemmArgs says it; strides count elements. Scale (r, g) of A lies at r * a_scale_row + g * a_scale_group,
/// that of B at r * b_scale_row + g; those of a batch entry begin *_scale_batch behind the last one's. Shuffled mx
/// scales count bytes from entry to entry. Of `tiles` tiles workgroup i of `workgroups` computes i, i + workgroups, ….
struct FmaArgs {
  const void* a;
  const void* a1;
  const void* b;
  const void* b1;
  void* c;
  const void* a_scale;
  const void* b_scale;
  const float* bias;
  const void* d[kMaxD];
  std::int64_t m, n, k;
  std::int64_t lda, ldb, ldc, ldd[kMaxD];
  std::int64_t batch_a, batch_b, batch_c, batch_d[kMaxD];
  std::int64_t a_scale_row, a_scale_group, a_scale_batch;
  std::int64_t b_scale_row, b_scale_batch;
  std::int64_t tiles, tiles_m, tiles_n;
  std::int64_t workgroups;
  float alpha;
  bool mx_scale_shuffled;
};

}  // namespace ckgen::hip
