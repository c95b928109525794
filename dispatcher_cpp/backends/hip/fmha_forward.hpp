// Attention of any options, without matrix instructions: for signatures that no faster kernel takes, on any arch that
// clang knows. Formulas: include/ckgen/fmha.hpp.
//
// A workgroup has 64 rows of a KV head, queries times its query heads, and takes the keys that they see 64 at a time,
// with a running maximum and sum of each row; of several splits it has its part of these keys. Scores, weights and sums
// are fp32, and nothing is rounded before O. Results are the same bits in any order of waves and workgroups. Waves of
// any size that 16 divides. C++20, compiled as HIP.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "fmha_forward_scores.hpp"

namespace ckgen::hip {

/// One kernel. `hdim`: at least both head dims, in whole tiles.
struct FmhaForwardConfig {
  DType q, kv, o;
  FmhaTraits traits;
  int hdim;
};

template <FmhaForwardConfig kConfig>
struct FmhaForward {
  static constexpr FmhaTraits kTraits = kConfig.traits;
  static_assert(kTraits.entry == FmhaEntry::forward);
  using Args = FmhaForwardArgs;
  using Products = FmhaProducts<kConfig.o, kConfig.hdim>;
  using Of = ForwardScores<kConfig.q, kConfig.kv, kTraits>;
  using Cache = typename Of::Cache;
  static constexpr float kLog2E = 1.4426950408889634F, kLn2 = 0.6931471805599453F;
  static constexpr int kTile = kScoreTile, kShare = 16;  // work-items that share a row
  // The sums of large heads and what options ask of a row do not fit the registers together: rows wait in LDS.
  static constexpr bool kRowsWait =
      kConfig.hdim > 128 && (kTraits.bias != FmhaBias::none || kTraits.dropout != FmhaDropout::none);

  /// What a work-item knows of its four rows: `sum` is of its own columns.
  struct Rows {
    ForwardRow at[4];
    float factor[4], most[4], sum[4];
  };

  __device__ static void run(const Args& x) {
    __shared__ float steps[Products::kSteps];
    __shared__ typename Products::Operand of_p;
    __shared__ std::int64_t of_q[kTile];
    __shared__ ForwardNotes notes;
    __shared__ ForwardRow waiting[kRowsWait ? kTile : 1];  // costs no LDS where nothing waits
    const auto split = static_cast<std::int32_t>(blockIdx.x) % x.splits;
    const auto first = static_cast<std::int32_t>(blockIdx.x) / x.splits * kTile;
    const ForwardSequence s =
        forward_sequence<kTraits>(x, static_cast<std::int32_t>(blockIdx.z), static_cast<std::int32_t>(blockIdx.y));
    if (first >= s.rows()) return;
    const Of of{x, s};
    Rows rows = begin(x, s, of, first, split);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::int64_t place = forward_place<kTraits>(s, x.q_strides, rows.at[i]);
      if (Products::column() == 0) of_q[Products::line() + i] = rows.at[i].is_there ? place : ~place;
      if (kRowsWait && Products::column() == 0) waiting[Products::line() + i] = rows.at[i];
    }
    typename Products::Sums sums = {};
    const ForwardKeys keys = keys_of(x, s, first);
    const auto until = [&](std::int32_t part) {
      return static_cast<std::int32_t>(std::int64_t{keys.count} * part / x.splits);
    };
    for (std::int32_t index = until(split); index < until(split + 1); ++index) {
      const std::int32_t key = keys.first_of(index), count = keys.last() + 1 - key;
      Cache::note(x, s, keys, key, notes);
      __syncthreads();
      typename Products::Scores p;
      const PlacedRows<kConfig.q, Columns::together> q{x.q, of_q, kTile, x.shape.hdim_q, 0};
      Products::multiply(steps, q, Cache::k(x, notes, count), p);
      if constexpr (kRowsWait) take_back(of, waiting, rows);
      take(of, key, notes, p, rows, sums);
      Products::put_turned(p, of_p);
      Products::add(steps, of_p, Cache::v(x, notes, count), sums);
    }
    if constexpr (kRowsWait) {
      __syncthreads();
      take_back(of, waiting, rows);
    }
    finish(x, s, split, rows, sums);
  }

