// One step of an epilogue on a device, in fp32, whoever computes the sums.
//
// For device code of a HIP compile. No device library is linked: e^x is 2^(x log2 e) of v_exp_f32. Formulas and error
// bounds: docs/epilogues.md.
#pragma once

#include <hip/hip_runtime.h>

#include <ckgen/epilogue.hpp>

namespace ckgen::device {

/// x / (1 + e^-y)
__device__ inline float gated(float x, float y) {
  constexpr float kLog2E = 1.44269504f;
  return x * __builtin_amdgcn_rcpf(1.0f + __builtin_amdgcn_exp2f(-kLog2E * y));
}

/// `d` is the element of the D tensor that an add or mul takes.
template <EpilogueOp kOp>
__device__ inline float step(float x, float alpha, float d) {
  if constexpr (kOp == EpilogueOp::add) return x + d;
  if constexpr (kOp == EpilogueOp::mul) return x * d;
  if constexpr (kOp == EpilogueOp::relu) return x < 0.0f ? 0.0f : x;
  if constexpr (kOp == EpilogueOp::gelu) return gated(x, 1.59576912f * (x + 0.044715f * (x * x * x)));
  if constexpr (kOp == EpilogueOp::silu) return gated(x, x);
  if constexpr (kOp == EpilogueOp::scale) return x * alpha;
  return static_cast<void>(alpha), static_cast<void>(d), x;
}

}  // namespace ckgen::device
