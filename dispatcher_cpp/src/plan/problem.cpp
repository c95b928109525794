#include <ckgen/problem.hpp>

#include <cstring>

#include <ckgen/signature_text.hpp>

namespace ckgen {
inline namespace v1 {
namespace {

/// gemm() of the text as it is where it is a canonical string, else behind an alias's prefix.
Problem with_prefix(std::string_view canonical, std::string_view prefix, std::string_view text) noexcept {
  char whole[2 * kSignatureTextSize];
  if (text.substr(0, canonical.size()) == canonical || prefix.size() + text.size() > sizeof whole) return gemm(text);
  std::memcpy(whole, prefix.data(), prefix.size());
  std::memcpy(whole + prefix.size(), text.data(), text.size());
  return gemm({whole, prefix.size() + text.size()});
}

}  // namespace

Problem grouped_gemm(std::string_view signature) noexcept {
  return with_prefix("grouped_gemm_", "grouped:", signature);
}

Problem moe(std::string_view signature) noexcept {
  return with_prefix("moe_", "moe:", signature);
}

Problem fmha(std::string_view signature) noexcept {
  return signature.substr(0, 5) == "fmha:" ? gemm(signature) : with_prefix("fmha_", "fmha:", signature);
}

}  // namespace v1
}  // namespace ckgen
