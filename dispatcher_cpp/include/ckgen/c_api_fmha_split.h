/* The split-KV planner over plain C: a part of ckgen/c_api.h, with its rules. */
#ifndef CKGEN_C_API_FMHA_SPLIT_H
#define CKGEN_C_API_FMHA_SPLIT_H

#include <ckgen/c_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As ckgen::FmhaSplitProblem; `corner` counts top_left, bottom_right. */
typedef struct ckgen_fmha_split_problem {
  uint64_t size;
  const int32_t* seqlen_q;
  const int32_t* seqlen_k;
  int32_t batch, heads_q, heads_k, hdim_v;
  int32_t merge_heads, m0, n0, page_size;
  int32_t masked, corner, window_left, window_right, sink_tokens;
  int32_t cu_num, occupancy, max_splits;
  int64_t max_workgroups;
  int32_t fixed_split_size, no_split;
  int32_t cost_item_row, cost_partial_row;
  int32_t workgroup_heads;
} ckgen_fmha_split_problem;

/* As ckgen::FmhaSplitSizes. */
typedef struct ckgen_fmha_split_sizes {
  uint64_t size;
  int64_t items, combine_items, partial_rows;
  int32_t max_splits, heads;
} ckgen_fmha_split_sizes;

/* As ckgen::FmhaSplitItem and ckgen::FmhaCombineItem, in arrays without a size field. */
typedef struct ckgen_fmha_split_item {
  int32_t request, q_tile, split, splits, kv_begin, kv_end;
  int64_t partial_row;
} ckgen_fmha_split_item;
typedef struct ckgen_fmha_combine_item {
  int32_t request, q_tile, splits, rows;
  int64_t partial_row;
} ckgen_fmha_combine_item;

/* As ckgen::FmhaSplitArrays. */
typedef struct ckgen_fmha_split_arrays {
  uint64_t size;
  ckgen_fmha_split_item* items;
  int64_t item_room;
  ckgen_fmha_combine_item* combine_items;
  int64_t combine_room;
  int32_t* splits;
  int64_t* o_indptr;
} ckgen_fmha_split_arrays;

/* As ckgen::FmhaSplitSlice; `name` lives as long as the library. */
typedef struct ckgen_fmha_split_slice {
  const char* name;
  int64_t offset, bytes;
  int32_t zero;
  int32_t reserved;
} ckgen_fmha_split_slice;
enum { CKGEN_FMHA_SPLIT_SLICES = 6 };

/* Sets every field but `size` to its default. */
CKGEN_API ckgen_status ckgen_fmha_split_defaults(ckgen_fmha_split_problem* problem, ckgen_message message);
/* ckgen::fmha_split_sizes, fmha_split_bound, fmha_split_plan and fmha_split_workspace. */
CKGEN_API ckgen_status ckgen_fmha_split_count(const ckgen_fmha_split_problem* problem, ckgen_fmha_split_sizes* out,
                                              ckgen_message message);
CKGEN_API ckgen_status ckgen_fmha_split_bound(const ckgen_fmha_split_problem* problem, int32_t max_seqlen_q,
                                              int32_t max_seqlen_k, int64_t max_total_q, ckgen_fmha_split_sizes* out,
                                              ckgen_message message);
CKGEN_API ckgen_status ckgen_fmha_split_plan(const ckgen_fmha_split_problem* problem,
                                             const ckgen_fmha_split_arrays* arrays, ckgen_fmha_split_sizes* out,
                                             ckgen_message message);
CKGEN_API ckgen_status ckgen_fmha_split_workspace(const ckgen_fmha_split_sizes* sizes, int32_t batch, int32_t hdim_v,
                                                  ckgen_fmha_split_slice slices[CKGEN_FMHA_SPLIT_SLICES],
                                                  int64_t* total, ckgen_message message);

#ifdef __cplusplus
}
#endif
#endif
