#include <ckgen/fmha_schedule.hpp>

#include "src/fmha/cost.hpp"

namespace ckgen {
inline namespace v1 {

FmhaSplitProblem fmha_split_problem(const InstanceDesc& instance, const FmhaShape& shape, std::uint32_t cu_num,
                                    const std::int32_t* seqlen_q, const std::int32_t* seqlen_k) noexcept {
  const FmhaTraits& traits = instance.signature.fmha;
  FmhaSplitProblem p;
  p.batch = static_cast<std::int32_t>(shape.batch);
  p.seqlen_q = seqlen_q;
  p.seqlen_k = seqlen_k;
  p.heads_q = shape.heads_q;
  p.heads_k = shape.heads_k;
  p.hdim_v = shape.hdim_v;
  p.merge_heads = instance.fmha.merge_heads;
  p.m0 = instance.fmha.m0;
  p.n0 = instance.fmha.n0;
  p.page_size = traits.kv == FmhaKv::contiguous ? 0 : shape.page_size;
  p.mask = {traits.masked, shape.corner, shape.window_left, shape.window_right, shape.sink_tokens};
  p.cu_num = static_cast<std::int32_t>(cu_num);
  if (shape.heads_k > 0 && detail::takes_all_heads(instance.fmha, shape.seqlen_q, shape.heads_q / shape.heads_k))
    p.workgroup_heads = shape.heads_q;
  return p;
}

FmhaShape with_schedule(FmhaShape shape, const FmhaSplitProblem& problem, const FmhaSplitSizes& sizes) noexcept {
  shape.split_items = sizes.items;
  shape.split_combines = sizes.combine_items;
  shape.split_rows = sizes.partial_rows;
  shape.split_m0 = problem.m0;
  shape.split_n0 = problem.n0;
  shape.split_merged = problem.merge_heads;
  return shape;
}

}  // namespace v1
}  // namespace ckgen
