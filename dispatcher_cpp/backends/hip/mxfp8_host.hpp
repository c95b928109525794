// The host side of the MX-FP8 kernels: what is refused, and one kernel call. C++17, no HIP.
//
// The numbers are those of mxfp8_envelope.hpp. Functions neither allocate nor follow a pointer; thread-safe.
#pragma once

#include <cstdint>

#include <ckgen/device_code.hpp>
#include <ckgen/gemm_types.hpp>

#include "../device/kernel_call.hpp"
#include "mxfp8_args.hpp"
#include "mxfp8_envelope.hpp"

namespace ckgen::hip {

/// One kernel: its symbol, what a workgroup computes of C, and its work-items.
struct MxKernel {
  const char* symbol;
  std::uint32_t rows;
  std::uint32_t columns;
  std::uint32_t threads;
  std::int64_t k_grain;
};

template <int kCount>
constexpr bool holds(const std::int32_t (&list)[kCount], std::int64_t value) noexcept {
  for (const std::int32_t one : list) {
    if (one == value && one != 0) return true;
  }
  return false;
}

constexpr bool takes_k(const MxKindEnvelope& kind, std::int64_t k) noexcept {
  return k > 0 && (k % kind.k_multiple == 0 || holds(kind.k_also, k));
}

/// Whether a kind answers for a shape with packed operands; `tuned`: a row of a table asks for it.
constexpr bool engages(const MxKindEnvelope& kind, std::int64_t m, std::int64_t n, std::int64_t k,
                       bool tuned) noexcept {
  return holds(kind.rows, m) && (tuned || !holds(kind.needs_row, m)) && takes_k(kind, k) && n > 0 &&
         n <= mx_max_bytes / k && m <= mx_max_bytes / k && n <= mx_max_bytes / 2 / m;
}

/// The most tokens of expert products over K with so many experts; 0 for a K that no kernel takes.
constexpr std::int64_t most_tokens(std::int64_t k, std::int64_t experts) noexcept {
  for (const MxDepth& depth : mx_depths) {
    if (!holds(depth.k, k) && (depth.k_multiple == 0 || k % depth.k_multiple != 0)) continue;
    std::int64_t most = 0;
    for (const MxRouted& bound : depth.routed_m) {
      if (experts >= bound.experts && bound.most > most) most = bound.most;
    }
    return most;
  }
  return 0;
}

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

/// What sorted ids and weights have beside MxMoeArgs: how many entries there are.
struct MxRoutes {
  std::int64_t sorted_ids;
  std::int64_t weights;  // read only where there are weights
};

/// The same for one product of experts; rows of the kernel are block_m.
inline Status prepare_mx_moe(const MxKernel& kernel, const MxMoeArgs& x, const MxRoutes& routes,
                             KernelCall& out) noexcept {
  const char* symbol = kernel.symbol;
  const std::int64_t slots = x.tokens * x.top_k;
  if (!takes_k(mx_moe, x.k))
    return Status::error(StatusCode::unsupported, "%s: K = %lld is outside of the envelope", symbol,
                         static_cast<long long>(x.k));
  if (x.tokens > most_tokens(x.k, x.experts))
    return Status::error(StatusCode::unsupported, "%s: %lld tokens, at most %lld with %d experts and K = %lld", symbol,
                         static_cast<long long>(x.tokens), static_cast<long long>(most_tokens(x.k, x.experts)),
                         x.experts, static_cast<long long>(x.k));
  if (routes.sorted_ids <= 0 || routes.sorted_ids % kernel.rows != 0)
    return Status::error(StatusCode::unsupported, "%s: %lld sorted ids are no whole blocks of %u", symbol,
                         static_cast<long long>(routes.sorted_ids), kernel.rows);
  if (x.a_div != 1 && x.a_div != x.top_k)
    return Status::error(StatusCode::invalid_argument, "%s: a_div = %d is neither 1 nor top_k = %d", symbol, x.a_div,
                         x.top_k);
  const std::int64_t wanted = x.weight_by_position != 0 ? routes.sorted_ids : slots;
  if (x.weights != nullptr && routes.weights != wanted)
    return Status::error(StatusCode::invalid_argument, "%s: %lld routing weights, not %lld", symbol,
                         static_cast<long long>(routes.weights), static_cast<long long>(wanted));
  const std::int64_t rows_of_a = x.a_div == 1 ? slots : x.tokens;
  if (const Status status = check_operand(symbol, "A", x.a, x.lda); !status.ok()) return status;
  if (const Status status = check_operand(symbol, "B", x.b, x.k); !status.ok()) return status;
  if (const Status status = check_reach(symbol, "A", rows_of_a, x.lda, x.k, 1); !status.ok()) return status;
  if (const Status status = check_reach(symbol, "B", x.experts * x.n, x.k, x.k, 1); !status.ok()) return status;
  if (const Status status = check_reach(symbol, "C", slots, x.ldc, x.n, 2); !status.ok()) return status;
  const device::Extent grid{parts(x.n, kernel.columns), parts(routes.sorted_ids, kernel.rows), 1};
  return device::fill(out, symbol, grid, device::Extent{kernel.threads, 1, 1}, 0, x);
}

}  // namespace ckgen::hip
