#include "backends/host/gemm/check_fused.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

bool is_narrow_float(DType t) noexcept {
  return t == DType::fp32 || t == DType::fp16 || t == DType::bf16;
}

Status check_operand(const char* what, OperandOp op, DType type, bool staged) noexcept {
  if (op == OperandOp::none) return Status::success();
  if (op > OperandOp::mul) return Status::error(StatusCode::invalid_argument, "the op of %s is out of range", what);
  if (!is_narrow_float(type) || !staged)
    return Status::error(StatusCode::unsupported, "no host kernel makes %s of %s from two tensors", what,
                         name(type).data());
  return Status::success();
}

Status check_d(const GemmArgs& p, int i) noexcept {
  const auto refuse = [i](const char* what, std::int64_t got, std::int64_t least) {
    return Status::error(StatusCode::invalid_argument, "%s%d=%lld: less than %lld", what, i,
                         static_cast<long long>(got), static_cast<long long>(least));
  };
  if (p.d[i] == nullptr) return Status::error(StatusCode::invalid_argument, "d%d is null", i);
  if (p.ldd[i] != 0 && p.ldd[i] < p.n) return refuse("ldd", p.ldd[i], p.n);
  if (p.batch > 1 && p.batch_stride_d[i] < 0) return refuse("batch_stride_d", p.batch_stride_d[i], 0);
  std::int64_t one = 0, all = 0, end = 0;
  if (__builtin_mul_overflow(p.m, p.ldd[i], &one) ||
      __builtin_mul_overflow(p.batch > 1 ? p.batch : 0, p.batch_stride_d[i], &all) ||
      __builtin_add_overflow(one, all, &end) || end > (std::int64_t{1} << 60))
    return Status::error(StatusCode::invalid_argument, "d%d: the extent does not fit in 63 bits", i);
  return Status::success();
}

}  // namespace

Status check_fused_traits(const GemmTraits& t) noexcept {
  for (const EpilogueOp op : t.epilogue.ops) {
    if (op > EpilogueOp::scale) return Status::error(StatusCode::invalid_argument, "an epilogue's op is out of range");
  }
  if (t.epilogue.d_count() > kMaxD)
    return Status::error(StatusCode::invalid_argument, "an epilogue takes at most %d D tensors", kMaxD);
  if (!t.epilogue.empty() && !is_narrow_float(t.c))
    return Status::error(StatusCode::unsupported, "no epilogue is defined for a result of %s", name(t.c).data());
  const bool plain = t.quant == Quant::none;
  if (const Status s = check_operand("A", t.a_op, t.a, plain); !s.ok()) return s;
  return check_operand("B", t.b_op, t.b, plain && !t.preshuffle_b);
}

Status check_fused_args(const GemmTraits& t, const GemmArgs& p) noexcept {
  for (int i = 0; i < t.epilogue.d_count(); ++i) {
    if (const Status s = check_d(p, i); !s.ok()) return s;
  }
  if (t.a_op != OperandOp::none && p.k > 0 && p.a1 == nullptr)
    return Status::error(StatusCode::invalid_argument, "a1 is null");
  if (t.b_op != OperandOp::none && p.k > 0 && p.b1 == nullptr)
    return Status::error(StatusCode::invalid_argument, "b1 is null");
  return Status::success();
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
