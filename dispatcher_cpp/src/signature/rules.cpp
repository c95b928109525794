#include "src/signature/rules.hpp"

#include <algorithm>
#include <cstring>

#include <ckgen/signature_text.hpp>

#include "src/signature/rule_tables.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

using detail::Case;
using detail::Codes;

bool holds(const detail::Condition& condition, const Codes& codes) noexcept {
  const std::uint8_t code = codes[static_cast<std::size_t>(condition.field)];
  if (condition.same >= 0) return (code == codes[static_cast<std::size_t>(condition.same)]) == (condition.mask != 0);
  return (condition.mask >> std::min<int>(code, 31) & 1) != 0;
}

bool hold(detail::All all, const Codes& codes) noexcept {
  const auto* const first = detail::kConditions + all.first;
  return std::all_of(first, first + all.count, [&codes](const auto& one) { return holds(one, codes); });
}

bool is_met(const Case& one, const Codes& codes) noexcept {
  const auto* const first = detail::kAlternatives + one.first_must;
  return one.must_count == 0 ||
         std::any_of(first, first + one.must_count, [&codes](const auto& all) { return hold(all, codes); });
}

/// The case that breaks the rule; null where none does.
const Case* broken_case(const detail::Rule& rule, const Codes& codes) noexcept {
  const Case* const first = detail::kCases + rule.first_case;
  const Case* const last = first + rule.case_count;
  const Case* const found = std::find_if(first, last, [&codes](const Case& one) { return hold(one.when, codes); });
  return found == last || is_met(*found, codes) ? nullptr : found;
}

std::string_view text_of(std::string_view place, const Signature& s, const Case& one, detail::Digits& digits) noexcept {
  const auto* const found = std::find(std::begin(detail::kFieldNames), std::end(detail::kFieldNames), place);
  if (found == std::end(detail::kFieldNames)) return one.allowed;
  return detail::text_of(s, static_cast<detail::Field>(found - std::begin(detail::kFieldNames)), digits);
}

/// The sentence with texts in its places.
Status say(std::string_view sentence, const Signature& s, const Case& one) noexcept {
  Status status{StatusCode::invalid_argument, {}};
  std::size_t length = 0;
  const auto append = [&status, &length](std::string_view text) {
    const std::size_t taken = std::min(text.size(), sizeof status.message - 1 - length);
    std::memcpy(status.message + length, text.data(), taken);
    length += taken;
  };
  while (!sentence.empty()) {
    const std::size_t open = std::min(sentence.find('{'), sentence.size());
    append(sentence.substr(0, open));
    sentence.remove_prefix(open);
    if (sentence.empty()) break;
    const std::size_t close = sentence.find('}');
    detail::Digits digits;
    append(text_of(sentence.substr(1, close - 1), s, one, digits));
    sentence.remove_prefix(close + 1);
  }
  status.message[length] = '\0';
  return status;
}

}  // namespace

detail::SignatureBreach detail::signature_breach(const Signature& s) noexcept {
  const Codes codes = codes_of(s);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] >= kFieldValues[i])
      return {-1, Status::error(StatusCode::invalid_argument, "%u is no value of the signature's %s",
                                static_cast<unsigned>(codes[i]), kFieldNames[i].data())};
  }
  for (std::size_t i = 0; i < std::size(kRules); ++i) {
    const Rule& rule = kRules[i];
    if ((rule.ops >> static_cast<unsigned>(s.op) & 1) == 0) continue;
    if (const Case* const found = broken_case(rule, codes)) return {static_cast<int>(i), say(rule.sentence, s, *found)};
  }
  return {-1, Status::success()};
}

Status signature_status(const Signature& s) noexcept {
  return detail::signature_breach(s).status;
}

}  // namespace v1
}  // namespace ckgen
