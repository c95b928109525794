// Attention of few queries over a KV cache: contiguous, or in pages of any size; K and V of Q's type or 8-bit floats.
//
// A workgroup computes one item (ckgen/fmha_split.hpp; heads merged, m0 = 16): 16 rows, queries x query heads of one KV
// head, over its part of the keys. Its 4 waves take blocks of keys in turns, each with a softmax of its own, and are
// combined through LDS in their order: the same operands and items give the same bits. Both products are transposed,
// K * Q^T and V^T * P^T: a lane's scores are what its part of the second product needs. Scores and sums are fp32, P is
// rounded to Q's type. C++20, compiled as HIP for any arch; code for gfx90a, gfx942 and gfx950.
#pragma once

#include "fmha_decode_tile.hpp"

namespace ckgen::hip {

template <FmhaDecodeConfig kConfig>
struct FmhaDecode : FmhaDecodeLanes<kConfig> {
  using Lanes = FmhaDecodeLanes<kConfig>;

#if CKGEN_HAS_HALF_PRODUCTS
  using Lanes::find, Lanes::key_of_run, Lanes::load_keys, Lanes::load_values, Lanes::load_q;
  using Lanes::kBytes, Lanes::kHalves, Lanes::kKeys, Lanes::kLoads, Lanes::kPageDescales, Lanes::kParts, Lanes::kRun;
  using Lanes::kTiles, Lanes::kTraits, Lanes::kVarlen, Lanes::kVectorized;
  using Lanes::Lanes;
  using Lanes::partial_row, Lanes::row_at, Lanes::tile_of;
  using Lanes::x, Lanes::tile, Lanes::blocks, Lanes::row, Lanes::lane, Lanes::m, Lanes::g;
  using typename Lanes::Found, typename Lanes::Keys, typename Lanes::Math, typename Lanes::Values;
  static constexpr float kLog2E = 1.4426950408889634F, kLn2 = 0.6931471805599453F;

  /// Scores of the lane's run: powers of 2, -infinity where the row does not see the key.
  __device__ void score(const Found& of, const Keys& keys, const Dwords4 (&q)[kLoads * kHalves], float scale,
                        float (&scores)[kRun]) const {
#pragma unroll
    for (int n = 0; n < kKeys; ++n) {
      Floats4 sums = {};
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const Dwords4 chunk = keys.held[n][i];
        if constexpr (kBytes == 2) {
          sums = Math::multiply(chunk, q[i], sums);
        } else {
          sums = Math::multiply(Math::of_bytes(chunk[0], chunk[1]), q[2 * i], sums);
          sums = Math::multiply(Math::of_bytes(chunk[2], chunk[3]), q[2 * i + 1], sums);
        }
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) scores[4 * n + i] = sums[i];
    }
#pragma unroll
    for (int n = 0; n < kRun; ++n) {
      float s = scores[n] * scale;
      if constexpr (kPageDescales) s *= descale(x.k_descale, of.of_run[n]);
      if constexpr (kTraits.softcap) s = x.softcap * tanh_of(s);
      scores[n] = !of.is_edge || row.sees(key_of_run(of, n)) ? s : -__builtin_inff();
    }
  }

  /// Of a page and the tile's head.
  __device__ float descale(const float* of, std::int32_t page) const {
    return load_at<float>(of, 4 * (std::int64_t{page} * x.shape.heads_k + tile.head));
  }

  /// One wave's sums over its keys: row m's are those of lanes m, m + 16, ..; `sum` of a lane is of its own keys.
  struct State {
    float most = -__builtin_inff();
    float sum = 0.0F;
    Floats4 out[kTiles] = {};
  };

