// Aliases of signatures, such as "a8w8:int8:fp16".
#include <algorithm>
#include <iterator>
#include <optional>

#include <ckgen/signature_text.hpp>

#include "src/signature/alias_tables.hpp"
#include "src/signature/rules.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

using D = DType;
using Template = detail::AliasTemplate;

bool admits(const Template& known, DType dtype) noexcept {
  for (const DType operand : known.operands) {
    if (dtype == operand || dtype == resolve(operand, Fp8Flavour::fnuz) || dtype == resolve(operand, Fp8Flavour::ocp))
      return true;
  }
  return false;
}

bool is_out(DType dtype) noexcept {
  return std::find(std::begin(detail::kOuts), std::end(detail::kOuts), dtype) != std::end(detail::kOuts);
}

std::optional<DType> dtype_of(std::string_view text) noexcept {
  DType dtype{};
  if (!parse(text, dtype) || dtype == D::none) return std::nullopt;
  return dtype;
}

/// What stands before an alias: "grouped:" or "moe:".
Op take_op(std::string_view& text) noexcept {
  const std::string_view first = text.substr(0, text.find(':'));
  for (int i = 0; i < kOpCount; ++i) {
    const auto op = static_cast<Op>(i);
    if (!is_gemm(op) || alias(op).empty() || alias(op) != first || first.size() == text.size()) continue;
    text.remove_prefix(first.size() + 1);
    return op;
  }
  return Signature{}.op;
}

bool reads(std::string_view word, std::string_view flag, bool& out) noexcept {
  return word == flag && (out = true);
}
template <class Word>
bool reads(std::string_view word, std::string_view /*none*/, Word& out) noexcept {
  return parse(word, out);
}

/// Takes words that say one field each, and each field once.
class FieldWords {
 public:
  explicit FieldWords(Op op) noexcept { said.op = op; }

  bool take(std::string_view word) noexcept {
    bool is_taken = false;
    unsigned field = 1;
    detail::visit_alias_words(said, [&](auto& member, std::string_view flag) {
      if (!is_taken && (known_ & field) == 0 && reads(word, flag, member)) {
        is_taken = true;
        known_ |= field;
      }
      field <<= 1;
    });
    return is_taken || (said.op == Op::moe && take_activation(word));
  }

  Signature said;

 private:
  bool take_activation(std::string_view word) noexcept {
    for (const EpilogueOp op : detail::kActivations) {
      if (word != name(op) || !said.epilogue.empty()) continue;
      said.epilogue.ops[0] = op;
      return true;
    }
    return false;
  }
  unsigned known_ = 0;
};

/// What an alias can say: the same with no more than types, layout, quantisation and the form of B.
Signature plain_of(const Signature& s) noexcept {
  return {Op::gemm, s.a, s.b, s.c, s.acc, s.scale, s.layout, s.quant, s.preshuffle_b, s.batched, s.bias};
}

}  // namespace

Result<Signature> detail::parse_alias(const std::string_view whole) noexcept {
  std::string_view text = whole;
  const Op op = take_op(text);
  const std::string_view head = text.substr(0, text.find(':'));
  const Template* known = nullptr;
  for (const Template& candidate : detail::kAliases) {
    if (candidate.name == head) known = &candidate;
  }
  if (known == nullptr) return detail::unknown("signature", whole);
  std::optional<DType> operand;
  std::optional<DType> out;
  FieldWords fields(op);
  for (std::size_t at = head.size(); at < text.size();) {
    const std::size_t end = std::min(text.find(':', at + 1), text.size());
    const std::string_view word = text.substr(at + 1, end - at - 1);
    at = end;
    const std::optional<DType> dtype = dtype_of(word);
    if (dtype && !operand && admits(*known, *dtype)) {
      operand = dtype;
    } else if (dtype && !out && is_out(*dtype)) {
      out = dtype;
    } else if (!fields.take(word)) {
      return detail::unknown("word in a signature", whole);
    }
  }
  const DType type = operand.value_or(known->operand);
  if (type == D::none)
    return Status::error(StatusCode::invalid_argument, "'%.*s' does not say the type of its operands: int8 or fp8",
                         static_cast<int>(head.size()), head.data());
  Signature s = fields.said;
  s.a = s.b = type;
  s.c = out.value_or(known->out);
  s.acc = detail::default_acc(type, type);
  s.scale = detail::default_scale(known->quant);
  s.quant = known->quant;
  s.preshuffle_b = known->preshuffle_b;
  s.batched = known->batched;
  return s;
}

std::string_view detail::alias_of(const Signature& s) noexcept {
  if (s.pack() != plain_of(s).pack()) return {};
  for (const Template& known : detail::kAliases) {
    const bool fills = s.quant == known.quant && s.preshuffle_b == known.preshuffle_b && s.batched == known.batched;
    if (fills && s.a == s.b && admits(known, s.a)) return known.name;
  }
  return {};
}

}  // namespace v1
}  // namespace ckgen
