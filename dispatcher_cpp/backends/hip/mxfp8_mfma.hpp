// C = A * B of MX-FP8 for tens of rows of A: v_mfma_scale_f32_16x16x128_f8f6f4, K split over the waves of a workgroup.
//
// A workgroup has one wave per K split and computes kRows rows of A (in tiles of 16; 8: half a tile) times kColumns
// rows of B (16 each). A step is 128 of k: a lane l reads row l % 16 of a tile, bytes 16 * (l / 16) and 64 further on,
// which is the instruction's own order, and the scale of the 32 elements from 32 * (l / 16) on. The splits take
// consecutive steps; their sums are added through LDS in their order, so the same operands give the same bits. k is a
// multiple of 128, strides multiples of 16 bytes, A and B aligned to 16 bytes.
#pragma once

#include "mxfp8_parts.hpp"

namespace ckgen::hip {

inline constexpr int kMfmaTile = 16;
inline constexpr int kMfmaStep = 128;

/// The sums of kTiles tiles of 16 rows of A times kSubs tiles of 16 rows of B.
template <int kTiles, int kSubs, int kSplits>
struct MxMfma {
  static constexpr int kThreads = kSplits * kWave;

#if CKGEN_HAS_SCALED_PRODUCTS
  using Sums = Floats4[kTiles][kSubs];

  /// A lane's part of one tile's rows.
  struct Rows {
    Buffer elements, scales;
    std::uint32_t element, scale;  // offsets of the lane's row, and of its part of a step

    __device__ Rows() = default;
    __device__ Rows(Buffer elements_, Buffer scales_, bool inside, std::uint32_t row, std::int64_t stride,
                    std::int64_t k, std::uint32_t lane)
        : elements(elements_),
          scales(scales_),
          element(inside ? row * static_cast<std::uint32_t>(stride) + lane / kMfmaTile * kLoadBytes : kOutside),
          scale(inside ? row * static_cast<std::uint32_t>(k / kMxBlock) + lane / kMfmaTile : kOutside) {}

    __device__ Dwords8 read(std::uint32_t k) const {
      const Dwords4 low = load_16(elements, element, k);
      const Dwords4 high = load_16(elements, element + kMfmaStep / 2, k);
      return __builtin_bit_cast(Dwords8, __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7));
    }
    __device__ int read_scale(std::uint32_t k) const {
      return static_cast<int>(load_scale(scales, scale, k / kMxBlock));
    }
  };

  /// What one step multiplies.
  struct Fragments {
    Dwords8 rows[kTiles], columns[kSubs];
    int row_scales[kTiles], column_scales[kSubs];

    __device__ Fragments(const Rows (&a)[kTiles], const Rows (&b)[kSubs], std::uint32_t k) {
#pragma unroll
      for (int j = 0; j < kSubs; ++j) {
        columns[j] = b[j].read(k);
        column_scales[j] = b[j].read_scale(k);
      }
#pragma unroll
      for (int i = 0; i < kTiles; ++i) {
        rows[i] = a[i].read(k);
        row_scales[i] = a[i].read_scale(k);
      }
    }

    __device__ void multiply(Sums& sums) const {
      constexpr int kE4m3 = 0, kLowByte = 0;
#pragma unroll
      for (int i = 0; i < kTiles; ++i) {
#pragma unroll
        for (int j = 0; j < kSubs; ++j)
          sums[i][j] = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(
              rows[i], columns[j], sums[i][j], kE4m3, kE4m3, kLowByte, row_scales[i], kLowByte, column_scales[j]);
      }
    }
  };

