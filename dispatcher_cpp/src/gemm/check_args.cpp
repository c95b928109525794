#include "src/gemm/check_args.hpp"

#include <ckgen/prepack.hpp>
#include <ckgen/scales.hpp>

#include <cstdint>

#include "src/operation/operand.hpp"

namespace ckgen::inline v1::detail {
namespace {

struct Operands {
  Operand a, b, c;
};

Operands operands_of(const Signature& s, const GemmArgs& args) noexcept {
  const bool a_rows = a_is_row_major(s.layout);
  const bool b_rows = b_is_row_major(s.layout) && !s.preshuffle_b;
  return {{"A", s.a, args.a, a_rows ? args.m : args.k, a_rows ? args.k : args.m, args.lda, args.batch_stride_a, true},
          {"B", s.b, args.b, b_rows ? args.k : args.n, b_rows ? args.n : args.k, s.preshuffle_b ? args.k : args.ldb,
           args.batch_stride_b, true},
          {"C", s.c, args.c, args.m, args.n, args.ldc, args.batch_stride_c, false}};
}

/// A and B once more, for the second tensor that their op takes.
Status check_second(const Signature& s, const Operands& operands, const GemmArgs& args) noexcept {
  const auto check_one = [&args](OperandOp op, Operand first, const char* name, const void* data) {
    first.name = name;
    first.data = data;
    return op == OperandOp::none ? Status::success() : check(first, args.batch);
  };
  if (const Status status = check_one(s.a_op, operands.a, "A1", args.a1); !status.ok()) return status;
  return check_one(s.b_op, operands.b, "B1", args.b1);
}

Status check_d(const Signature& s, const GemmArgs& args) noexcept {
  constexpr const char* kNames[kMaxD] = {"D0", "D1"};
  for (int i = 0; i < s.epilogue.d_count(); ++i) {
    const Operand d{kNames[i], s.c, args.d[i], args.m, args.n, args.ldd[i], args.batch_stride_d[i], true, true};
    if (const Status status = check(d, args.batch); !status.ok()) return status;
  }
  return Status::success();
}

/// B as pack_b() makes it; its header says what it is.
Status check_packed(const Signature& s, const GemmArgs& args) noexcept {
  const bool is_shared = args.batch > 1 && args.batch_stride_b == 0;
  return check_packed_b(s.b, args.n, args.k, is_shared ? 1 : args.batch, args.b);
}

}  // namespace

Status check_gemm_extents(const Problem& problem) noexcept {
  GemmArgs dense{};
  dense.m = problem.m();
  dense.n = problem.n();
  dense.k = problem.k();
  Operands operands = operands_of(problem.signature(), dense);
  for (Operand* x : {&operands.a, &operands.b, &operands.c}) {
    std::int64_t one = 0;
    x->ld = x->length;
    if (__builtin_mul_overflow(x->lines, x->ld, &x->batch_stride) || !extent(*x, problem.batch(), one))
      return too_large(x->name);
  }
  return Status::success();
}

Status check_args(const Problem& problem, const GemmArgs& args) noexcept {
  if (args.m != problem.m() || args.n != problem.n() || args.k != problem.k() || args.batch != problem.batch())
    return Status::error(
        StatusCode::invalid_argument,
        "the arguments are for M=%lld N=%lld K=%lld batch=%lld, the plan for M=%lld N=%lld K=%lld batch=%lld",
        static_cast<long long>(args.m), static_cast<long long>(args.n), static_cast<long long>(args.k),
        static_cast<long long>(args.batch), static_cast<long long>(problem.m()), static_cast<long long>(problem.n()),
        static_cast<long long>(problem.k()), static_cast<long long>(problem.batch()));
  if (args.a_scale_stride != 0)
    return Status::error(
        StatusCode::invalid_argument,
        "a_scale_stride is of groups, and this is one GEMM: run it as one group, or copy a_scale without gaps");
  return check_operands(problem.signature(), args);
}

Status check_operands(const Signature& s, const GemmArgs& args) noexcept {
  const Operands operands = operands_of(s, args);
  if (args.k > 0) {  // a group may be without K
    if (const Status status = check(operands.a, args.batch); !status.ok()) return status;
    const Status of_b = args.b_prepacked ? check_packed(s, args) : check(operands.b, args.batch);
    if (!of_b.ok()) return of_b;
    if (const Status status = check_second(s, operands, args); !status.ok()) return status;
  }
  if (const Status status = check(operands.c, args.batch); !status.ok()) return status;
  if (const Status status = check_d(s, args); !status.ok()) return status;
  if (scales_a(s.quant, s.scale_block) && args.a_scale == nullptr)
    return Status::error(StatusCode::invalid_argument, "a_scale is null");
  if (scales_b(s.quant, s.scale_block) && args.b_scale == nullptr)
    return Status::error(StatusCode::invalid_argument, "b_scale is null");
  if (s.bias && args.bias == nullptr) return Status::error(StatusCode::invalid_argument, "bias is null");
  return Status::success();
}

}  // namespace ckgen::inline v1::detail
