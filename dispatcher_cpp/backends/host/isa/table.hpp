// The seam between the driver (portable code) and the code compiled once per ISA: plain structs and function pointers.
//
// The ISA translation units include this header and nothing that has inline functions: an inline function compiled with
// -mavx512f could otherwise be the copy that the linker keeps for everybody.
#pragma once

#include "backends/host/fmha/step.hpp"
#include "backends/host/register_tiles.hpp"
#include "ckgen/dtype.hpp"
#include "ckgen/epilogue.hpp"

#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

// What a 32-bit word of a packed panel holds, and what the micro-kernel does with it.
enum class PackKind : std::uint8_t {
  f32,   // one fp32; fp32 FMA
  i16,   // two int16 widened from int8; exact int32 sums
  bf16,  // two bf16; dot product into fp32
  i8,    // four int8, those of A with 128 added at levels with VNNI, but for tiles; exact int32 sums
};
inline constexpr int kPackKinds = 4;
constexpr int elements_per_word(PackKind kind) noexcept {
  return kind == PackKind::f32 ? 1 : kind == PackKind::i8 ? 4 : 2;
}
constexpr bool has_int_sums(PackKind kind) noexcept {
  return kind == PackKind::i16 || kind == PackKind::i8;
}

// Columns of a panel of B, whatever the width of a register tile: all tiles read the same panels, packed by a call or
// ahead of it (ckgen/prepack.hpp).
inline constexpr int kPanelColumns = 16;
inline constexpr int kMostPanels = 4;  // of the widest tile

enum MicroFlags : unsigned {
  kAccumulate = 1,  // continue from acc; otherwise start from zero
  kScaled = 2,      // f32, bf16: the sum over these words, times a_scale[i] then b_scale[j], is what is added
  kFindExcess = 4,  // i8 only: write `excess`; otherwise it is what a call with these words and columns wrote
};
// Sums of a tile, [rows][kTileColumns], that a kernel with a grain rounds to rows of bf16 while it multiplies the next
// tile, whose sums may go to the same place.
inline constexpr int kTileColumns = 32;
struct TileResult {
  const float* sums = nullptr;
  unsigned char* out = nullptr;  // rows are so many bytes apart
  std::int64_t next = 0;
  std::int32_t rows = 0;
};

// acc[mr][nr] (leading dimension ld) from `words` steps over a panel a = [words][mr] and panels of B: columns
// kPanelColumns * i ff. are [words][kPanelColumns] from word panels[i] of b on.
struct MicroCall {
  std::int64_t words;
  const void* a;
  const void* b;
  const std::int64_t* panels;
  void* acc;
  std::int64_t ld;
  unsigned flags;
  const float *a_scale, *b_scale;
  // Of i8 at levels with VNNI: 128 times the sum of each column over these words, for 128 is added to A there.
  std::int32_t* excess;
  // Where lines are that are needed later, one for each step: kAheadWords in a row from each of these addresses, as
  // many as there are steps. Null: none. Kernels may do without.
  const unsigned char* const* ahead;
  // Of kScaled and a kernel with a grain: the words are groups of so many, each with scales of its own; those of the
  // next group are so much further on.
  std::int64_t group = 0, a_scale_next = 0, b_scale_next = 0;
  // Of a kernel with a grain, which asks for them while it multiplies: lines that are written later, one of each row of
  // the tile, so many bytes apart. 0: none.
  std::uintptr_t result = 0;
  std::int64_t result_next = 0;
  // Of a kernel with a grain: bytes from one row of A to the next, where `a` is the first of all the tile's rows as
  // they lie in memory, in whole words; 0: `a` is a panel.
  std::int64_t a_row = 0;
  TileResult before = {};
};
inline constexpr std::int64_t kAheadWords = 32;
using MicroFn = void (*)(const MicroCall& call);
// Of a kernel with a grain the panel of A is [words / grain][mr][grain], the last words being 0 up to a whole grain;
// and `words` of all calls but a panel's last are whole grains.
struct MicroKernel {
  std::int32_t mr, nr;
  MicroFn run;
  std::int32_t grain = 1;
};
inline constexpr std::int32_t kGrain = 16;  // of tiles

