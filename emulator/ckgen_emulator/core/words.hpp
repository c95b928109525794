// Words and numbers of a line of text.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace ckgen::emu {

/// Takes off what stands before the separator, and the separator; all of it where there is none.
inline std::string_view cut(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view first = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return first;
}

/// Whether the text is a decimal number that fits.
template <class Integer>
bool number(std::string_view text, Integer& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace ckgen::emu
