// Scores of rows of K where they are, for few rows of Q. Compiled once per ISA. Included by the files of levels only.
#pragma once

#include "backends/host/isa/fmha_load.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// What comes next, evenly and in its order, while a step is computed. To the second-level cache: the first has too few
// misses in flight. Many lines at a time, so that the hardware sees where they lead; fewer of one or two ROWS of Q,
// whose steps are short (benchmarks/fmha_serving.py measures both).
template <int ROWS>
class Coming {
 public:
  Coming(const FmhaRowsOf& rows, std::int64_t steps)
      : rows_(rows), bytes_(std::int64_t{rows.pieces} * rows.piece_bytes), burst_(steps * kBurst) {}
  void step(std::int64_t count = 1) {
    due_ += count * bytes_;
    if (due_ >= burst_ && bytes_ > 0) burst();
  }

 private:
  static constexpr std::int64_t kBurst = ROWS <= 2 ? 256 : 1024;
  void burst() {
    for (; due_ >= burst_; due_ -= burst_)
      for (std::int64_t left = kBurst; left > 0 && piece_ < rows_.pieces;) {
        const std::int64_t take = least(left, rows_.piece_bytes - at_);
        const unsigned char* const p = rows_.next[piece_] + rows_.next_offset + at_;
        if (take == kBurst) {
#pragma GCC unroll 16
          for (int i = 0; i < kBurst; i += 64) __builtin_prefetch(p + i, 0, 1);
        } else {
          for (std::int64_t i = 0; i < take; i += 64) __builtin_prefetch(p + i, 0, 1);
        }
        left -= take;
        at_ += take;
        if (at_ >= rows_.piece_bytes) at_ = 0, ++piece_;
      }
  }
  const FmhaRowsOf& rows_;
  const std::int64_t bytes_, burst_;
  std::int64_t due_ = 0, piece_ = 0, at_ = 0;
};

// Steps of many rows between two looks at what comes next: a look in the innermost loop takes the registers of its
// addresses.
constexpr int kStretch = 8;

// ---- scores ---------------------------------------------------------------------------------------------------------

// out[i] = op of `in`'s elements 2 i and 2 i + 1.
template <int N, int I = 0, class Op>
inline void pairwise(const VecF (&in)[2 * N], VecF (&out)[N], Op op) {
  static_assert(I < N);
  out[I] = op(in[2 * I], in[2 * I + 1]);
  if constexpr (I + 1 < N) pairwise<N, I + 1>(in, out, op);
}

// Lane i is the sum of sums[i].
inline VecF sums_of(const VecF (&sums)[kLanes]) {
#if CKGEN_HOST_LEVEL >= 4
  VecF pairs[8], fours[4], halves[2];
  pairwise<8>(sums, pairs, [](VecF a, VecF b) { return add_f(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)); });
  pairwise<4>(pairs, fours, [](VecF low, VecF high) {
    const __m512d a = _mm512_castps_pd(low), b = _mm512_castps_pd(high);
    return add_f(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
  });
  pairwise<2>(fours, halves,
              [](VecF a, VecF b) { return add_f(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd)); });
  return add_f(_mm512_shuffle_f32x4(halves[0], halves[1], 0x88), _mm512_shuffle_f32x4(halves[0], halves[1], 0xdd));
#else
  VecF pairs[4], fours[2];
  const auto add = [](VecF a, VecF b) { return _mm256_hadd_ps(a, b); };
  pairwise<4>(sums, pairs, add);
  pairwise<2>(pairs, fours, add);
  return add_f(_mm256_permute2f128_ps(fours[0], fours[1], 0x20), _mm256_permute2f128_ps(fours[0], fours[1], 0x31));
#endif
}

// Lanes are kLanes / MR columns of each row, row after row.
template <int MR>
inline void store_scores(float* out, VecF v) {
  constexpr int kAcross = kLanes / MR;
  float lanes[kLanes];
  if constexpr (MR == 1) return store_f(out, v);
  store_f(lanes, v);
  for (int i = 0; i < MR; ++i) __builtin_memcpy(out + i * kFmhaStride, lanes + i * kAcross, kAcross * sizeof(float));
}

