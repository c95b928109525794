#include <ckgen/signature_text.hpp>

#include <cstring>

#include "signature_rules.hpp"

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

}  // namespace

std::size_t canonical_text(const Signature& s, char (&out)[kSignatureTextSize]) noexcept {
  Words words(out);
  words << "gemm" << name(s.a);
  if (s.a != s.b) words << name(s.b);
  if (s.a != s.b || s.a != s.c) words << name(s.c);
  words << name(s.layout);
  if (s.quant != Quant::none) words << name(s.quant);
  if (s.preshuffle_b) words << "preshuffle";
  if (s.batched) words << "batched";
  if (s.bias) words << "bias";
  if (s.acc != detail::default_acc(s.a, s.b)) words << "acc" << name(s.acc);
  if (s.scale != detail::default_scale(s.quant)) words << "scale" << name(s.scale);
  return words.finish();
}

}  // namespace v1
}  // namespace ckgen
