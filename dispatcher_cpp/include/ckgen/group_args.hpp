// One group of a grouped GEMM as the arguments of a GEMM of its own.
#pragma once

#include <ckgen/gemm_types.hpp>
#include <ckgen/grouped.hpp>

namespace ckgen {
inline namespace v1 {

/// What a group would be alone: a batch of one, with what all groups share. Follows no pointer.
constexpr GemmArgs args_of_group(const GroupedArgs& all, const GroupOperands& of, const GroupSize& size) noexcept {
  GemmArgs one{};
  one.a = of.a;
  one.b = of.b;
  one.c = of.c;
  one.a_scale = of.a_scale;
  one.b_scale = of.b_scale;
  one.bias = of.bias;
  one.a_scale_row_major = all.a_scale_row_major;
  one.mx_scale_shuffled = all.mx_scale_shuffled;
  one.m = size.m;
  one.n = size.n;
  one.k = size.k;
  one.batch = 1;
  one.lda = of.lda;
  one.ldb = of.ldb;
  one.ldc = of.ldc;
  for (int i = 0; i < kMaxD; ++i) {
    one.d[i] = of.d[i];
    one.ldd[i] = of.ldd[i];
  }
  one.alpha = all.alpha;
  one.a_scale_stride = all.a_scale_stride;
  return one;
}

}  // namespace v1
}  // namespace ckgen
