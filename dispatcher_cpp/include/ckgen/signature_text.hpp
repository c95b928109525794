// Signatures as text: canonical names, aliases, and why a combination of fields means nothing.
#pragma once

#include <cstddef>
#include <string_view>

#include <ckgen/export.h>
#include <ckgen/result.hpp>
#include <ckgen/signature.hpp>

namespace ckgen {
inline namespace v1 {

/// Room for any canonical name, with its NUL.
inline constexpr std::size_t kSignatureTextSize = 160;

/// The signature of a canonical name or of an alias such as "a8w8:int8:fp16"; plain fp8 and bf8 are kept.
/// invalid_argument for any other text and for fields that mean nothing together.
CKGEN_API Result<Signature> parse_signature(std::string_view text) noexcept;

/// Writes the canonical name, the inverse of parse_signature, into `out` (NUL-terminated) and returns its length.
CKGEN_API std::size_t canonical_text(const Signature& signature, char (&out)[kSignatureTextSize]) noexcept;

/// The first rule that the fields break, or ok.
CKGEN_API Status signature_status(const Signature& signature) noexcept;

}  // namespace v1
}  // namespace ckgen