 private:
  __device__ static void take_back(const Of& of, const ForwardRow* waiting, Rows& rows) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      rows.at[i] = waiting[Products::line() + i];
      rows.factor[i] = of.factor(rows.at[i]);
    }
  }
  __device__ static Rows begin(const Args& x, const ForwardSequence& s, const Of& of, std::int32_t first,
                               std::int32_t split) {
    Rows rows;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      rows.at[i] = forward_row<kTraits>(x, s, first + Products::line() + i);
      rows.factor[i] = of.factor(rows.at[i]);
      rows.most[i] = -__builtin_inff();
      if constexpr (kTraits.sink)
        if (split == 0) rows.most[i] = x.sink[rows.at[i].head];
      const bool counts_sink = Products::column() == 0 && rows.most[i] != -__builtin_inff();
      rows.sum[i] = counts_sink ? 1.0F : 0.0F;
    }
    return rows;
  }

  __device__ static ForwardKeys keys_of(const Args& x, const ForwardSequence& s, std::int32_t first) {
    const std::int32_t last = (first + kTile < s.rows() ? first + kTile : s.rows()) - 1;
    return ForwardKeys(columns_of<kTraits>(x, s, first / s.group, last / s.group));
  }

  /// Makes of products what the second products take, and adapts what is summed to the new maxima.
  __device__ static void take(const Of& of, std::int32_t first, const ForwardNotes& notes, typename Products::Scores& p,
                              Rows& rows, typename Products::Sums& sums) {
    const int column = Products::column();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float most = rows.most[i];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        p[i][j] = of.score(rows.at[i], first + column + j, notes, column + j, rows.factor[i], p[i][j]);
        most = __builtin_fmaxf(most, p[i][j]);
      }
      for (int other = kShare / 2; other > 0; other /= 2) most = __builtin_fmaxf(most, __shfl_xor(most, other, kShare));
      const float base = most == -__builtin_inff() ? 0.0F : most;
      const float factor = power_of_2((rows.most[i] - base) * kLog2E);
      rows.most[i] = most;
      rows.sum[i] *= factor;
#pragma unroll
      for (int part = 0; part < Products::kParts; ++part) sums[i][part] *= factor;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float weight = power_of_2((p[i][j] - base) * kLog2E);
        rows.sum[i] += weight;
        p[i][j] = weight * of.kept(rows.at[i], first + column + j, notes, column + j);
      }
    }
  }

  __device__ static void finish(const Args& x, const ForwardSequence& s, std::int32_t split, Rows& rows,
                                const typename Products::Sums& sums) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const ForwardRow& row = rows.at[i];
      float sum = rows.sum[i];
      for (int other = kShare / 2; other > 0; other /= 2) sum += __shfl_xor(sum, other, kShare);
      if (!row.is_there) continue;
      const float base = rows.most[i] == -__builtin_inff() ? 0.0F : rows.most[i];
      const float lse = base + __builtin_amdgcn_logf(sum) * kLn2;
      float factor = sum > 0.0F ? 1.0F / sum : 0.0F;
      if constexpr (kTraits.quant == FmhaQuant::per_tensor) factor *= x.v_descale[0];
      const std::int64_t partial = partial_row(x, s, split, row), o = forward_place<kTraits>(s, x.o_strides, row);
      if (Products::column() == 0) {
        if (x.splits > 1)
          x.lse_acc[partial] = lse;
        else if constexpr (kTraits.lse)
          x.lse[forward_place<kTraits>(s, x.lse_strides, row)] = lse;
      }
#pragma unroll
      for (int part = 0; part < Products::kParts; ++part)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int c = part * kTile + Products::column() + j;
          if (c >= x.shape.hdim_v) continue;
          const float value = factor * sums[i][part][j];
          if (x.splits > 1)
            x.o_acc[partial * x.shape.hdim_v + c] = value;
          else
            Products::Element::store(x.o, o + c, value);
        }
    }
  }

  /// Of splits, where partial results of a row lie.
  __device__ static std::int64_t partial_row(const Args& x, const ForwardSequence& s, std::int32_t split,
                                             const ForwardRow& row) {
    const std::int64_t entry = kTraits.varlen ? split : split * x.shape.batch + s.b;
    return (entry * x.shape.heads_q + row.head) * x.partial_rows + s.first_query + row.query;
  }
};

}  // namespace ckgen::hip

/// Defines the kernel as `symbol`; it takes FmhaForwardArgs. Grid: tiles of rows times splits, KV heads, sequences.
#define CKGEN_FMHA_FORWARD_KERNEL(symbol, ...)                                                                       \
  extern "C" __global__ void __launch_bounds__(ckgen::hip::kScoreThreads) symbol(ckgen::hip::FmhaForwardArgs args) { \
    ckgen::hip::FmhaForward<ckgen::hip::FmhaForwardConfig{__VA_ARGS__}>::run(args);                                  \
  }
