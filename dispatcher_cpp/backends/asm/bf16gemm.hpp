// bf16gemm_outf32: bf16 operands, B as N rows of K, fp32 C. D = A * B. What the kernels ask of sizes is in
// codegen/ckgen/families/gemm/asm_kinds.json.
#pragma once

#include <cstdint>

#include <ckgen/gemm_types.hpp>

#include "backends/asm/shipped.hpp"

namespace ckgen::asm_host {

/// Strides count bytes.
struct Bf16Arguments : StridedArguments {
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
  Bf16Arguments to;
  to.set(x, 4 * x.ldc, 2 * x.lda, 2 * x.ldb);
  to.splits.value = splits;
  return call(kernel, launch, splits, to, out);
}

}  // namespace ckgen::asm_host
