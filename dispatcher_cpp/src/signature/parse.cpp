// Canonical names of signatures, read back.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include <ckgen/problem.hpp>
#include <ckgen/signature_text.hpp>

#include "src/signature/rules.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

using D = DType;

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
  /// A prefix and a word together.
  bool take(std::string_view prefix, std::string_view word) noexcept {
    Reader probe = *this;
    if (probe.rest_.substr(0, prefix.size()) != prefix) return false;
    probe.rest_.remove_prefix(prefix.size());
    if (!probe.take(word)) return false;
    *this = probe;
    return true;
  }
  /// A field as visit_words() shows it. What says no member reads as the first: the text that is written again then
  /// differs.
  void take_field(bool& flag, std::string_view word, bool /*always*/) noexcept { flag = take(word); }
  template <class Word>
  void take_field(Word& out, std::string_view prefix, bool always) noexcept {
    for (int i = always ? 0 : 1; i < word_count<Word>; ++i) {
      if (!take(prefix, name(static_cast<Word>(i)))) continue;
      out = static_cast<Word>(i);
      return;
    }
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
  OperandOp take_operand_op() noexcept {
    OperandOp op = OperandOp::none;
    take_field(op, "", false);
    return op;
  }
  Epilogue take_epilogue() noexcept {
    Epilogue epilogue;
    for (EpilogueOp& step : epilogue.ops) take_field(step, "", false);
    return epilogue;
  }
  ScaleBlock take_scale_block() noexcept {
    ScaleBlock block;
    take_field(block.sides, "", true);
    const std::string_view sizes = rest_.substr(0, rest_.find('_'));
    const std::size_t cross = sizes.find('x');
    if (cross == std::string_view::npos) return block;
    std::from_chars(sizes.data(), sizes.data() + cross, block.n);
    std::from_chars(sizes.data() + cross + 1, sizes.data() + sizes.size(), block.k);
    take(sizes);
    return block;
  }
  std::optional<Op> take_op() noexcept {
    for (int i = 0; i < kOpCount; ++i) {
      if (take(name(static_cast<Op>(i)))) return static_cast<Op>(i);
    }
    return std::nullopt;
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
  detail::visit_words(
      s, [&reader](auto& member, std::string_view word, bool always) { reader.take_field(member, word, always); });
  if (!is_gemm(s.op)) return reader.done() ? std::optional(s) : std::nullopt;
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

/// The canonical name of what the alias of an operation other than a GEMM's stands before, such as "fmha:", in `out`;
/// `text` itself where none does.
std::string_view without_alias(std::string_view text, char (&out)[kSignatureTextSize]) noexcept {
  if (text.size() >= kSignatureTextSize) return text;
  for (int i = 0; i < kOpCount; ++i) {
    const auto op = static_cast<Op>(i);
    const std::string_view prefix = alias(op);
    if (is_gemm(op) || text.substr(0, prefix.size()) != prefix || text.substr(prefix.size(), 1) != ":") continue;
    std::memcpy(out, text.data(), text.size());
    out[prefix.size()] = '_';
    return {out, text.size()};
  }
  return text;
}

}  // namespace

Status detail::unknown(std::string_view what, std::string_view text) noexcept {
  return Status::error(StatusCode::invalid_argument, "unknown %.*s: '%.*s'", static_cast<int>(what.size()), what.data(),
                       static_cast<int>(text.size() < 100 ? text.size() : 100), text.data());
}

Result<Signature> parse_signature(std::string_view text) noexcept {
  Result<Signature> result = Status::error(StatusCode::invalid_argument, "no signature");
  char whole[kSignatureTextSize];
  const std::string_view canonical = without_alias(text, whole);
  if (Reader(canonical).take_op()) {
    const std::optional<Signature> read = read_canonical(canonical);
    char again[kSignatureTextSize];
    if (!read || std::string_view(again, canonical_text(*read, again)) != canonical)
      return detail::unknown("canonical signature", text);
    result = *read;
  } else {
    result = detail::parse_alias(text);
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
