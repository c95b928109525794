// fmha_bwd: gradients of attention of batches, or of sequences one after the other, in bf16 and fp16; masks are causal
// from either corner, or of batches any windows.
//
// A plan has three kernels: delta, with a copy of lse; the shipped one, which adds to dQ in fp32; and one that rounds
// dQ. The first and the last are ours, compiled into a code object of their own. dK and dV are those of query heads.
// Which problems an instance takes is in FmhaConfig.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include <ckgen/fmha.hpp>

#include "backends/asm/fmha_bwd_args.hpp"
#include "backends/asm/fmha_limits.hpp"
#include "backends/asm/shipped.hpp"
#include "backends/device/fmha_backward_room.hpp"
#include "backends/device/fmha_first_stage.hpp"
#include "backends/hip/fmha_gradients_host.hpp"
#include "backends/hip/fmha_shipped_args.hpp"

namespace ckgen::asm_host {

inline constexpr std::uint8_t kStages = 1;  // the code object of our kernels, behind the shipped one

/// One shipped kernel and ours around it. `rows`: of a step; `keys`: of a workgroup, which where `causal` takes two
/// such tiles.
struct FmhaBackwardKernel {
  const char* instance;
  const char* symbol;
  const char* dot_do_o;
  const char* convert_dq;
  std::uint32_t rows, keys;
  std::uint32_t block;
  DType type;
  bool varlen, masked;
  BackwardForm form;
  bool causal;

  FmhaTraits traits() const noexcept {
    FmhaTraits found;
    found.entry = FmhaEntry::backward;
    found.varlen = varlen;
    found.masked = masked;
    return found;
  }
};

/// Rows of Q as a head of the sums of dQ and of delta has them.
inline std::int64_t rows_of_head(const FmhaBackwardKernel& kernel, const Problem& problem) noexcept {
  return kernel.varlen ? device::FmhaBackwardRoom::rows_of(problem) : problem.fmha().seqlen_q;
}

/// The fp32 sums of dQ, without gaps.
inline FmhaStrides strides_of_sums(const FmhaBackwardKernel& kernel, const Problem& problem) noexcept {
  const FmhaShape& x = problem.fmha();
  const std::int64_t head = rows_of_head(kernel, problem) * x.hdim_q;
  return {x.hdim_q, head, head * x.heads_q};
}

/// Launch::workspace, in bytes from its beginning: what other kernels of gradients have of it, then lse, whose rows are
/// delta's. Behind both is what a kernel with windows reads of rows that are not there.
struct BackwardRoom {
  device::FmhaBackwardRoom sums;
  std::uint64_t lse = 0;
  std::uint64_t bytes = 0;

