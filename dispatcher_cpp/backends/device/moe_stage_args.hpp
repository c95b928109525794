// Arguments of the device kernels between the products of a mixture of experts, for both sides. C++17, no HIP.
#pragma once

#include <cstdint>

#include <ckgen/moe.hpp>

namespace ckgen::device {

inline constexpr int kSortLanes = 512;
inline constexpr std::int32_t kMostSortedExperts = 1024;

/// `capacity` is sorted_capacity()'s; experts are at most kMostSortedExperts, tokens * top_k below 2^31.
struct SortArgs {
  const std::int32_t* topk_ids;
  const float* topk_weights;
  SortedTokens out;
  std::int32_t tokens;
  std::int32_t experts;
  std::int32_t top_k;
  std::int32_t block_m;
  std::int32_t capacity;
};

inline constexpr int kQuantizeLanes = 256;
inline constexpr int kQuantizeChunk = 8;  // elements that a lane takes at once

/// Rows of `columns` elements without gaps, aligned to 16 bytes, as many as there are workgroups; scales are row-major.
struct QuantizeArgs {
  const void* from;
  void* to;
  void* scales;          // fp32; of mx e8m0
  std::int64_t columns;  // a multiple of kQuantizeChunk, and of the elements that share a scale
};

/// Of the fp4 kernel, whose scales stand in the order of the sorted rows and are shuffled: a workgroup per sorted row.
struct QuantizeSortedArgs {
  const void* from;
  void* to;               // rows in the order of `from`
  unsigned char* scales;  // shuffled_mx_scale()
  const std::int32_t* token_ids;
  const std::int32_t* valid;
  std::int64_t columns;  // a multiple of 32
  std::int32_t top_k;
};

inline constexpr int kAddSlotsLanes = 256;

/// Rows of `columns` fp32 without gaps, top_k for each token, to one row of bf16, `ldc` elements apart, each.
struct AddSlotsArgs {
  const float* from;
  void* c;
  std::int64_t columns;
  std::int64_t ldc;
  std::int32_t top_k;
};

}  // namespace ckgen::device
