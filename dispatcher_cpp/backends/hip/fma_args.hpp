// What the kernels of fused multiply-adds take: plain structs, the same on both sides of a launch, and pure functions
// that fill them, for either. C++17, no HIP.
#pragma once

#include <cstdint>

#include <ckgen/gemm_types.hpp>
#include <ckgen/grouped.hpp>
#include <ckgen/preshuffle.hpp>

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
  const void* bias;  // fp32
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

constexpr std::int64_t fma_parts(std::int64_t size, std::int64_t of) noexcept {
  return size <= 0 ? 0 : size / of + (size % of != 0 ? 1 : 0);
}

/// Where the scales of a GEMM lie.
constexpr void fma_scales(Quant quant, ScaleBlock block, const GemmArgs& x, FmaArgs& to) noexcept {
  const bool mx = quant == Quant::mx;
  const std::int64_t groups = mx ? x.k / 32 : quant == Quant::blockscale ? x.k / block.k : 1;
  const std::int64_t rows_of_b = quant == Quant::blockscale ? fma_parts(x.n, block.n) : x.n;
  const bool groups_first = quant == Quant::blockscale && !x.a_scale_row_major;
  to.a_scale_row = groups_first ? 1 : groups;
  to.a_scale_group = groups_first ? x.m : 1;
  to.b_scale_row = groups;
  to.mx_scale_shuffled = mx && x.mx_scale_shuffled;
  to.a_scale_batch = to.mx_scale_shuffled ? shuffled_mx_scale_bytes(x.m, groups) : x.m * groups;
  to.b_scale_batch = to.mx_scale_shuffled ? shuffled_mx_scale_bytes(x.n, groups) : rows_of_b * groups;
  if (x.batch_stride_a == 0) to.a_scale_batch = 0;
  if (x.batch_stride_b == 0) to.b_scale_batch = 0;
}

/// All but `tiles` and `workgroups`, for tiles of C of tile_m x tile_n.
constexpr FmaArgs fma_args(Quant quant, ScaleBlock block, const GemmArgs& x, std::int64_t tile_m,
                           std::int64_t tile_n) noexcept {
  FmaArgs to{};
  to.a = x.a;
  to.a1 = x.a1;
  to.b = x.b;
  to.b1 = x.b1;
  to.c = x.c;
  to.a_scale = x.a_scale;
  to.b_scale = x.b_scale;
  to.bias = x.bias;
  to.m = x.m;
  to.n = x.n;
  to.k = x.k;
  to.lda = x.lda;
  to.ldb = x.ldb;
  to.ldc = x.ldc;
  to.batch_a = x.batch_stride_a;
  to.batch_b = x.batch_stride_b;
  to.batch_c = x.batch_stride_c;
  for (int i = 0; i < kMaxD; ++i) {
    to.d[i] = x.d[i];
    to.ldd[i] = x.ldd[i];
    to.batch_d[i] = x.batch_stride_d[i];
  }
  to.alpha = x.alpha;
  fma_scales(quant, block, x, to);
  to.tiles_m = fma_parts(x.m, tile_m);
  to.tiles_n = fma_parts(x.n, tile_n);
  return to;
}

/// Groups, whose operands and sizes lie in device memory; workgroup i takes the tiles i, i + workgroups, … of all.
struct FmaGroupedArgs {
  const GroupOperands* operands;
  const GroupSize* sizes;
  std::int64_t count;
  std::int64_t workgroups;
  float alpha;
  bool a_scale_row_major;
  bool mx_scale_shuffled;
};

/// The launch of the copy of groups that lie in device memory into their table: one workgroup.
struct FmaTableArgs {
  const GroupOperands* operands;
  const GroupSize* sizes;
  GroupOperands* to_operands;
  GroupSize* to_sizes;
  std::int64_t count;
};

/// A table of groups is `count` GroupOperands and, behind them, as many GroupSize.
constexpr std::uint64_t fma_sizes_offset(std::int64_t count) noexcept {
  return static_cast<std::uint64_t>(count) * sizeof(GroupOperands);
}
constexpr std::uint64_t fma_table_bytes(std::int64_t count) noexcept {
  return fma_sizes_offset(count) + static_cast<std::uint64_t>(count) * sizeof(GroupSize);
}

}  // namespace ckgen::hip
