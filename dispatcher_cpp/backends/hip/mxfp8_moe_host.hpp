// The host side of the MX-FP8 kernels of experts: one kernel call for a part of a layer. C++17, no HIP.
//
// Sizes are those that the instance's Constraints take; what is refused here is a call's memory.
#pragma once

#include "mxfp8_host.hpp"

namespace ckgen::hip {

/// PrepareFn's work for gate_up and down; rows of the kernel are block_m, its columns are rows of B. down writes the
/// rows of slots to launch.workspace (MoeStages::slots).
inline Status prepare_mx_moe(const MxKernel& kernel, const Launch& launch, KernelCall& out) noexcept {
  const char* symbol = kernel.symbol;
  const Problem& p = *launch.problem;
  const MoeTraits& moe = p.signature().moe;
  const MoeArgs& x = *launch.moe;
  const bool down = moe.part == MoePart::down;
  const Routing routing = p.routing();
  const std::int64_t slots = p.m() * routing.top_k, rows_a = down ? slots : p.m(), ldc = down ? p.n() : x.ldc;
  const std::int64_t rows_b = routing.experts * (moe.gated ? 2 : 1) * p.n();
  const void* b = down ? x.w2 : x.w1;
  if (x.mx_scale_shuffled || !x.a_scale_row_major)
    return Status::error(StatusCode::unsupported, "%s: the kernel reads scales row by row, not sorted and not shuffled",
                         symbol);
  if (const Status status = check_operand(symbol, "A", x.a, x.lda); !status.ok()) return status;
  if (const Status status = check_operand(symbol, "B", b, p.k()); !status.ok()) return status;
  if (const Status status = check_reach(symbol, "A", rows_a, x.lda, p.k(), 1); !status.ok()) return status;
  if (const Status status = check_reach(symbol, "B", rows_b, p.k(), p.k(), 1); !status.ok()) return status;
  const MxMoeArgs args{x.a,
                       x.a_scale,
                       b,
                       down ? x.w2_scale : x.w1_scale,
                       down ? launch.workspace : x.c,
                       x.sorted.token_ids,
                       x.sorted.expert_ids,
                       x.sorted.valid,
                       moe.weight_first == down ? nullptr : x.sorted.weights,
                       p.m(),
                       p.n(),
                       p.k(),
                       x.lda,
                       ldc,
                       routing.experts,
                       routing.top_k};
  const std::int64_t ids = sorted_capacity(p.m(), routing, kernel.rows);
  const device::Extent grid{parts(p.n(), kernel.columns / (moe.gated ? 2 : 1)), parts(ids, kernel.rows), 1};
  return device::fill(out, symbol, grid, device::Extent{kernel.threads, 1, 1}, 0, args);
}

}  // namespace ckgen::hip
