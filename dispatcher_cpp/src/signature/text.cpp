#include <ckgen/signature_text.hpp>

#include <charconv>
#include <cstring>

#include "src/fmha/text.hpp"
#include "src/signature/rules.hpp"

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
  words << detail::name_of(s.op) << name(s.a);
  if (s.a != s.b) words << name(s.b);
  if (s.a != s.b || s.a != s.c) words << name(s.c);
  if (s.op == Op::fmha) {
    detail::write_traits(s.fmha, [&words](std::string_view word) { words << word; });
    return words.finish();
  }
  words << name(s.layout);
  if (s.quant != Quant::none) words << name(s.quant);
  if (s.preshuffle_b) words << "preshuffle";
  if (s.batched) words << "batched";
  if (s.bias) words << "bias";
  if (s.op == Op::moe) words << name(s.moe.part);
  if (s.moe.gated) words << "gated";
  if (s.moe.weight_first) words << "weightfirst";
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
