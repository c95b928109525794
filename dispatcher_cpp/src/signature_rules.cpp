#include "signature_rules.hpp"

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
  const std::uint32_t both = bit(s.a) | bit(s.b);
  const auto within = [both](std::uint32_t set) { return (both & ~set) == 0; };
  return s.quant != Quant::mx && (within(kPlain8) || within(kFnuz8) || within(kOcp8));
}

Status meaningless(const char* format, DType dtype) noexcept {
  return Status::error(StatusCode::invalid_argument, format, name(dtype).data());
}

}  // namespace

Status signature_status(const Signature& s) noexcept {
  if (s.op != Op::gemm) return Status::error(StatusCode::invalid_argument, "not a GEMM signature");
  if (!in(s.a, operands_of(s.quant))) return meaningless("A cannot be %s under this quantisation", s.a);
  if (!in(s.b, operands_of(s.quant))) return meaningless("B cannot be %s under this quantisation", s.b);
  if (s.a != s.b && !mixes(s))
    return meaningless("B cannot be %s: only 8-bit floats of one flavour mix with A's type, and not under mx", s.b);
  if (s.preshuffle_b && !in(s.b, kPreshuffled)) return meaningless("no preshuffled form of %s is defined", s.b);
  if (!in(s.c, outs_of(s))) return meaningless("C cannot be %s", s.c);
  if (!in(s.acc, accumulators_of(s))) return meaningless("A does not accumulate in %s", s.acc);
  if (!in(s.scale, scales_of(s.quant))) return meaningless("this quantisation has no scales of type %s", s.scale);
  if (s.layout != Layout::rcr && (s.preshuffle_b || (s.quant != Quant::none && s.quant != Quant::per_tensor)))
    return Status::error(StatusCode::invalid_argument, "layout %s: this signature needs rcr", name(s.layout).data());
  return Status::success();
}

}  // namespace v1
}  // namespace ckgen
