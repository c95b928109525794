// The host side of the kernels of fused multiply-adds: one kernel call, which takes any problem of its signature.
// C++17, no HIP.
//
// Functions neither allocate nor follow a pointer; thread-safe.
#pragma once

#include <cstdint>

#include <ckgen/device_code.hpp>
#include <ckgen/gemm_types.hpp>
#include <ckgen/preshuffle.hpp>

#include "../device/kernel_call.hpp"
#include "fma_args.hpp"

namespace ckgen::hip {

/// One kernel: its symbol, its tile of C.
struct FmaKernel {
  const char* symbol;
  std::int64_t m;
  std::int64_t n;
};

inline constexpr std::int64_t kFmaMostWorkgroups = 1 << 20;  // each computes tile after tile

constexpr std::int64_t fma_parts(std::int64_t size, std::int64_t of) noexcept {
  return size / of + (size % of != 0 ? 1 : 0);
}

/// Where the scales of a GEMM lie.
inline void fma_scales(const Signature& s, const GemmArgs& x, FmaArgs& to) noexcept {
  const bool mx = s.quant == Quant::mx;
  const std::int64_t groups = mx ? x.k / 32 : s.quant == Quant::blockscale ? x.k / s.scale_block.k : 1;
  const std::int64_t rows_of_b = s.quant == Quant::blockscale ? fma_parts(x.n, s.scale_block.n) : x.n;
  const bool groups_first = s.quant == Quant::blockscale && !x.a_scale_row_major;
  to.a_scale_row = groups_first ? 1 : groups;
  to.a_scale_group = groups_first ? x.m : 1;
  to.b_scale_row = groups;
  to.mx_scale_shuffled = mx && x.mx_scale_shuffled;
  to.a_scale_batch = to.mx_scale_shuffled ? shuffled_mx_scale_bytes(x.m, groups) : x.m * groups;
  to.b_scale_batch = to.mx_scale_shuffled ? shuffled_mx_scale_bytes(x.n, groups) : rows_of_b * groups;
  if (x.batch_stride_a == 0) to.a_scale_batch = 0;
  if (x.batch_stride_b == 0) to.b_scale_batch = 0;
}

/// PrepareFn's work.
inline Status prepare_fma(const FmaKernel& kernel, const Launch& launch, KernelCall& out) noexcept {
  const GemmArgs& x = *launch.args;
  if (launch.k_batch > 1) return Status::error(StatusCode::unsupported, "%s: no splits of K", kernel.symbol);
  FmaArgs to{};
  to.a = x.a;
  to.a1 = x.a1;
  to.b = x.b;
  to.b1 = x.b1;
  to.c = x.c;
  to.a_scale = x.a_scale;
  to.b_scale = x.b_scale;
  to.bias = static_cast<const float*>(x.bias);
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
  fma_scales(launch.problem->signature(), x, to);
  to.tiles_m = fma_parts(x.m, kernel.m);
  to.tiles_n = fma_parts(x.n, kernel.n);
  if (__builtin_mul_overflow(to.tiles_m * to.tiles_n, x.batch < 1 ? 1 : x.batch, &to.tiles))
    return Status::error(StatusCode::unsupported, "%s: more tiles than 63 bits count", kernel.symbol);
  to.workgroups = to.tiles < kFmaMostWorkgroups ? to.tiles : kFmaMostWorkgroups;
  return device::fill(out, kernel.symbol, {static_cast<std::uint64_t>(to.workgroups), 1, 1},
                      {static_cast<std::uint64_t>(kFmaLanes), 1, 1}, 0, to);
}

}  // namespace ckgen::hip
