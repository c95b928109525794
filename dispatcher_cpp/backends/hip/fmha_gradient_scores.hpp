// P and the gradient of the scores of one tile, as every one of our kernels of attention's gradients computes them.
//
// Formulas: include/ckgen/fmha.hpp. C++20, for the device half of a HIP compile.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "fmha_gradient_rows.hpp"
#include "fmha_math.hpp"
#include "fmha_philox.hpp"
#include "fmha_products.hpp"

namespace ckgen::hip {

/// The tile of rows at `row` and keys at `key` of a query head.
struct GradientTile {
  std::int32_t head, row, key;
};

template <DType kType, FmhaTraits kTraits, int kHdim>
struct GradientScores {
  using Args = FmhaGradientArgs;
  using Products = FmhaProducts<kType, kHdim>;
  using Scores = typename Products::Scores;
  static constexpr bool kDrops = kTraits.dropout != FmhaDropout::none;

  /// Rows of Q and of dO, of K and of V, from the tile's first.
  __device__ static FmhaRows<kType> q(const Args& x, const GradientSequence& s, const GradientTile& t) {
    return rows(s, x.q, x.q_strides, s.first_row, t.head, t.row, s.rows, x.hdim_q);
  }
  __device__ static FmhaRows<kType> dout(const Args& x, const GradientSequence& s, const GradientTile& t) {
    return rows(s, x.dout, x.dout_strides, s.first_row, t.head, t.row, s.rows, x.hdim_v);
  }
  __device__ static FmhaRows<kType> k(const Args& x, const GradientSequence& s, const GradientTile& t) {
    return rows(s, x.k, x.k_strides, s.first_key, kv_head(x, t), t.key, s.keys, x.hdim_q);
  }
  __device__ static FmhaRows<kType> v(const Args& x, const GradientSequence& s, const GradientTile& t) {
    return rows(s, x.v, x.v_strides, s.first_key, kv_head(x, t), t.key, s.keys, x.hdim_v);
  }

  /// p: c P; dx: dX, without softcap dS. 0 where a row does not see a key.
  __device__ static void compute(const Args& x, const GradientSequence& s, const GradientTile& t, float* steps,
                                 Scores& p, Scores& dx) {
    Products::multiply(steps, q(x, s, t), k(x, s, t), p);
    Products::multiply(steps, dout(x, s, t), v(x, s, t), dx);
    const std::int64_t of_lse = gradient_place<kTraits>(s, x.lse_strides, s.first_row, t.head, t.row);
    const std::int64_t of_delta = gradient_place<kTraits>(s, x.delta_strides, s.first_row, t.head, t.row);
    const int line = Products::line(), column = t.key + Products::column();
    std::uint32_t drawn[4];
    if constexpr (kTraits.dropout == FmhaDropout::philox) {
      const auto plane = static_cast<std::uint64_t>(std::int64_t{s.b} * x.heads_q + t.head);
#pragma unroll
      for (int j = 0; j < 4; ++j)
        drawn[j] = drawn_bytes(x.seed, x.offset, plane, static_cast<std::uint32_t>(t.row + line),
                               static_cast<std::uint32_t>(column + j));
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::int32_t row = t.row + line + i;
      const std::int32_t at = inside(row, s.rows);  // what is read of rows that are not there does not count
      const float lse = x.lse[of_lse + at - t.row], delta = x.delta[of_delta + at - t.row];
      const SeenKeys seen = seen_keys<kTraits>(x, s, row);
      const bool sees = row < s.rows && __builtin_isfinite(lse);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const std::int32_t key = inside(column + j, s.keys);
        float slope = 1.0F;
        constexpr float kLog2E = 1.4426950408889634F;
        const float exponent = (score(x, s, t.head, at, key, p[i][j], slope) - lse) * kLog2E;
        const bool counts = sees && seen.sees(column + j, x.sink_tokens);
        const float found = power_of_2(counts ? exponent : -__builtin_inff());
        float kept = 1.0F;
        if constexpr (kTraits.dropout == FmhaDropout::philox)
          kept = factor(x, drawn[j] >> (8 * i) & 0xffU);
        else if constexpr (kTraits.dropout == FmhaDropout::randval)
          kept = factor(x, x.rand_val[gradient_place<kTraits>(s, x.rand_val_strides, s.first_row, t.head, at) + key]);
        dx[i][j] = found * (kept * dx[i][j] - delta) * slope;
        p[i][j] = kept * found;
      }
    }
  }

 private:
  __device__ static std::int32_t kv_head(const Args& x, const GradientTile& t) {
    return t.head / (x.heads_q / x.heads_k);
  }
  __device__ static FmhaRows<kType> rows(const GradientSequence& s, const void* memory, const FmhaStrides& strides,
                                         std::int64_t begin, std::int32_t head, std::int32_t first, std::int32_t count,
                                         std::int32_t columns) {
    return {memory, gradient_place<kTraits>(s, strides, begin, head, first), strides.row, count - first, columns};
  }
  __device__ static float factor(const Args& x, std::uint32_t byte) {
    return static_cast<std::int32_t>(byte) <= x.most_kept ? x.kept_factor : 0.0F;
  }

  /// The score of a product; with softcap `slope` is its derivative.
  __device__ static float score(const Args& x, const GradientSequence& s, std::int32_t head, std::int32_t row,
                                std::int32_t key, float product, float& slope) {
    float found = x.scale * product;
    if constexpr (kTraits.softcap) {
      const float t = tanh_of(found / x.softcap);
      slope = 1.0F - t * t;
      found = x.softcap * t;
    }
    if constexpr (kTraits.bias == FmhaBias::elementwise)
      found +=
          Products::Element::load(x.bias, gradient_place<kTraits>(s, x.bias_strides, s.first_row, head, row) + key);
    if constexpr (kTraits.bias == FmhaBias::alibi) {
      const std::int32_t apart = row + s.keys - s.rows - key;
      const float of_head = static_cast<const float*>(x.bias)[s.b * x.bias_strides.batch + head * x.bias_strides.head];
      found -= of_head * static_cast<float>(apart < 0 ? -apart : apart);
    }
    return found;
  }
};

}  // namespace ckgen::hip