template <class Rows, int MR>
void row_scores_of(const FmhaStep& s) {
  using W = typename Rows::Word;
  constexpr int kAcross = kLanes / MR, kBlock = kAcross < 4 ? kAcross : 4, kVectors = Rows::kVectors;
  constexpr int kChunkBytes = Rows::kElements * Rows::kBytes;
  const Rows rows(s);
  const typename W::Word* const q = static_cast<const typename W::Word*>(s.q);
  const int whole = s.hdim_q / Rows::kElements, live = s.hdim_q % Rows::kElements;
  const std::int64_t first = first_panel(s) * kFmhaPanel, last = end_panel(s) * kFmhaPanel;
  Coming<MR> coming(s.k_rows, (last - first) / kBlock);
  for (std::int64_t j = first; j < last; j += kAcross) {
    VecF sum[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) sum[i] = zero_f();
#pragma GCC unroll 4
    for (int b = 0; b < kAcross; b += kBlock) {
      const unsigned char* at[kBlock];
#pragma GCC unroll 4
      for (int c = 0; c < kBlock; ++c) at[c] = s.k_rows.rows[j + b + c] + s.k_rows.offset;
      const auto add = [&](int chunk, auto load) {
        const typename W::Word* const from = q + chunk * kVectors * kFmhaRows * kLanes;
        typename W::Vec k[kBlock][kVectors];
#pragma GCC unroll 4
        for (int c = 0; c < kBlock; ++c) load(at[c] + chunk * kChunkBytes, k[c]);
#pragma GCC unroll 2
        for (int i = 0; i < kVectors; ++i)
#pragma GCC unroll 8
          for (int r = 0; r < MR; ++r) {
            const typename W::Vec x = W::load(from + (i * kFmhaRows + r) * kLanes);
#pragma GCC unroll 4
            for (int c = 0; c < kBlock; ++c) sum[r * kAcross + b + c] = W::sum(sum[r * kAcross + b + c], k[c][i], x);
          }
      };
      for (int chunk = 0; chunk < whole; ++chunk)
        add(chunk, [&](const unsigned char* p, auto& out) { rows.keys(p, out); });
      if (live > 0) add(whole, [&](const unsigned char* p, auto& out) { rows.keys(p, live, out); });
      coming.step();
    }
    store_scores<MR>(s.scores + j, sums_of(sum));
  }
}

#if CKGEN_HOST_LEVEL >= 4

// ---- more rows: four words of several of them in a vector -----------------------------------------------------------

// Q is [quads][kFmhaRows][4] words. Words of K as they are in memory are broadcast four at a time; others are decoded
// first, a few columns at a time.
template <class Rows>
inline constexpr bool kIsWords = false;
template <>
inline constexpr bool kIsWords<RowsOf<LoadFp32>> = true;
#if CKGEN_HOST_LEVEL >= 5
template <>
inline constexpr bool kIsWords<RowsOfBf16> = true;
#endif

inline VecF quad_of(const unsigned char* p, WordF32) {
  return _mm512_broadcast_f32x4(_mm_loadu_ps(reinterpret_cast<const float*>(p)));
}
#if CKGEN_HOST_LEVEL >= 5
inline VecI quad_of(const unsigned char* p, WordBf16) {
  return _mm512_broadcast_i32x4(load_128(p));
}
#endif

// A row of K as words, zeros up to a whole chunk.
template <class Rows>
inline void decode_row(const Rows& rows, const unsigned char* p, int hdim, typename Rows::Word::Word* out) {
  constexpr int kChunkBytes = Rows::kElements * Rows::kBytes;
  typename Rows::Word::Vec x[Rows::kVectors];
  for (int done = 0; done < hdim; done += Rows::kElements, p += kChunkBytes) {
    if (hdim - done >= Rows::kElements)
      rows.keys(p, x);
    else
      rows.keys(p, hdim - done, x);
    for (int i = 0; i < Rows::kVectors; ++i, out += kLanes) Rows::Word::store(out, x[i]);
  }
}

// The sums of each quad, as scores: rows by columns.
template <int MR, int COLUMNS, int VECTORS>
inline void store_quads(float* out, const VecF (&sum)[COLUMNS][VECTORS]) {
  const auto pair = [](VecF a, VecF b) { return add_f(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)); };
#pragma GCC unroll 2
  for (int v = 0; v < VECTORS; ++v)
