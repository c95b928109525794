// A row of a file of rows, overrides or tables, as operations read their part of it.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ckgen::inline v1::detail {

/// What a row's key has beside the signature, the target, M, N and K. `own` is what an operation alone tells shapes
/// apart by, 0 where it does not.
struct OverrideKey {
  std::int64_t batch = 0;
  std::array<std::int64_t, 7> own{};

  bool operator==(const OverrideKey&) const noexcept = default;
};

/// Cells by the names of the file's columns; both outlive it.
struct FileRow {
  const std::vector<std::string_view>& columns;
  const std::vector<std::string_view>& cells;

  /// Empty where the file has no such column or the row ends before it.
  std::string_view operator[](std::string_view column) const noexcept {
    for (std::size_t i = 0; i < columns.size() && i < cells.size(); ++i) {
      if (columns[i] == column) return cells[i];
    }
    return {};
  }
};

/// Whether all of `text` is a decimal number of at least `least`.
inline bool read_number(std::string_view text, std::int64_t least, std::int64_t& out) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && out >= least;
}

/// As in "M is not a size: '-1'".
inline std::string quoted(const std::string& what, std::string_view text) {
  return what + " '" + std::string(text) + "'";
}

/// Reads the size in `column`. An empty string, or why not.
inline std::string read_size(const FileRow& row, const char* column, std::int64_t& out) {
  return read_number(row[column], 1, out) ? std::string()
                                          : quoted(std::string(column) + " is not a size:", row[column]);
}

}  // namespace ckgen::inline v1::detail
