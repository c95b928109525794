// fmha_bwd: gradients of attention of batches, in bf16 and fp16; masks are causal and end at the last key.
//
// A plan has three kernels: delta, the shipped one, which adds to dQ in fp32, and one that rounds dQ. The first and the
// last are ours, compiled into a code object of their own. dK and dV are those of query heads. Which problems an
// instance takes is in FmhaConfig.
#pragma once

#include <cstdint>

#include <ckgen/fmha.hpp>

#include "backends/asm/fmha_bwd_args.hpp"
#include "backends/asm/fmha_limits.hpp"
#include "backends/asm/shipped.hpp"
#include "backends/device/fmha_backward_room.hpp"
#include "backends/device/fmha_sum_parts_args.hpp"
#include "backends/hip/fmha_gradients_host.hpp"

namespace ckgen::asm_host {

inline constexpr std::uint8_t kStages = 1;  // the code object of our kernels, behind the shipped one

/// One shipped kernel and ours around it. `rows`: of a step; `keys`: of a workgroup, which where masked takes two such
/// tiles; `own`: whether its arguments are those of gfx950's own kernels.
struct FmhaBackwardKernel {
  const char* instance;
  const char* symbol;
  const char* dot_do_o;
  const char* convert_dq;
  std::uint32_t rows, keys;
  std::uint32_t block;
  DType type;
  bool masked, own;

  FmhaTraits traits() const noexcept {
    FmhaTraits found;
    found.entry = FmhaEntry::backward;
    found.masked = masked;
    return found;
  }
};

inline device::FmhaBackwardRoom backward_room(const Problem& problem) noexcept {
  return device::FmhaBackwardRoom::of(problem, false, 0);
}

/// Refuses what the shipped kernel has no argument for.
inline Status check_fmha_bwd(const FmhaBackwardKernel& kernel, const Launch& launch) noexcept {
  const FmhaShape& x = launch.problem->fmha();
  const FmhaArgs& a = *launch.fmha;
  const char* name = kernel.instance;
  if (const Status status = check_fmha_call(name, launch); !status.ok()) return status;
  if (a.seqlen_k != nullptr)
    return Status::error(StatusCode::unsupported,
                         "%s: lengths are given apart (seqlen_k), the kernel knows those of the shape", name);
  const std::int64_t rows = x.seqlen_q;
  const FmhaStrides row{1, a.lse_head_stride, a.lse_batch_stride};
  const FmhaStrides sums{x.hdim_q, rows * x.hdim_q, rows * x.hdim_q * x.heads_q};
  const auto* const room = reinterpret_cast<const void*>(std::uintptr_t{256});  // the workspace is aligned
  const FmhaTensor tensors[] = {
      {"Q", a.q, a.q_strides, rows, x.hdim_q, x.heads_q, x.batch, kernel.type, kernel.rows},
      {"dO", a.dout, a.dout_strides, rows, x.hdim_v, x.heads_q, x.batch, kernel.type, kernel.rows},
      {"K", a.k, a.k_strides, x.seqlen_k, x.hdim_q, x.heads_k, x.batch, kernel.type, kernel.keys},
      {"V", a.v, a.v_strides, x.seqlen_k, x.hdim_v, x.heads_k, x.batch, kernel.type, kernel.keys},
      {"dK", a.dk, a.dk_strides, x.seqlen_k, x.hdim_q, x.heads_k, x.batch, kernel.type, kernel.keys},
      {"dV", a.dv, a.dv_strides, x.seqlen_k, x.hdim_v, x.heads_k, x.batch, kernel.type, kernel.keys},
      {"lse", a.lse, row, rows, 1, x.heads_q, x.batch, DType::fp32},
      {"the sums of dQ", room, sums, rows, x.hdim_q, x.heads_q, x.batch, DType::fp32, kernel.rows}};
  for (const FmhaTensor& one : tensors) {
    if (const Status status = check_fmha_tensor(name, one); !status.ok()) return status;
  }
  if ((x.heads_q > 1 && a.lse_head_stride != rows) || (x.batch > 1 && a.lse_batch_stride != rows * x.heads_q))
    return Status::error(StatusCode::unsupported, "%s: rows of lse have gaps between heads or batches", name);
  if (static_cast<std::uint64_t>(x.heads_q) > kMostGrid || static_cast<std::uint64_t>(x.batch) > kMostGrid)
    return Status::error(StatusCode::unsupported, "%s: %d heads of %lld sequences, an axis of a grid takes %llu", name,
                         x.heads_q, static_cast<long long>(x.batch), static_cast<unsigned long long>(kMostGrid));
  return hip::check_gradient_pointers(kernel.traits(), x, a);
}

/// PrepareFn's work for the shipped kernel.
inline Status prepare_fmha_bwd(const FmhaBackwardKernel& kernel, const Launch& launch, KernelCall& out) noexcept {
  if (const Status status = check_fmha_bwd(kernel, launch); !status.ok()) return status;
  const FmhaShape& x = launch.problem->fmha();
  auto* const room = static_cast<char*>(launch.workspace);
  const BackwardTensors tensors{room, room + backward_room(*launch.problem).delta};
  const std::uint64_t tiles =
      ceil_div(ceil_div(static_cast<std::uint64_t>(x.seqlen_k), kernel.keys), kernel.masked ? 2 : 1);
  const device::Extent grid{tiles, static_cast<std::uint64_t>(x.heads_q), static_cast<std::uint64_t>(x.batch)};
  const device::Extent block{kernel.block, 1, 1};
  if (kernel.own)
    return device::fill(out, kernel.symbol, grid, block, 0,
                        OwnBackwardArguments::of(x, *launch.fmha, tensors, kernel.keys));
  return device::fill(out, kernel.symbol, grid, block, 0, PaddedBackwardArguments::of(x, *launch.fmha, tensors));
}

/// Those of the stages around it.
inline Status prepare_fmha_bwd_dot_do_o(const FmhaBackwardKernel& kernel, const Launch& launch,
                                        KernelCall& out) noexcept {
  if (const Status status = check_fmha_bwd(kernel, launch); !status.ok()) return status;
  Launch of_delta = launch;
  of_delta.workspace = static_cast<char*>(launch.workspace) + backward_room(*launch.problem).delta;
  const hip::FmhaGradientKernel delta{kernel.dot_do_o, kernel.traits()};
  const Status status = hip::prepare_gradients(delta, hip::GradientGrid::rows, of_delta, out);
  out.object = kStages;
  return status;
}

inline Status prepare_fmha_bwd_convert_dq(const FmhaBackwardKernel& kernel, const Launch& launch,
                                          KernelCall& out) noexcept {
  if (const Status status = check_fmha_bwd(kernel, launch); !status.ok()) return status;
  const FmhaShape& x = launch.problem->fmha();
  const FmhaArgs& a = *launch.fmha;
  const device::FmhaPartSums sums{static_cast<const float*>(launch.workspace), a.dq, a.dq_strides, x.hdim_q};
  const device::FmhaSumPartsArgs args{{sums, {nullptr, nullptr, {}, 0}}, nullptr, nullptr, x.seqlen_q, x.heads_q, 1};
  const device::Extent grid{ceil_div(static_cast<std::uint64_t>(x.seqlen_q), device::kSumRows),
                            static_cast<std::uint64_t>(x.heads_q), static_cast<std::uint64_t>(x.batch)};
  const Status status = device::fill(out, kernel.convert_dq, grid, device::Extent{device::kSumLanes, 1, 1}, 0, args);
  out.object = kStages;
  return status;
}

}  // namespace ckgen::asm_host
