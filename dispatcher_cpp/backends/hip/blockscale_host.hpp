// The host side of the block-scale kernels: what is refused, and one kernel call. C++17, no HIP.
//
// Functions neither allocate nor follow a pointer; thread-safe.
#pragma once

#include <cstdint>
#include <limits>

#include <ckgen/device_code.hpp>
#include <ckgen/gemm_types.hpp>

#include "../device/kernel_call.hpp"
#include "blockscale_args.hpp"

namespace ckgen::hip {

inline constexpr std::int64_t kBlockScaleRow =
    16;  // bytes of a lane's load: what rows of A and B begin at multiples of

/// One kernel: its symbol, its tile of C, its work-items.
struct BlockScaleKernel {
  const char* symbol;
  std::int64_t m;
  std::int64_t n;
  std::uint32_t threads;
  bool preshuffled_b;
};

inline Status check_rows(const char* symbol, const char* name, const void* memory, std::int64_t stride,
                         std::int64_t of_a_tile) noexcept {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();  // of a raw buffer's offset
  if (stride % kBlockScaleRow != 0 || reinterpret_cast<std::uintptr_t>(memory) % kBlockScaleRow != 0)
    return Status::error(StatusCode::unsupported, "%s: rows of %s do not begin at multiples of %lld bytes", symbol,
                         name, static_cast<long long>(kBlockScaleRow));
  if (stride > kMost / of_a_tile)
    return Status::error(StatusCode::unsupported, "%s: %lld rows of %s, %lld bytes apart, are beyond 2 GiB", symbol,
                         static_cast<long long>(of_a_tile), name, static_cast<long long>(stride));
  return Status::success();
}

/// PrepareFn's work.
inline Status prepare_blockscale(const BlockScaleKernel& kernel, const Launch& launch, KernelCall& out) noexcept {
  const GemmArgs& x = *launch.args;
  const char* symbol = kernel.symbol;
  if (launch.k_batch > 1 || x.batch > 1)
    return Status::error(StatusCode::unsupported, "%s: neither batches nor splits of K", symbol);
  if (x.k % kScaleGroup != 0)
    return Status::error(StatusCode::unsupported, "%s: K = %lld is not a multiple of %d", symbol,
                         static_cast<long long>(x.k), kScaleGroup);
  const std::int64_t groups = x.k / kScaleGroup, ldb = kernel.preshuffled_b ? x.k : x.ldb;
  if (const Status status = check_rows(symbol, "A", x.a, x.lda, kernel.m); !status.ok()) return status;
  if (const Status status = check_rows(symbol, "B", x.b, ldb, kernel.n); !status.ok()) return status;
  const BlockScaleArgs args{
      x.a,   x.b, x.c,   static_cast<const float*>(x.a_scale), static_cast<const float*>(x.b_scale), x.m, x.n, x.k,
      x.lda, ldb, x.ldc, x.a_scale_row_major ? groups : 1,     x.a_scale_row_major ? 1 : x.m};
  const auto tiles = static_cast<std::uint64_t>((x.m + kernel.m - 1) / kernel.m) *
                     static_cast<std::uint64_t>((x.n + kernel.n - 1) / kernel.n);
  return device::fill(out, symbol, {tiles, 1, 1}, {kernel.threads, 1, 1}, 0, args);
}

}  // namespace ckgen::hip
