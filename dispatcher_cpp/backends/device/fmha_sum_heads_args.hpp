// What the kernel takes that adds up gradients of the query heads of each KV head, the same on both sides of a launch.
// C++17, no HIP.
#pragma once

#include <cstdint>

#include <ckgen/fmha.hpp>

namespace ckgen::device {

inline constexpr int kSumLanes = 256;
inline constexpr int kSumRows = 16;  // of a workgroup

/// The fp32 gradients of a row of each query head, [batch][heads_q][rows][columns], and where their sum goes.
struct FmhaHeadSums {
  const float* from;
  void* to;
  FmhaStrides strides;
  std::int32_t columns;
};

/// Of K and V. Rows of sequence b are those of seqlen_k[b], else between seqstart_k[b] and seqstart_k[b + 1], else all.
struct FmhaSumHeadsArgs {
  FmhaHeadSums sums[2];
  const std::int32_t* seqstart_k;  // null: a batch
  const std::int32_t* seqlen_k;    // null: none is shorter
  std::int64_t rows;
  std::int32_t heads_q;
  std::int32_t group;
};

}  // namespace ckgen::device
