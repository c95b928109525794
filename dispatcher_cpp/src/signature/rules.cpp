#include "src/signature/rules.hpp"

#include <ckgen/signature_text.hpp>

namespace ckgen {
inline namespace v1 {
namespace {

constexpr std::uint32_t bit(DType dtype) noexcept {
  return 1U << static_cast<unsigned>(dtype);
}

template <class... Types>
constexpr std::uint32_t set_of(Types... types) noexcept {
  return (bit(types) | ...);
}

constexpr bool in(DType dtype, std::uint32_t set) noexcept {
  return (set & bit(dtype)) != 0;
}

constexpr std::uint32_t kPlain8 = set_of(DType::fp8, DType::bf8);
constexpr std::uint32_t kFnuz8 = set_of(DType::fp8_fnuz, DType::bf8_fnuz);
constexpr std::uint32_t kOcp8 = set_of(DType::fp8_ocp, DType::bf8_ocp);
constexpr std::uint32_t kFloat8 = kPlain8 | kFnuz8 | kOcp8;
constexpr std::uint32_t kNarrow = set_of(DType::fp32, DType::fp16, DType::bf16);
constexpr std::uint32_t kOperands = kFloat8 | kNarrow | set_of(DType::fp64, DType::int8, DType::fp4);
constexpr std::uint32_t kBesideInt4 = kFloat8 | set_of(DType::fp16, DType::bf16);
constexpr std::uint32_t kPreshuffled = kFloat8 | set_of(DType::int8, DType::fp16, DType::bf16, DType::fp4);

constexpr std::uint32_t operands_of(Quant quant) noexcept {
  switch (quant) {
    case Quant::none: return kOperands & ~bit(DType::fp4);
    case Quant::per_tensor: return kFloat8 | set_of(DType::int8, DType::fp16, DType::bf16);
    case Quant::rowwise: return kFloat8 | bit(DType::int8);
    case Quant::blockscale: return kFloat8;
    case Quant::mx: return kOcp8 | bit(DType::fp4);
  }
  return 0;
}

constexpr std::uint32_t scales_of(Quant quant) noexcept {
  switch (quant) {
    case Quant::none: return bit(DType::none);
    case Quant::per_tensor:
    case Quant::rowwise: return kNarrow;
    case Quant::blockscale: return bit(DType::fp32);
    case Quant::mx: return bit(DType::e8m0);
  }
  return 0;
}

constexpr std::uint32_t outs_of(const Signature& s) noexcept {
  if (s.a == DType::fp64) return bit(DType::fp64);
  return s.a == DType::int8 && s.quant == Quant::none ? kNarrow | bit(DType::int32) : kNarrow;
}

constexpr std::uint32_t accumulators_of(const Signature& s) noexcept {
  if (s.a == DType::fp16) return set_of(DType::fp32, DType::fp16);
  if (s.a == DType::fp32) return set_of(DType::fp32, DType::fp64);
  return bit(detail::default_acc(s.a, s.b));
}

constexpr bool mixes(const Signature& s) noexcept {
  if (s.quant == Quant::mx) return s.a == DType::fp8_ocp && s.b == DType::fp4;
  const std::uint32_t both = bit(s.a) | bit(s.b);
  const auto within = [both](std::uint32_t set) { return (both & ~set) == 0; };
  return within(kPlain8) || within(kFnuz8) || within(kOcp8);
}

Status meaningless(const char* format, DType dtype) noexcept {
  return Status::error(StatusCode::invalid_argument, format, name(dtype).data());
}

Status nonsense(const char* text) noexcept {
  return Status::error(StatusCode::invalid_argument, "%s", text);
}

Status int4_status(const Signature& s) noexcept {
  if (!in(s.a, kBesideInt4)) return meaningless("an int4 B goes with 16-bit and 8-bit floats, not with A of %s", s.a);
  if (s.layout != Layout::rcr) return nonsense("an int4 B is packed along K: it needs layout rcr");
  if (s.quant == Quant::none || s.quant == Quant::blockscale) return Status::success();
  return Status::error(StatusCode::invalid_argument, "an int4 B has no scales or block scales, not %s ones",
                       name(s.quant).data());
}

Status scale_block_status(const Signature& s) noexcept {
  if (s.scale_block.is_usual()) {
    if (s.quant == Quant::blockscale && s.b == DType::int4)
      return nonsense("block scales of an int4 B are B's alone, of one row each");
    return Status::success();
  }
  if (s.quant != Quant::blockscale) return nonsense("a scale block without block scales");
  if (s.preshuffle_b) return nonsense("a preshuffled B has scale blocks of 128x128");
  if (code_of(kScaleBlockK, s.scale_block.k) == kNoScaleBlock ||
      code_of(kScaleBlockN, s.scale_block.n) == kNoScaleBlock)
    return nonsense("scale blocks are 128, 64, 32, 16, 8 or 1 rows of B and 128, 64, 32 or 16 elements along K");
  if (s.scale_block.sides == ScaleSides::a && s.scale_block.n != 128)
    return nonsense("rows of B in a scale block where B has no scales");
  if (s.b == DType::int4 && (s.scale_block.sides != ScaleSides::b || s.scale_block.n != 1))
    return nonsense("block scales of an int4 B are B's alone, of one row each");
  return Status::success();
}

Status epilogue_status(const Signature& s) noexcept {
  for (int i = 1; i < kMaxEpilogueOps; ++i) {
    if (s.epilogue.ops[i] != EpilogueOp::none && s.epilogue.ops[i - 1] == EpilogueOp::none)
      return nonsense("an epilogue with a gap");
  }
  if (s.epilogue.d_count() > kMaxD) return nonsense("an epilogue takes at most two D tensors");
  if (!s.epilogue.empty() && !in(s.c, kNarrow)) return meaningless("no epilogue is defined for C of %s", s.c);
  if (s.a_op == OperandOp::none && s.b_op == OperandOp::none) return Status::success();
  if (s.quant != Quant::none) return nonsense("operands of two tensors are not quantised");
  if (s.a_op != OperandOp::none && !in(s.a, kNarrow)) return meaningless("A of two tensors cannot be %s", s.a);
  if (s.b_op != OperandOp::none && (!in(s.b, kNarrow) || s.preshuffle_b))
    return meaningless("B of two tensors cannot be %s or preshuffled", s.b);
  return Status::success();
}

Status op_status(const Signature& s) noexcept {
  const bool has_operand_ops = s.a_op != OperandOp::none || s.b_op != OperandOp::none;
  const bool has_traits = s.moe.part != MoePart::layer || s.moe.gated || s.moe.weight_first;
  if (s.op != Op::moe && has_traits) return nonsense("only an MoE signature has a part, a gate or a routing weight");
  if (s.op == Op::gemm) return Status::success();
  if (s.batched) return nonsense("groups and experts take the place of a batch");
  if (has_operand_ops) return nonsense("only a plain GEMM has operands of two tensors");
  if (s.op == Op::grouped_gemm) return Status::success();
  if (s.op != Op::moe) return nonsense("no signature of this operation is defined");
  if (s.layout != Layout::rcr) return nonsense("an MoE signature needs layout rcr");
  if (s.bias) return nonsense("an MoE signature has no bias");
  if (s.moe.part == MoePart::down) {
    if (s.moe.gated) return nonsense("the down product of an MoE layer has no gate");
    return s.epilogue.empty() ? Status::success() : nonsense("the down product of an MoE layer has no activation");
  }
  const EpilogueOp first = s.epilogue.ops[0];
  const bool activates = first == EpilogueOp::silu || first == EpilogueOp::gelu || first == EpilogueOp::relu;
  if (!activates || s.epilogue.ops[1] != EpilogueOp::none)
    return nonsense("an MoE layer has one activation: silu, gelu or relu");
  return Status::success();
}

}  // namespace

Status signature_status(const Signature& s) noexcept {
  if (s.op == Op::fmha) return detail::fmha_status(s);
  if (s.fmha.pack() != 0) return nonsense("only an attention signature has attention's traits");
  if (const Status status = op_status(s); !status.ok()) return status;
  if (s.b == DType::int4) {
    if (const Status status = int4_status(s); !status.ok()) return status;
  } else if (!in(s.a, operands_of(s.quant))) {
    return meaningless("A cannot be %s under this quantisation", s.a);
  } else if (!in(s.b, operands_of(s.quant))) {
    return meaningless("B cannot be %s under this quantisation", s.b);
  } else if (s.a != s.b && !mixes(s)) {
    return meaningless("B cannot be %s: only 8-bit floats of one flavour mix, and under mx fp8_ocp with fp4", s.b);
  }
  if (s.preshuffle_b && !in(s.b, kPreshuffled)) return meaningless("no preshuffled form of %s is defined", s.b);
  if (!in(s.c, outs_of(s))) return meaningless("C cannot be %s", s.c);
  if (!in(s.acc, accumulators_of(s))) return meaningless("A does not accumulate in %s", s.acc);
  if (!in(s.scale, scales_of(s.quant))) return meaningless("this quantisation has no scales of type %s", s.scale);
  if (s.layout != Layout::rcr && (s.preshuffle_b || (s.quant != Quant::none && s.quant != Quant::per_tensor)))
    return Status::error(StatusCode::invalid_argument, "layout %s: this signature needs rcr", name(s.layout).data());
  if (const Status status = scale_block_status(s); !status.ok()) return status;
  return epilogue_status(s);
}

}  // namespace v1
}  // namespace ckgen
