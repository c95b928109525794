// What the parts of signatures' texts share: aliases, and what fields usually are.
#pragma once

#include <string_view>

#include <ckgen/result.hpp>
#include <ckgen/signature.hpp>

#include "src/signature/fields.hpp"

namespace ckgen::inline v1::detail {

/// The signature of an alias, legal or not; invalid_argument for a word that it does not know.
Result<Signature> parse_alias(std::string_view text) noexcept;

/// invalid_argument: no such `what` as `text`.
Status unknown(std::string_view what, std::string_view text) noexcept;

/// The alias that fixes the operands, quantisation and form of a signature, or "".
std::string_view alias_of(const Signature& signature) noexcept;

/// What signature_status says, and the place in kRules of the rule that says it; -1: none, or no rule.
struct SignatureBreach {
  int rule;
  Status status;
};
SignatureBreach signature_breach(const Signature& signature) noexcept;

}  // namespace ckgen::inline v1::detail
