// C = A * B of MX-FP8 for a few rows of A: packed fp32 FMA, scales in registers, each byte of B read once.
//
// A workgroup has one wave per K split and computes kRows rows of A times kColumns rows of B. In each step a wave reads
// 1024 consecutive k of every row, 16 bytes per lane; the splits take the steps in turns. An element times its scale is
// formed in fp32 (exact unless it overflows), their products are summed in fp32: first the steps of a lane, then its
// two partial sums, lanes, and splits in their order. The same operands give the same bits. k is a multiple of 32,
// strides multiples of 16 bytes, A and B aligned to 16 bytes.
#pragma once

#include "mxfp8_parts.hpp"

namespace ckgen::hip {

inline constexpr int kGemvStep = kWave * kLoadBytes;  // k that a wave reads at a time

template <int kRows, int kColumns, int kSplits>
struct MxGemv {
  static constexpr int kSums = kRows * kColumns;
  static constexpr int kThreads = kSplits * kWave;
  static_assert(kSums % 4 == 0 && kSums <= kWave, "the lanes of a wave hold all sums in the end, four to a register");

#if CKGEN_HAS_SCALED_PRODUCTS
  static constexpr int kPairs = kLoadBytes / 2;

  /// 16 elements and their scale's byte, as they are loaded.
  struct Loaded {
    Dwords4 bytes;
    std::uint32_t scale;
  };

  /// 16 elements times their scale.
  struct Chunk {
    Floats2 pair[kPairs];
  };

  /// The exponent's place of an fp32 is where the instruction looks for the scale; 255 there makes NaN of all.
  __device__ static Chunk widen(const Loaded& from) {
    const float factor = __builtin_bit_cast(float, from.scale << 23);
    Chunk out;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      out.pair[2 * i] = __builtin_amdgcn_cvt_scalef32_pk_f32_fp8(from.bytes[i], factor, false);
      out.pair[2 * i + 1] = __builtin_amdgcn_cvt_scalef32_pk_f32_fp8(from.bytes[i], factor, true);
    }
    return out;
  }

  /// By value: clang 22's bit cast of a vector's element reads the first one.
  __device__ static float plus(std::uint32_t a, std::uint32_t b) {
    return __builtin_bit_cast(float, a) + __builtin_bit_cast(float, b);
  }

  /// Sums of a and b over 32 lanes each: those of `a` in the lower half of the wave, those of `b` in the upper.
  __device__ static float fold_halves(float a, float b) {
    const auto swapped = __builtin_amdgcn_permlane32_swap(__builtin_bit_cast(std::uint32_t, a),
                                                          __builtin_bit_cast(std::uint32_t, b), false, false);
    return plus(swapped[0], swapped[1]);
  }

  /// The same over the two rows of 16 lanes in each half: `a` in even rows, `b` in odd ones.
  __device__ static float fold_rows(float a, float b) {
    const auto swapped = __builtin_amdgcn_permlane16_swap(__builtin_bit_cast(std::uint32_t, a),
                                                          __builtin_bit_cast(std::uint32_t, b), false, false);
    return plus(swapped[0], swapped[1]);
  }

