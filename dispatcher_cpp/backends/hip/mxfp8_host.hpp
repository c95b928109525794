// The host side of the MX-FP8 kernels: what is refused of a call's memory, and one kernel call. C++17, no HIP.
//
// Functions neither allocate nor follow a pointer; thread-safe.
#pragma once

#include <cstdint>

#include <ckgen/device_code.hpp>
#include <ckgen/gemm_types.hpp>

#include "../device/kernel_call.hpp"
#include "mxfp8_args.hpp"

namespace ckgen::hip {

inline constexpr std::int64_t mx_max_bytes = std::int64_t{1} << 31;  // what a raw buffer reaches
inline constexpr std::int64_t mx_row_bytes = 16;                     // rows begin at whole loads

/// One kernel: its symbol, what a workgroup computes of C, and its work-items.
struct MxKernel {
  const char* symbol;
  std::uint32_t rows;
  std::uint32_t columns;
  std::uint32_t threads;
  std::int64_t k_grain;
};

/// Refuses `rows` rows of `width` elements, `stride` apart, that a raw buffer does not reach.
inline Status check_reach(const char* symbol, const char* name, std::int64_t rows, std::int64_t stride,
                          std::int64_t width, std::int64_t bytes) noexcept {
  const std::int64_t most = mx_max_bytes / bytes;
  if (rows > 0 && (width > most || stride < 0 || (rows > 1 && stride > (most - width) / (rows - 1))))
    return Status::error(StatusCode::unsupported, "%s: %s of %lld rows, %lld elements apart, is beyond %lld bytes",
                         symbol, name, static_cast<long long>(rows), static_cast<long long>(stride),
                         static_cast<long long>(mx_max_bytes));
  return Status::success();
}

/// Refuses an operand whose rows do not begin at whole loads.
inline Status check_operand(const char* symbol, const char* name, const void* memory, std::int64_t stride) noexcept {
  if (stride % mx_row_bytes == 0 && reinterpret_cast<std::uintptr_t>(memory) % mx_row_bytes == 0)
    return Status::success();
  return Status::error(StatusCode::unsupported, "%s: rows of %s do not begin at multiples of %lld bytes", symbol, name,
                       static_cast<long long>(mx_row_bytes));
}

inline Status check_k(const char* symbol, std::int64_t k, std::int64_t grain) noexcept {
  if (k > 0 && k % grain == 0) return Status::success();
  return Status::error(StatusCode::unsupported, "%s: K = %lld is not a multiple of %lld", symbol,
                       static_cast<long long>(k), static_cast<long long>(grain));
}

constexpr std::uint64_t parts(std::int64_t size, std::uint32_t of) noexcept {
  return (static_cast<std::uint64_t>(size) + of - 1) / of;
}

/// PrepareFn's work for a plain GEMM. Rows of A beyond the kernel's take more workgroups.
inline Status prepare_mx_gemm(const MxKernel& kernel, const Launch& launch, KernelCall& out) noexcept {
  const GemmArgs& x = *launch.args;
  const char* symbol = kernel.symbol;
  if (launch.k_batch > 1 || x.batch > 1)
    return Status::error(StatusCode::unsupported, "%s: neither batches nor splits of K", symbol);
  if (x.mx_scale_shuffled)
    return Status::error(StatusCode::unsupported, "%s: scales are read row by row, not shuffled", symbol);
  if (const Status status = check_k(symbol, x.k, kernel.k_grain); !status.ok()) return status;
  if (const Status status = check_operand(symbol, "A", x.a, x.lda); !status.ok()) return status;
  if (const Status status = check_operand(symbol, "B", x.b, x.ldb); !status.ok()) return status;
  if (const Status status = check_reach(symbol, "A", x.m, x.lda, x.k, 1); !status.ok()) return status;
  if (const Status status = check_reach(symbol, "B", x.n, x.ldb, x.k, 1); !status.ok()) return status;
  if (const Status status = check_reach(symbol, "C", x.m, x.ldc, x.n, 2); !status.ok()) return status;
  const MxGemmArgs args{x.a, x.a_scale, x.b, x.b_scale, x.c, x.m, x.n, x.k, x.lda, x.ldb, x.ldc};
  const device::Extent grid{parts(x.n, kernel.columns), parts(x.m, kernel.rows), 1};
  return device::fill(out, symbol, grid, device::Extent{kernel.threads, 1, 1}, 0, args);
}

}  // namespace ckgen::hip
