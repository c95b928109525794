// AITER's shuffle_weight(layout=(16, 16)): the B layout that `preshuffle_b` instances read, and its inverse.
//
// B is given as N rows of K elements (row-major N x K, i.e. column-major K x N). With e bytes per element, IK = 16/e
// and BK = 2*IK, the result is the contiguous array [N/16][K/BK][2][16 (n)][IK (k)], the permutation x.view(N/16, 16,
// K/BK, 2, IK).permute(0, 2, 3, 1, 4). fp4 counts packed bytes: pass row_bytes = K/2. Units are bytes so that one
// function serves every dtype. Both are pure copies, safe to call concurrently; src and dst must not overlap. false
// (nothing written) unless n is a multiple of 16 and row_bytes a multiple of 32.
#pragma once

#include <cstdint>
#include <cstring>

namespace ckgen {
inline namespace v1 {

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
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = 0; k < row_bytes; k += kPreshuffleChunkBytes)
      std::memcpy(static_cast<char*>(dst) + preshuffled_chunk(i, k, row_bytes),
                  static_cast<const char*>(src) + i * src_stride_bytes + k, 16);
  return true;
}

inline bool unpreshuffle_b(const void* src, void* dst, std::int64_t dst_stride_bytes, std::int64_t n,
                           std::int64_t row_bytes) noexcept {
  if (!can_preshuffle(n, row_bytes) || dst_stride_bytes < row_bytes) return false;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = 0; k < row_bytes; k += kPreshuffleChunkBytes)
      std::memcpy(static_cast<char*>(dst) + i * dst_stride_bytes + k,
                  static_cast<const char*>(src) + preshuffled_chunk(i, k, row_bytes), 16);
  return true;
}

}  // namespace v1
}  // namespace ckgen
