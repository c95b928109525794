#include <ckgen/signature_text.hpp>

#include <charconv>
#include <cstring>

#include "src/signature/fields.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

/// Joins words with underscores into a buffer that is large enough for every signature.
class Words {
 public:
  explicit Words(char* out) noexcept : out_(out) {}

  Words& operator<<(std::string_view word) noexcept {
    if (length_ != 0) append("_");
    append(word);
    return *this;
  }
  /// A field as visit_words() shows it.
  void operator()(bool flag, std::string_view word, bool /*always*/) noexcept {
    if (flag) *this << word;
  }
  template <class Word>
  void operator()(Word value, std::string_view prefix, bool always) noexcept {
    if (value == Word{} && !always) return;
    *this << prefix;
    append(name(value));
  }
  std::size_t finish() noexcept {
    out_[length_] = '\0';
    return length_;
  }

 private:
  void append(std::string_view text) noexcept {
    if (length_ + text.size() >= kSignatureTextSize) return;
    std::memcpy(out_ + length_, text.data(), text.size());
    length_ += text.size();
  }
  char* out_;
  std::size_t length_ = 0;
};

/// Such as "1x64": rows of B and elements along K.
std::string_view block(const ScaleBlock& scales, char (&out)[8]) noexcept {
  char* end = std::to_chars(out, out + 3, scales.n).ptr;
  *end++ = 'x';
  return {out, static_cast<std::size_t>(std::to_chars(end, out + 8, scales.k).ptr - out)};
}

}  // namespace

std::size_t canonical_text(const Signature& s, char (&out)[kSignatureTextSize]) noexcept {
  char size[8];
  Words words(out);
  words << name(s.op) << name(s.a);
  if (s.a != s.b) words << name(s.b);
  if (s.a != s.b || s.a != s.c) words << name(s.c);
  detail::visit_words(s, [&words](auto member, std::string_view word, bool always) { words(member, word, always); });
  if (!is_gemm(s.op)) return words.finish();
  if (s.acc != detail::default_acc(s.a, s.b)) words << "acc" << name(s.acc);
  if (s.scale != detail::default_scale(s.quant)) words << "scale" << name(s.scale);
  if (!s.scale_block.is_usual()) words << "scales" << name(s.scale_block.sides) << block(s.scale_block, size);
  if (s.a_op != OperandOp::none) words << "a" << name(s.a_op);
  if (s.b_op != OperandOp::none) words << "b" << name(s.b_op);
  if (!s.epilogue.empty()) words << "epi";
  for (const EpilogueOp op : s.epilogue.ops) {
    if (op != EpilogueOp::none) words << name(op);
  }
  return words.finish();
}

}  // namespace v1
}  // namespace ckgen
