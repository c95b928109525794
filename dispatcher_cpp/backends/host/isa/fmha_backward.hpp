// Kernels of fmha/backward_step.hpp, compiled once per ISA. Included by the files of levels only.
#pragma once

#include "backends/host/isa/coming_rows.hpp"
#include "backends/host/isa/fmha.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// ---- products -------------------------------------------------------------------------------------------------------

// Rows whose sums fit the registers beside a panel of B.
constexpr int kBackwardTall = CKGEN_HOST_LEVEL >= 4 ? 12 : 6;

// UNIT: rows of A are neighbours. Else four rows share an address, as there are too few registers for one of each.
template <class W, int MR, bool UNIT>
inline void product_of(const FmhaProduct& x, std::int64_t row, std::int64_t panel) {
  using Word = typename W::Word;
  constexpr int kShare = 4, kAddresses = UNIT ? 1 : (MR + kShare - 1) / kShare;
  const std::int64_t step = UNIT ? 1 : x.a_row, along = UNIT ? x.a_word : 1;
  const Word* a[kAddresses];
#pragma GCC unroll 4
  for (int i = 0; i < kAddresses; ++i) a[i] = static_cast<const Word*>(x.a) + (row + i * kShare) * step;
  const Word* b = static_cast<const Word*>(x.b) + panel * x.b_panel;
  float* const out = x.out + row * x.ld + panel * kFmhaPanel;
  VecF sum[MR][kPanelVecs];
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < kPanelVecs; ++j) sum[i][j] = x.adds ? load_f(out + i * x.ld + j * kLanes) : zero_f();
  for (std::int64_t w = 0; w < x.words; ++w) {
    typename W::Vec bv[kPanelVecs];
#pragma GCC unroll 2
    for (int j = 0; j < kPanelVecs; ++j) bv[j] = W::load(b + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i) {
      const Word* const from = UNIT ? a[0] + i : a[i / kShare] + i % kShare * step;
      const typename W::Vec av = W::broadcast(*from);
#pragma GCC unroll 2
      for (int j = 0; j < kPanelVecs; ++j) sum[i][j] = W::sum(sum[i][j], bv[j], av);
    }
#pragma GCC unroll 4
    for (int i = 0; i < kAddresses; ++i) {
      a[i] += along;
      if (!UNIT) asm("" : "+r"(a[i]));  // an address of its own
    }
    b += x.b_word;
  }
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < kPanelVecs; ++j) store_f(out + i * x.ld + j * kLanes, sum[i][j]);
}

// What is left of the rows, in ever smaller groups.
template <class W, int MR, bool UNIT>
inline void product_rest(const FmhaProduct& x, std::int64_t row, std::int64_t panel) {
  if constexpr (MR > 0) {
    if (x.rows - row >= MR) {
      product_of<W, MR, UNIT>(x, row, panel);
      row += MR;
    }
    product_rest<W, MR / 2, UNIT>(x, row, panel);
  }
}

template <class W, bool UNIT>
void product_rows(const FmhaProduct& x) {
  ComingRows coming(x.coming, x.panels * (x.rows / kBackwardTall + 1));
  for (std::int64_t panel = 0; panel < x.panels; ++panel) {
    std::int64_t row = 0;
    for (; row + kBackwardTall <= x.rows; row += kBackwardTall) {
      coming.step();
      product_of<W, kBackwardTall, UNIT>(x, row, panel);
    }
    coming.step();
    product_rest<W, 8, UNIT>(x, row, panel);
  }
}

template <class W>
void fmha_product(const FmhaProduct& x) {
  x.a_row == 1 ? product_rows<W, true>(x) : product_rows<W, false>(x);
}

// ---- gradients of scores --------------------------------------------------------------------------------------------

// -infinity where a row does not see.
inline void hide_row(float* __restrict row, std::int64_t end, const FmhaSpan& span) {
  const int first = span.first, last = span.last, sink = span.sink;
  for (int j = 0; j < end; ++j) {
    const bool seen = ((j >= first) & (j < last)) | (j < sink);
    row[j] = seen ? row[j] : -__builtin_inff();
  }
}

// x = score * scale, then softcap or a bias; `slope` is that of the cap, which the gradient needs.
inline void adjust_row(const FmhaGradients& g, std::int64_t r, std::int64_t end, float* slope, VecF lanes) {
  float* const row = g.scores + r * g.ld;
  const VecF scale = broadcast_f(g.scale);
  for (std::int64_t j = 0; j < end; j += kLanes) {
    VecF x = mul_f(load_f(row + j), scale);
    if (g.softcap > 0.0F) {
      const VecF t = tanh_f(div_f(x, broadcast_f(g.softcap)));
      x = mul_f(broadcast_f(g.softcap), t);
      store_f(slope + j, sub_f(broadcast_f(1.0F), mul_f(t, t)));
    }
    if (g.bias != nullptr) x = add_f(x, load_f(g.bias + r * g.ld + j));
    if (g.has_slope) {
      const VecF column = add_f(broadcast_f(static_cast<float>(j)), lanes);
      const VecF distance = magnitude_f(sub_f(broadcast_f(g.position + static_cast<float>(r)), column));
      x = sub_f(x, mul_f(broadcast_f(g.slope), distance));
    }
    store_f(row + j, x);
  }
}

