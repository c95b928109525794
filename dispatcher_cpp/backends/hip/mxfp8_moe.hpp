// One product of a mixture-of-experts layer over MX-FP8 weights: rows of A gathered by sorted token ids, 16 or more per
// expert's block, times that expert's rows of B.
//
// A workgroup computes one block of sorted ids (ckgen/moe.hpp, SortedTokens) times kColumns (8 or 16) rows of its
// expert's B, by the instruction and the K splits of mxfp8_mfma.hpp. C has a row per token and slot, token * top_k +
// slot, of which no two blocks have the same. Blocks beyond valid[0], padding ids and experts that there are not do
// nothing.
// k is a multiple of 128.
#pragma once

#include "mxfp8_mfma.hpp"

namespace ckgen::hip {

template <int kRows, int kColumns, int kSplits>
struct MxMoe {
  static constexpr int kTiles = kRows / kMfmaTile;
  static constexpr int kThreads = kSplits * kWave;
  static_assert(kRows % kMfmaTile == 0, "a block of ids is whole tiles");
  static_assert(kColumns == kMfmaTile || kColumns == kMfmaTile / 2, "columns of B: a tile, or half of one");

#if defined(__gfx950__)
  using Core = MxMfma<kTiles, 1, kSplits>;

  static constexpr std::int32_t kNone = -1;

  /// Row of C of a sorted id; kNone for padding.
  __device__ static std::int32_t row_of(const MxMoeArgs& args, std::int32_t id) {
    constexpr int kSlotShift = 24;
    const std::int32_t token = id & ((1 << kSlotShift) - 1);
    const auto slot = static_cast<std::int32_t>(static_cast<std::uint32_t>(id) >> kSlotShift);
    return token < args.tokens && slot < args.top_k ? token * args.top_k + slot : kNone;
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
      const std::int32_t c_row = row_of(args, args.token_ids[at]);
      rows_of_c[threadIdx.x] = c_row;
      if (args.weights != nullptr && c_row != kNone)
        weights[threadIdx.x] = args.weights[args.weight_by_position ? at : c_row];
    }
    __syncthreads();

    const std::uint32_t lane = threadIdx.x % kWave, row = lane % kMfmaTile;
    const std::int64_t n0 = std::int64_t{blockIdx.x} * kColumns, scales = args.k / kMxBlock;
    const std::int64_t rows_a = args.a_div == 1 ? args.tokens * args.top_k : args.tokens;
    const auto all_a = static_cast<std::uint32_t>(rows_a);
    const Buffer a = rows_of(args.a, 0, all_a, rows_a, args.lda, args.k);
    const Buffer a_scale = rows_of(args.a_scale, 0, all_a, rows_a, scales, scales);
    const std::int64_t first = expert * args.n + n0, last = (expert + 1) * args.n;
    const Buffer b = rows_of(args.b, first, kColumns, last, args.k, args.k);
    const Buffer b_scale = rows_of(args.b_scale, first, kColumns, last, scales, scales);

    typename Core::Rows rows[kTiles], columns[1];
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      const std::int32_t c_row = rows_of_c[i * kMfmaTile + row];
      const auto a_row = static_cast<std::uint32_t>(args.a_div == 1 ? c_row : c_row / args.a_div);
      rows[i] = {a, a_scale, c_row != kNone, a_row, args.lda, args.k, lane};
    }
    columns[0] = {b, b_scale, row < kColumns && n0 + row < args.n, row, args.k, args.k, lane};
    Core::product(rows, columns, args.k, [&](int tile, int, const Floats4& sums, std::uint32_t of) {
      const std::int64_t n = n0 + of % kMfmaTile;
      if (of % kMfmaTile >= kColumns || n >= args.n) return;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::uint32_t at = tile * kMfmaTile + of / kMfmaTile * 4 + i;
        const std::int32_t c_row = rows_of_c[at];
        if (c_row != kNone)
          store_bf16(args.c, c_row * args.ldc + n, args.weights == nullptr ? sums[i] : sums[i] * weights[at]);
      }
    });
  }
#else
  __device__ static void run(const MxMoeArgs&) {}
#endif
};

}  // namespace ckgen::hip

/// Defines the kernel as `symbol`; it takes MxMoeArgs. Grid: ceil(n / columns) by the blocks of `rows` ids there is
/// room for.
#define CKGEN_MXFP8_MOE_KERNEL(symbol, rows, columns, splits)                                        \
  extern "C" __global__ void __launch_bounds__((ckgen::hip::MxMoe<rows, columns, splits>::kThreads)) \
      symbol(ckgen::hip::MxMoeArgs args) {                                                           \
    ckgen::hip::MxMoe<rows, columns, splits>::run(args);                                             \
  }
