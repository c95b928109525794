// Layouts that GPU kernels read in place of the plain ones: of B and of mx scales, and their inverses. All are pure
// copies, safe to call concurrently; src and dst must not overlap.
//
// preshuffle_b, AITER's shuffle_weight(layout=(16, 16)): the B layout that `preshuffle_b` instances read. B is given as
// N rows of K elements (row-major N x K, i.e. column-major K x N). With e bytes per element, IK = 16/e and BK = 2*IK,
// the result is the contiguous array [N/16][K/BK][2][16 (n)][IK (k)], the permutation x.view(N/16, 16, K/BK, 2,
// IK).permute(0, 2, 3, 1, 4). fp4 counts packed bytes: pass row_bytes = K/2. Units are bytes so that one function
// serves every dtype. false (nothing written) unless n is a multiple of 16 and row_bytes a multiple of 32. A batch
// whose matrices lie without gaps is one matrix of all their rows. kPreshuffleLayout numbers this order: weights that
// are stored shuffled are to be stored with it, and a change of the order changes it. Device functions of the same two
// copies are in backends/hip/preshuffle.hpp.
//
// shuffle_mx_scale, AITER's e8m0_shuffle: the order of a_scale and b_scale where GemmArgs::mx_scale_shuffled is set.
// The scales are given as R rows (M of A, N of B) of G = ceil(K/32) bytes. With R padded to a multiple of 32 and G to
// one of 8, the result is the contiguous array [R/32][G/8][4 (group)][16 (row)][2 (half of the 8 groups)][2 (half of
// the 32 rows)], the permutation x.view(R/32, 2, 16, G/8, 2, 4).permute(0, 3, 5, 2, 4, 1). Padding is written as 0.
// More padded rows (AITER pads to 256) only lengthen the array, which is as good where the batch is 1. false (nothing
// written) unless R and G are in [0, 2^31).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ckgen {
inline namespace v1 {

inline constexpr std::int32_t kPreshuffleLayout = 1;
inline constexpr std::int64_t kPreshuffleRows = 16;        // n per block
inline constexpr std::int64_t kPreshuffleChunkBytes = 16;  // consecutive k of one row

constexpr bool can_preshuffle(std::int64_t n, std::int64_t row_bytes) noexcept {
  return n >= 0 && row_bytes >= 0 && n % kPreshuffleRows == 0 && row_bytes % (2 * kPreshuffleChunkBytes) == 0;
}

// Offset in bytes of the 16-byte chunk that holds byte `byte_k` (a multiple of 16) of row n.
constexpr std::int64_t preshuffled_chunk(std::int64_t n, std::int64_t byte_k, std::int64_t row_bytes) noexcept {
  return (n / kPreshuffleRows) * kPreshuffleRows * row_bytes + (byte_k / kPreshuffleChunkBytes) * 256 +
         (n % kPreshuffleRows) * kPreshuffleChunkBytes;
}

inline bool preshuffle_b(const void* src, std::int64_t src_stride_bytes, void* dst, std::int64_t n,
                         std::int64_t row_bytes) noexcept {
  if (!can_preshuffle(n, row_bytes) || src_stride_bytes < row_bytes) return false;
  if (row_bytes == 0) return true;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = 0; k < row_bytes; k += kPreshuffleChunkBytes)
      std::memcpy(static_cast<char*>(dst) + preshuffled_chunk(i, k, row_bytes),
                  static_cast<const char*>(src) + i * src_stride_bytes + k, 16);
  return true;
}

inline bool unpreshuffle_b(const void* src, void* dst, std::int64_t dst_stride_bytes, std::int64_t n,
                           std::int64_t row_bytes) noexcept {
  if (!can_preshuffle(n, row_bytes) || dst_stride_bytes < row_bytes) return false;
  if (row_bytes == 0) return true;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = 0; k < row_bytes; k += kPreshuffleChunkBytes)
      std::memcpy(static_cast<char*>(dst) + i * dst_stride_bytes + k,
                  static_cast<const char*>(src) + preshuffled_chunk(i, k, row_bytes), 16);
  return true;
}

inline constexpr std::int64_t kMxScaleRows = 32;   // rows per block
inline constexpr std::int64_t kMxScaleGroups = 8;  // groups of K per block

constexpr bool can_shuffle_mx_scale(std::int64_t rows, std::int64_t groups) noexcept {
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  return rows >= 0 && groups >= 0 && rows < limit && groups < limit;
}

// Bytes of the shuffled scales, padding included.
constexpr std::int64_t shuffled_mx_scale_bytes(std::int64_t rows, std::int64_t groups) noexcept {
  return (rows + kMxScaleRows - 1) / kMxScaleRows * kMxScaleRows * ((groups + kMxScaleGroups - 1) / kMxScaleGroups) *
         kMxScaleGroups;
}

// Offset in bytes of the scale of one row and group; `groups` is how many a row has, without padding.
constexpr std::int64_t shuffled_mx_scale(std::int64_t row, std::int64_t group, std::int64_t groups) noexcept {
  const std::int64_t blocks = (groups + kMxScaleGroups - 1) / kMxScaleGroups;
  return (row / kMxScaleRows * blocks + group / kMxScaleGroups) * kMxScaleRows * kMxScaleGroups + group % 4 * 64 +
         row % 16 * 4 + group / 4 % 2 * 2 + row / 16 % 2;
}

// Strides are bytes from one row of the plain scales to the next, at least `groups`.
inline bool shuffle_mx_scale(const void* src, std::int64_t src_stride, void* dst, std::int64_t rows,
                             std::int64_t groups) noexcept {
  if (!can_shuffle_mx_scale(rows, groups) || src_stride < groups) return false;
  if (rows == 0 || groups == 0) return true;
  unsigned char* to = static_cast<unsigned char*>(dst);
  std::memset(to, 0, static_cast<std::size_t>(shuffled_mx_scale_bytes(rows, groups)));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t g = 0; g < groups; ++g)
      to[shuffled_mx_scale(i, g, groups)] = static_cast<const unsigned char*>(src)[i * src_stride + g];
  return true;
}

inline bool unshuffle_mx_scale(const void* src, void* dst, std::int64_t dst_stride, std::int64_t rows,
                               std::int64_t groups) noexcept {
  if (!can_shuffle_mx_scale(rows, groups) || dst_stride < groups) return false;
  if (groups == 0) return true;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t g = 0; g < groups; ++g)
      static_cast<unsigned char*>(dst)[i * dst_stride + g] =
          static_cast<const unsigned char*>(src)[shuffled_mx_scale(i, g, groups)];
  return true;
}

}  // namespace v1
}  // namespace ckgen
