// The seam of attention between the driver and the code compiled once per ISA: one group of rows against some columns
// of one tile. See isa/table.hpp for why it has no inline functions.
#pragma once

#include "backends/host/fmha/backward_step.hpp"

#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

inline constexpr int kFmhaRows = 8;           // of a group
inline constexpr int kFmhaMaxColumns = 256;   // of a tile in place, and of n0
inline constexpr int kFmhaMostColumns = 512;  // of any tile
inline constexpr int kFmhaStride = 512 + 32;  // from row to row of scores: whole lines of bf16 too, no power of two
inline constexpr int kFmhaBlock = 32;         // columns in place at a time, at least: whole panels
inline constexpr int kFmhaLanes = 16;         // room of a vector of any level
inline constexpr float kFmhaLog2E = 1.44269504088896340736F;

/// Rows of K or V where they are, and what is to come into the cache while they are used.
struct FmhaRowsOf {
  const unsigned char* const* rows;  // of the tile's columns, whole panels of them
  std::int64_t offset;               // of all rows, in bytes: the KV head
  const unsigned char* const* next;  // [pieces]
  std::int64_t next_offset;
  std::int32_t piece_bytes;
  std::int32_t pieces;  // 0: nothing is to come
};

/// Words are those of PackKind: an fp32, or two bf16 whose sums go into fp32. Columns [first, last), widened to whole
/// panels, are computed.
struct FmhaStep {
  const void* q;       // as FmhaGroupKernels and FmhaRowKernels have it
  const void* k;       // panels of columns: [words][panel]
  const void* v;       // panels of dimensions: [v_words][panel]
  std::int64_t words;  // of a row of Q and K
  std::int64_t v_words;
  std::int32_t v_panels;
  std::int32_t rows;  // 1 .. kFmhaRows; rows up to the next power of two are computed
  std::int32_t first, last;
  float exponent;       // of 2, per unit of score; above 0
  float* scores;        // [kFmhaRows][kFmhaStride]
  void* weights;        // the same of the operands' type; may be `scores` where that is fp32
  const float* factor;  // of the weights, after they are summed: [kFmhaRows][kFmhaStride]; null: 1
  float* most;          // [kFmhaRows], in exponents of 2; starts at -infinity
  float* rescale;       // [kFmhaLanes]; FmhaRowKernels: null: 1
  float* sum;           // [kFmhaRows][kFmhaLanes], to be summed
  float* out;           // [v_panels][kFmhaRows][panel]
  // Of FmhaRowKernels, in place of k and v; as many words of a row of q lie together as a vector has, or
  // `many_together`; zeros beyond hdim_q.
  FmhaRowsOf k_rows, v_rows;
  std::int32_t hdim_q, hdim_v;
  const std::uint16_t* table16;  // 8-bit floats: every code as bf16
};
using FmhaStepFn = void (*)(const FmhaStep& step);
/// Of so many neighbouring groups of rows, whose Q, scores and weights follow one another, against the same tile.
using FmhaGroupsFn = void (*)(const FmhaStep* steps, int count);

/// scores = (softcap * tanh(x / softcap) or x) + bias - slope * |position - column|, times log2(e), of x = score *
/// row_scale * column_scale.
struct FmhaAdjust {
  const float* row_scale;     // [kFmhaRows]
  const float* column_scale;  // [tile]; null: 1
  float softcap;              // 0: none
  const float* bias;          // [kFmhaRows][kFmhaStride]; null: none
  const float* slope;         // [kFmhaRows]; null: none
  const float* position;      // [kFmhaRows], relative to the tile's first column
};
using FmhaAdjustFn = void (*)(const FmhaStep& step, const FmhaAdjust& adjust);
using FmhaHideFn = void (*)(const FmhaStep& step, const FmhaSpan* rows);

/// to = a row of FmhaStep::out, whose first panel is at `from`, times `factor`.
using FmhaScaleFn = void (*)(const float* from, std::int64_t panels, float factor, float* to);

/// out[c] = the bytes of Philox4x32-7 with key `seed` and counter (n low, n high, rows, j / 32) of column j = column +
/// c, n = base + j % 32. See FmhaDropout.
using FmhaPhiloxFn = void (*)(std::uint64_t seed, std::uint64_t base, std::uint32_t rows, std::int64_t column,
                              std::int64_t count, unsigned char* out);

/// Scores and values of rows of K and V where they are, not packed.
struct FmhaRowKernels {
  FmhaStepFn scores, values;
  std::int32_t most_single;    // of more rows than this, `many_together` words of a row of Q lie together
  std::int32_t many_together;  // 4: in quads
  FmhaTurn turn;
};
enum FmhaRowType { kFmhaRowsFp32, kFmhaRowsFp16, kFmhaRowsBf16, kFmhaRowsFp8, kFmhaRowsFnuz, kFmhaRowTypes };

/// Products of several groups of rows at a time: scores = Q K^T, and out = out * rescale + weights V.
struct FmhaGroupKernels {
  std::int32_t most;   // at a time
  std::int32_t grain;  // Q is [kFmhaRows][words], up to whole `grain`s of them; 0: [words][kFmhaRows]
  // Of a tile that no split cuts, at most, in whole n0: the more, the less there is to do around products. 0: n0.
  std::int32_t columns;
  FmhaGroupsFn scores, values;
  FmhaTurn turn;  // around both
};

struct FmhaKernels {
  std::int32_t panel;  // columns of K, dimensions of V
  FmhaAdjustFn adjust;
  FmhaHideFn hide;     // -infinity where a row does not see
  FmhaStepFn weights;  // 2^(score * exponent - most) with a new `most`, their sums, and what earlier sums are worth
  FmhaScaleFn scale;
  FmhaPhiloxFn philox;
  FmhaGroupKernels groups;
  FmhaRowKernels rows[kFmhaRowTypes];  // null: none for the type at this level
  FmhaBackwardKernels backward;
};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
