// Functions of scores. C++20, for the device half of a HIP compile.
#pragma once

namespace ckgen::hip {

/// 2^x, 0 below the least normal number.
__device__ inline float power_of_2(float x) {
  return __builtin_amdgcn_exp2f(x);
}

/// tanh, within a few units of 2^-24 of 1.
__device__ inline float tanh_of(float x) {
  constexpr float kTwoLog2E = 2.8853900817779268F;
  return 1.0F - 2.0F * __builtin_amdgcn_rcpf(1.0F + power_of_2(kTwoLog2E * x));
}

}  // namespace ckgen::hip
