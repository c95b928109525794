// A broken rule as a sentence: its message with its numbers.
#include <ckgen/dispatcher.hpp>

#include <ckgen/problem_rules.hpp>

#include "src/select/reason.hpp"

namespace ckgen::inline v1::detail {

std::string reason_text(std::uint16_t rule, std::int64_t measured, std::int64_t limit) {
  if (rule == 0 || rule > problem_rule_count) return {};
  std::string text = problem_rules[rule].message;
  const auto fill = [&text](std::string_view place, std::int64_t value) {
    if (const auto at = text.find(place); at != std::string::npos)
      text.replace(at, place.size(), std::to_string(value));
  };
  fill("{measured}", measured);
  fill("{limit}", limit);
  return text + " (rule " + problem_rules[rule].id + ")";
}

}  // namespace ckgen::inline v1::detail

namespace ckgen {
inline namespace v1 {

std::string reason(const Selection& selection) {
  if (selection) return {};
  return detail::reason_text(selection.rule, selection.measured, selection.limit);
}

}  // namespace v1
}  // namespace ckgen