// Whether kernels have the last N of these tiles, in their order.
template <int N, int M>
consteval bool are_last_of(const RegisterTile (&tiles)[M], const MicroKernel (&kernels)[N]) {
  for (int i = 0; i < N; ++i)
    if (M < N || kernels[i].mr != tiles[M - N + i].mr || kernels[i].nr != tiles[M - N + i].nr) return false;
  return true;
}
// Whether the first tiles, all but `last`, are the others.
template <int N, int M>
consteval bool begin_with(const RegisterTile (&tiles)[M], const RegisterTile (&others)[N], int last) {
  for (int i = 0; i < N; ++i)
    if (M != N + last || others[i].mr != tiles[i].mr || others[i].nr != tiles[i].nr) return false;
  return true;
}
template <int N, int M>
consteval bool are(const MicroKernel (&kernels)[N], const RegisterTile (&tiles)[M]) {
  return N == M && are_last_of(tiles, kernels);
}

// One operand: P (m of A, n of B) by K, in elements of `type`.
struct PackSource {
  const unsigned char* base;
  DType type;
  PackKind kind;
  bool k_contiguous;  // element (p, k) at p*ld + k, otherwise at k*ld + p
  bool preshuffled;   // element (p, k) where ckgen/preshuffle.hpp puts it; ld is then K
  bool prepacked;     // element (p, k) where ckgen/prepack.hpp puts it; ld is then the words of a panel
  bool is_a;          // i8: 128 is added to each element at levels with VNNI, also to the zeros of what is missing
  std::int64_t ld;
  const float* table;            // 8-bit floats: value of every code
  const std::uint16_t* table16;  // the same as bf16, which holds each of them exactly
  const float (*pairs)[2];       // fp4, int4: the two values of every byte
  // With an op, f32 panels hold the element op that of `second`, which lies like `base`, rounded to `type`.
  OperandOp op;
  const unsigned char* second;
  const std::int32_t* rows;  // of a k_contiguous operand: row p of it is row rows[p] in memory; null: row p
};

// Rows [p0, p0+count) x k [k0, k0+length) as a panel [ceil(length/e)][width] of words; what is missing is zero.
using PackFn = void (*)(const PackSource& source, std::int64_t p0, std::int64_t count, int width, std::int64_t k0,
                        std::int64_t length, void* panel);

// Rows [n0, n0 + columns) of a k_contiguous B x k [k0, k0 + depth), as they lie in memory, times `rows` rows of A: acc
// and flags as a MicroFn takes them after a PackFn, in the same order of additions.
inline constexpr int kInPlaceRows = 16;  // at most
struct InPlaceCall {
  const PackSource* b;
  std::int64_t n0, columns, k0, depth;
  const std::uint32_t* a;  // panels [words][mr] of A, panel_words words apart
  std::int64_t mr, panel_words, rows;
  float* acc;  // of whole 16 columns
  std::int64_t ld;
  unsigned flags;
  const float *a_scale, *b_scale;
};
using InPlaceFn = void (*)(const InPlaceCall& call);
// Null: no kernel that reads this type for panels of this kind.
using InPlaceKernelFn = InPlaceFn (*)(PackKind kind, DType b);

// out[j] = (acc[j] * a_scale) * b_scale[j] + bias[j]; b_scale null: b_scalar; bias null: nothing is added.
struct FinishArgs {
  const void* acc;
  bool acc_is_int;
  std::int64_t n;
  float a_scale, b_scalar;
  const float* b_scale;
  const float* bias;
};
using FinishFn = void (*)(const FinishArgs& args, float* out);

// values[j] = the ops in order; each add and mul takes the next d, `n` elements of type c.
struct FuseArgs {
  EpilogueOp ops[kMaxEpilogueOps];
  const void* d[kMaxD];
  DType c;
  float alpha;
  std::int64_t n;
};
using FuseFn = void (*)(const FuseArgs& args, float* values);
// To nearest even; 8-bit floats, int8 and fp4 (n is even) to the largest value where the rounded one is beyond.
using EncodeFn = void (*)(DType c, const float* in, void* out, std::int64_t n);
using RoundFn = void (*)(DType c, float* values, std::int64_t n);  // to fp32, fp16 or bf16 and back

