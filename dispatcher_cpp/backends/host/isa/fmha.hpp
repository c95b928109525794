// Kernels of fmha/step.hpp over packed tiles, compiled once per ISA. Included by the files of levels only.
#pragma once

#include "backends/host/isa/exp.hpp"
#include "backends/host/isa/philox.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr int kPanelVecs = 2;
constexpr int kFmhaPanel = kPanelVecs * kLanes;
// Rows whose sums fit the registers.
constexpr int kFmhaTall = CKGEN_HOST_LEVEL >= 4 ? 8 : 4;

constexpr std::int64_t first_panel(const FmhaStep& s) {
  return s.first / kFmhaPanel;
}
constexpr std::int64_t end_panel(const FmhaStep& s) {
  return (s.last + kFmhaPanel - 1) / kFmhaPanel;
}

// ---- products -------------------------------------------------------------------------------------------------------

struct WordF32 {
  using Word = float;
  using Vec = VecF;
  static constexpr int kElements = 1;
  static Vec load(const Word* p) { return load_f(p); }
  static void store(Word* p, Vec x) { store_f(p, x); }
  static Vec broadcast(Word x) { return broadcast_f(x); }
  static VecF sum(VecF c, Vec b, Vec a) { return fma_f(a, b, c); }
};
#if CKGEN_HOST_LEVEL >= 5
struct WordBf16 {
  using Word = std::int32_t;
  using Vec = VecI;
  static constexpr int kElements = 2;
  static Vec load(const Word* p) { return load_i(p); }
  static void store(Word* p, Vec x) { store_i(p, x); }
  static Vec broadcast(Word x) { return broadcast_i(x); }
  static VecF sum(VecF c, Vec b, Vec a) { return _mm512_dpbf16_ps(c, (__m512bh)b, (__m512bh)a); }
};
#endif

// sum[i][j] += words of row i times words of vector j; rows are ROW words apart, words of one row WORD.
template <class W, int MR, int NP, int ROW, int WORD>
inline void multiply(VecF (&sum)[MR][NP * kPanelVecs], const typename W::Word* a, const typename W::Word* b,
                     std::int64_t from_panel_to_panel, std::int64_t words) {
  for (std::int64_t w = 0; w < words; ++w) {
    typename W::Vec bv[NP * kPanelVecs];
#pragma GCC unroll 8
    for (int j = 0; j < NP * kPanelVecs; ++j)
      bv[j] = W::load(b + j / kPanelVecs * from_panel_to_panel + j % kPanelVecs * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < MR; ++i) {
      const typename W::Vec av = W::broadcast(a[i * ROW]);
#pragma GCC unroll 8
      for (int j = 0; j < NP * kPanelVecs; ++j) sum[i][j] = W::sum(sum[i][j], bv[j], av);
    }
    a += WORD;
    b += kFmhaPanel;
  }
}

template <class W, int MR, int NP>
inline void scores_of(const FmhaStep& s, int row, std::int64_t panel) {
  const typename W::Word* q = static_cast<const typename W::Word*>(s.q) + row;
  const std::int64_t panel_words = s.words * kFmhaPanel;
  const typename W::Word* k = static_cast<const typename W::Word*>(s.k) + panel * panel_words;
  VecF sum[MR][NP * kPanelVecs];
#pragma GCC unroll 8
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NP * kPanelVecs; ++j) sum[i][j] = zero_f();
  multiply<W, MR, NP, 1, kFmhaRows>(sum, q, k, panel_words, s.words);
  float* out = s.scores + row * kFmhaStride + panel * kFmhaPanel;
#pragma GCC unroll 8
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NP * kPanelVecs; ++j) store_f(out + i * kFmhaStride + j * kLanes, sum[i][j]);
}

// Of panels [begin, end).
template <class W, int MR>
void scores_rows(const FmhaStep& s, std::int64_t begin, std::int64_t end) {
  constexpr int kPanels = MR * 2 <= kFmhaTall ? 2 : 1;  // few rows: more columns at a time hide the latency
  for (int row = 0; row < s.rows; row += MR) {
    std::int64_t panel = begin;
    for (; panel + kPanels <= end; panel += kPanels) scores_of<W, MR, kPanels>(s, row, panel);
    for (; panel < end; ++panel) scores_of<W, MR, 1>(s, row, panel);
  }
}

