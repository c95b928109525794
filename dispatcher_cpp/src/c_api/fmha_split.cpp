// The C API's view of the split-KV planner.
#include <ckgen/c_api_fmha_split.h>

#include <ckgen/fmha_split.hpp>
#include <cstddef>

#include "src/c_api/support.hpp"

using ckgen::v1::detail::answer;
using ckgen::v1::detail::given;
using ckgen::v1::detail::invalid;
using ckgen::v1::detail::ok;
using ckgen::v1::detail::sized;

namespace {

template <class Ours, class Theirs>
constexpr bool kSameBytes = sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs);
static_assert(kSameBytes<ckgen::FmhaSplitItem, ckgen_fmha_split_item> &&
              offsetof(ckgen::FmhaSplitItem, kv_end) == offsetof(ckgen_fmha_split_item, kv_end) &&
              offsetof(ckgen::FmhaSplitItem, partial_row) == offsetof(ckgen_fmha_split_item, partial_row));
static_assert(kSameBytes<ckgen::FmhaCombineItem, ckgen_fmha_combine_item> &&
              offsetof(ckgen::FmhaCombineItem, rows) == offsetof(ckgen_fmha_combine_item, rows) &&
              offsetof(ckgen::FmhaCombineItem, partial_row) == offsetof(ckgen_fmha_combine_item, partial_row));
static_assert(CKGEN_FMHA_SPLIT_SLICES == ckgen::FmhaSplitWorkspace::kSlices);

bool legal(const ckgen_message& message, const ckgen_fmha_split_problem* problem) noexcept {
  if (!sized(message, problem)) return false;
  if (problem->corner == 0 || problem->corner == 1) return true;
  invalid(message, "corner is neither top_left (0) nor bottom_right (1)");
  return false;
}

ckgen::FmhaSplitProblem problem_of(const ckgen_fmha_split_problem& x) noexcept {
  ckgen::FmhaSplitProblem p;
  p.batch = x.batch;
  p.seqlen_q = x.seqlen_q;
  p.seqlen_k = x.seqlen_k;
  p.heads_q = x.heads_q;
  p.heads_k = x.heads_k;
  p.hdim_v = x.hdim_v;
  p.merge_heads = x.merge_heads != 0;
  p.m0 = x.m0;
  p.n0 = x.n0;
  p.page_size = x.page_size;
  p.mask = {x.masked != 0, static_cast<ckgen::FmhaCorner>(x.corner), x.window_left, x.window_right, x.sink_tokens};
  p.cu_num = x.cu_num;
  p.occupancy = x.occupancy;
  p.max_splits = x.max_splits;
  p.max_workgroups = x.max_workgroups;
  p.fixed_split_size = x.fixed_split_size;
  p.no_split = x.no_split != 0;
  p.cost = {x.cost_item_row, x.cost_partial_row};
  p.workgroup_heads = x.workgroup_heads;
  return p;
}

ckgen_status filled(const ckgen_message& message, const ckgen::Result<ckgen::FmhaSplitSizes>& found,
                    ckgen_fmha_split_sizes* out) noexcept {
  if (!found) return answer(found.status(), message);
  *out = {out->size, found->items, found->combine_items, found->partial_rows, found->max_splits, found->heads};
  return ok(message);
}

}  // namespace

extern "C" {

ckgen_status ckgen_fmha_split_defaults(ckgen_fmha_split_problem* problem, ckgen_message message) {
  if (!sized(message, problem)) return CKGEN_INVALID_ARGUMENT;
  const ckgen::FmhaSplitProblem p;
  *problem = {problem->size,
              p.seqlen_q,
              p.seqlen_k,
              p.batch,
              p.heads_q,
              p.heads_k,
              p.hdim_v,
              p.merge_heads ? 1 : 0,
              p.m0,
              p.n0,
              p.page_size,
              p.mask.masked ? 1 : 0,
              static_cast<int32_t>(p.mask.corner),
              p.mask.window_left,
              p.mask.window_right,
              p.mask.sink_tokens,
              p.cu_num,
              p.occupancy,
              p.max_splits,
              p.max_workgroups,
              p.fixed_split_size,
              p.no_split ? 1 : 0,
              p.cost.item_row,
              p.cost.partial_row,
              p.workgroup_heads};
  return ok(message);
}

ckgen_status ckgen_fmha_split_count(const ckgen_fmha_split_problem* problem, ckgen_fmha_split_sizes* out,
                                    ckgen_message message) {
  if (!legal(message, problem) || !sized(message, out)) return CKGEN_INVALID_ARGUMENT;
  return filled(message, ckgen::fmha_split_sizes(problem_of(*problem)), out);
}

ckgen_status ckgen_fmha_split_bound(const ckgen_fmha_split_problem* problem, int32_t max_seqlen_q, int32_t max_seqlen_k,
                                    int64_t max_total_q, ckgen_fmha_split_sizes* out, ckgen_message message) {
  if (!legal(message, problem) || !sized(message, out)) return CKGEN_INVALID_ARGUMENT;
  return filled(message, ckgen::fmha_split_bound(problem_of(*problem), {max_seqlen_q, max_seqlen_k, max_total_q}), out);
}

ckgen_status ckgen_fmha_split_plan(const ckgen_fmha_split_problem* problem, const ckgen_fmha_split_arrays* arrays,
                                   ckgen_fmha_split_sizes* out, ckgen_message message) {
  if (!legal(message, problem) || !sized(message, arrays) || !sized(message, out)) return CKGEN_INVALID_ARGUMENT;
  const ckgen::FmhaSplitArrays room{reinterpret_cast<ckgen::FmhaSplitItem*>(arrays->items),
                                    arrays->item_room,
                                    reinterpret_cast<ckgen::FmhaCombineItem*>(arrays->combine_items),
                                    arrays->combine_room,
                                    arrays->splits,
                                    arrays->o_indptr};
  return filled(message, ckgen::fmha_split_plan(problem_of(*problem), room), out);
}

ckgen_status ckgen_fmha_split_workspace(const ckgen_fmha_split_sizes* sizes, int32_t batch, int32_t hdim_v,
                                        ckgen_fmha_split_slice slices[CKGEN_FMHA_SPLIT_SLICES], int64_t* total,
                                        ckgen_message message) {
  if (!sized(message, sizes) || !given(message, slices, total)) return CKGEN_INVALID_ARGUMENT;
  const auto found = ckgen::fmha_split_workspace(
      {sizes->items, sizes->combine_items, sizes->partial_rows, sizes->max_splits, sizes->heads}, batch, hdim_v);
  if (!found) return answer(found.status(), message);
  for (int i = 0; i < CKGEN_FMHA_SPLIT_SLICES; ++i) {
    const ckgen::FmhaSplitSlice& slice = found->slices[i];
    slices[i] = {slice.name, slice.offset, slice.bytes, slice.zero ? 1 : 0, 0};
  }
  *total = found->total;
  return ok(message);
}

}  // extern "C"
