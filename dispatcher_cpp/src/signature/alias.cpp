// Aliases of signatures, such as "a8w8:int8:fp16"; a test holds them equal to families/gemm/modules.json.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <ckgen/signature_text.hpp>

#include "src/signature/rules.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

/// What an alias fixes of a signature; `operand` is none where the alias leaves it open.
struct Template {
  std::string_view alias;
  std::array<DType, 2> operands;
  DType operand;
  DType out;
  Quant quant;
  bool preshuffle_b;
  bool batched;
};

using D = DType;
constexpr Template kTemplates[] = {
    {"a8w8", {D::int8, D::fp8}, D::none, D::bf16, Quant::rowwise, false, false},
    {"a8w8_bpreshuffle", {D::fp8, D::int8}, D::fp8, D::bf16, Quant::rowwise, true, false},
    {"a8w8_blockscale", {D::fp8, D::fp8}, D::fp8, D::bf16, Quant::blockscale, false, false},
    {"a8w8_blockscale_bpreshuffle", {D::fp8, D::fp8}, D::fp8, D::bf16, Quant::blockscale, true, false},
    {"a4w4_blockscale", {D::fp4, D::fp4}, D::fp4, D::bf16, Quant::mx, true, false},
    {"batched_a8w8", {D::int8, D::fp8}, D::int8, D::bf16, Quant::rowwise, false, true},
    {"batched_bf16", {D::bf16, D::bf16}, D::bf16, D::bf16, Quant::none, false, true},
    {"bf16", {D::bf16, D::bf16}, D::bf16, D::bf16, Quant::none, false, false},
    {"fp32", {D::fp32, D::fp32}, D::fp32, D::fp32, Quant::none, false, false},
    {"fp16", {D::fp16, D::fp16}, D::fp16, D::fp16, Quant::none, false, false},
    {"fp64", {D::fp64, D::fp64}, D::fp64, D::fp64, Quant::none, false, false},
    {"int8", {D::int8, D::int8}, D::int8, D::int32, Quant::none, false, false},
    {"fp8", {D::fp8, D::fp8}, D::fp8, D::bf16, Quant::none, false, false},
    {"bf8", {D::bf8, D::bf8}, D::bf8, D::bf16, Quant::none, false, false},
    {"fp8_fnuz", {D::fp8_fnuz, D::fp8_fnuz}, D::fp8_fnuz, D::bf16, Quant::none, false, false},
    {"fp8_ocp", {D::fp8_ocp, D::fp8_ocp}, D::fp8_ocp, D::bf16, Quant::none, false, false},
    {"bf8_fnuz", {D::bf8_fnuz, D::bf8_fnuz}, D::bf8_fnuz, D::bf16, Quant::none, false, false},
    {"bf8_ocp", {D::bf8_ocp, D::bf8_ocp}, D::bf8_ocp, D::bf16, Quant::none, false, false},
    {"mxfp8", {D::fp8_ocp, D::bf8_ocp}, D::fp8_ocp, D::bf16, Quant::mx, false, false},
};

constexpr bool is_flavour_of(DType dtype, DType plain) noexcept {
  return (plain == D::fp8 && (dtype == D::fp8_fnuz || dtype == D::fp8_ocp)) ||
         (plain == D::bf8 && (dtype == D::bf8_fnuz || dtype == D::bf8_ocp));
}

bool admits(const Template& known, DType dtype) noexcept {
  for (const DType operand : known.operands) {
    if (dtype == operand || is_flavour_of(dtype, operand)) return true;
  }
  return false;
}

constexpr bool is_out(DType d) noexcept {
  return d == D::bf16 || d == D::fp16 || d == D::fp32 || d == D::int32 || d == D::fp64;
}

std::optional<DType> dtype_of(std::string_view text) noexcept {
  DType dtype{};
  if (!parse(text, dtype) || dtype == D::none) return std::nullopt;
  return dtype;
}