template <class W, int MR, int NP>
inline void values_of(const FmhaStep& s, int row, std::int64_t panel) {
  constexpr int kRow = kFmhaStride / W::kElements;
  const std::int64_t begin = s.first / W::kElements, end = (s.last + W::kElements - 1) / W::kElements;
  const typename W::Word* p = static_cast<const typename W::Word*>(s.weights) + row * kRow + begin;
  const std::int64_t panel_words = s.v_words * kFmhaPanel;
  const typename W::Word* v = static_cast<const typename W::Word*>(s.v) + panel * panel_words + begin * kFmhaPanel;
  float* out = s.out + (panel * kFmhaRows + row) * kFmhaPanel;
  VecF sum[MR][NP * kPanelVecs];
  const auto at = [out](int i, int j) {
    return out + (j / kPanelVecs * kFmhaRows + i) * kFmhaPanel + j % kPanelVecs * kLanes;
  };
#pragma GCC unroll 8
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NP * kPanelVecs; ++j) sum[i][j] = mul_f(load_f(at(i, j)), broadcast_f(s.rescale[row + i]));
  multiply<W, MR, NP, kRow, 1>(sum, p, v, panel_words, end - begin);
#pragma GCC unroll 8
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NP * kPanelVecs; ++j) store_f(at(i, j), sum[i][j]);
}

template <class W, int MR>
void values_rows(const FmhaStep& s, std::int64_t begin, std::int64_t end) {
  constexpr int kPanels = MR * 2 <= kFmhaTall ? 2 : 1;
  for (int row = 0; row < s.rows; row += MR) {
    std::int64_t panel = begin;
    for (; panel + kPanels <= end; panel += kPanels) values_of<W, MR, kPanels>(s, row, panel);
    for (; panel < end; ++panel) values_of<W, MR, 1>(s, row, panel);
  }
}

template <class W>
void scores_between(const FmhaStep& s, std::int64_t begin, std::int64_t end) {
  if (s.rows == 1) return scores_rows<W, 1>(s, begin, end);
  if (s.rows == 2) return scores_rows<W, 2>(s, begin, end);
  if (s.rows <= 4) return scores_rows<W, 4>(s, begin, end);
  scores_rows<W, kFmhaTall>(s, begin, end);
}

template <class W>
void values_between(const FmhaStep& s, std::int64_t begin, std::int64_t end) {
  if (s.rows == 1) return values_rows<W, 1>(s, begin, end);
  if (s.rows == 2) return values_rows<W, 2>(s, begin, end);
  if (s.rows <= 4) return values_rows<W, 4>(s, begin, end);
  values_rows<W, kFmhaTall>(s, begin, end);
}

// Panel by panel for all groups, so that it stays in the first-level cache.
template <class W>
void fmha_scores(const FmhaStep* steps, int count) {
  if (count == 1) return scores_between<W>(steps[0], first_panel(steps[0]), end_panel(steps[0]));
  std::int64_t panel = first_panel(steps[0]), end = end_panel(steps[0]);
  for (int i = 1; i < count; ++i) {
    panel = panel < first_panel(steps[i]) ? panel : first_panel(steps[i]);
    end = end > end_panel(steps[i]) ? end : end_panel(steps[i]);
  }
  for (; panel < end; ++panel)
    for (int i = 0; i < count; ++i)
      if (panel >= first_panel(steps[i]) && panel < end_panel(steps[i])) scores_between<W>(steps[i], panel, panel + 1);
}

template <class W>
void fmha_values(const FmhaStep* steps, int count) {
  const std::int64_t panels = steps[0].v_panels;
  if (count == 1) return values_between<W>(steps[0], 0, panels);
  for (std::int64_t panel = 0; panel < panels; ++panel)
    for (int i = 0; i < count; ++i) values_between<W>(steps[i], panel, panel + 1);
}

// ---- scores to weights ----------------------------------------------------------------------------------------------

inline void fmha_adjust(const FmhaStep& s, const FmhaAdjust& adjust) {
  const std::int64_t begin = first_panel(s) * kFmhaPanel, end = end_panel(s) * kFmhaPanel;
  float counted[kLanes];
  for (int i = 0; i < kLanes; ++i) counted[i] = static_cast<float>(i);
  const VecF lanes = load_f(counted);
  for (int r = 0; r < s.rows; ++r) {
    float* row = s.scores + r * kFmhaStride;
    const VecF scale = broadcast_f(adjust.row_scale[r]);
    for (std::int64_t j = begin; j < end; j += kLanes) {
      VecF x = mul_f(load_f(row + j), scale);
      if (adjust.column_scale != nullptr) x = mul_f(x, load_f(adjust.column_scale + j));
      if (adjust.softcap > 0.0F) x = mul_f(broadcast_f(adjust.softcap), tanh_f(div_f(x, broadcast_f(adjust.softcap))));
      if (adjust.bias != nullptr) x = add_f(x, load_f(adjust.bias + r * kFmhaStride + j));
      if (adjust.slope != nullptr) {
        const VecF column = add_f(broadcast_f(static_cast<float>(j)), lanes);
        const VecF distance = magnitude_f(sub_f(broadcast_f(adjust.position[r]), column));
        x = sub_f(x, mul_f(broadcast_f(adjust.slope[r]), distance));
      }
      store_f(row + j, mul_f(x, broadcast_f(kFmhaLog2E)));
    }
  }
}