  /// Takes a block's scores and values.
  __device__ void take(const Found& of, float (&scores)[kRun], Values& values, State& state) const {
    float most = scores[0];
#pragma unroll
    for (int n = 1; n < kRun; ++n) most = __builtin_fmaxf(most, scores[n]);
    most = __builtin_fmaxf(state.most, most_of_row(most));
    const float base = most == -__builtin_inff() ? 0.0F : most, factor = power_of_2(state.most - base);
    state.most = most;
    state.sum *= factor;
#pragma unroll
    for (int j = 0; j < kTiles; ++j) state.out[j] *= factor;
#pragma unroll
    for (int n = 0; n < kRun; ++n) {
      scores[n] = power_of_2(scores[n] - base);
      state.sum += scores[n];
      if constexpr (kPageDescales) scores[n] *= descale(x.v_descale, of.of_run[n]);
    }
    if constexpr (kVectorized) {
      if (of.is_edge) {
        std::uint32_t seen = 0;
#pragma unroll
        for (int n = 0; n < kRun; ++n) {
          const std::int32_t key = key_of_run(of, n);
          seen |= blocks.seen(key) == key ? 1U << n : 0U;
        }
        values.keep(seen);
      }
    }
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const float* p = scores + 8 * part;
      values.multiply(part, Math::narrowed({p[0], p[1], p[2], p[3]}, {p[4], p[5], p[6], p[7]}), state.out);
    }
  }

  /// All blocks of one wave.
  __device__ State attend(std::uint32_t wave) const {
    std::int32_t index = static_cast<std::int32_t>(wave), to = blocks.count;
    if (x.items == nullptr) {
      index += static_cast<std::int32_t>(std::int64_t{blocks.count} * tile.split / tile.splits);
      to = static_cast<std::int32_t>(std::int64_t{blocks.count} * (tile.split + 1) / tile.splits);
    }
    State state;
    if (index >= to) return state;
    Dwords4 q[kLoads * kHalves];
    load_q(q);
    float scale = x.scale;
    if constexpr (kTraits.quant == FmhaQuant::per_tensor) scale *= load_scalar(x.k_descale, 0);
    Found found = find(index);
    Keys keys = load_keys(found);
    while (true) {
      const std::int32_t next = index + kDecodeWaves;
      const Found ahead = find(next < to ? next : index);
      Values values = load_values(found);
      float scores[kRun];
      score(found, keys, q, scale, scores);
      if (next < to) keys = load_keys(ahead);
      take(found, scores, values, state);
      if (next >= to) return state;
      index = next;
      found = ahead;
    }
  }

  /// Adds the waves' sums up and writes the tile.
  __device__ void finish(std::uint32_t wave, State& state) const {
    __shared__ float most_of[kDecodeWaves][kDecodeRows], sum_of[kDecodeWaves][kDecodeRows];
    __shared__ Floats4 part_of[kDecodeWaves][4][kWave];
    const float own = sum_of_row(state.sum);
    if (lane < kDecodeRows) {
      most_of[wave][m] = state.most;
      sum_of[wave][m] = own;
    }
    __syncthreads();
    float sink = -__builtin_inff();
    if constexpr (kTraits.sink)
      sink = tile.split == 0 ? load_at<float>(x.sink, 4 * std::int64_t{row.head}) * kLog2E : sink;
    float most = sink;
#pragma unroll
    for (int i = 0; i < kDecodeWaves; ++i) most = __builtin_fmaxf(most, most_of[i][m]);
    const float base = most == -__builtin_inff() ? 0.0F : most;
    float sum = power_of_2(sink - base);
#pragma unroll
    for (int i = 0; i < kDecodeWaves; ++i) sum += sum_of[i][m] * power_of_2(most_of[i][m] - base);
    const float factor = power_of_2(state.most - base);
    float whole = sum > 0.0F ? 1.0F / sum : 0.0F;
    if constexpr (kTraits.quant == FmhaQuant::per_tensor) whole *= load_scalar(x.v_descale, 0);

    const std::int64_t partial = partial_row();
    if (wave == 0 && lane < kDecodeRows && row.is_there) store_lse(partial, (base + __builtin_amdgcn_logf(sum)) * kLn2);
#pragma unroll
    for (int round = 0; round < kTiles / 4; ++round) {
#pragma unroll
      for (int j = 0; j < 4; ++j) part_of[wave][j][lane] = state.out[4 * round + j] * factor;
      __syncthreads();
      Floats4 total = {};
#pragma unroll
      for (int i = 0; i < kDecodeWaves; ++i) {
        if constexpr (kVectorized) {
          total += part_of[i][wave][lane];
        } else {
#pragma unroll
          for (int j = 0; j < 4; ++j) total[j] += part_of[i][j][lane][wave];
        }
      }
      const std::int32_t w = static_cast<std::int32_t>(wave);
      const std::int32_t column = kVectorized ? 16 * (4 * round + w) + 4 * g : kTiles * (4 * g + w) + 4 * round;
      if (row.is_there) store(partial, column, total * whole);
      __syncthreads();
    }
  }

  __device__ void store_lse(std::int64_t partial, float lse) const {
    if (partial >= 0)
      x.lse_acc[partial] = lse;
    else if constexpr (kTraits.lse)
      x.lse[(kVarlen ? tile.first_q : tile.request * x.lse_batch_stride) + row.head * x.lse_head_stride + row.query] =
          lse;
  }

  /// Four columns of the lane's row.
  __device__ void store(std::int64_t partial, std::int32_t column, Floats4 values) const {
    if (partial >= 0) {
      *reinterpret_cast<Floats4*>(x.o_acc + partial * kConfig.hdim_v + column) = values;
      return;
    }
    using Elements4 = typename Math::Elements4;
    auto* o = static_cast<typename Math::Element*>(x.o) + row_at(x.o_strides) + column;
    *reinterpret_cast<Elements4*>(o) = __builtin_convertvector(values, Elements4);
  }

  __device__ static void run(const FmhaDecodeArgs& args) {
    const DecodeTile tile = tile_of(args, blockIdx.x);
    if (tile.request < 0) return;
    FmhaDecode decode(args, tile);
    if (!decode.find_rows()) return;
    decode.find_heads();
    const std::uint32_t wave = wave_of_workgroup();
    State state = decode.attend(wave);
    decode.finish(wave, state);
  }
#else
  __device__ static void run(const FmhaDecodeArgs&) {}
#endif
};

}  // namespace ckgen::hip

/// Defines the kernel as `symbol`; it takes FmhaDecodeArgs. Grid: items x KV heads workgroups of kDecodeThreads.
#define CKGEN_FMHA_DECODE_KERNEL(symbol, ...)                                             \
  extern "C" __global__ void __launch_bounds__(                                           \
      (ckgen::hip::kDecodeThreads),                                                       \
      (ckgen::hip::FmhaDecode<ckgen::hip::FmhaDecodeConfig{__VA_ARGS__}>::kWavesPerSimd)) \
      symbol(ckgen::hip::FmhaDecodeArgs args) {                                           \
    ckgen::hip::FmhaDecode<ckgen::hip::FmhaDecodeConfig{__VA_ARGS__}>::run(args);         \
  }
