// Kernels of fmha_step.hpp that read rows of K and V where they are, for few rows of Q: what counts is how fast memory
// is read. Compiled once per ISA, from x86_64_v4 on. Included by the isa_*.cpp files only.
#pragma once

#include "backends/host/isa_fmha.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

#if CKGEN_HOST_LEVEL >= 4

// ---- loading --------------------------------------------------------------------------------------------------------

// A row of T as vectors of sixteen words; LIVE: as many elements, zeros beyond.
struct RowFp32 {
  using Word = WordF32;
  static constexpr int kBytes = 4;
  static VecF vector(const unsigned char* p) { return _mm512_loadu_ps(p); }
  static VecF vector(const unsigned char* p, int live) { return _mm512_maskz_loadu_ps(low_bits(live), p); }
  static __mmask16 low_bits(int live) { return static_cast<__mmask16>((1U << live) - 1U); }
};
struct RowFp16 {
  using Word = WordF32;
  static constexpr int kBytes = 2;
  static VecF vector(const unsigned char* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(p)));
  }
  static VecF vector(const unsigned char* p, int live) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(RowFp32::low_bits(live), p));
  }
};
struct RowBf16 {
  using Word = WordF32;
  static constexpr int kBytes = 2;
  static VecF widen(__m256i h) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16)); }
  static VecF vector(const unsigned char* p) {
    return widen(_mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(p)));
  }
  static VecF vector(const unsigned char* p, int live) {
    return widen(_mm256_maskz_loadu_epi16(RowFp32::low_bits(live), p));
  }
};
#if CKGEN_HOST_LEVEL >= 5
struct RowBf16Pairs {
  using Word = WordBf16;
  static constexpr int kBytes = 2;
  static VecI vector(const unsigned char* p) { return _mm512_loadu_si512(p); }
  static VecI vector(const unsigned char* p, int live) {
    return _mm512_maskz_loadu_epi16(static_cast<__mmask32>((std::uint64_t{1} << live) - 1U), p);
  }
};
#endif

// Lane i is the sum of sums[i].
inline VecF sums_of(const VecF (&sums)[16]) {
  VecF pairs[8], fours[4], halves[2];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i)
    pairs[i] =
        add_f(_mm512_unpacklo_ps(sums[2 * i], sums[2 * i + 1]), _mm512_unpackhi_ps(sums[2 * i], sums[2 * i + 1]));
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512d a = _mm512_castps_pd(pairs[2 * i]), b = _mm512_castps_pd(pairs[2 * i + 1]);
    fours[i] = add_f(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i)
    halves[i] = add_f(_mm512_shuffle_f32x4(fours[2 * i], fours[2 * i + 1], 0x88),
                      _mm512_shuffle_f32x4(fours[2 * i], fours[2 * i + 1], 0xdd));
  return add_f(_mm512_shuffle_f32x4(halves[0], halves[1], 0x88), _mm512_shuffle_f32x4(halves[0], halves[1], 0xdd));
}

// Brought to the second-level cache: the first has too few misses in flight.
inline void bring(const unsigned char* row, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(row + i, 0, 2);
}

// ---- scores ---------------------------------------------------------------------------------------------------------

// Lanes are COLUMNS columns of each row, row after row.
template <int MR>
inline void store_scores(float* out, VecF v) {
  if constexpr (MR == 1) {
    store_f(out, v);
  } else if constexpr (MR == 2) {
    _mm256_storeu_ps(out, _mm512_castps512_ps256(v));
    _mm256_storeu_ps(out + kFmhaStride, _mm512_extractf32x8_ps(v, 1));
  } else {
    const __m128 part[4] = {_mm512_castps512_ps128(v), _mm512_extractf32x4_ps(v, 1), _mm512_extractf32x4_ps(v, 2),
                            _mm512_extractf32x4_ps(v, 3)};
    for (int i = 0; i < 4; ++i) {
      if constexpr (MR == 4) {
        _mm_storeu_ps(out + i * kFmhaStride, part[i]);
      } else {
        _mm_storel_pi(reinterpret_cast<__m64*>(out + 2 * i * kFmhaStride), part[i]);
        _mm_storeh_pi(reinterpret_cast<__m64*>(out + (2 * i + 1) * kFmhaStride), part[i]);
      }
    }
  }
}

