// What the kernel takes that rounds fp32 sums of dQ. The same on both sides of a launch. C++17, no HIP.
#pragma once

#include <cstdint>

#include <ckgen/fmha.hpp>

namespace ckgen::device {

inline constexpr int kRoundLanes = 256;
inline constexpr int kRoundRows = 16;  // of a workgroup

/// Strides count elements; those of batches are ignored where there are starts.
struct FmhaRoundDqArgs {
  const float* sums;
  void* dq;
  FmhaStrides sum_strides, dq_strides;
  const std::int32_t* seqstart;  // of sequences one after the other; null: a batch
  std::int64_t rows;             // of each sequence of a batch
  std::int32_t columns;
};

}  // namespace ckgen::device
