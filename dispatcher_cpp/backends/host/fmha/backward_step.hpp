// The seam of attention's backward between the driver and the code compiled once per ISA: products of small matrices,
// and the gradients of scores of some rows against the columns of one tile. See isa/table.hpp for why it has no inline
// functions.
#pragma once

#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

/// Which columns of a tile a row sees: [first, last) and [0, sink).
struct FmhaSpan {
  std::int32_t first, last, sink;
};

/// Rows that are read soon: `bytes` of each, `stride` bytes apart.
struct FmhaComing {
  const void* first;
  std::int64_t stride, rows, bytes;
};

/// out = A B, or out += A B: A is rows x words, B words x whole panels of columns. Words are those of PackKind.
struct FmhaProduct {
  const void* a;
  std::int64_t a_row, a_word;  // from row to row, from word to word; one of both is 1
  const void* b;
  std::int64_t b_word, b_panel;  // from word to word, from panel to panel
  float* out;                    // rows `ld` apart, whole panels
  std::int64_t ld;
  std::int64_t rows, words, panels;
  bool adds;
  FmhaComing coming;  // to the second-level cache, evenly over the product's time
};
using FmhaProductFn = void (*)(const FmhaProduct& product);

/// Rows of one query head against a tile's columns. Memory is [rows][ld], whole panels.
struct FmhaGradients {
  float* scores;  // Q K^T becomes P, times what dropout keeps
  float* dp;      // dO V^T becomes the gradient of Q K^T, but for `scale`
  std::int64_t ld;
  std::int32_t rows, columns;
  float scale;
  float softcap;  // 0: none
  float slope;    // of alibi
  bool has_slope;
  float position;         // of row 0 less that of column 0, of alibi
  const float* bias;      // null: none
  const float* factor;    // of dropout; 0 beyond `columns`; null: 1
  const float* lse;       // [rows]; +infinity where a row sees nothing
  const float* delta;     // [rows]
  const FmhaSpan* spans;  // [rows]; null: all rows see all columns, which fill their panels
};
using FmhaGradientsFn = void (*)(const FmhaGradients& gradients);

/// An fp32 tile as words of two elements: of two rows, [rows / 2][columns], and of two columns, [rows][columns / 2].
struct FmhaNarrow {
  const float* in;
  std::int64_t ld;
  std::int64_t rows, columns;  // even; whole panels
  std::uint32_t* of_rows;
  std::int64_t of_rows_ld;
  std::uint32_t* of_columns;  // null: not wanted
  std::int64_t of_columns_ld;
};
using FmhaNarrowFn = void (*)(const FmhaNarrow& narrow);

/// out = scale * in, or out += scale * in, row by row.
struct FmhaAdd {
  const float* in;
  std::int64_t in_ld;
  float* out;
  std::int64_t out_ld;
  std::int64_t rows, columns;
  float scale;
  bool adds;
};
using FmhaAddFn = void (*)(const FmhaAdd& add);

/// What a thread does before the first step of a task and after its last one; null: nothing.
struct FmhaTurn {
  void (*begin)();
  void (*end)();
};

struct FmhaBackwardKernels {
  FmhaProductFn product;
  FmhaTurn turn;  // around products
  FmhaGradientsFn gradients;
  FmhaNarrowFn narrow;  // null where words are fp32
  FmhaAddFn add;
};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
