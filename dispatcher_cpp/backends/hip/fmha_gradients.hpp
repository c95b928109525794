// Attention's gradients of any options, without matrix instructions: for signatures that no faster kernel takes, on any
// arch that clang knows. Formulas: include/ckgen/fmha.hpp.
//
// Five kernels, in this order: delta; dK and dV; dQ; dbias and dsink where the signature has them. Each sums in
// registers of one workgroup in a fixed order, without atomics, and computes the scores that it needs again: there is
// no sum in memory, and results are the same bits in any order of workgroups. C++20, compiled as HIP.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "fmha_gradient_scores.hpp"

namespace ckgen::hip {

template <DType kType, FmhaTraits kTraits, int kHdim>
struct FmhaGradients {
  static_assert(kTraits.entry == FmhaEntry::backward);
  using Args = FmhaGradientArgs;
  using Of = GradientScores<kType, kTraits, kHdim>;
  using Products = typename Of::Products;
  using Scores = typename Products::Scores;
  using Sums = typename Products::Sums;
  using Element = typename Products::Element;
  static constexpr int kTile = kScoreTile;

  /// 64 rows of a query head; 16 work-items share a row.
  __device__ static void delta(const Args& x) {
    constexpr int kShare = 16;
    const GradientSequence s = gradient_sequence<kTraits>(x, static_cast<std::int32_t>(blockIdx.z));
    const auto head = static_cast<std::int32_t>(blockIdx.y);
    const int lane = static_cast<int>(threadIdx.x) % kShare;
    const std::int64_t first = std::int64_t{blockIdx.x} * kTile;
    for (std::int64_t row = first + static_cast<int>(threadIdx.x) / kShare; row < first + kTile && row < s.rows;
         row += kScoreThreads / kShare) {
      const std::int64_t of_o = gradient_place<kTraits>(s, x.o_strides, s.first_row, head, row);
      const std::int64_t of_dout = gradient_place<kTraits>(s, x.dout_strides, s.first_row, head, row);
      float sum = 0.0F;
      for (int c = lane; c < x.hdim_v; c += kShare)
        sum += Element::load(x.o, of_o + c) * Element::load(x.dout, of_dout + c);
      for (int other = kShare / 2; other > 0; other /= 2) sum += __shfl_xor(sum, other, kShare);
      if (lane == 0) x.delta[gradient_place<kTraits>(s, x.delta_strides, s.first_row, head, row)] = sum;
    }
  }

  /// 64 keys of a KV head, against the rows of its query heads.
  __device__ static void dk_dv(const Args& x) {
    __shared__ float steps[Products::kSteps];
    __shared__ typename Products::Operand of_p, of_dx;
    const GradientSequence s = gradient_sequence<kTraits>(x, static_cast<std::int32_t>(blockIdx.z));
    const auto g = static_cast<std::int32_t>(blockIdx.y), key = static_cast<std::int32_t>(blockIdx.x) * kTile;
    if (key >= s.keys) return;
    const std::int32_t group = x.heads_q / x.heads_k;
    Sums dk = {}, dv = {};
    for (std::int32_t head = g * group; head < (g + 1) * group; ++head) {
      for (std::int32_t row = 0; row < s.rows; row += kTile) {
        if (!tile_is_seen<kTraits>(x, s, row, key)) continue;
        const GradientTile tile{head, row, key};
        Scores p, dx;
        Of::compute(x, s, tile, steps, p, dx);
        Products::put(p, of_p);
        Products::put(dx, of_dx);
        Products::add(steps, of_p, Of::dout(x, s, tile), dv);
        Products::add(steps, of_dx, Of::q(x, s, tile), dk);
      }
    }
    const auto at = [&](const FmhaStrides& strides) {
      return gradient_place<kTraits>(s, strides, s.first_key, g, key);
    };
    Products::store(dk, x.scale, x.dk, at(x.dk_strides), x.dk_strides.row, s.keys - key, x.hdim_q);
    Products::store(dv, 1.0F, x.dv, at(x.dv_strides), x.dv_strides.row, s.keys - key, x.hdim_v);
  }

  /// 64 rows of a query head, against its keys.
  __device__ static void dq(const Args& x) {
    __shared__ float steps[Products::kSteps];
    __shared__ typename Products::Operand of_dx;
    const GradientSequence s = gradient_sequence<kTraits>(x, static_cast<std::int32_t>(blockIdx.z));
    const auto head = static_cast<std::int32_t>(blockIdx.y), row = static_cast<std::int32_t>(blockIdx.x) * kTile;
    if (row >= s.rows) return;
    Sums sums = {};
    for (std::int32_t key = 0; key < s.keys; key += kTile) {
      if (!tile_is_seen<kTraits>(x, s, row, key)) continue;
      const GradientTile tile{head, row, key};
      Scores p, dx;
      Of::compute(x, s, tile, steps, p, dx);
      Products::put_turned(dx, of_dx);
      Products::add(steps, of_dx, Of::k(x, s, tile), sums);
    }
    Products::store(sums, x.scale, x.dq, gradient_place<kTraits>(s, x.dq_strides, s.first_row, head, row),
                    x.dq_strides.row, s.rows - row, x.hdim_q);
  }

