// fmha_fwd: attention forward in bf16, of batches or of sequences one after the other; masks are causal.
//
// A row that sees no key gives O = 0 and lse = -infinity. Which problems an instance takes is in FmhaConfig.
#pragma once

#include <cstdint>

#include <ckgen/fmha.hpp>

#include "backends/asm/fmha_limits.hpp"
#include "backends/asm/shipped.hpp"

namespace ckgen::asm_host {

/// One shipped kernel. `tile`: rows of Q that a workgroup has at once; where masked it takes two such tiles.
struct FmhaForwardKernel {
  const char* instance;
  const char* symbol;
  std::uint32_t tile;
  std::uint32_t block;
  bool varlen, masked, lse;
};

/// Strides in bytes, of a row, a head and a batch. Lengths of varlen are the differences of starts; rows are found by
/// the padded starts. lse of batch b begins b * heads * lse_head bytes on.
struct FmhaForwardArguments {
  Slot<void*> o;
  Slot<const void*> q, k, v;
  Slot<float*> lse;
  Slot<float> scale;
  Slot<std::uint32_t> q_length;
  Slot<std::uint32_t> q_row, q_tile, q_head, q_batch;
  Slot<std::uint32_t> heads_per_kv;
  Slot<std::uint32_t> k_row, k_head, k_batch;
  Slot<std::uint32_t> order;
  Slot<std::uint32_t> writes_lse;
  Slot<std::uint32_t> k_length;
  Slot<std::uint32_t> hdim_q, hdim_v;
  Slot<std::uint32_t> heads;
  Slot<std::uint32_t> v_row, v_head, v_batch;
  Slot<std::uint32_t> o_row, o_head, o_batch;
  Slot<const std::int32_t*> q_starts, k_starts;
  Slot<std::uint32_t> lse_head;
  Slot<const std::int32_t*> q_padded_starts, k_padded_starts;
};
static_assert(sizeof(FmhaForwardArguments) == 32 * 16);

/// How workgroups of a mask are numbered: heads in eights side by side, or one head's tiles in eights.
inline std::uint32_t forward_order(const FmhaForwardKernel& kernel, const FmhaShape& shape) noexcept {
  constexpr std::uint32_t kHeads = 5, kTiles = 3;
  constexpr std::int64_t kLong = 16384;
  return kernel.masked && (shape.heads_q % 8 != 0 || shape.seqlen_q > kLong) ? kTiles : kHeads;
}

/// Refuses what the kernel has no argument for.
inline Status check_fmha_fwd(const FmhaForwardKernel& kernel, const Launch& launch) noexcept {
  const FmhaShape& x = launch.problem->fmha();
  const FmhaArgs& a = *launch.fmha;
  const char* name = kernel.instance;
  if (const Status status = check_fmha_call(name, launch); !status.ok()) return status;
  if (a.seqlen_q != nullptr || a.seqlen_k != nullptr)
    return Status::error(StatusCode::unsupported,
                         "%s: lengths are given apart (seqlen_q or seqlen_k), the kernel knows those of the %s", name,
                         kernel.varlen ? "starts" : "shape");
  if (kernel.varlen && (a.seqstart_q == nullptr || a.seqstart_k == nullptr))
    return Status::error(StatusCode::invalid_argument, "%s: seqstart_q or seqstart_k is null", name);
  // a batch, or all sequences' rows: of K at most so many
  const std::int64_t batch = kernel.varlen ? 1 : x.batch, of_k = kernel.varlen ? x.batch * x.seqlen_k : x.seqlen_k;
  const std::int64_t of_q = !kernel.varlen ? x.seqlen_q : x.total_q != 0 ? x.total_q : x.batch * x.seqlen_q;
  const std::int64_t reach = 2 * kernel.tile;
  const FmhaTensor tensors[] = {{"Q", a.q, a.q_strides, of_q, x.hdim_q, x.heads_q, batch, DType::bf16, reach},
                                {"K", a.k, a.k_strides, of_k, x.hdim_q, x.heads_k, batch, DType::bf16, reach},
                                {"V", a.v, a.v_strides, of_k, x.hdim_v, x.heads_k, batch, DType::bf16, reach},
                                {"O", a.o, a.o_strides, of_q, x.hdim_v, x.heads_q, batch, DType::bf16, reach},
                                {"lse",
                                 a.lse,
                                 {1, a.lse_head_stride, a.lse_batch_stride},
                                 kernel.lse ? of_q : 0,
                                 1,
                                 x.heads_q,
                                 batch,
                                 DType::fp32,
                                 reach}};
  for (const FmhaTensor& one : tensors) {
    if (const Status status = check_fmha_tensor(name, one); !status.ok()) return status;
  }
  if (kernel.lse && batch > 1 && a.lse_batch_stride != x.heads_q * a.lse_head_stride)
    return Status::error(StatusCode::unsupported, "%s: lse of a batch is %lld on, not that of its %d heads", name,
                         static_cast<long long>(a.lse_batch_stride), x.heads_q);
  return Status::success();
}

/// PrepareFn's work for one kernel.
inline Status prepare_fmha_fwd(const FmhaForwardKernel& kernel, const Launch& launch, KernelCall& out) noexcept {
  if (const Status status = check_fmha_fwd(kernel, launch); !status.ok()) return status;
  const FmhaShape& x = launch.problem->fmha();
  const FmhaArgs& a = *launch.fmha;
  const auto batch = [&kernel](const FmhaStrides& of) { return kernel.varlen ? 0 : narrow(2 * of.batch); };
  FmhaForwardArguments to;
  to.o.value = a.o;
  to.q.value = a.q;
  to.k.value = a.k;
  to.v.value = a.v;
  to.lse.value = a.lse;
  to.scale.value = a.scale;
  to.q_length.value = narrow(x.seqlen_q);
  to.q_row.value = narrow(2 * a.q_strides.row);
  to.q_tile.value = narrow(2 * a.q_strides.row * kernel.tile);
  to.q_head.value = narrow(2 * a.q_strides.head);
  to.q_batch.value = batch(a.q_strides);
  to.heads_per_kv.value = narrow(x.heads_q / x.heads_k);
  to.k_row.value = narrow(2 * a.k_strides.row);
  to.k_head.value = narrow(2 * a.k_strides.head);
  to.k_batch.value = batch(a.k_strides);
  to.order.value = forward_order(kernel, x);
  to.writes_lse.value = kernel.lse ? 1 : 0;
  to.k_length.value = narrow(x.seqlen_k);
  to.hdim_q.value = narrow(x.hdim_q);
  to.hdim_v.value = narrow(x.hdim_v);
  to.heads.value = narrow(x.heads_q);
  to.v_row.value = narrow(2 * a.v_strides.row);
  to.v_head.value = narrow(2 * a.v_strides.head);
  to.v_batch.value = batch(a.v_strides);
  to.o_row.value = narrow(2 * a.o_strides.row);
  to.o_head.value = narrow(2 * a.o_strides.head);
  to.o_batch.value = batch(a.o_strides);
  to.lse_head.value = narrow(4 * a.lse_head_stride);
  if (kernel.varlen) {
    to.q_starts.value = to.q_padded_starts.value = a.seqstart_q;
    to.k_starts.value = to.k_padded_starts.value = a.seqstart_k;
  }
  const auto rows = static_cast<std::uint64_t>(x.seqlen_q);
  const std::uint64_t tiles = ceil_div(ceil_div(rows, kernel.tile), kernel.masked ? 2 : 1);
  const auto heads = static_cast<std::uint64_t>(x.heads_q), batches = static_cast<std::uint64_t>(x.batch);
  const device::Extent grid =
      kernel.varlen ? device::Extent{heads, batches, tiles} : device::Extent{tiles, heads, batches};
  if (grid.y > kMostGrid || grid.z > kMostGrid)
    return Status::error(StatusCode::unsupported, "%s: %llu workgroups along an axis that takes %llu", kernel.instance,
                         static_cast<unsigned long long>(grid.y > kMostGrid ? grid.y : grid.z),
                         static_cast<unsigned long long>(kMostGrid));
  return device::fill(out, kernel.symbol, grid, device::Extent{kernel.block, 1, 1}, 0, to);
}

}  // namespace ckgen::asm_host
