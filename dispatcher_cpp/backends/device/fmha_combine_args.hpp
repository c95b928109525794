// What the kernel takes that combines partial results of attention, the same on both sides of a launch. C++17, no HIP.
//
// Split s of a row has fp32 sums O[hdim_v], normalised by themselves, and the natural log-sum-exp of its scores; one
// without a visible key has finite sums and -infinity. Rows lie one behind the other, `split_stride` from split to
// split.
#pragma once

#include <cstdint>

#include <ckgen/fmha_split.hpp>

namespace ckgen::device {

inline constexpr int kCombineLanes = 256;
inline constexpr int kCombineColumns = 4;  // of a lane

/// Uniform splits: rows [split][batch][heads][rows], of varlen [split][heads][rows] with rows of all sequences. A
/// schedule: rows [heads][rows] as its items number them. `heads` are those of the grid.
struct FmhaCombineArgs {
  const float* o_acc;
  const float* lse_acc;
  void* o;
  float* lse;                      // null: not asked for
  const FmhaCombineItem* items;    // null: uniform splits
  const std::int32_t* seqstart_q;  // null: a batch
  const std::int32_t* seqlen_q;    // null: as seqstart_q, or all rows
  const float* o_descale;          // [1]: O is multiplied by it; null: not
  std::int64_t o_row, o_head, o_batch;
  std::int64_t lse_head, lse_batch;
  std::int64_t rows;
  std::int64_t split_stride;  // of uniform splits, rows
  std::int32_t splits;        // of uniform splits
  std::int32_t heads;
  std::int32_t hdim_v;
  std::int32_t parts;   // lanes per row, a power of two
  std::int32_t m0;      // of a schedule
  std::int32_t group;   // query heads that a schedule merges; 1: none
  float o_factor;       // and by this
  bool loads_vectors;   // rows of o_acc are whole vectors of kCombineColumns
  bool stores_vectors;  // and aligned ones of O
};

/// Lanes that one row of hdim_v columns takes.
constexpr int combine_parts(int hdim_v) noexcept {
  int parts = 1;
  while (parts * kCombineColumns < hdim_v) parts *= 2;
  return parts;
}

}  // namespace ckgen::device
