// erf for device code where there is no ROCm, whose bitcode library has it: ck's Gelu reaches it by this name.
#pragma once

#include <initializer_list>

#include <hip/hip_runtime.h>

#if !defined(HIP_INCLUDE_HIP_HIP_RUNTIME_H)  // of ROCm's own header

/// Within 1.6e-7 of erf(x), relatively. Up to 1 x times a polynomial of x * x; up to 4 1 - 2^-p(x), p fitted to
/// -log2(erfc(x)) there (Chebyshev nodes, least squares); 1 beyond.
extern "C" __attribute__((device, always_inline)) inline float __ocml_erf_f32(float x) {
  const float size = __builtin_fabsf(x);
  if (size <= 1.0F) {
    const float t = x * x;
    float sum = 7.882497448008507e-05F;
    for (const float next : {-0.0008018855005502701F, 0.005189312156289816F, -0.02685432881116867F,
                             0.11283597350120544F, -0.3761262595653534F, 1.1283791065216064F})
      sum = __builtin_fmaf(sum, t, next);
    return x * sum;
  }
  float sum = 1.9201392206014134e-05F;
  for (const float next : {-0.0004581596003845334F, 0.0049583520740270615F, -0.032636627554893494F, 0.1490577757358551F,
                           0.9220167398452759F, 1.6243678331375122F, 0.001092074904590845F})
    sum = __builtin_fmaf(sum, size, next);
  const float below = size < 4.0F ? 1.0F - __builtin_exp2f(-sum) : 1.0F;
  return x != x ? x : __builtin_copysignf(below, x);
}

#endif