  template <int kRotation>
  __device__ static float plus_rotated(float value) {
    constexpr int kRowRotate = 0x120;
    const int moved =
        __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, value), kRowRotate + kRotation, 0xF, 0xF, true);
    return value + __builtin_bit_cast(float, moved);
  }

  /// Sum `lane % 16 + lane / 16 * kSums / 4` over all lanes, in the lanes where the first term is below kSums / 4.
  __device__ static float over_lanes(float (&sums)[kSums], std::uint32_t lane) {
    constexpr int kQuarter = kSums / 4;
#pragma unroll
    for (int i = 0; i < 2 * kQuarter; ++i) sums[i] = fold_halves(sums[i], sums[i + 2 * kQuarter]);
    float own = 0;
#pragma unroll
    for (int i = 0; i < kQuarter; ++i) {
      float sum = fold_rows(sums[i], sums[i + kQuarter]);
      sum = plus_rotated<8>(sum);
      sum = plus_rotated<4>(sum);
      sum = plus_rotated<2>(sum);
      sum = plus_rotated<1>(sum);
      own = lane % 16 == static_cast<std::uint32_t>(i) ? sum : own;
    }
    return own;
  }

  /// Where a lane reads in a step: outside of the buffers from the end of the rows on.
  struct Place {
    std::uint32_t element, scale;
  };

  /// Some rows of an operand; those beyond the last one repeat it.
  template <int kCount>
  struct Rows {
    Buffer elements, scales;
    std::uint32_t element_at[kCount], scale_at[kCount];

    __device__ Rows(const void* matrix, const void* scale, std::int64_t first, std::int64_t rows, std::int64_t stride,
                    std::int64_t k)
        : elements(rows_of(matrix, first, kCount, rows, stride, k)),
          scales(rows_of(scale, first, kCount, rows, k / kMxBlock, k / kMxBlock)) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const std::uint32_t row = least(i, static_cast<std::uint32_t>(rows - first) - 1);
        element_at[i] = row * static_cast<std::uint32_t>(stride);
        scale_at[i] = row * static_cast<std::uint32_t>(k / kMxBlock);
      }
    }

    __device__ Loaded load(int row, Place lane, std::uint32_t k) const {
      return {load_16(elements, lane.element, element_at[row] + k),
              load_scale(scales, lane.scale, scale_at[row] + k / kMxBlock)};
    }
  };

  __device__ static void step(const Rows<kRows>& a, const Rows<kColumns>& b, Place lane, std::uint32_t k,
                              Floats2 (&sums)[kSums]) {
    constexpr int kAhead = least(kRows, 4);  // rows of A under way: more of them would take the sums' registers
    Loaded columns_loaded[kColumns], rows_loaded[kRows];
#pragma unroll
    for (int n = 0; n < kColumns; ++n) columns_loaded[n] = b.load(n, lane, k);
#pragma unroll
    for (int m = 0; m < kAhead; ++m) rows_loaded[m] = a.load(m, lane, k);
    Chunk columns[kColumns];
#pragma unroll
    for (int n = 0; n < kColumns; ++n) columns[n] = widen(columns_loaded[n]);
#pragma unroll
    for (int m = 0; m < kRows; ++m) {
      if (m + kAhead < kRows) rows_loaded[m + kAhead] = a.load(m + kAhead, lane, k);
      const Chunk row = widen(rows_loaded[m]);
#pragma unroll
      for (int n = 0; n < kColumns; ++n) {
        Floats2& sum = sums[m * kColumns + n];
#pragma unroll
        for (int i = 0; i < kPairs; ++i) sum = __builtin_elementwise_fma(row.pair[i], columns[n].pair[i], sum);
      }
      if constexpr (kRows > kAhead) __builtin_amdgcn_sched_barrier(0);
    }
  }

  __device__ static void run(const MxGemmArgs& args) {
    __shared__ float partial[kSplits][kSums];
    const std::uint32_t lane = threadIdx.x % kWave, wave = wave_of_workgroup();
    const std::int64_t m0 = std::int64_t{blockIdx.y} * kRows, n0 = std::int64_t{blockIdx.x} * kColumns;
    const Rows<kRows> a(args.a, args.a_scale, m0, args.m, args.lda, args.k);
    const Rows<kColumns> b(args.b, args.b_scale, n0, args.n, args.ldb, args.k);

    Floats2 sums[kSums] = {};
    const auto k = static_cast<std::uint32_t>(args.k);
    const Place inside{lane * kLoadBytes, lane * kLoadBytes / kMxBlock};
    std::uint32_t at = wave * kGemvStep;
    for (; at + kGemvStep <= k; at += kSplits * kGemvStep) step(a, b, inside, at, sums);
    if (at < k) step(a, b, at + inside.element < k ? inside : Place{kOutside, kOutside}, at, sums);

    float folded[kSums];
#pragma unroll
    for (int i = 0; i < kSums; ++i) folded[i] = sums[i].x + sums[i].y;
    const float own = over_lanes(folded, lane);
    if (lane % 16 < kSums / 4) partial[wave][lane % 16 + lane / 16 * (kSums / 4)] = own;
    __syncthreads();
    if (threadIdx.x >= kSums) return;
    float total = partial[0][threadIdx.x];
#pragma unroll
    for (int split = 1; split < kSplits; ++split) total += partial[split][threadIdx.x];
    const std::int64_t m = m0 + threadIdx.x / kColumns, n = n0 + threadIdx.x % kColumns;
    if (m < args.m && n < args.n) store_bf16(args.c, m * args.ldc + n, total);
  }
#else
  __device__ static void run(const MxGemmArgs&) {}
#endif
};

}  // namespace ckgen::hip

/// Defines the kernel as `symbol`; it takes MxGemmArgs. Grid: ceil(n / columns) by ceil(m / rows).
#define CKGEN_MXFP8_GEMV_KERNEL(symbol, rows, columns, splits)                                           \
  extern "C" __global__ void __launch_bounds__((ckgen::hip::MxGemv<rows, columns, splits>::kThreads), 2) \
      symbol(ckgen::hip::MxGemmArgs args) {                                                              \
    ckgen::hip::MxGemv<rows, columns, splits>::run(args);                                                \
  }
