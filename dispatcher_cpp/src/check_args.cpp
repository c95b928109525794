#include "check_args.hpp"

#include <ckgen/scales.hpp>

#include <cstdint>

namespace ckgen::inline v1::detail {
namespace {

/// A matrix in memory: `lines` of `length` elements, `ld` apart.
struct Operand {
  const char* name;
  DType dtype;
  const void* data;
  std::int64_t lines, length, ld, batch_stride;
  bool may_broadcast;
  bool may_repeat = false;  // an ld of 0: one line stands for all
};

Status refuse(const char* what, const char* name, std::int64_t got, std::int64_t least) noexcept {
  return Status::error(StatusCode::invalid_argument, "%s of %s = %lld is below %lld", what, name,
                       static_cast<long long>(got), static_cast<long long>(least));
}

/// Elements from the first to behind the last of one batch entry, and whether all bytes of all of them can be counted.
bool extent(const Operand& x, std::int64_t batch, std::int64_t& one) noexcept {
  std::int64_t all = 0;
  std::int64_t bits_of_all = 0;
  if (__builtin_mul_overflow(x.lines - 1, x.ld, &one) || __builtin_add_overflow(one, x.length, &one)) return false;
  if (__builtin_mul_overflow(batch - 1, x.batch_stride, &all) || __builtin_add_overflow(all, one, &all)) return false;
  return !__builtin_mul_overflow(all, static_cast<std::int64_t>(bits(x.dtype)), &bits_of_all);
}

Status too_large(const char* name) noexcept {
  return Status::error(StatusCode::invalid_argument, "%s has more bits than 64-bit integers count", name);
}

Status check(const Operand& x, std::int64_t batch) noexcept {
  if (x.data == nullptr) return Status::error(StatusCode::invalid_argument, "%s is null", x.name);
  if (x.ld < x.length && !(x.may_repeat && x.ld == 0)) return refuse("the leading dimension", x.name, x.ld, x.length);
  std::int64_t one = 0;
  if (!extent(x, batch, one)) return too_large(x.name);
  if (batch <= 1 || (x.batch_stride == 0 && x.may_broadcast)) return Status::success();
  return x.batch_stride < one ? refuse("the batch stride", x.name, x.batch_stride, one) : Status::success();
}

struct Operands {
  Operand a, b, c;
};

Operands operands_of(const Problem& p, const GemmArgs& args) noexcept {
  const Signature& s = p.signature();
  const bool a_rows = a_is_row_major(s.layout);
  const bool b_rows = b_is_row_major(s.layout) && !s.preshuffle_b;
  return {{"A", s.a, args.a, a_rows ? p.m() : p.k(), a_rows ? p.k() : p.m(), args.lda, args.batch_stride_a, true},
          {"B", s.b, args.b, b_rows ? p.k() : p.n(), b_rows ? p.n() : p.k(), s.preshuffle_b ? p.k() : args.ldb,
           args.batch_stride_b, true},
          {"C", s.c, args.c, p.m(), p.n(), args.ldc, args.batch_stride_c, false}};
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

Status check_d(const Problem& p, const GemmArgs& args) noexcept {
  constexpr const char* kNames[kMaxD] = {"D0", "D1"};
  for (int i = 0; i < p.signature().epilogue.d_count(); ++i) {
    const Operand d{kNames[i],   p.signature().c,        args.d[i], p.m(), p.n(),
                    args.ldd[i], args.batch_stride_d[i], true,      true};
    if (const Status status = check(d, args.batch); !status.ok()) return status;
  }
  return Status::success();
}

}  // namespace

Status check_extents(const Problem& problem) noexcept {
  GemmArgs dense{};
  Operands operands = operands_of(problem, dense);
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
  const Operands operands = operands_of(problem, args);
  for (const Operand* x : {&operands.a, &operands.b, &operands.c}) {
    if (const Status status = check(*x, args.batch); !status.ok()) return status;
  }
  const Signature& s = problem.signature();
  if (const Status status = check_second(s, operands, args); !status.ok()) return status;
  if (const Status status = check_d(problem, args); !status.ok()) return status;
  if (scales_a(s.quant, s.scale_block) && args.a_scale == nullptr)
    return Status::error(StatusCode::invalid_argument, "a_scale is null");
  if (scales_b(s.quant, s.scale_block) && args.b_scale == nullptr)
    return Status::error(StatusCode::invalid_argument, "b_scale is null");
  if (s.bias && args.bias == nullptr) return Status::error(StatusCode::invalid_argument, "bias is null");
  return Status::success();
}

}  // namespace ckgen::inline v1::detail
