// The ops of epilogues that are functions of one number, in fp32.
#pragma once

#include <cutlass/cutlass.h>

namespace ckgen::cutlass_gemm {

/// Elementwise functions of arrays of floats. Those of the logistic function are x / (1 + e^-v): see docs/epilogues.md
/// for their errors.
template <class Floats>
struct Relu {
  CUTLASS_DEVICE Floats operator()(const Floats& x) const {
    Floats result;
    for (int i = 0; i < Floats::kElements; ++i) result[i] = x[i] < 0.0F ? 0.0F : x[i];
    return result;
  }
};
template <class Floats>
struct Silu {
  CUTLASS_DEVICE Floats operator()(const Floats& x) const {
    Floats result;
    for (int i = 0; i < Floats::kElements; ++i) result[i] = __fdividef(x[i], 1.0F + __expf(-x[i]));
    return result;
  }
};
template <class Floats>
struct Gelu {
  CUTLASS_DEVICE Floats operator()(const Floats& x) const {
    constexpr float kTwice = 1.5957691216057308F;  // 2 sqrt(2 / pi)
    Floats result;
    for (int i = 0; i < Floats::kElements; ++i) {
      const float v = kTwice * (x[i] + 0.044715F * x[i] * x[i] * x[i]);
      result[i] = __fdividef(x[i], 1.0F + __expf(-v));
    }
    return result;
  }
};

}  // namespace ckgen::cutlass_gemm
