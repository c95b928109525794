// How tables name a library's kernel: its version, then its settings in the library's own codes, each a word and a
// number, as in "13.1.0_algo66_tile24_stages35_…", or "13.1.0_first": the library's own first answer.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace ckgen::inline v1::detail {

inline constexpr std::string_view kFirstAnswer = "first";

struct Description {
  std::string_view version;
  std::string_view settings;  // behind the version's `_`; empty where there are none
};

constexpr Description split_description(std::string_view kernel) noexcept {
  const std::size_t at = kernel.find('_');
  if (at == std::string_view::npos) return {kernel, {}};
  return {kernel.substr(0, at), kernel.substr(at + 1)};
}

/// Takes the word and its number from the front of `settings`, with the `_` behind them; false where it is another.
inline bool take_setting(std::string_view& settings, std::string_view word, std::int64_t& value) noexcept {
  if (settings.substr(0, word.size()) != word) return false;
  const char* const begin = settings.data() + word.size();
  const char* const end = settings.data() + settings.size();
  const auto [behind, error] = std::from_chars(begin, end, value);
  if (error != std::errc{} || value < 0) return false;
  const bool is_last = behind == end;
  if (!is_last && (*behind != '_' || behind + 1 == end)) return false;
  settings.remove_prefix(static_cast<std::size_t>(behind - settings.data()) + (is_last ? 0 : 1));
  return true;
}

}  // namespace ckgen::inline v1::detail