std::optional<Layout> layout_of(std::string_view text) noexcept {
  for (const Layout layout : {Layout::rcr, Layout::rrr, Layout::ccr, Layout::crr}) {
    if (text == name(layout)) return layout;
  }
  return std::nullopt;
}

/// What stands before an alias: "grouped:" or "moe:".
Op take_op(std::string_view& alias) noexcept {
  constexpr std::string_view grouped = "grouped:";
  constexpr std::string_view moe = "moe:";
  for (const auto& [prefix, op] : {std::pair(grouped, Op::grouped_gemm), std::pair(moe, Op::moe)}) {
    if (alias.substr(0, prefix.size()) != prefix) continue;
    alias.remove_prefix(prefix.size());
    return op;
  }
  return Op::gemm;
}

/// Takes a word that only MoE signatures have, each kind once.
class MoeWords {
 public:
  bool take(std::string_view word) noexcept {
    for (int i = 0; i < kMoePartCount && !has_part_; ++i) {
      if (word != name(static_cast<MoePart>(i))) continue;
      traits.part = static_cast<MoePart>(i);
      return has_part_ = true;
    }
    for (const EpilogueOp op : {EpilogueOp::silu, EpilogueOp::gelu, EpilogueOp::relu}) {
      if (word != name(op) || activation != EpilogueOp::none) continue;
      activation = op;
      return true;
    }
    if (word == "gated" && !traits.gated) return traits.gated = true;
    if (word == "weightfirst" && !traits.weight_first) return traits.weight_first = true;
    return false;
  }

  MoeTraits traits;
  EpilogueOp activation = EpilogueOp::none;

 private:
  bool has_part_ = false;
};

}  // namespace

Result<Signature> detail::parse_alias(const std::string_view whole) noexcept {
  std::string_view text = whole;
  const Op op = take_op(text);
  const std::string_view head = text.substr(0, text.find(':'));
  const Template* known = nullptr;
  for (const Template& candidate : kTemplates) {
    if (candidate.alias == head) known = &candidate;
  }
  if (known == nullptr) return detail::unknown("signature", whole);
  std::optional<DType> operand;
  std::optional<DType> out;
  std::optional<Layout> layout;
  bool bias = false;
  MoeWords moe;
  for (std::size_t at = head.size(); at < text.size();) {
    const std::size_t end = std::min(text.find(':', at + 1), text.size());
    const std::string_view word = text.substr(at + 1, end - at - 1);
    at = end;
    const std::optional<DType> dtype = dtype_of(word);
    if (dtype && !operand && admits(*known, *dtype)) {
      operand = dtype;
    } else if (dtype && !out && is_out(*dtype)) {
      out = dtype;
    } else if (!layout && layout_of(word)) {
      layout = layout_of(word);
    } else if (word == "bias" && !bias) {
      bias = true;
    } else if (op != Op::moe || !moe.take(word)) {
      return detail::unknown("word in a signature", whole);
    }
  }
  const DType type = operand.value_or(known->operand);
  if (type == D::none)
    return Status::error(StatusCode::invalid_argument, "'%.*s' does not say the type of its operands: int8 or fp8",
                         static_cast<int>(head.size()), head.data());
  Signature s{op,
              type,
              type,
              out.value_or(known->out),
              detail::default_acc(type, type),
              detail::default_scale(known->quant),
              layout.value_or(Layout::rcr),
              known->quant,
              known->preshuffle_b,
              known->batched,
              bias};
  s.moe = moe.traits;
  s.epilogue.ops[0] = moe.activation;
  return s;
}

std::string_view detail::alias_of(const Signature& s) noexcept {
  if (s.op != Op::gemm || s.extras() != 0) return {};
  for (const Template& known : kTemplates) {
    const bool fills = s.quant == known.quant && s.preshuffle_b == known.preshuffle_b && s.batched == known.batched;
    if (fills && s.a == s.b && admits(known, s.a)) return known.alias;
  }
  return {};
}

}  // namespace v1
}  // namespace ckgen
