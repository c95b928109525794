// What our kernels around a shipped one of attention's gradients take. The same on both sides of a launch. C++17, no
// HIP.
#pragma once

#include <cstdint>

#include <ckgen/fmha.hpp>

#include "fmha_gradient_args.hpp"

namespace ckgen::hip {

inline constexpr int kBehind = 64;  // numbers behind delta and lse that kernels may read

/// `lse`: where it goes, by the strides of delta. `ends`: of delta and of lse.
struct ShippedDeltaArgs {
  FmhaGradientArgs gradients;
  float* lse;
  float* ends[2];
};

inline constexpr int kRoundLanes = 256;
inline constexpr int kRoundRows = 16;  // of a workgroup

/// Strides count elements; those of batches are ignored where there are starts.
struct RoundDqArgs {
  const float* sums;
  void* dq;
  FmhaStrides sum_strides, dq_strides;
  const std::int32_t* seqstart;  // of sequences one after the other; null: a batch
  std::int64_t rows;             // of each sequence of a batch
  std::int32_t columns;
};

}  // namespace ckgen::hip
