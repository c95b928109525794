// Kernels of fmha/step.hpp that read rows of K and V where they are, for few rows of Q: what counts is how fast memory
// is read. Compiled once per ISA. Included by the files of levels only.
#pragma once

#include "backends/host/isa/fmha_scores.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// ---- values ---------------------------------------------------------------------------------------------------------

// WHOLE: all dimensions of the panels are there.
template <bool WHOLE, class Rows, int MR, int NP>
inline void row_values_of(const FmhaStep& s, const Rows& rows, int row, std::int64_t panel, Coming<MR>& coming) {
  using W = typename Rows::Word;
  constexpr int kRow = kFmhaStride / W::kElements;
  const std::int64_t begin = s.first / W::kElements, end = (s.last + W::kElements - 1) / W::kElements;
  const typename W::Word* weights = static_cast<const typename W::Word*>(s.weights) + row * kRow + begin;
  const unsigned char* const* columns = s.v_rows.rows + begin * W::kElements;
  const std::int64_t from = s.v_rows.offset + panel * kFmhaPanel * Rows::kBytes;
  float* const out = s.out + (panel * kFmhaRows + row) * kFmhaPanel;
  const auto at = [out](int i, int j) {
    return out + (j / kPanelVecs * kFmhaRows + i) * kFmhaPanel + j % kPanelVecs * kLanes;
  };
  const int live = s.hdim_v - static_cast<int>(panel + NP - 1) * kFmhaPanel;  // of the last one
  VecF sum[MR][NP * kPanelVecs];
#pragma GCC unroll 8
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NP * kPanelVecs; ++j) sum[i][j] = load_f(at(i, j));
  if (s.rescale != nullptr) {
#pragma GCC unroll 8
    for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < NP * kPanelVecs; ++j) sum[i][j] = mul_f(sum[i][j], broadcast_f(s.rescale[row + i]));
  }
  for (std::int64_t left = end - begin; left > 0;) {
    const std::int64_t count = least(left, MR <= 2 ? 1 : kStretch);
    for (std::int64_t w = 0; w < count; ++w, columns += W::kElements, ++weights) {
#pragma GCC unroll 4
      for (int n = 0; n < NP; ++n) {
        typename W::Vec v[kPanelVecs];
        if (WHOLE || n + 1 < NP)
          rows.values(columns, from + n * kFmhaPanel * Rows::kBytes, v);
        else
          rows.values(columns, from + n * kFmhaPanel * Rows::kBytes, live, v);
#pragma GCC unroll 8
        for (int i = 0; i < MR; ++i) {
          const typename W::Vec weight = W::broadcast(weights[i * kRow]);
#pragma GCC unroll 2
          for (int j = 0; j < kPanelVecs; ++j)
            sum[i][n * kPanelVecs + j] = W::sum(sum[i][n * kPanelVecs + j], v[j], weight);
        }
      }
    }
    left -= count;
    coming.step(count);
  }
#pragma GCC unroll 8
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NP * kPanelVecs; ++j) store_f(at(i, j), sum[i][j]);
}

template <class Rows, int MR>
void row_values_rows(const FmhaStep& s) {
  constexpr int kSums = CKGEN_HOST_LEVEL >= 4 ? 16 : 8;  // that fit the registers, beside all else
  constexpr int kPanels = MR == 1 ? 4 : kSums / (MR * kPanelVecs);
  using W = typename Rows::Word;
  const Rows rows(s);
  const std::int64_t columns = (s.last + W::kElements - 1) / W::kElements - s.first / W::kElements;
  const std::int64_t passes = s.v_panels / kPanels + s.v_panels % kPanels;
  Coming<MR> coming(s.v_rows, columns * passes * ((s.rows + MR - 1) / MR));
  for (int row = 0; row < s.rows; row += MR) {
    std::int64_t panel = 0;
    for (; (panel + kPanels) * kFmhaPanel <= s.hdim_v; panel += kPanels)
      row_values_of<true, Rows, MR, kPanels>(s, rows, row, panel, coming);
    for (; panel + kPanels <= s.v_panels; panel += kPanels)
      row_values_of<false, Rows, MR, kPanels>(s, rows, row, panel, coming);
    for (; panel < s.v_panels; ++panel) row_values_of<false, Rows, MR, 1>(s, rows, row, panel, coming);
  }
}

template <class Rows>
void row_values(const FmhaStep& s) {
  if (s.rows == 1) return row_values_rows<Rows, 1>(s);
  if (s.rows == 2) return row_values_rows<Rows, 2>(s);
  if (s.rows <= 4) return row_values_rows<Rows, 4>(s);
  row_values_rows<Rows, kFmhaTall>(s);
}

// ---- for the tables -------------------------------------------------------------------------------------------------

template <class Rows>
constexpr FmhaRowKernels row_kernels() {
  return {&row_scores<Rows>, &row_values<Rows>, kMostSingle<Rows>, 4, {}};
}

/// With kernels that have fp32 products of rows.
constexpr FmhaKernels with_rows(FmhaKernels kernels) {
  kernels.rows[kFmhaRowsFp32] = row_kernels<RowsOf<LoadFp32>>();
  kernels.rows[kFmhaRowsFp16] = row_kernels<RowsOf<LoadFp16>>();
  kernels.rows[kFmhaRowsBf16] = row_kernels<RowsOf<LoadBf16>>();
  return kernels;
}
#if CKGEN_HOST_LEVEL >= 5
constexpr FmhaKernels with_narrow_rows(FmhaKernels kernels) {
  kernels.rows[kFmhaRowsBf16] = row_kernels<RowsOfBf16>();
  kernels.rows[kFmhaRowsFp8] = row_kernels<RowsOfFp8<DType::fp8_ocp>>();
  kernels.rows[kFmhaRowsFnuz] = row_kernels<RowsOfFp8<DType::fp8_fnuz>>();
  return kernels;
}
#endif

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
