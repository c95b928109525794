// Which combinations of a GEMM signature's fields mean something; the same rules as families/gemm/signature_rules.py.
#pragma once

#include <string_view>

#include <ckgen/result.hpp>
#include <ckgen/signature.hpp>

namespace ckgen::inline v1::detail {

/// int32 for int8 with int8, fp64 for fp64, else fp32.
constexpr DType default_acc(DType a, DType b) noexcept {
  if (a == DType::int8 && b == DType::int8) return DType::int32;
  return a == DType::fp64 || b == DType::fp64 ? DType::fp64 : DType::fp32;
}

constexpr DType default_scale(Quant quant) noexcept {
  if (quant == Quant::none) return DType::none;
  return quant == Quant::mx ? DType::e8m0 : DType::fp32;
}

/// The first word of a canonical name.
constexpr std::string_view name_of(Op op) noexcept {
  switch (op) {
    case Op::gemm: return "gemm";
    case Op::grouped_gemm: return "grouped_gemm";
    case Op::moe: return "moe";
    case Op::fmha: return "fmha";
  }
  return "gemm";
}

/// The signature of an alias, legal or not; invalid_argument for a word that it does not know.
Result<Signature> parse_alias(std::string_view text) noexcept;

/// invalid_argument: no such `what` as `text`.
Status unknown(std::string_view what, std::string_view text) noexcept;

/// signature_status() of an attention signature.
Status fmha_status(const Signature& signature) noexcept;

/// The alias that fixes the operands, quantisation and form of a signature, or "".
std::string_view alias_of(const Signature& signature) noexcept;

}  // namespace ckgen::inline v1::detail
