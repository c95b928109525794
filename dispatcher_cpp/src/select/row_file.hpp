// Files of rows that a user names: CSV with columns by name, read whole, line by line.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <ckgen/status.hpp>

#include "src/operation/file_row.hpp"

namespace ckgen::inline v1::detail {

/// What a kind of file is called in messages, and the columns that its first line must have.
struct RowFileKind {
  const char* name;
  std::span<const std::string_view> needed;
};

/// Rows that mean nothing here: how many there were of how many, and what was said of the first.
struct LeftOut {
  int rows = 0;
  int count = 0;
  std::string first;

  /// Ok where there are none.
  Status status(const RowFileKind& kind) const noexcept;
};

/// The bytes of the file at `path`, of at most 64 MiB, in `text`. Throws std::bad_alloc only.
Status read_row_file(const RowFileKind& kind, const char* path, std::string& text);

/// Calls `add(context, row)` for each line but comments (`#`) and the columns; it returns an empty string, or why the
/// row is left out, which is said on stderr with its line, for the first hundred of them. Not ok: the file has other
/// columns. Throws std::bad_alloc only.
Status each_row(const RowFileKind& kind, const char* path, std::string_view text,
                std::string (*add)(void* context, const FileRow& row), void* context, LeftOut& left_out);

}  // namespace ckgen::inline v1::detail
