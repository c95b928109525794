#include <ckgen/scales.hpp>

#include <initializer_list>
#include <limits>

#include "src/moe/check_args.hpp"
#include "src/operation/operand.hpp"

namespace ckgen::inline v1::detail {
namespace {

Status invalid(const char* text) noexcept {
  return Status::error(StatusCode::invalid_argument, "%s", text);
}

bool is_sorted_form(const SortedTokens& x) noexcept {
  return x.token_ids != nullptr && x.weights != nullptr && x.expert_ids != nullptr && x.valid != nullptr;
}

/// Rows of all experts; so many that nothing counts them where 64 bits do not.
std::int64_t rows_of_all(std::int64_t rows, std::int64_t gates, std::int64_t experts) noexcept {
  std::int64_t all = 0;
  const bool overflows = __builtin_mul_overflow(rows, gates * experts, &all);
  return overflows ? std::numeric_limits<std::int64_t>::max() : all;
}

/// The matrices of a MoE problem, all experts' weights as one; the sizes of a layer's down are its gate_up's, swapped.
struct MoeOperands {
  Operand a, c, w1, w2;
};

MoeOperands operands_of(const Problem& p, const MoeArgs& args) noexcept {
  const Signature& s = p.signature();
  const bool is_down = s.moe.part == MoePart::down;
  const std::int64_t rows = p.m() * p.routing().top_k;
  const std::int64_t c_columns = s.moe.part == MoePart::layer ? p.k() : p.n();
  const std::int64_t w1_rows = rows_of_all(p.n(), s.moe.gated ? 2 : 1, p.routing().experts);
  const std::int64_t w2_rows = rows_of_all(is_down ? p.n() : p.k(), 1, p.routing().experts);
  const std::int64_t w2_columns = is_down ? p.k() : p.n();
  return {{"A", s.a, args.a, is_down ? rows : p.m(), p.k(), args.lda, 0, true},
          {"C", s.c, args.c, s.moe.part == MoePart::gate_up ? rows : p.m(), c_columns, args.ldc, 0, false},
          {"W1", s.b, args.w1, w1_rows, p.k(), p.k(), 0, true},
          {"W2", s.b, args.w2, w2_rows, w2_columns, w2_columns, 0, true}};
}

}  // namespace

Status check_args(const Problem& problem, const MoeArgs& args) noexcept {
  const Signature& s = problem.signature();
  if (args.tokens != problem.m())
    return Status::error(StatusCode::invalid_argument, "the arguments are of %lld tokens, the plan of %lld",
                         static_cast<long long>(args.tokens), static_cast<long long>(problem.m()));
  const bool has_w1 = s.moe.part != MoePart::down, has_w2 = s.moe.part != MoePart::gate_up;
  const MoeOperands x = operands_of(problem, args);
  for (const Operand* operand : {&x.a, &x.c, has_w1 ? &x.w1 : nullptr, has_w2 ? &x.w2 : nullptr}) {
    if (operand == nullptr) continue;
    if (const Status status = check(*operand, 1); !status.ok()) return status;
  }
  if (scales_a(s.quant, s.scale_block) && args.a_scale == nullptr) return invalid("a_scale is null");
  const bool has_scales = scales_b(s.quant, s.scale_block);
  if (has_scales && has_w1 && args.w1_scale == nullptr) return invalid("w1_scale is null");
  if (has_scales && has_w2 && args.w2_scale == nullptr) return invalid("w2_scale is null");
  if (s.moe.part == MoePart::layer && args.topk_ids != nullptr)
    return args.topk_weights != nullptr ? Status::success() : invalid("topk_weights is null");
  if (is_sorted_form(args.sorted)) return Status::success();
  return invalid(s.moe.part == MoePart::layer ? "neither topk_ids nor the four arrays of sorted tokens were given"
                                              : "an array of the sorted tokens is null");
}

Status check_moe_extents(const Problem& problem) noexcept {
  MoeArgs dense{};
  MoeOperands x = operands_of(problem, dense);
  const MoePart part = problem.signature().moe.part;
  x.a.ld = x.a.length;
  x.c.ld = x.c.length;
  const std::int64_t rows = problem.m() * problem.routing().top_k;
  const Operand h{"H", DType::fp32, nullptr, rows, problem.n(), problem.n(), 0, false};  // the widest that it can be
  const Operand* const w1 = part != MoePart::down ? &x.w1 : nullptr;
  const Operand* const w2 = part != MoePart::gate_up ? &x.w2 : nullptr;
  for (const Operand* operand : std::initializer_list<const Operand*>{&x.a, &x.c, w1, w2, &h}) {
    std::int64_t one = 0;
    if (operand != nullptr && !extent(*operand, 1, one)) return too_large(operand->name);
  }
  return Status::success();
}

}  // namespace ckgen::inline v1::detail
