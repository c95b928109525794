// The C API's MoE layers, and tokens by expert.
#include "src/c_api/support.hpp"

using ckgen::v1::detail::bench_of;
using ckgen::v1::detail::given;
using ckgen::v1::detail::invalid;
using ckgen::v1::detail::ok;
using ckgen::v1::detail::routing_of;
using ckgen::v1::detail::run_in;
using ckgen::v1::detail::run_pooled;

namespace {

ckgen::SortedTokens sorted_of(const ckgen_sorted_tokens& x) noexcept {
  return {x.token_ids, x.weights, x.expert_ids, x.valid};
}

ckgen::MoeArgs moe_args_of(const ckgen_moe_args& x) noexcept {
  return {x.a,
          x.w1,
          x.w2,
          x.c,
          x.a_scale,
          x.w1_scale,
          x.w2_scale,
          x.tokens,
          x.lda,
          x.ldc,
          x.topk_ids,
          x.topk_weights,
          sorted_of(x.sorted),
          x.a_scale_row_major != 0,
          x.mx_scale_shuffled != 0};
}

/// Whether tokens of such sizes can be sorted; says so otherwise.
bool sortable(const ckgen_message& message, int64_t tokens, const ckgen::Routing& routing, int64_t block_m) noexcept {
  if (ckgen::sorted_capacity(tokens, routing, block_m) >= 0) return true;
  invalid(message, "tokens, experts, top_k or block_m are out of range, or sorted tokens are more than 32 bits count");
  return false;
}

bool given_sorted(const ckgen_message& message, const ckgen_sorted_tokens* x) noexcept {
  return given(message, x) && given(message, x->token_ids, x->weights, x->expert_ids, x->valid);
}

}  // namespace

extern "C" {

ckgen_status ckgen_run_moe(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan, const ckgen_moe_args* args,
                           void* workspace, void* stream, ckgen_message message) {
  return run_in<moe_args_of>(dispatcher, plan, args, workspace, stream, message);
}

ckgen_status ckgen_run_moe_pooled(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan,
                                  const ckgen_moe_args* args, void* stream, ckgen_message message) {
  return run_pooled<moe_args_of>(dispatcher, plan, args, stream, message);
}

ckgen_status ckgen_bench_moe(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan, const ckgen_moe_args* args,
                             int32_t warmup, int32_t runs, ckgen_bench_result* out, ckgen_message message) {
  return bench_of<moe_args_of>(dispatcher, plan, args, warmup, runs, out, message);
}

ckgen_status ckgen_plan_block_m(const ckgen_plan* plan, int32_t* block_m, ckgen_message message) {
  if (!given(message, plan, block_m)) return CKGEN_INVALID_ARGUMENT;
  *block_m = plan->value.problem.block_m();
  return ok(message);
}

int64_t ckgen_sorted_capacity(int64_t tokens, uint32_t experts, uint32_t top_k, int64_t block_m) {
  return ckgen::sorted_capacity(tokens, routing_of(experts, top_k), block_m);
}

ckgen_status ckgen_sort_tokens(const int32_t* topk_ids, const float* topk_weights, int64_t tokens, uint32_t experts,
                               uint32_t top_k, int64_t block_m, const ckgen_sorted_tokens* out, ckgen_message message) {
  if (!given(message, topk_ids, topk_weights) || !given_sorted(message, out)) return CKGEN_INVALID_ARGUMENT;
  const ckgen::Routing routing = routing_of(experts, top_k);
  if (!sortable(message, tokens, routing, block_m)) return CKGEN_INVALID_ARGUMENT;
  const bool sorted = ckgen::sort_tokens(topk_ids, topk_weights, tokens, routing, block_m, sorted_of(*out));
  return sorted ? ok(message) : invalid(message, "an id is no expert");
}

ckgen_status ckgen_unsort_tokens(const ckgen_sorted_tokens* sorted, int64_t tokens, uint32_t experts, uint32_t top_k,
                                 int64_t block_m, int32_t* topk_ids, float* topk_weights, ckgen_message message) {
  if (!given(message, topk_ids, topk_weights) || !given_sorted(message, sorted)) return CKGEN_INVALID_ARGUMENT;
  const ckgen::Routing routing = routing_of(experts, top_k);
  if (!sortable(message, tokens, routing, block_m)) return CKGEN_INVALID_ARGUMENT;
  const bool whole = ckgen::unsort_tokens(sorted_of(*sorted), tokens, routing, block_m, topk_ids, topk_weights);
  return whole ? ok(message) : invalid(message, "not what ckgen_sort_tokens writes");
}

}  // extern "C"
