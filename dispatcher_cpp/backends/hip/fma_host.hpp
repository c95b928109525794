// The host side of the kernels of fused multiply-adds: one kernel call, which takes any problem of its signature.
// C++17, no HIP.
//
// Functions neither allocate nor follow a pointer; thread-safe.
#pragma once

#include <cstdint>

#include <ckgen/device_code.hpp>
#include <ckgen/gemm_types.hpp>

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

/// PrepareFn's work.
inline Status prepare_fma(const FmaKernel& kernel, const Launch& launch, KernelCall& out) noexcept {
  const GemmArgs& x = *launch.args;
  if (launch.k_batch > 1) return Status::error(StatusCode::unsupported, "%s: no splits of K", kernel.symbol);
  const Signature& s = launch.problem->signature();
  FmaArgs to = fma_args(s.quant, s.scale_block, x, kernel.m, kernel.n);
  if (__builtin_mul_overflow(to.tiles_m * to.tiles_n, x.batch < 1 ? 1 : x.batch, &to.tiles))
    return Status::error(StatusCode::unsupported, "%s: more tiles than 63 bits count", kernel.symbol);
  to.workgroups = to.tiles < kFmaMostWorkgroups ? to.tiles : kFmaMostWorkgroups;
  return device::fill(out, kernel.symbol, {static_cast<std::uint64_t>(to.workgroups), 1, 1},
                      {static_cast<std::uint64_t>(kFmaLanes), 1, 1}, 0, to);
}

}  // namespace ckgen::hip