  /// A tile of dbias, of one row where rows are shared: the sum over the sequences, heads and rows that share it.
  __device__ static void dbias(const Args& x) {
    if (x.dbias == nullptr) return;
    __shared__ float steps[Products::kSteps];
    const auto key = static_cast<std::int32_t>(blockIdx.x) % x.key_tiles * kTile;
    const auto first_row = static_cast<std::int32_t>(blockIdx.x) / x.key_tiles * kTile;
    const auto first_head = static_cast<std::int32_t>(blockIdx.y), first_batch = static_cast<std::int32_t>(blockIdx.z);
    Scores sums = {};
    std::int32_t rows = 0, keys = 0;  // of the longest sequence
    for (std::int32_t b = first_batch; b < (x.shares_batch ? x.batch : first_batch + 1); ++b) {
      const GradientSequence s = gradient_sequence<kTraits>(x, b);
      if (first_row >= s.rows || key >= s.keys) continue;
      rows = s.rows > rows ? s.rows : rows;
      keys = s.keys > keys ? s.keys : keys;
      for (std::int32_t head = first_head; head < (x.shares_heads ? x.heads_q : first_head + 1); ++head) {
        for (std::int32_t row = first_row; row < s.rows; row += kTile) {
          if (tile_is_seen<kTraits>(x, s, row, key)) {
            Scores p, dx;
            Of::compute(x, s, {head, row, key}, steps, p, dx);
#pragma unroll
            for (int i = 0; i < 4; ++i) sums[i] += dx[i];
          }
          if (!x.shares_rows) break;
        }
      }
    }
    const GradientSequence s = gradient_sequence<kTraits>(x, first_batch);
    const std::int64_t begin = x.shares_rows ? 0 : s.first_row;
    const std::int64_t at = gradient_place<kTraits>(s, x.dbias_strides, begin, first_head, first_row) + key;
    if (x.shares_rows) return store_row(x, sums, steps, at, rows == 0 ? 0 : keys - key);
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int line = Products::line() + i, column = Products::column() + j;
        if (first_row + line < rows && key + column < keys)
          Element::store(x.dbias, at + line * x.dbias_strides.row + column, sums[i][j]);
      }
  }

  /// dsink of a query head: each work-item its rows, then all work-items' in a tree.
  __device__ static void dsink(const Args& x) {
    if (x.dsink == nullptr) return;
    __shared__ float parts[kScoreThreads];
    const auto head = static_cast<std::int32_t>(blockIdx.x);
    const int lane = static_cast<int>(threadIdx.x);
    constexpr float kLog2E = 1.4426950408889634F;
    float sum = 0.0F;
    for (std::int32_t b = 0; b < x.batch; ++b) {
      const GradientSequence s = gradient_sequence<kTraits>(x, b);
      for (std::int32_t row = lane; row < s.rows; row += kScoreThreads) {
        const float lse = x.lse[gradient_place<kTraits>(s, x.lse_strides, s.first_row, head, row)];
        const float of_row = x.delta[gradient_place<kTraits>(s, x.delta_strides, s.first_row, head, row)];
        if (__builtin_isfinite(lse)) sum -= power_of_2((x.sink[head] - lse) * kLog2E) * of_row;
      }
    }
    parts[lane] = sum;
    for (int half = kScoreThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (lane < half) parts[lane] += parts[lane + half];
    }
    if (lane == 0) x.dsink[head] = parts[0];
  }

 private:
  /// One row of `columns` columns: the sum of the tile's.
  __device__ static void store_row(const Args& x, const Scores& sums, float* steps, std::int64_t at, int columns) {
    *reinterpret_cast<typename Products::Four*>(steps + Products::line() / 4 * kTile + Products::column()) =
        sums[0] + sums[1] + (sums[2] + sums[3]);
    __syncthreads();
    const int column = static_cast<int>(threadIdx.x);
    if (column >= kTile || column >= columns) return;
    float sum = 0.0F;
    for (int line = 0; line < kTile / 4; ++line) sum += steps[line * kTile + column];
    Element::store(x.dbias, at + column, sum);
  }
};

}  // namespace ckgen::hip

/// Defines the kernel `symbol` that computes `what` of an FmhaGradients.
#define CKGEN_FMHA_GRADIENT_KERNEL(symbol, what, Gradients)                                                           \
  extern "C" __global__ void __launch_bounds__(ckgen::hip::kScoreThreads) symbol(ckgen::hip::FmhaGradientArgs args) { \
    Gradients::what(args);                                                                                            \
  }
