// The door: everything that can be wrong with a call is found here, before any work.
#include "backends/host/moe/moe.hpp"

#include "backends/host/gemm/check.hpp"
#include "backends/host/moe/run.hpp"
#include "backends/host/refusal.hpp"
#include "ckgen/scales.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

Status check_moe_traits(const GemmTraits& t, const MoeTraits& moe) noexcept {
  if (moe.part > MoePart::down) return invalid("the part is out of range");
  if (t.layout != Layout::rcr || t.bias || t.a_op != OperandOp::none || t.b_op != OperandOp::none)
    return Status::error(StatusCode::unsupported, "a MoE layer has layout rcr, no bias and no operands of two tensors");
  if (t.c == DType::int32) return Status::error(StatusCode::unsupported, "a MoE layer has no result of int32");
  const EpilogueOp act = t.epilogue.ops[0];
  const bool one = (act == EpilogueOp::relu || act == EpilogueOp::gelu || act == EpilogueOp::silu) &&
                   t.epilogue.ops[1] == EpilogueOp::none;
  const bool none = t.epilogue.empty() && !moe.gated;
  if (moe.part == MoePart::layer ? !one : moe.part == MoePart::gate_up ? !one && !none : !none)
    return Status::error(StatusCode::unsupported,
                         "a layer has one of relu, gelu and silu, gate_up without a gate may have none; down has none "
                         "and no gate");
  if (moe.part == MoePart::layer && t.a == DType::int8 && !scales_a(t.quant, t.scale_block))
    return Status::error(StatusCode::unsupported, "an int8 H needs scales");
  return Status::success();
}

Status check_shape(const GemmTraits& t, const MoeTraits& moe, const MoeShape& x) noexcept {
  if (const Status s = check_sizes(x.tokens, x.n, x.k, 1); !s.ok()) return s;
  if (sorted_capacity(x.tokens, x.routing, 1) < 0)
    return Status::error(StatusCode::invalid_argument, "%lld tokens, %d experts and a top_k of %d are out of range",
                         static_cast<long long>(x.tokens), int{x.routing.experts}, int{x.routing.top_k});
  const bool narrow = bits(t.a) == 4 || bits(t.b) == 4;
  if (narrow && (x.k % 2 != 0 || (moe.part == MoePart::layer && x.n % 2 != 0)))
    return invalid("rows of 4-bit elements must be whole bytes");
  return Status::success();
}

/// One product as a GEMM of the first expert.
Status check_product(const Cutting& cutting, const GemmTraits& product, const ExpertWeights& weights,
                     const MoeArgs& args, const void* a, std::int64_t lda, std::int64_t a_rows) noexcept {
  GemmArgs p = expert_args(product, weights, 0, args, a_rows);
  if (p.n == 0) return Status::success();
  p.a = a;
  p.lda = lda;
  p.c = args.c;
  p.ldc = p.n;
  const Status s = check_args(product, p);
  if (!s.ok() || cutting.twin() == nullptr) return s;
  return check_padding(product, *cutting.twin(), 1, p);
}

Status check_moe_args(const Cutting& cutting, const MoePlan& plan, const MoeArgs& args) noexcept {
  const MoeShape& x = plan.shape;
  const MoePart part = plan.moe.part;
  if (args.tokens != x.tokens) return invalid("the arguments are of another number of tokens");
  if (args.c == nullptr) return invalid("c is null");
  if (args.ldc < (part == MoePart::layer ? x.k : x.n)) return invalid("ldc is less than a row of C");
  const std::int64_t a_rows = part == MoePart::down ? plan.rows : x.tokens;
  if (has_gate_up(part)) {
    const Status s =
        check_product(cutting, plan.product, up_weights(plan.moe, x, args), args, args.a, args.lda, a_rows);
    if (!s.ok()) return Status::error(s.code, "gate_up: %s", s.message);
  }
  if (has_down(part)) {
    const bool whole = part == MoePart::layer;
    const ExpertWeights weights = down_weights(plan.moe, x, args);
    MoeArgs own = args;
    if (whole) own.a_scale = args.c;  // H has scales of its own
    const Status s = check_product(cutting, plan.product, weights, own, whole ? args.c : args.a,
                                   whole ? weights.k : args.lda, plan.rows);
    if (!s.ok()) return Status::error(s.code, "down: %s", s.message);
  }
  if (part == MoePart::layer && args.topk_ids != nullptr)
    return args.topk_weights == nullptr ? invalid("topk_weights is null") : Status::success();
  const SortedTokens& sorted = args.sorted;
  if (sorted.token_ids == nullptr || sorted.weights == nullptr || sorted.expert_ids == nullptr ||
      sorted.valid == nullptr)
    return invalid("an array of the sorted tokens is null");
  return sorted_capacity(x.tokens, x.routing, x.block_m) < 0 ? invalid("block_m is out of range") : Status::success();
}

Status check(const Cutting& cutting, const MoeTraits& moe, const MoeShape& shape) noexcept {
  Status s = cutting.check();
  if (s.ok()) s = check_moe_traits(cutting.traits(), moe);
  if (s.ok()) s = check_shape(cutting.traits(), moe, shape);
  return s;
}

// A layer without model_dim, or a part without columns.
bool is_empty(const MoeTraits& moe, const MoeShape& x) noexcept {
  return x.tokens == 0 || (moe.part == MoePart::layer ? x.k : x.n) == 0;
}

std::size_t workspace_of(const Cutting& cutting, const MoeTraits& moe, const MoeShape& shape) noexcept {
  if (!check(cutting, moe, shape).ok() || is_empty(moe, shape)) return 0;
  return make_moe_plan(cutting, moe, shape).bytes;
}

Status run(const Cutting& cutting, const MoeTraits& moe, const MoeShape& shape, const MoeArgs& args,
           void* workspace) noexcept {
  Status s = check(cutting, moe, shape);
  if (!s.ok() || is_empty(moe, shape)) return s;
  const MoePlan plan = make_moe_plan(cutting, moe, shape);
  s = check_moe_args(cutting, plan, args);
  if (s.ok()) s = check_workspace(workspace);
  if (!s.ok()) return s;
  if (run_moe(cutting, plan, args, workspace)) return s;
  return invalid("an id is not an expert, or the sorted tokens do not hold each slot once");
}

}  // namespace

std::size_t moe_twin_workspace(const GemmTraits& traits, const MoeTraits& moe, const TwinConfig& config,
                               const MoeShape& shape) noexcept {
  return workspace_of(Cutting(traits, config, 1), moe, shape);
}

std::size_t moe_host_workspace(const GemmTraits& traits, const MoeTraits& moe, const HostConfig& config,
                               const MoeShape& shape) noexcept {
  return workspace_of(Cutting(traits, config), moe, shape);
}

Status run_moe_twin(const GemmTraits& traits, const MoeTraits& moe, const TwinConfig& config, const MoeShape& shape,
                    const MoeArgs& args, void* workspace, RowOrder rows) noexcept {
  return run(Cutting(traits, config, 1, rows), moe, shape, args, workspace);
}

Status run_moe_host(const GemmTraits& traits, const MoeTraits& moe, const HostConfig& config, const MoeShape& shape,
                    const MoeArgs& args, void* workspace, RowOrder rows) noexcept {
  return run(Cutting(traits, config, rows), moe, shape, args, workspace);
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