template <class Row, int MR>
void row_scores_of(const FmhaStep& s) {
  using W = typename Row::Word;
  constexpr int kColumns = 16 / MR, kElements = kLanes * W::kElements;
  const typename W::Word* const q = static_cast<const typename W::Word*>(s.q);
  const int whole = s.hdim_q / kElements, live = s.hdim_q % kElements;
  constexpr int kChunkBytes = kElements * Row::kBytes;
  const std::int64_t v_bytes = std::int64_t{s.hdim_v} * Row::kBytes;
  for (std::int64_t j = first_panel(s) * kFmhaPanel; j < end_panel(s) * kFmhaPanel; j += kColumns) {
    VecF sum[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) sum[i] = zero_f();
    const unsigned char* const* const rows = s.k_rows + j;
    const auto step = [&](int chunk, auto load) {
      const typename W::Word* const from = q + chunk * kFmhaRows * kLanes;
      typename W::Vec k[kColumns];
#pragma GCC unroll 16
      for (int c = 0; c < kColumns; ++c) k[c] = load(rows[c] + chunk * kElements * Row::kBytes);
      // Few at a time: while what they bring is on its way, nothing else comes into the first-level cache.
      if (s.bring && chunk * kChunkBytes % 64 == 0 && chunk * kChunkBytes < v_bytes)
        for (int c = 0; c < kColumns; ++c) bring(s.v_rows[j + c] + chunk * kChunkBytes, 64);
#pragma GCC unroll 8
      for (int r = 0; r < MR; ++r) {
        const typename W::Vec x = W::load(from + r * kLanes);
#pragma GCC unroll 16
        for (int c = 0; c < kColumns; ++c) sum[r * kColumns + c] = W::sum(sum[r * kColumns + c], k[c], x);
      }
    };
    for (int chunk = 0; chunk < whole; ++chunk) step(chunk, [](const unsigned char* p) { return Row::vector(p); });
    if (live > 0) step(whole, [live](const unsigned char* p) { return Row::vector(p, live); });
    if (s.bring && s.hdim_v > s.hdim_q)
      for (int c = 0; c < kColumns; ++c) bring(s.v_rows[j + c], v_bytes);
    store_scores<MR>(s.scores + j, sums_of(sum));
  }
}

template <class Row>
void row_scores(const FmhaStep& s) {
  if (s.rows == 1) return row_scores_of<Row, 1>(s);
  if (s.rows == 2) return row_scores_of<Row, 2>(s);
  if (s.rows <= 4) return row_scores_of<Row, 4>(s);
  row_scores_of<Row, 8>(s);
}

// ---- values ---------------------------------------------------------------------------------------------------------

// Dimensions [panel * kFmhaPanel, ...) of one word of columns: a vector per sixteen of them.
template <class Row>
inline void load_values(VecF (&out)[kPanelVecs], const unsigned char* const* rows, std::int64_t panel, int live) {
  const unsigned char* const p = rows[0] + panel * kFmhaPanel * Row::kBytes;
  for (int i = 0; i < kPanelVecs; ++i) {
    const int here = live - i * kLanes;
    const unsigned char* const at = p + i * kLanes * Row::kBytes;
    out[i] = here >= kLanes ? Row::vector(at) : here > 0 ? Row::vector(at, here) : zero_f();
  }
}
#if CKGEN_HOST_LEVEL >= 5
struct PairOrder {
  std::uint16_t low[32] = {}, high[32] = {};
  constexpr PairOrder() {
    for (int i = 0; i < 32; ++i) {
      low[i] = static_cast<std::uint16_t>(i / 2 + i % 2 * 32);
      high[i] = static_cast<std::uint16_t>(low[i] + 16);
    }
  }
};
constexpr PairOrder kPairOrder;