  /// Sums of all of k, in the lanes of one wave or another: calls store(tile, sub, 4 sums, lane) for each of them once.
  template <class Store>
  __device__ static void product(const Rows (&a)[kTiles], const Rows (&b)[kSubs], std::int64_t k, const Store& store) {
    constexpr int kItems = kTiles * kSubs;
    __shared__ Floats4 partial[kSplits][kItems][kWave];
    const std::uint32_t lane = threadIdx.x % kWave, wave = wave_of_workgroup();
    const auto steps = static_cast<std::uint32_t>(k / kMfmaStep);
    const std::uint32_t first = steps * wave / kSplits, last = steps * (wave + 1) / kSplits;
    Sums sums = {};
    std::uint32_t i = first;
    for (; i + 2 <= last; i += 2) {  // the loads of two steps are under way before the first is waited for
      const Fragments one(a, b, i * kMfmaStep), two(a, b, (i + 1) * kMfmaStep);
      one.multiply(sums);
      two.multiply(sums);
    }
    if (i < last) Fragments(a, b, i * kMfmaStep).multiply(sums);

    if constexpr (kSplits == 1) {
#pragma unroll
      for (int item = 0; item < kItems; ++item)
        store(item / kSubs, item % kSubs, sums[item / kSubs][item % kSubs], lane);
    } else {
#pragma unroll
      for (int item = 0; item < kItems; ++item) partial[wave][item][lane] = sums[item / kSubs][item % kSubs];
      __syncthreads();
#pragma unroll
      for (int turn = 0; turn < (kItems + kSplits - 1) / kSplits; ++turn) {
        const int item = turn * kSplits + static_cast<int>(wave);
        if (item >= kItems) return;
        Floats4 total = partial[0][item][lane];
#pragma unroll
        for (int split = 1; split < kSplits; ++split) total += partial[split][item][lane];
        store(item / kSubs, item % kSubs, total, lane);
      }
    }
  }
#endif
};

/// A plain GEMM: kRows of 8 or a multiple of 16, kSubs tiles of 16 columns.
template <int kRows, int kSubs, int kSplits>
struct MxMfmaGemm {
  static constexpr int kTiles = (kRows + kMfmaTile - 1) / kMfmaTile;
  static constexpr int kThreads = kSplits * kWave;
  static_assert(kRows == kMfmaTile / 2 || kRows % kMfmaTile == 0, "rows of A: half a tile, or whole ones");

#if CKGEN_HAS_SCALED_PRODUCTS
  using Core = MxMfma<kTiles, kSubs, kSplits>;

  __device__ static void run(const MxGemmArgs& args) {
    const std::uint32_t lane = threadIdx.x % kWave, row = lane % kMfmaTile;
    const std::int64_t m0 = std::int64_t{blockIdx.y} * kRows, n0 = std::int64_t{blockIdx.x} * kSubs * kMfmaTile;
    const std::int64_t scales = args.k / kMxBlock;
    const Buffer a = rows_of(args.a, m0, kRows, args.m, args.lda, args.k);
    const Buffer b = rows_of(args.b, n0, kSubs * kMfmaTile, args.n, args.ldb, args.k);
    const Buffer a_scale = rows_of(args.a_scale, m0, kRows, args.m, scales, scales);
    const Buffer b_scale = rows_of(args.b_scale, n0, kSubs * kMfmaTile, args.n, scales, scales);
    typename Core::Rows rows[kTiles], columns[kSubs];
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      const std::uint32_t own = i * kMfmaTile + row;
      rows[i] = {a, a_scale, own < kRows && m0 + own < args.m, own, args.lda, args.k, lane};
    }
#pragma unroll
    for (int j = 0; j < kSubs; ++j) {
      const std::uint32_t own = j * kMfmaTile + row;
      columns[j] = {b, b_scale, n0 + own < args.n, own, args.ldb, args.k, lane};
    }
    Core::product(rows, columns, args.k, [&](int tile, int sub, const Floats4& sums, std::uint32_t of) {
      const std::int64_t n = n0 + sub * kMfmaTile + of % kMfmaTile;
      const std::int64_t first = std::int64_t{tile} * kMfmaTile + of / kMfmaTile * 4;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (first + i < kRows && m0 + first + i < args.m && n < args.n)
          store_bf16(args.c, (m0 + first + i) * args.ldc + n, sums[i]);
      }
    });
  }
#else
  __device__ static void run(const MxGemmArgs&) {}
#endif
};

}  // namespace ckgen::hip

/// Defines the kernel as `symbol`; it takes MxGemmArgs. Grid: ceil(n / (16 * subs)) by ceil(m / rows).
#define CKGEN_MXFP8_MFMA_KERNEL(symbol, rows, subs, splits)                                            \
  extern "C" __global__ void __launch_bounds__((ckgen::hip::MxMfmaGemm<rows, subs, splits>::kThreads)) \
      symbol(ckgen::hip::MxGemmArgs args) {                                                            \
    ckgen::hip::MxMfmaGemm<rows, subs, splits>::run(args);                                             \
  }
