// What the kernel takes that adds up parts of gradients: dK and dV of a KV head, of which each query head has one, or
// dQ, of which each tile of keys has one. The same on both sides of a launch.
// C++17, no HIP.
#pragma once

#include <cstdint>

#include <ckgen/fmha.hpp>

namespace ckgen::device {

inline constexpr int kSumLanes = 256;
inline constexpr int kSumRows = 16;  // of a workgroup

/// The fp32 parts, [batch][heads][group][rows][columns], and where their sums go, of no columns: there are none.
struct FmhaPartSums {
  const float* from;
  void* to;
  FmhaStrides strides;
  std::int32_t columns;
};

/// Rows of sequence b are those of lengths[b], else between seqstart[b] and seqstart[b + 1], else all.
struct FmhaSumPartsArgs {
  FmhaPartSums sums[2];
  const std::int32_t* seqstart;  // null: a batch
  const std::int32_t* lengths;   // null: none is shorter
  std::int64_t rows;
  std::int64_t heads;  // of the sums
  std::int64_t group;  // parts of a sum
};

}  // namespace ckgen::device