template <class Row>
inline void load_values(VecI (&out)[kPanelVecs], const unsigned char* const* rows, std::int64_t panel, int live) {
  const std::int64_t at = panel * kFmhaPanel * Row::kBytes;
  const bool all = live >= kFmhaPanel;
  const VecI a = all ? Row::vector(rows[0] + at) : Row::vector(rows[0] + at, live);
  const VecI b = all ? Row::vector(rows[1] + at) : Row::vector(rows[1] + at, live);
  out[0] = _mm512_permutex2var_epi16(a, _mm512_loadu_si512(kPairOrder.low), b);
  out[1] = _mm512_permutex2var_epi16(a, _mm512_loadu_si512(kPairOrder.high), b);
}
#endif

template <class Row, int MR, int NP>
void row_values_of(const FmhaStep& s, std::int64_t panel) {
  using W = typename Row::Word;
  constexpr int kRow = kFmhaStride / W::kElements;
  const std::int64_t begin = s.first / W::kElements, end = (s.last + W::kElements - 1) / W::kElements;
  const typename W::Word* const p = static_cast<const typename W::Word*>(s.weights);
  float* const out = s.out + panel * kFmhaRows * kFmhaPanel;
  const auto at = [out](int i, int j) {
    return out + (j / kPanelVecs * kFmhaRows + i) * kFmhaPanel + j % kPanelVecs * kLanes;
  };
  const int left = s.hdim_v - static_cast<int>(panel) * kFmhaPanel;
  VecF sum[MR][NP * kPanelVecs];
#pragma GCC unroll 8
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NP * kPanelVecs; ++j) sum[i][j] = mul_f(load_f(at(i, j)), broadcast_f(s.rescale[i]));
  for (std::int64_t w = begin; w < end; ++w) {
    const unsigned char* const* const rows = s.v_rows + w * W::kElements;
#pragma GCC unroll 4
    for (int n = 0; n < NP; ++n) {
      typename W::Vec v[kPanelVecs];
      load_values<Row>(v, rows, panel + n, n + 1 < NP ? kFmhaPanel : left - n * kFmhaPanel);
#pragma GCC unroll 8
      for (int i = 0; i < MR; ++i) {
        const typename W::Vec weight = W::broadcast(p[i * kRow + w]);
#pragma GCC unroll 2
        for (int j = 0; j < kPanelVecs; ++j)
          sum[i][n * kPanelVecs + j] = W::sum(sum[i][n * kPanelVecs + j], v[j], weight);
      }
    }
    if (s.bring)
      for (int e = 0; e < W::kElements; ++e)
        bring(s.k_rows[s.next + w * W::kElements + e] + panel * kFmhaPanel * Row::kBytes,
              NP * kFmhaPanel * Row::kBytes);
  }
#pragma GCC unroll 8
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NP * kPanelVecs; ++j) store_f(at(i, j), sum[i][j]);
}

template <class Row, int MR>
void row_values_rows(const FmhaStep& s) {
  constexpr int kPanels = MR >= 8 ? 1 : MR == 4 ? 2 : 4;
  std::int64_t panel = 0;
  for (; panel + kPanels <= s.v_panels; panel += kPanels) row_values_of<Row, MR, kPanels>(s, panel);
  for (; panel < s.v_panels; ++panel) row_values_of<Row, MR, 1>(s, panel);
}

template <class Row>
void row_values(const FmhaStep& s) {
  if (s.rows == 1) return row_values_rows<Row, 1>(s);
  if (s.rows == 2) return row_values_rows<Row, 2>(s);
  if (s.rows <= 4) return row_values_rows<Row, 4>(s);
  row_values_rows<Row, 8>(s);
}

template <class Row>
constexpr FmhaRowKernels row_kernels() {
  return {&row_scores<Row>, &row_values<Row>};
}
constexpr FmhaKernels with_rows(FmhaKernels kernels, FmhaRowKernels fp32, FmhaRowKernels fp16, FmhaRowKernels bf16) {
  kernels.rows[kFmhaRowsFp32] = fp32;
  kernels.rows[kFmhaRowsFp16] = fp16;
  kernels.rows[kFmhaRowsBf16] = bf16;
  return kernels;
}

#endif

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