void fmha_gradients(const FmhaGradients& g) {
  const std::int64_t end = (g.columns + kFmhaPanel - 1) / kFmhaPanel * kFmhaPanel;
  // What hides a column is -infinity, which survives a positive factor only.
  const bool plain = g.softcap <= 0.0F && g.bias == nullptr && !g.has_slope && g.scale > 0.0F;
  float counted[kLanes];
  for (int i = 0; i < kLanes; ++i) counted[i] = static_cast<float>(i);
  const VecF lanes = load_f(counted);
  alignas(64) float slope[kFmhaMaxColumns + kFmhaPanel];
  for (std::int64_t r = 0; r < g.rows; ++r) {
    float* const row = g.scores + r * g.ld;
    float* const dp = g.dp + r * g.ld;
    const float* const factor = g.factor == nullptr ? nullptr : g.factor + r * g.ld;
    if (!plain) adjust_row(g, r, end, slope, lanes);
    if (g.spans != nullptr) hide_row(row, end, g.spans[r]);
    const VecF scale = broadcast_f(plain ? g.scale * kFmhaLog2E : kFmhaLog2E);
    const VecF minus = broadcast_f(-g.lse[r] * kFmhaLog2E), delta = broadcast_f(g.delta[r]);
    for (std::int64_t j = 0; j < end; j += kLanes) {
      const VecF p = exp2_f(fma_f(load_f(row + j), scale, minus));
      VecF d = load_f(dp + j);
      if (factor != nullptr) d = mul_f(d, load_f(factor + j));
      d = mul_f(p, sub_f(d, delta));
      if (g.softcap > 0.0F) d = mul_f(d, load_f(slope + j));
      store_f(dp + j, d);
      store_f(row + j, factor == nullptr ? p : mul_f(p, load_f(factor + j)));
    }
  }
}

#if CKGEN_HOST_LEVEL >= 5
inline __m512i bf16_words(__m256bh low, __m256bh high) {
  const __m512i a = _mm512_cvtepu16_epi32((__m256i)low), b = _mm512_cvtepu16_epi32((__m256i)high);
  return _mm512_or_si512(a, _mm512_slli_epi32(b, 16));
}

void fmha_narrow(const FmhaNarrow& x) {
  for (std::int64_t r = 0; r < x.rows; r += 2) {
    const float *first = x.in + r * x.ld, *second = first + x.ld;
    for (std::int64_t j = 0; j < x.columns; j += kLanes)
      _mm512_storeu_si512(x.of_rows + r / 2 * x.of_rows_ld + j,
                          bf16_words(_mm512_cvtneps_pbh(load_f(first + j)), _mm512_cvtneps_pbh(load_f(second + j))));
  }
  if (x.of_columns == nullptr) return;
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const float* const row = x.in + r * x.ld;
    for (std::int64_t j = 0; j < x.columns; j += 2 * kLanes)
      _mm512_storeu_si512(x.of_columns + r * x.of_columns_ld + j / 2,
                          (__m512i)_mm512_cvtne2ps_pbh(load_f(row + j + kLanes), load_f(row + j)));
  }
}
constexpr FmhaNarrowFn narrow_of(WordBf16) {
  return &fmha_narrow;
}
#endif
constexpr FmhaNarrowFn narrow_of(WordF32) {
  return nullptr;
}

void fmha_add(const FmhaAdd& x) {
  const VecF scale = broadcast_f(x.scale);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const float* const in = x.in + r * x.in_ld;
    float* const out = x.out + r * x.out_ld;
    std::int64_t j = 0;
    for (; j + kLanes <= x.columns; j += kLanes) {
      const VecF v = load_f(in + j);
      store_f(out + j, x.adds ? fma_f(v, scale, load_f(out + j)) : mul_f(v, scale));
    }
    for (; j < x.columns; ++j) out[j] = x.adds ? __builtin_fmaf(in[j], x.scale, out[j]) : in[j] * x.scale;
  }
}

template <class W>
constexpr FmhaKernels with_backward(FmhaKernels kernels) {
  kernels.backward = {&fmha_product<W>, {}, &fmha_gradients, narrow_of(W{}), &fmha_add};
  return kernels;
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
