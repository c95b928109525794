// One product of a mixture-of-experts layer over MX-FP8 weights: rows of A gathered by sorted token ids, 16 or more per
// expert's block, times that expert's rows of B.
//
// A workgroup computes one block of sorted ids (ckgen/moe.hpp, SortedTokens) times kColumns (8 or 16) rows of its
// expert's B, by the instruction and the K splits of mxfp8_mfma.hpp; gated, the first half of them are gate rows and
// the second the up rows of the same columns. No two blocks have the same row of C. Blocks beyond valid[0], padding ids
// and experts that there are not do nothing. k is a multiple of 128.
#pragma once

#include "mxfp8_mfma.hpp"

namespace ckgen::hip {

/// What becomes of sums: none is down, whose rows stay fp32; of gate_up raw is no activation, the others are its own.
enum class MxActivation : int { none, raw, silu, gelu, relu };

template <int kRows, int kColumns, int kSplits, MxActivation kActivation, bool kGated>
struct MxMoe {
  static constexpr int kTiles = kRows / kMfmaTile;
  static constexpr int kThreads = kSplits * kWave;
  static constexpr bool kDown = kActivation == MxActivation::none;
  static constexpr int kResults = kGated ? kColumns / 2 : kColumns;  // columns of C
  static_assert(kRows % kMfmaTile == 0, "a block of ids is whole tiles");
  static_assert(kColumns == kMfmaTile || kColumns == kMfmaTile / 2, "rows of B: a tile, or half of one");
  static_assert(!kGated || (!kDown && kActivation != MxActivation::raw), "down and raw products have no gate");

#if CKGEN_HAS_SCALED_PRODUCTS
  using Core = MxMfma<kTiles, 1, kSplits>;

  static constexpr std::int32_t kNone = -1;

  /// Row of C of a sorted id; kNone for padding.
  __device__ static std::int32_t row_of(const MxMoeArgs& args, std::int32_t id) {
    constexpr int kSlotShift = 24;
    const std::int32_t token = id & ((1 << kSlotShift) - 1);
    const auto slot = static_cast<std::int32_t>(static_cast<std::uint32_t>(id) >> kSlotShift);
    return token < args.tokens && slot < args.top_k ? token * args.top_k + slot : kNone;
  }

  /// gelu is the tanh form, x / (1 + e^-2u).
  __device__ static float activated(float x) {
    if constexpr (kActivation == MxActivation::raw) return x;
    if constexpr (kActivation == MxActivation::relu) return x < 0.0F ? 0.0F : x;
    constexpr float kTwoRoot = 1.5957691216057308F, kCubic = 0.044715F;  // 2 sqrt(2 / pi)
    const float v = kActivation == MxActivation::gelu ? kTwoRoot * (x + kCubic * x * x * x) : x;
    return x / (1.0F + __builtin_expf(-v));
  }

  __device__ static void run(const MxMoeArgs& args) {
    __shared__ std::int32_t rows_of_c[kRows];
    __shared__ float weights[kRows];
    const std::int64_t block = blockIdx.y, position = block * kRows;
    if (position >= args.valid[0]) return;
    const std::int64_t expert = args.expert_ids[block];
    if (expert < 0 || expert >= args.experts) return;  // of another device
    if (threadIdx.x < kRows) {
      const std::int64_t at = position + threadIdx.x;
      rows_of_c[threadIdx.x] = row_of(args, args.token_ids[at]);
      if (args.weights != nullptr) weights[threadIdx.x] = args.weights[at];
    }
    __syncthreads();

    const std::uint32_t lane = threadIdx.x % kWave, row = lane % kMfmaTile;
    const std::int64_t n0 = std::int64_t{blockIdx.x} * kResults, scales = args.k / kMxBlock;
    const std::int64_t rows_a = kDown ? args.tokens * args.top_k : args.tokens, rows_b = kGated ? 2 * args.n : args.n;
    const auto all_a = static_cast<std::uint32_t>(rows_a), all_b = static_cast<std::uint32_t>(rows_b);
    const std::int64_t first = expert * rows_b, last = first + rows_b;
    const Buffer a = rows_of(args.a, 0, all_a, rows_a, args.lda, args.k);
    const Buffer a_scale = rows_of(args.a_scale, 0, all_a, rows_a, scales, scales);
    const Buffer b = rows_of(args.b, first, all_b, last, args.k, args.k);
    const Buffer b_scale = rows_of(args.b_scale, first, all_b, last, scales, scales);

    typename Core::Rows rows[kTiles], columns[1];
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      const std::int32_t c_row = rows_of_c[i * kMfmaTile + row];
      rows[i] = {
          a,      a_scale, c_row != kNone, static_cast<std::uint32_t>(kDown ? c_row : c_row / args.top_k), args.lda,
          args.k, lane};
    }
    const std::int64_t column = n0 + row % kResults, b_row = row < kResults ? column : args.n + column;
    columns[0] = {b,      b_scale, row < kColumns && column < args.n, static_cast<std::uint32_t>(b_row), args.k,
                  args.k, lane};
    Core::product(rows, columns, args.k, [&](int tile, int, const Floats4& sums, std::uint32_t of) {
      const std::int64_t n = n0 + of % kMfmaTile;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::uint32_t at = tile * kMfmaTile + of / kMfmaTile * 4 + i;
        const float sum = args.weights == nullptr ? sums[i] : sums[i] * weights[at];
        const float up = kGated ? __shfl_xor(sum, kResults) : 1.0F;
        const std::int32_t c_row = rows_of_c[at];
        if (of % kMfmaTile >= kResults || n >= args.n || c_row == kNone) continue;
        const std::int64_t index = c_row * args.ldc + n;
        if constexpr (kDown) {
          static_cast<float*>(args.c)[index] = sum;
        } else {
          store_bf16(args.c, index, activated(sum) * up);
        }
      }
    });
  }
#else
  __device__ static void run(const MxMoeArgs&) {}
#endif
};

}  // namespace ckgen::hip

/// Defines the kernel as `symbol`; it takes MxMoeArgs. Grid: ceil(n / (columns, gated half of them)) by the blocks of
/// `rows` ids there is room for.
#define CKGEN_MXFP8_MOE_KERNEL(symbol, rows, columns, splits, activation, gated)                         \
  extern "C" __global__ void __launch_bounds__(                                                          \
      (ckgen::hip::MxMoe<rows, columns, splits, ckgen::hip::MxActivation::activation, gated>::kThreads)) \
      symbol(ckgen::hip::MxMoeArgs args) {                                                               \
    ckgen::hip::MxMoe<rows, columns, splits, ckgen::hip::MxActivation::activation, gated>::run(args);    \
  }
