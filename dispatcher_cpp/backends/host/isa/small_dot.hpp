// Kernels of gemm/small_m.hpp by dot products of bf16, for levels that have them. Included by isa/small.hpp only.
#pragma once

#include "backends/host/isa/small_prepare.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

inline __m512 dot(__m512 c, __m512i a, __m512i b) {
  return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b);
}

// The scales of a chunk's two groups, eight lanes each.
inline __m512 halves(const float* scale) {
  return _mm512_mask_mov_ps(_mm512_set1_ps(scale[0]), 0xff00, _mm512_set1_ps(scale[1]));
}

// J rows of B from `first` on.
template <int J, class Decode, int R, bool MX, class Row>
[[gnu::always_inline]] inline void small_dot_rows(const SmallCall& s, const Decode& decode, const Row* rows,
                                                  int first) {
  const unsigned char* a = static_cast<const unsigned char*>(s.a);
  const std::int64_t chunks = (s.k + kChunk - 1) / kChunk, per_group = MX ? 1 : (s.group + kChunk - 1) / kChunk;
  __m512 total[J][R];
#pragma GCC unroll 4
  for (int j = 0; j < J; ++j)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) total[j][r] = _mm512_setzero_ps();
  for (std::int64_t chunk = 0, g = 0; chunk < chunks; chunk += per_group, ++g) {
    __m512 part[J][R];
#pragma GCC unroll 4
    for (int j = 0; j < J; ++j)
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) part[j][r] = _mm512_setzero_ps();
    const auto add = [&](const unsigned char* const(&from)[J], std::int64_t at) {
      __m512i x[J][2];
#pragma GCC unroll 4
      for (int j = 0; j < J; ++j) decode(from[j], x[j]);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int i = 0; i < 2; ++i) {
          const __m512i from_a = _mm512_loadu_si512(a + 2 * (r * s.a_stride + at * kChunk + 32 * i));
#pragma GCC unroll 4
          for (int j = 0; j < J; ++j) part[j][r] = dot(part[j][r], from_a, x[j][i]);
        }
    };
    if constexpr (J == 2) {
      short_steps<J>(rows + first, s.ahead, chunk, least(chunk + per_group, chunks), add);
    } else {
      each_step<J>(rows + first, s.ahead, chunk, least(chunk + per_group, chunks), add);
    }
#pragma GCC unroll 4
    for (int j = 0; j < J; ++j) {
      const float* scale = s.b_scale[first + j];
      const __m512 b_scale = MX ? halves(scale + 2 * g) : _mm512_set1_ps(scale[g]);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        // Scales of mx are in the panel's values already.
        const __m512 scaled = MX ? part[j][r] : mul_16(part[j][r], all_16(s.a_scale[r * s.scale_stride + g]));
        total[j][r] = fma_16(scaled, b_scale, total[j][r]);
      }
    }
  }
  store_sums(s, first, total);
}

// With scales of groups there are twice the sums, which then fit into registers.
template <class Decode, int R, bool MX, class Row>
[[gnu::always_inline]] inline void in_pairs(const SmallCall& s, const Decode& decode, const Row* rows) {
  for (int j = 0; j < kColumns; j += 2) small_dot_rows<2, Decode, R, MX>(s, decode, rows, j);
}

template <class Decode, int R, bool MX>
void small_dot(const SmallCall& call) {
  const Decode decode(call);
  each_time(call, [&](const SmallCall& s) {
    const SmallRows<Decode::kBits, kChunk> b(s);
    if (MX || s.group < s.k) return in_pairs<Decode, R, MX>(s, decode, b.rows);
    if constexpr (!MX) small_dot_rows<kColumns, Decode, R, MX>(s, decode, b.rows, 0);
  });
}

template <class Decode>
void small_dot_exact(const SmallCall& s) {
  const Decode decode(s);
  const SmallRow<Decode::kBits, kChunk> b(s.b[0], s.next[0], s.k);
  const unsigned char* a = static_cast<const unsigned char*>(s.a);
  const std::int64_t chunks = (s.k + kChunk - 1) / kChunk;
  const std::int64_t per_group = (s.group + kChunk - 1) / kChunk, per_chunk = s.group < kChunk ? 2 : 1;
  float total = 0.0F;
  for (std::int64_t chunk = 0, g = 0; chunk < chunks; g += per_chunk) {
    __m512 part = _mm512_setzero_ps();
    __m512i x[2];
    for (const std::int64_t end = least(chunk + per_group, chunks); chunk < end; ++chunk) {
      decode(b.at(chunk), x);
      for (int i = 0; i < 2; ++i) part = dot(part, _mm512_loadu_si512(a + 2 * (chunk * kChunk + 32 * i)), x[i]);
    }
    if (per_chunk == 1) {
      total += (sum_of(part) * s.a_scale[g]) * s.b_scale[0][g];
      continue;
    }
    total += (sum_of(_mm512_castps512_ps256(part)) * s.a_scale[g]) * s.b_scale[0][g];
    if (chunk * kChunk - 32 < s.k)
      total += (sum_of(_mm512_extractf32x8_ps(part, 1)) * s.a_scale[g + 1]) * s.b_scale[0][g + 1];
  }
  static_cast<float*>(s.out[0])[0] = total;
}

// MX: of types that have scales of mx.
template <class Decode, bool MX>
consteval SmallKernels small_dot_kernels() {
  SmallKernels all{{&small_dot<Decode, 1, false>, &small_dot<Decode, 2, false>, &small_dot<Decode, 3, false>,
                    &small_dot<Decode, 4, false>},
                   {},
                   &small_dot_exact<Decode>,
                   &small_prepare_bf16<Decode::kOrder>,
                   2,
                   Decode::kBits};
  if constexpr (MX) {
    all.mx[0] = &small_dot<Decode, 1, true>;
    all.mx[1] = &small_dot<Decode, 2, true>;
    all.mx[2] = &small_dot<Decode, 3, true>;
    all.mx[3] = &small_dot<Decode, 4, true>;
  }
  return all;
}
template <class Decode, bool MX = false>
constexpr SmallKernels kSmallDot = small_dot_kernels<Decode, MX>();

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
