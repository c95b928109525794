// Many GEMMs in one launch, each as fma_gemm.hpp computes it, whose operands and sizes lie in device memory.
//
// C++20, for the device half of a HIP compile. Every workgroup counts the tiles of the groups before its own: which is
// slow where there are many groups, and asks nothing of them.
#pragma once

#include <cstdint>

#include <ckgen/group_args.hpp>

#include "fma_gemm.hpp"

namespace ckgen::hip {

template <GemmTraits kT, int kM, int kN, int kK>
__device__ inline void run_fma_groups(const FmaGroupedArgs& all) {
  using Gemm = FmaGemm<kT, kM, kN, kK>;
  const GroupedArgs shared{all.operands, all.sizes, all.count, all.a_scale_row_major, all.mx_scale_shuffled, all.alpha};
  std::int64_t at = blockIdx.x, before = 0;
  for (std::int64_t group = 0; group < all.count; ++group) {
    const GroupSize size = all.sizes[group];
    const std::int64_t tiles = fma_parts(size.m, kM) * fma_parts(size.n, kN);
    if (at >= before + tiles) {
      before += tiles;
      continue;
    }
    FmaArgs x = fma_args(kT.quant, kT.scale_block, args_of_group(shared, all.operands[group], size), kM, kN);
    x.tiles = tiles;
    x.workgroups = all.workgroups;
    Gemm::run(x, at - before);
    before += tiles;
    at += (before - at + all.workgroups - 1) / all.workgroups * all.workgroups;
  }
}

__device__ inline void copy_fma_groups(const FmaTableArgs& x) {
  for (std::int64_t i = threadIdx.x; i < x.count; i += kFmaLanes) {
    x.to_operands[i] = x.operands[i];
    x.to_sizes[i] = x.sizes[i];
  }
}

}  // namespace ckgen::hip

/// Defines the kernel over groups as `symbol`. It takes FmaGroupedArgs.
#define CKGEN_FMA_GROUPED_KERNEL(symbol, traits, m, n, k)                                                       \
  extern "C" __global__ void __launch_bounds__(ckgen::hip::kFmaLanes) symbol(ckgen::hip::FmaGroupedArgs args) { \
    ckgen::hip::run_fma_groups<traits, m, n, k>(args);                                                          \
  }
/// Defines the kernel that makes the table of groups on the device as `symbol`. It takes FmaTableArgs.
#define CKGEN_FMA_TABLE_KERNEL(symbol)                                                                        \
  extern "C" __global__ void __launch_bounds__(ckgen::hip::kFmaLanes) symbol(ckgen::hip::FmaTableArgs args) { \
    ckgen::hip::copy_fma_groups(args);                                                                        \
  }
