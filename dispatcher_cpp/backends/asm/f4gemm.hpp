// f4gemm: fp4 operands, e8m0 scales of 32 elements along K, bf16 C. D = alpha * A * B + beta * C, of which ckgen takes
// A * B.
//
// The contract is a4w4_blockscale's: B preshuffled in 16 rows, scales shuffled and padded to 32 rows and 8 groups. What
// the kernels ask of sizes is in codegen/ckgen/families/gemm/asm_kinds.json.
#pragma once

#include <cstdint>

#include <ckgen/gemm_types.hpp>
#include <ckgen/preshuffle.hpp>

#include "backends/asm/shipped.hpp"

namespace ckgen::asm_host {

/// Strides count elements, those of scales bytes.
struct F4Arguments : StridedArguments {
  Slot<const void*> a_scale;
  Slot<const void*> b_scale;
  Slot<std::uint32_t> stride_a_scale0, stride_a_scale1;
  Slot<std::uint32_t> stride_b_scale0, stride_b_scale1;
  Slot<std::uint32_t> log2_splits;
};
static_assert(sizeof(F4Arguments) == 24 * 16);

/// PrepareFn's work for one kernel. Splits are a power of two, each of whole K steps.
inline Status prepare_f4gemm(const Kernel& kernel, const Launch& launch, KernelCall& out) noexcept {
  const GemmArgs& x = *launch.args;
  std::uint32_t splits = 1;
  if (const Status status = splits_of(kernel, launch, splits); !status.ok()) return status;
  if ((splits & (splits - 1)) != 0)
    return Status::error(StatusCode::unsupported, "%s: k_batch = %u is no power of two", kernel.instance, splits);
  if (!x.mx_scale_shuffled)
    return Status::error(StatusCode::unsupported,
                         "%s: the kernel reads shuffled scales; apply shuffle_mx_scale and set mx_scale_shuffled",
                         kernel.instance);
  if (const Status status = check_sizes(kernel, x); !status.ok()) return status;
  if (const Status status = check_rows(kernel, "A", x.lda, kernel.tile_m, DType::fp4); !status.ok()) return status;
  if (const Status status = check_rows(kernel, "B", x.k, kernel.tile_n, DType::fp4); !status.ok()) return status;
  if (const Status status = check_rows(kernel, "C", x.ldc, kernel.tile_m, DType::bf16); !status.ok()) return status;
  const auto groups = static_cast<std::uint32_t>((x.k / 32 + kMxScaleGroups - 1) / kMxScaleGroups * kMxScaleGroups);
  F4Arguments to;
  to.set(x, x.ldc, x.lda, x.k);
  to.a_scale.value = x.a_scale;
  to.b_scale.value = x.b_scale;
  to.stride_a_scale0.value = to.stride_b_scale0.value = groups;
  while (1U << to.log2_splits.value < splits) ++to.log2_splits.value;
  return call(kernel, launch, splits, to, out);
}

}  // namespace ckgen::asm_host