inline void fmha_hide(const FmhaStep& s, const FmhaSpan* rows) {
  const int begin = static_cast<int>(first_panel(s)) * kFmhaPanel, end = static_cast<int>(end_panel(s)) * kFmhaPanel;
  for (int r = 0; r < s.rows; ++r) {
    float* __restrict row = s.scores + r * kFmhaStride;
    const int first = rows[r].first, last = rows[r].last, sink = rows[r].sink;
    for (int j = begin; j < end; ++j) {
      const bool seen = ((j >= first) & (j < last)) | (j < sink);
      row[j] = seen ? row[j] : -__builtin_inff();
    }
  }
}

#if CKGEN_HOST_LEVEL >= 5
inline void store_weights(void* to, std::int64_t at, const VecF (&p)[kPanelVecs], WordBf16) {
  _mm512_storeu_si512(static_cast<std::uint16_t*>(to) + at, (__m512i)_mm512_cvtne2ps_pbh(p[1], p[0]));
}
#endif
inline void store_weights(void* to, std::int64_t at, const VecF (&p)[kPanelVecs], WordF32) {
  for (int i = 0; i < kPanelVecs; ++i) store_f(static_cast<float*>(to) + at + i * kLanes, p[i]);
}

template <class W>
void fmha_weights(const FmhaStep& s) {
  const std::int64_t begin = first_panel(s) * kFmhaPanel, end = end_panel(s) * kFmhaPanel;
  alignas(64) float base[kFmhaLanes] = {};
  alignas(64) float change[kFmhaLanes] = {};
  for (int r = 0; r < s.rows; ++r) {
    const float* row = s.scores + r * kFmhaStride;
    VecF most[kPanelVecs];
    for (int i = 0; i < kPanelVecs; ++i) most[i] = load_f(row + begin + i * kLanes);
    for (std::int64_t j = begin + kFmhaPanel; j < end; j += kFmhaPanel)
      for (int i = 0; i < kPanelVecs; ++i) most[i] = max_f(most[i], load_f(row + j + i * kLanes));
    const float here = most_of(max_f(most[0], most[1])) * s.exponent, before = s.most[r];
    const float now = here > before ? here : before;
    s.most[r] = now;
    base[r] = now == -__builtin_inff() ? 0.0F : now;  // nothing is seen yet: all weights are 0
    change[r] = before - base[r];
  }
  for (int i = 0; i < kFmhaLanes; i += kLanes) store_f(s.rescale + i, exp2_f(load_f(change + i)));
  for (int r = 0; r < s.rows; ++r) {
    const float* row = s.scores + r * kFmhaStride;
    float* total = s.sum + r * kFmhaLanes;
    const VecF exponent = broadcast_f(s.exponent), minus = broadcast_f(-base[r]);
    VecF sum[kPanelVecs];
    sum[0] = mul_f(load_f(total), broadcast_f(s.rescale[r]));
    sum[1] = zero_f();
    for (std::int64_t j = begin; j < end; j += kFmhaPanel) {
      VecF p[kPanelVecs];
#pragma GCC unroll 2
      for (int i = 0; i < kPanelVecs; ++i) {
        p[i] = exp2_f(fma_f(load_f(row + j + i * kLanes), exponent, minus));
        sum[i] = add_f(sum[i], p[i]);
      }
      if (s.factor != nullptr)
        for (int i = 0; i < kPanelVecs; ++i) p[i] = mul_f(p[i], load_f(s.factor + r * kFmhaStride + j + i * kLanes));
      store_weights(s.weights, r * kFmhaStride + j, p, W{});
    }
    store_f(total, add_f(sum[0], sum[1]));
  }
}

inline void fmha_scale(const float* from, std::int64_t panels, float factor, float* to) {
  const VecF by = broadcast_f(factor);
  for (std::int64_t p = 0; p < panels; ++p, from += kFmhaRows * kFmhaPanel, to += kFmhaPanel)
#pragma GCC unroll 2
    for (int i = 0; i < kPanelVecs; ++i) store_f(to + i * kLanes, mul_f(load_f(from + i * kLanes), by));
}

template <class W>
constexpr FmhaKernels fmha_kernels() {
  constexpr int kGroups = CKGEN_HOST_LEVEL == 4 ? 4 : 1, kColumns = CKGEN_HOST_LEVEL == 4 ? 256 : 0;
  const FmhaGroupKernels groups{kGroups, 0, kColumns, &fmha_scores<W>, &fmha_values<W>, {}};
  return {kFmhaPanel, &fmha_adjust, &fmha_hide, &fmha_weights<W>, &fmha_scale, &fmha_philox, groups, {}, {}};
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
