// bf16gemm_outf32: bf16 operands, B as N rows of K, fp32 C. D = A * B. What the kernels ask of sizes is in
// codegen/ckgen/families/gemm/asm_kinds.json.
#pragma once

#include <cstdint>

#include <ckgen/gemm_types.hpp>

#include "backends/asm/shipped.hpp"

namespace ckgen::asm_host {

/// In the kernels' order. Strides count bytes; what is not set is not read.
struct Bf16Arguments {
  Slot<void*> d;
  Slot<const void*> c;
  Slot<const void*> a;
  Slot<const void*> b;
  Slot<float> alpha{1.0F};
  Slot<float> beta;
  Slot<std::uint32_t> stride_d0, stride_d1;
  Slot<std::uint32_t> stride_c0, stride_c1;  // of D
  Slot<std::uint32_t> stride_a0, stride_a1;
  Slot<std::uint32_t> stride_b0, stride_b1;
  Slot<std::uint32_t> m, n, k;
  Slot<std::uint32_t> splits{1};
};
static_assert(sizeof(Bf16Arguments) == 18 * 16);

/// PrepareFn's work for one kernel. Splits are each of whole K steps.
inline Status prepare_bf16gemm(const Kernel& kernel, const Launch& launch, KernelCall& out) noexcept {
  const GemmArgs& x = *launch.args;
  std::uint32_t splits = 1;
  if (const Status status = splits_of(kernel, launch, splits); !status.ok()) return status;
  if (const Status status = check_sizes(kernel, x); !status.ok()) return status;
  if (const Status status = check_rows(kernel, "A", x.lda, kernel.tile_m, DType::bf16); !status.ok()) return status;
  if (const Status status = check_rows(kernel, "B", x.ldb, kernel.tile_n, DType::bf16); !status.ok()) return status;
  if (const Status status = check_rows(kernel, "C", x.ldc, kernel.tile_m, DType::fp32); !status.ok()) return status;
  const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  Bf16Arguments to;
  to.d.value = x.c;
  to.a.value = x.a;
  to.b.value = x.b;
  to.stride_c0.value = u32(4 * x.ldc);
  to.stride_a0.value = u32(2 * x.lda);
  to.stride_b0.value = u32(2 * x.ldb);
  to.m.value = u32(x.m);
  to.n.value = u32(x.n);
  to.k.value = u32(x.k);
  to.splits.value = splits;
  return call(kernel, launch, splits, to, out);
}

}  // namespace ckgen::asm_host
