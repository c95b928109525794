// Canonical names and aliases to signatures; a test holds the aliases equal to families/gemm/modules.json.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <ckgen/problem.hpp>
#include <ckgen/signature_text.hpp>

#include "signature_rules.hpp"

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

Status unknown(std::string_view what, std::string_view text) noexcept {
  return Status::error(StatusCode::invalid_argument, "unknown %.*s: '%.*s'", static_cast<int>(what.size()), what.data(),
                       static_cast<int>(text.size() < 100 ? text.size() : 100), text.data());
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

Result<Signature> parse_alias(const std::string_view whole) noexcept {
  std::string_view text = whole;
  const Op op = take_op(text);
  const std::string_view head = text.substr(0, text.find(':'));
  const Template* known = nullptr;
  for (const Template& candidate : kTemplates) {
    if (candidate.alias == head) known = &candidate;
  }
  if (known == nullptr) return unknown("signature", whole);
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
      return unknown("word in a signature", whole);
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

/// Words between underscores, read from the front.
class Reader {
 public:
  explicit Reader(std::string_view text) noexcept : rest_(text) {}

  bool take(std::string_view word) noexcept {
    if (rest_.substr(0, word.size()) != word) return false;
    if (rest_.size() != word.size() && rest_[word.size()] != '_') return false;
    rest_.remove_prefix(std::min(rest_.size(), word.size() + 1));
    return true;
  }
  /// The longest dtype: fp8_ocp before fp8.
  std::optional<DType> take_dtype() noexcept {
    std::optional<DType> best;
    for (int i = 0; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      Reader probe = *this;
      if (dtype != D::none && probe.take(name(dtype)) && (!best || name(dtype).size() > name(*best).size()))
        best = dtype;
    }
    if (best) take(name(*best));
    return best;
  }
  /// What names no op reads as `none`: the text that is written again then differs.
  OperandOp take_operand_op() noexcept {
    for (const OperandOp op : {OperandOp::add, OperandOp::mul}) {
      if (take(name(op))) return op;
    }
    return OperandOp::none;
  }
  Epilogue take_epilogue() noexcept {
    Epilogue epilogue;
    for (EpilogueOp& step : epilogue.ops) {
      for (int i = 1; i < kEpilogueOpCount && step == EpilogueOp::none; ++i) {
        if (take(name(static_cast<EpilogueOp>(i)))) step = static_cast<EpilogueOp>(i);
      }
    }
    return epilogue;
  }
  ScaleBlock take_scale_block() noexcept {
    ScaleBlock block;
    for (const ScaleSides sides : {ScaleSides::both, ScaleSides::a, ScaleSides::b}) {
      if (take(name(sides))) {
        block.sides = sides;
        break;
      }
    }
    const std::string_view sizes = rest_.substr(0, rest_.find('_'));
    const std::size_t cross = sizes.find('x');
    if (cross == std::string_view::npos) return block;
    std::from_chars(sizes.data(), sizes.data() + cross, block.n);
    std::from_chars(sizes.data() + cross + 1, sizes.data() + sizes.size(), block.k);
    take(sizes);
    return block;
  }
  std::optional<Op> take_op() noexcept {
    if (take("gemm")) return Op::gemm;
    if (take("grouped_gemm")) return Op::grouped_gemm;
    if (take("moe")) return Op::moe;
    return std::nullopt;
  }
  /// What names no part reads as a layer: the text that is written again then differs.
  MoeTraits take_moe() noexcept {
    MoeTraits traits;
    for (int i = 0; i < kMoePartCount; ++i) {
      const auto part = static_cast<MoePart>(i);
      if (!take(name(part))) continue;
      traits.part = part;
      break;
    }
    traits.gated = take("gated");
    traits.weight_first = take("weightfirst");
    return traits;
  }
  bool done() const noexcept { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::optional<Signature> read_canonical(std::string_view text) noexcept {
  Reader reader(text);
  const std::optional<Op> op = reader.take_op();
  if (!op) return std::nullopt;
  std::array<DType, 3> types{};
  std::size_t count = 0;
  while (const std::optional<DType> dtype = reader.take_dtype()) {
    if (count == types.size()) return std::nullopt;
    types[count++] = *dtype;
  }
  if (count == 0) return std::nullopt;
  Signature s;
  s.op = *op;
  s.a = types[0];
  s.b = count == 3 ? types[1] : types[0];
  s.c = types[count - 1];
  bool has_layout = false;
  for (const Layout layout : {Layout::rcr, Layout::rrr, Layout::ccr, Layout::crr}) {
    if (!has_layout && reader.take(name(layout))) {
      s.layout = layout;
      has_layout = true;
    }
  }
  if (!has_layout) return std::nullopt;
  for (const Quant quant : {Quant::per_tensor, Quant::rowwise, Quant::blockscale, Quant::mx}) {
    if (s.quant == Quant::none && reader.take(name(quant))) s.quant = quant;
  }
  s.preshuffle_b = reader.take("preshuffle");
  s.batched = reader.take("batched");
  s.bias = reader.take("bias");
  if (s.op == Op::moe) s.moe = reader.take_moe();
  s.acc = detail::default_acc(s.a, s.b);
  s.scale = detail::default_scale(s.quant);
  if (reader.take("acc")) s.acc = reader.take_dtype().value_or(D::none);
  if (reader.take("scale")) s.scale = reader.take("none") ? D::none : reader.take_dtype().value_or(s.scale);
  if (reader.take("scales")) s.scale_block = reader.take_scale_block();
  if (reader.take("a")) s.a_op = reader.take_operand_op();
  if (reader.take("b")) s.b_op = reader.take_operand_op();
  if (reader.take("epi")) s.epilogue = reader.take_epilogue();
  return reader.done() ? std::optional(s) : std::nullopt;
}

}  // namespace

std::string_view detail::alias_of(const Signature& s) noexcept {
  if (s.op != Op::gemm || s.extras() != 0) return {};
  for (const Template& known : kTemplates) {
    const bool fills = s.quant == known.quant && s.preshuffle_b == known.preshuffle_b && s.batched == known.batched;
    if (fills && s.a == s.b && admits(known, s.a)) return known.alias;
  }
  return {};
}

Result<Signature> parse_signature(std::string_view text) noexcept {
  Result<Signature> result = Status::error(StatusCode::invalid_argument, "no signature");
  if (Reader(text).take_op()) {
    const std::optional<Signature> read = read_canonical(text);
    char again[kSignatureTextSize];
    if (!read || std::string_view(again, canonical_text(*read, again)) != text)
      return unknown("canonical signature", text);
    result = *read;
  } else {
    result = parse_alias(text);
  }
  if (!result) return result;
  if (const Status status = signature_status(*result); !status.ok())
    return Status::error(StatusCode::invalid_argument, "'%.*s' means nothing: %s",
                         static_cast<int>(text.size() < 80 ? text.size() : 80), text.data(), status.message);
  return result;
}

Problem gemm(std::string_view signature) noexcept {
  const Result<Signature> parsed = parse_signature(signature);
  Problem problem;
  if (parsed) {
    problem.signature_ = *parsed;
  } else {
    problem.status_ = parsed.status();
  }
  return problem;
}

}  // namespace v1
}  // namespace ckgen
