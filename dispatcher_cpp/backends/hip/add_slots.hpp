// C of a MoE layer's down: the fp32 rows of each token's slots, added in their order and rounded once to bf16.
//
// C++20, for either half of a HIP compile; nothing here launches a kernel.
#pragma once

#include <cstdint>

#include <hip/hip_runtime.h>

#include "../device/moe_stage_args.hpp"

namespace ckgen::hip {

using device::AddSlotsArgs;
using device::kAddSlotsLanes;

/// A lane takes one column of token blockIdx.y.
__device__ inline void add_slots(const AddSlotsArgs& args) {
  const std::int64_t column = std::int64_t{blockIdx.x} * kAddSlotsLanes + threadIdx.x, token = blockIdx.y;
  if (column >= args.columns) return;
  const float* from = args.from + token * args.top_k * args.columns + column;
  float sum = 0.0F;
  for (std::int32_t slot = 0; slot < args.top_k; ++slot) sum += from[slot * args.columns];
  static_cast<__bf16*>(args.c)[token * args.ldc + column] = static_cast<__bf16>(sum);
}

}  // namespace ckgen::hip

/// Defines the kernel as `symbol`. It takes AddSlotsArgs; grid: ceil(columns / kAddSlotsLanes) by tokens.
#define CKGEN_ADD_SLOTS_KERNEL(symbol)                                                                             \
  extern "C" __global__ void __launch_bounds__(ckgen::hip::kAddSlotsLanes) symbol(ckgen::hip::AddSlotsArgs args) { \
    ckgen::hip::add_slots(args);                                                                                   \
  }