// Rows of B against few rows of A (gemm/small_m.hpp): out[j][r * ld] = sum over K groups of (partial * a_scale[r *
// scale_stride + g]) * b_scale[j][g], for rows j of B and r of A. int8 has no scales. Then, `times` in all, the same of
// the rows of B that follow each of these, into what follows in out.
inline constexpr int kSmallColumns = 4;  // rows of B that a call takes
struct SmallCall {
  const unsigned char* b[kSmallColumns];     // rows of B; where there are fewer, the last comes again
  const unsigned char* next[kSmallColumns];  // where their successors are, as a hint
  std::int64_t times, b_step;                // from row to row of B, in bytes
  const float* b_scale[kSmallColumns];       // per group, and one more that is finite
  const void* a;                             // prepared; rows a_stride elements apart
  std::int64_t a_stride;
  const float* a_scale;
  std::int64_t scale_stride;
  std::int64_t k, group;
  const float* table;  // as in PackSource
  const std::uint16_t* table16;
  const float (*pairs)[2];
  void* out[kSmallColumns];
  std::int64_t ld;
  bool ahead;  // whether what comes of B is to be asked for: it is in memory rather than in a core's caches
};
using SmallFn = void (*)(const SmallCall& call);

// The magnitudes that a row's values have after scaling, but for zeros.
struct SmallExtremes {
  float least, most;
};
// Row `row` of A in the order of a kernel, whole chunks of 64, zeros beyond k. With `scale`, each 32 values times
// theirs.
using SmallPrepareFn = void (*)(const PackSource& a, std::int64_t row, std::int64_t k, const float* scale,
                                SmallExtremes* seen, void* out);

struct SmallKernels {
  SmallFn scaled[4];  // by rows of A less one; groups of 64 or more elements, for fp32 FMA also of 32
  SmallFn mx[4];      // groups of 32, where the scales of A are in its values; null: there are none
  SmallFn exact;      // one row of each, any of these groups; null: there are no scales
  SmallPrepareFn prepare;
  int element_bytes;  // of prepared A
  int b_bits;
};
// Null: none for these types. dots: bf16 dot products may stand in for fp32 FMA.
using SmallKernelsFn = const SmallKernels* (*)(DType a, DType b, bool dots);

// out[i] = the value of e8m0 code i; returns the largest, NaN if one is NaN.
using E8m0Fn = float (*)(const unsigned char* codes, std::int64_t n, float* out);
// Packed bf16, [groups][...] of 32 elements each, that is multiplied by powers of two which leave it normal: those of
// codes[r * next_row + g] of e8m0 for group g of row or column r, of `count` of them.
struct FoldCall {
  void* panel;
  std::int64_t width, count, words, groups;  // width: of a panel of A; words: per column of a panel of B
  const unsigned char* codes;
  std::int64_t next_row;
};
using FoldFn = void (*)(const FoldCall& call);
using MostFn = float (*)(const float* values, std::int64_t n);  // the largest magnitude, NaN if one is NaN

struct IsaTable {
  struct Menu {
    const MicroKernel* kernels;
    int count;
  };
  Menu menu[kPackKinds];  // the first entry of a menu is what twins use for tall problems
  PackFn pack;
  FinishFn finish;
  FuseFn fuse;
  EncodeFn encode;
  RoundFn round;
  SmallKernelsFn small;
  E8m0Fn e8m0;
  MostFn most;
  InPlaceKernelFn in_place;
  const FmhaKernels* fmha[kPackKinds];  // none of integers
  PackFn pack_tiles = nullptr;          // panels of A for kernels with a grain
  // Rows of A up to which a prepacked B of int8 is multiplied as i8 where other kernels of int8 take i16; for more,
  // widening it once for all is faster.
  std::int64_t rows_of_bytes = std::int64_t{1} << 40;
  FoldFn fold_rows = nullptr, fold_columns = nullptr;  // of panels of A for kernels with a grain, and of B
  // A thread calls kernels with a grain between these two.
  void (*begin_tiles)() = nullptr;
  void (*end_tiles)() = nullptr;
};

// What x86_64_v4 computes in fp32, of which x86_64_v4_bf16 would have every instruction again.
struct Fp32Kernels {
  MicroKernel micro[sizeof x86_64_v4_f32 / sizeof x86_64_v4_f32[0]];
  FmhaKernels fmha;
};

// What tile instructions add to the level below.
struct AmxKernels {
  IsaTable::Menu bf16, i8;
  PackFn pack_tiles;
  FoldFn fold_rows, fold_columns;
  void (*begin_tiles)();
  void (*end_tiles)();
};

// The same of attention whose operands are bf16.
struct AmxFmha {
  FmhaGroupKernels groups;
  FmhaRowKernels bf16, fp8, fnuz;  // rows in place
  FmhaProductFn product;
  FmhaTurn product_turn;
};

extern const IsaTable kIsaV3;
extern const IsaTable kIsaV4;
extern const Fp32Kernels kFp32OfV4;
extern const IsaTable kIsaV4Bf16;
extern const AmxKernels kAmx;
extern const AmxFmha kAmxFmha;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