#pragma GCC unroll 2
    for (int c = 0; c < COLUMNS; c += 4) {
      const __m512d a = _mm512_castps_pd(pair(sum[c][v], sum[c + 1][v]));
      const __m512d b = _mm512_castps_pd(pair(sum[c + 2][v], sum[c + 3][v]));
      const VecF all = add_f(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
      float* const to = out + v * 4 * kFmhaStride + c;
      _mm_storeu_ps(to, _mm512_castps512_ps128(all));
      _mm_storeu_ps(to + kFmhaStride, _mm512_extractf32x4_ps(all, 1));
      _mm_storeu_ps(to + 2 * kFmhaStride, _mm512_extractf32x4_ps(all, 2));
      _mm_storeu_ps(to + 3 * kFmhaStride, _mm512_extractf32x4_ps(all, 3));
    }
}

template <class Rows, int MR>
void quad_scores_of(const FmhaStep& s) {
  using W = typename Rows::Word;
  constexpr int kVecs = MR / 4, kAcross = 8;
  constexpr int kElements = 4 * W::kElements, kChunkWords = Rows::kVectors * kLanes;
  const Rows rows(s);
  const typename W::Word* const q = static_cast<const typename W::Word*>(s.q);
  alignas(64) typename W::Word decoded[kIsWords<Rows> ? 1 : kAcross][kIsWords<Rows> ? kChunkWords : 256 / W::kElements];
  const int whole = kIsWords<Rows> ? s.hdim_q / kElements : (s.hdim_q + kElements - 1) / kElements;
  const int live = kIsWords<Rows> ? s.hdim_q % kElements : 0;
  const std::int64_t first = first_panel(s) * kFmhaPanel, last = end_panel(s) * kFmhaPanel;
  Coming<MR> coming(s.k_rows, (last - first) / kAcross * whole);
  for (std::int64_t j = first; j < last; j += kAcross) {
    const unsigned char* at[kAcross];
#pragma GCC unroll 8
    for (int c = 0; c < kAcross; ++c) {
      at[c] = s.k_rows.rows[j + c] + s.k_rows.offset;
      if constexpr (!kIsWords<Rows>) {
        decode_row(rows, at[c], s.hdim_q, decoded[c]);
        at[c] = reinterpret_cast<const unsigned char*>(decoded[c]);
      }
    }
    VecF sum[kAcross][kVecs];
#pragma GCC unroll 8
    for (int c = 0; c < kAcross; ++c)
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) sum[c][v] = zero_f();
    const auto add = [&](int quad, auto load) {
      typename W::Vec x[kVecs];
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) x[v] = W::load(q + quad * kFmhaRows * 4 + v * kLanes);
#pragma GCC unroll 8
      for (int c = 0; c < kAcross; ++c) {
        const typename W::Vec k = load(at[c] + quad * 16);
#pragma GCC unroll 2
        for (int v = 0; v < kVecs; ++v) sum[c][v] = W::sum(sum[c][v], k, x[v]);
      }
    };
    for (int quad = 0; quad < whole;) {
      const int stop = quad + kStretch < whole ? quad + kStretch : whole, count = stop - quad;
      for (; quad < stop; ++quad) add(quad, [](const unsigned char* p) { return quad_of(p, W{}); });
      coming.step(count);
    }
    if (live > 0)
      add(whole, [live](const unsigned char* p) {
        alignas(16) unsigned char some[16] = {};
        for (int i = 0; i < live * Rows::kBytes; i += 2) __builtin_memcpy(some + i, p + i, 2);
        return quad_of(some, W{});
      });
    store_quads<MR>(s.scores + j, sum);
  }
}

// Of more rows than this, quads are faster.
template <class Rows>
inline constexpr int kMostSingle = kIsWords<Rows> ? 2 : 4;
#else
template <class Rows>
inline constexpr int kMostSingle = kFmhaRows;
#endif

template <class Rows>
void row_scores(const FmhaStep& s) {
  if (s.rows == 1) return row_scores_of<Rows, 1>(s);
  if (s.rows == 2) return row_scores_of<Rows, 2>(s);
  if (s.rows <= 4) {
    if constexpr (kMostSingle<Rows> >= 4)
      return row_scores_of<Rows, 4>(s);
    else
      return quad_scores_of<Rows, 4>(s);
  }
  if constexpr (kMostSingle<Rows> >= 8)
    row_scores_of<Rows, 8>(s);
  else
    quad_scores_of<Rows, 8>(s);
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
