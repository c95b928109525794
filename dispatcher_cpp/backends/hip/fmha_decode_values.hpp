// V as the second product of a block takes it: loads of a lane, and its fragments of V^T.
//
// Rows of V: lane 16 g + m has kDims neighbouring dimensions, kDims m + j, of each key of run g, and transposes them
// within itself. Vectors of V: it has all keys of run g of dimensions 16 j + m.
#pragma once

#include "fmha_decode_math.hpp"

namespace ckgen::hip {

#if CKGEN_HAS_HALF_PRODUCTS

template <class Math, int kBytes, int kHdim, bool kVectorized>
struct DecodeValues {
  static constexpr int kRun = kLoadBytes / kBytes;
  static constexpr int kTiles = kHdim / 16;
  static constexpr int kDims = kTiles;                                  // dimensions of a lane
  static constexpr int kDwords = kVectorized ? 4 : kDims * kBytes / 4;  // of a key, or of a vector
  static constexpr int kItems = kVectorized ? kTiles : kRun;
  static constexpr int kOfDword = 4 / kBytes;

  std::uint32_t held[kItems][kDwords];

  /// Bytes from a row's begin, or a vector's of dimension 0, to the lane's own.
  __device__ static std::int64_t lane_offset(std::int32_t m) { return kVectorized ? m * kLoadBytes : m * kDwords * 4; }

  /// Rows: the row of key `item`. Vectors: all of the run's, `item` ignored.
  __device__ void load(int item, const void* from, std::int64_t at) {
    if constexpr (kVectorized) {
#pragma unroll
      for (int j = 0; j < kTiles; ++j) {
        const auto found = load_at<Dwords4>(from, at + j * 16 * kLoadBytes);
#pragma unroll
        for (int i = 0; i < 4; ++i) held[j][i] = found[i];
      }
    } else if constexpr (kDwords == 1) {
      held[item][0] = load_at<std::uint32_t>(from, at);
    } else {
      constexpr int kWide = kDwords < 4 ? kDwords : 4;
      using Wide = std::uint32_t __attribute__((ext_vector_type(kWide)));
#pragma unroll
      for (int i = 0; i < kDwords; i += kWide) {
        const Wide found = load_at<Wide>(from, at + 4 * i);
#pragma unroll
        for (int n = 0; n < kWide; ++n) held[item][i + n] = found[n];
      }
    }
  }

  /// Of vectors: keys of the run whose bit is not set become 0, whatever they were.
  __device__ void keep(std::uint32_t keys) {
    static_assert(kVectorized);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      std::uint32_t mask = 0;
#pragma unroll
      for (int n = 0; n < kOfDword; ++n) {
        constexpr std::uint32_t kElement = kBytes == 1 ? 0xFFU : 0xFFFFU;
        mask |= (keys >> (i * kOfDword + n) & 1U) != 0 ? kElement << (8 * kBytes * n) : 0U;
      }
#pragma unroll
      for (int j = 0; j < kTiles; ++j) held[j][i] &= mask;
    }
  }

  /// Adds the products of keys 8 part .. 8 part + 7 of each run: sums[j] are those of dimensions j of all lanes.
  __device__ void multiply(int part, Dwords4 weights, Floats4 (&sums)[kTiles]) const {
    if constexpr (kVectorized) {
#pragma unroll
      for (int j = 0; j < kTiles; ++j) sums[j] = Math::multiply(vector(part, j), weights, sums[j]);
    } else {
#pragma unroll
      for (int dword = 0; dword < kDwords; ++dword) {
        Dwords4 fragments[kOfDword];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          std::uint32_t pairs[kOfDword];
          transpose(held[8 * part + 2 * i][dword], held[8 * part + 2 * i + 1][dword], pairs);
#pragma unroll
          for (int n = 0; n < kOfDword; ++n) fragments[n][i] = pairs[n];
        }
#pragma unroll
        for (int n = 0; n < kOfDword; ++n) {
          const int j = dword * kOfDword + n;
          sums[j] = Math::multiply(fragments[n], weights, sums[j]);
        }
      }
    }
  }

 private:
  __device__ Dwords4 vector(int part, int j) const {
    if constexpr (kBytes == 2)
      return {held[j][0], held[j][1], held[j][2], held[j][3]};
    else
      return Math::of_bytes(held[j][2 * part], held[j][2 * part + 1]);
  }

  /// Of two keys' dwords, each dimension's pair of 16-bit elements.
  __device__ static void transpose(std::uint32_t first, std::uint32_t second, std::uint32_t (&pairs)[kOfDword]) {
    if constexpr (kBytes == 2) {
      pairs[0] = __builtin_amdgcn_perm(second, first, 0x0504'0100U);
      pairs[1] = __builtin_amdgcn_perm(second, first, 0x0706'0302U);
    } else {
      const Floats4 low = widened(first), high = widened(second);
#pragma unroll
      for (int n = 0; n < 4; ++n) pairs[n] = Math::pair(low[n], high[n]);
    }
  }
};

#endif

}  // namespace ckgen::hip
