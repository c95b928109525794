// How the keys of a batch of attention problems of unequal lengths are shared among workgroups.
//
// A query tile is m0 rows of one request. Where heads are merged, row r of a request and KV head is query
// r / group of head r % group of its group, group = heads_q / heads_k, and the grid has heads_k heads; else row r is
// query r, and it has heads_q. An item is a part of one query tile's keys, the same for all heads: workgroup w has item
// w / heads of head w % heads; where a workgroup takes several heads (workgroup_heads), of those, one after the other.
// Items come in descending cost, so a device that starts workgroups in order schedules the longest first. A tile with
// one split writes O; each of several splits writes fp32 rows of O and lse, which are combined. Rows of partial results
// are numbered per head, request by request, tile by tile, split by split: row p of head h is
// o_acc[h * partial_rows + p][0 .. hdim_v) and lse_acc[h * partial_rows + p].
//
// Pure: no allocation, no state; any number of threads. The same input gives the same output on every machine.
#pragma once

#include <cstdint>

#include <ckgen/export.h>
#include <ckgen/fmha_mask.hpp>
#include <ckgen/result.hpp>

namespace ckgen {
inline namespace v1 {

/// What an item costs, in columns that a row of its tile attends to. A tile costs its visible columns, rounded up to
/// n0, and these, per row of m0.
struct FmhaSplitCost {
  /// Each item: launch, prologue, queries, epilogue. FlashInfer's scheduler weighs 2 * queries + keys.
  std::int32_t item_row = 2;
  /// More for each of several splits: a partial row of O is 4 * D bytes written and 4 * D bytes read again, a column's
  /// K and V are 4 * D bytes of 16-bit values.
  std::int32_t partial_row = 2;
};

struct FmhaSplitProblem {
  std::int32_t batch = 0;
  const std::int32_t* seqlen_q = nullptr;  // [batch], of the host
  const std::int32_t* seqlen_k = nullptr;  // [batch], of the host
  std::int32_t heads_q = 1;
  std::int32_t heads_k = 1;  // divides heads_q
  std::int32_t hdim_v = 0;
  bool merge_heads = false;
  std::int32_t workgroup_heads = 1;  // heads of the grid that one workgroup takes
  std::int32_t m0 = 0;
  std::int32_t n0 = 0;
  std::int32_t page_size = 0;  // 0: KV is not paged
  FmhaMask mask;
  // The device.
  std::int32_t cu_num = 0;
  std::int32_t occupancy = 1;  // workgroups that a compute unit holds
  // Limits.
  std::int32_t max_splits = 128;             // of a tile
  std::int64_t max_workgroups = 2147483647;  // of a grid
  // Splits do not depend on the batch: each tile is cut at the multiples of this many columns, a multiple of n0 and
  // page_size. 0: as the cost model has it.
  std::int32_t fixed_split_size = 0;
  bool no_split = false;
  FmhaSplitCost cost;
};

/// Of all batches that a captured graph may meet.
struct FmhaSplitMaxima {
  std::int32_t seqlen_q = 0;
  std::int32_t seqlen_k = 0;
  std::int64_t total_q = 0;  // queries of all requests; 0: batch * seqlen_q
};

/// A part of a tile's keys: the columns of [kv_begin, kv_end) that fmha_columns of its rows has. kv_begin is a multiple
/// of n0; where a tile is cut, the cut is a multiple of n0 and of page_size.
struct FmhaSplitItem {
  std::int32_t request;  // -1: padding, nothing to do
  std::int32_t q_tile;
  std::int32_t split;
  std::int32_t splits;  // of the tile
  std::int32_t kv_begin;
  std::int32_t kv_end;
  std::int64_t partial_row;  // the first; -1: it writes O
};

/// A tile with several splits; split s of its row r is partial row partial_row + s * rows + r.
struct FmhaCombineItem {
  std::int32_t request;  // -1: padding, nothing to do
  std::int32_t q_tile;
  std::int32_t splits;
  std::int32_t rows;
  std::int64_t partial_row;
};

/// What a plan needs room for; of one head, but for `heads`.
struct FmhaSplitSizes {
  std::int64_t items = 0;
  std::int64_t combine_items = 0;
  std::int64_t partial_rows = 0;
  std::int32_t max_splits = 0;  // of a tile; 1: nothing is to be combined
  std::int32_t heads = 0;       // of the grid, and of the partial rows
};

/// The caller's; entries behind a plan's own are filled with padding.
struct FmhaSplitArrays {
  FmhaSplitItem* items = nullptr;
  std::int64_t item_room = 0;
  FmhaCombineItem* combine_items = nullptr;
  std::int64_t combine_room = 0;
  std::int32_t* splits = nullptr;    // [batch]: the most of a request's tiles; 0 where it has none
  std::int64_t* o_indptr = nullptr;  // [batch + 1]: partial rows of request b are o_indptr[b] .. o_indptr[b + 1] - 1
};

struct FmhaSplitSlice {
  const char* name;
  std::int64_t offset;  // bytes, a multiple of 256
  std::int64_t bytes;
  bool zero;  // must be zero before the kernels start
};

/// A device's memory for a plan. The schedule's slices hold copies of FmhaSplitArrays.
struct FmhaSplitWorkspace {
  static constexpr int kSlices = 6;
  FmhaSplitSlice slices[kSlices];  // o_acc, lse_acc, items, combine_items, splits, o_indptr
  std::int64_t total;
};

/// What fmha_split_plan will need for this very batch: the same code without writing. Refusals name the field.
CKGEN_API Result<FmhaSplitSizes> fmha_split_sizes(const FmhaSplitProblem& problem) noexcept;

/// Sizes that hold every batch of problem.batch requests within the maxima; the problem's lengths are not read.
/// Refused where some batch's plan could be.
CKGEN_API Result<FmhaSplitSizes> fmha_split_bound(const FmhaSplitProblem& problem,
                                                  const FmhaSplitMaxima& maxima) noexcept;

/// Fills the arrays and returns the plan's own sizes. Refused before anything is written where the room is too small.
CKGEN_API Result<FmhaSplitSizes> fmha_split_plan(const FmhaSplitProblem& problem,
                                                 const FmhaSplitArrays& arrays) noexcept;

/// Of exact sizes, or of a bound's.
CKGEN_API Result<FmhaSplitWorkspace> fmha_split_workspace(const FmhaSplitSizes& sizes, std::int32_t batch,
                                                          std::int32_t hdim_v) noexcept;

}  // namespace v1
}  // namespace ckgen
