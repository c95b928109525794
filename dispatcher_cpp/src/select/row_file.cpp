#include "src/select/row_file.hpp"

#include <algorithm>
#include <cstdio>

#include "src/select/read_file.hpp"

namespace ckgen::inline v1::detail {
namespace {

constexpr std::size_t kLargestFile = std::size_t{64} << 20;
constexpr int kMostSaid = 100;
constexpr std::string_view kBom = "\xef\xbb\xbf";

std::string_view trimmed(std::string_view text) noexcept {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// The cell that a line begins with, which begins behind it then, and whether there is another. A quoted cell may hold
/// commas; quotes that it holds stay doubled.
bool next_cell(std::string_view& line, std::string_view& cell) noexcept {
  std::size_t from = 0;
  if (!line.empty() && line.front() == '"') {
    from = line.find('"', 1);
    while (from != std::string_view::npos && from + 1 < line.size() && line[from + 1] == '"')
      from = line.find('"', from + 2);
    from = from == std::string_view::npos ? 0 : from;
  }
  const auto comma = line.find(',', from);
  cell = trimmed(line.substr(0, comma));
  if (from != 0 && cell.back() == '"') cell = cell.substr(1, cell.size() - 2);
  if (comma == std::string_view::npos) return false;
  line.remove_prefix(comma + 1);
  return true;
}

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> cells(1);
  while (next_cell(line, cells.back())) cells.emplace_back();
  return cells;
}

bool is_header(std::span<const std::string_view> needed, const std::vector<std::string_view>& columns) {
  return std::all_of(needed.begin(), needed.end(), [&columns](std::string_view one) {
    return std::find(columns.begin(), columns.end(), one) != columns.end();
  });
}

std::string joined(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += ',';
    text += word;
  }
  return text;
}

}  // namespace

Status LeftOut::status(const RowFileKind& kind) const noexcept {
  if (count == 0) return Status::success();
  return Status::error(StatusCode::invalid_argument, "%s: %d row%s left out, first line %s", kind.name, count,
                       count == 1 ? "" : "s", first.c_str());
}

Status read_row_file(const RowFileKind& kind, const char* path, std::string& text) {
  const std::string wrong = read_file(path, kLargestFile, text);
  if (wrong.empty()) return Status::success();
  return Status::error(StatusCode::invalid_argument, "%s %s cannot be read: %s", kind.name, path, wrong.c_str());
}

Status each_row(const RowFileKind& kind, const char* path, std::string_view text,
                std::string (*add)(void* context, const FileRow& row), void* context, LeftOut& left_out) {
  std::vector<std::string_view> columns;
  int line_number = 0;
  if (text.substr(0, kBom.size()) == kBom) text.remove_prefix(kBom.size());
  while (!text.empty()) {
    ++line_number;
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::string_view> cells = split(line);
    if (columns.empty()) {
      if (!is_header(kind.needed, cells))
        return Status::error(StatusCode::invalid_argument, "%s %s:%d: expected the columns %s", kind.name, path,
                             line_number, joined(kind.needed).c_str());
      columns = cells;
      continue;
    }
    ++left_out.rows;
    const std::string reason = shown(add(context, {columns, cells}));
    if (reason.empty()) continue;
    if (left_out.count < kMostSaid)
      std::fprintf(stderr, "ckgen: %s %s:%d left out: %s\n", kind.name, path, line_number, reason.c_str());
    if (left_out.count++ == 0) left_out.first = std::to_string(line_number) + ": " + reason;
  }
  return Status::success();
}

}  // namespace ckgen::inline v1::detail