  static BackwardRoom of(const Problem& problem) noexcept {
    constexpr std::uint64_t kAlign = 256, kBytesBehind = hip::kBehind * sizeof(float);
    BackwardRoom room{device::FmhaBackwardRoom::of(problem, false, 0)};
    const std::uint64_t of_delta = room.sums.bytes - room.sums.delta;
    const bool overflows = __builtin_add_overflow(room.sums.bytes, kBytesBehind + kAlign - 1, &room.lse);
    room.lse = room.lse / kAlign * kAlign;
    if (overflows || __builtin_add_overflow(room.lse, of_delta + kBytesBehind, &room.bytes))
      room.bytes = room.sums.dq_bytes = std::numeric_limits<std::uint64_t>::max();
    return room;
  }
};

/// Refuses what the shipped kernel has no argument for.
inline Status check_fmha_bwd(const FmhaBackwardKernel& kernel, const Launch& launch) noexcept {
  const FmhaShape& x = launch.problem->fmha();
  const FmhaArgs& a = *launch.fmha;
  const char* name = kernel.instance;
  if (const Status status = check_fmha_call(name, launch); !status.ok()) return status;
  if (a.seqlen_q != nullptr || a.seqlen_k != nullptr)
    return Status::error(StatusCode::unsupported,
                         "%s: lengths are given apart (seqlen_q or seqlen_k), the kernel knows those of the %s", name,
                         kernel.varlen ? "starts" : "shape");
  // a batch, or all sequences' rows: of K at most so many
  const std::int64_t batch = kernel.varlen ? 1 : x.batch, keys = kernel.varlen ? x.batch * x.seqlen_k : x.seqlen_k;
  const std::int64_t rows = rows_of_head(kernel, *launch.problem);
  const FmhaStrides sums = strides_of_sums(kernel, *launch.problem);
  const auto* const room = reinterpret_cast<const void*>(std::uintptr_t{256});  // the workspace is aligned
  const FmhaTensor tensors[] = {
      {"Q", a.q, a.q_strides, rows, x.hdim_q, x.heads_q, batch, kernel.type, kernel.rows},
      {"dO", a.dout, a.dout_strides, rows, x.hdim_v, x.heads_q, batch, kernel.type, kernel.rows},
      {"K", a.k, a.k_strides, keys, x.hdim_q, x.heads_k, batch, kernel.type, kernel.keys},
      {"V", a.v, a.v_strides, keys, x.hdim_v, x.heads_k, batch, kernel.type, kernel.keys},
      {"dK", a.dk, a.dk_strides, keys, x.hdim_q, x.heads_k, batch, kernel.type, kernel.keys},
      {"dV", a.dv, a.dv_strides, keys, x.hdim_v, x.heads_k, batch, kernel.type, kernel.keys},
      {"the sums of dQ", room, sums, rows, x.hdim_q, x.heads_q, batch, DType::fp32, kernel.rows}};
  for (const FmhaTensor& one : tensors) {
    if (const Status status = check_fmha_tensor(name, one); !status.ok()) return status;
  }
  if (static_cast<std::uint64_t>(x.heads_q) > kMostGrid || static_cast<std::uint64_t>(x.batch) > kMostGrid)
    return Status::error(StatusCode::unsupported, "%s: %d heads of %lld sequences, an axis of a grid takes %llu", name,
                         x.heads_q, static_cast<long long>(x.batch), static_cast<unsigned long long>(kMostGrid));
  return hip::check_gradient_pointers(kernel.traits(), x, a);
}

/// PrepareFn's work for the shipped kernel.
inline Status prepare_fmha_bwd(const FmhaBackwardKernel& kernel, const Launch& launch, KernelCall& out) noexcept {
  const FmhaShape& x = launch.problem->fmha();
  if (device::kernel_is_first(x)) {
    if (const Status status = check_fmha_bwd(kernel, launch); !status.ok()) return status;
  }
  auto* const memory = static_cast<char*>(launch.workspace);
  const BackwardRoom room = BackwardRoom::of(*launch.problem);
  const BackwardTensors tensors{memory, memory + room.sums.delta, memory + room.lse,
                                rows_of_head(kernel, *launch.problem)};
  const std::uint64_t tiles =
      ceil_div(ceil_div(static_cast<std::uint64_t>(x.seqlen_k), kernel.keys), kernel.causal ? 2 : 1);
  const device::Extent grid{std::max<std::uint64_t>(tiles, 1), static_cast<std::uint64_t>(x.heads_q),
                            static_cast<std::uint64_t>(x.batch)};
  const auto filled = [&](const auto& arguments) {
    return device::fill(out, kernel.symbol, grid, device::Extent{kernel.block, 1, 1}, 0, arguments);
  };
  switch (kernel.form) {
    case BackwardForm::padded: return filled(PaddedBackwardArguments::of(x, *launch.fmha, tensors));
    case BackwardForm::windows: return filled(WindowBackwardArguments::of(x, *launch.fmha, tensors));
    case BackwardForm::group: return filled(GroupBackwardArguments::of(x, *launch.fmha, tensors));
    case BackwardForm::own: break;
  }
  return filled(OwnBackwardArguments::of(x, *launch.fmha, tensors, kernel.keys));
}

/// Those of the stages around it.
inline Status prepare_fmha_bwd_dot_do_o(const FmhaBackwardKernel& kernel, const Launch& launch,
                                        KernelCall& out) noexcept {
  if (const Status status = check_fmha_bwd(kernel, launch); !status.ok()) return status;
  const FmhaShape& x = launch.problem->fmha();
  auto* const memory = static_cast<char*>(launch.workspace);
  const BackwardRoom room = BackwardRoom::of(*launch.problem);
  Launch of_delta = launch;
  of_delta.workspace = memory + room.sums.delta;
  const auto at = [memory](std::uint64_t byte) { return reinterpret_cast<float*>(memory + byte); };
  const std::uint64_t end_of_lse = room.bytes - hip::kBehind * sizeof(float);
  const hip::ShippedDeltaArgs args{
      hip::gradient_args(kernel.traits(), of_delta), at(room.lse), {at(room.sums.bytes), at(end_of_lse)}};
  const device::Extent grid{static_cast<std::uint64_t>(hip::gradient_tiles(x.seqlen_q)),
                            static_cast<std::uint64_t>(x.heads_q), static_cast<std::uint64_t>(x.batch)};
  const Status status = device::fill(out, kernel.dot_do_o, grid, device::Extent{hip::kScoreThreads, 1, 1}, 0, args);
  out.object = kStages;
  return status;
}

inline Status prepare_fmha_bwd_convert_dq(const FmhaBackwardKernel& kernel, const Launch& launch,
                                          KernelCall& out) noexcept {
  const FmhaShape& x = launch.problem->fmha();
  const FmhaArgs& a = *launch.fmha;
  const FmhaStrides sums = strides_of_sums(kernel, *launch.problem);
  const auto* const from = static_cast<const float*>(launch.workspace);
  const hip::RoundDqArgs args{from, a.dq, sums, a.dq_strides, a.seqstart_q, x.seqlen_q, x.hdim_q};
  const device::Extent grid{ceil_div(static_cast<std::uint64_t>(x.seqlen_q), hip::kRoundRows),
                            static_cast<std::uint64_t>(x.heads_q), static_cast<std::uint64_t>(x.batch)};
  const Status status = device::fill(out, kernel.convert_dq, grid, device::Extent{hip::kRoundLanes, 1, 1}, 0, args);
  out.object = kStages;
  return status;
}

}  // namespace ckgen::asm_host
