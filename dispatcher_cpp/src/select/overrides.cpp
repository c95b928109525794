#include "src/select/overrides.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>

#include <ckgen/device.hpp>
#include <ckgen/signature_text.hpp>

#include "src/operation/operation.hpp"
#include "src/select/query.hpp"
#include "src/select/read_file.hpp"

namespace ckgen::inline v1::detail {
namespace {

constexpr std::string_view kNeeded[] = {"target", "signature", "B", "M", "N", "K", "instance", "k_batch"};
constexpr std::size_t kLargestFile = std::size_t{64} << 20;
constexpr std::string_view kBom = "\xef\xbb\xbf";

std::string_view trimmed(std::string_view text) noexcept {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> cells;
  for (;;) {
    const auto comma = line.find(',');
    cells.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

/// Whether a header has every column that rows of all operations need.
bool is_header(const std::vector<std::string_view>& columns) {
  return std::all_of(std::begin(kNeeded), std::end(kNeeded), [&columns](std::string_view needed) {
    return std::find(columns.begin(), columns.end(), needed) != columns.end();
  });
}

}  // namespace

std::size_t OverrideTable::Hash::operator()(const Key& key) const noexcept {
  std::uint64_t x =
      key.signature * 0x9e3779b97f4a7c15ULL ^ (std::uint64_t{key.cu_num} << 8 | static_cast<std::uint64_t>(key.arch));
  for (const std::int64_t size : {key.more.batch, key.m, key.n, key.k})
    x = (x ^ (x >> 29) ^ static_cast<std::uint64_t>(size)) * 0xbf58476d1ce4e5b9ULL;
  for (const std::int64_t size : key.more.own)
    x = (x ^ (x >> 29) ^ static_cast<std::uint64_t>(size)) * 0xbf58476d1ce4e5b9ULL;
  return x ^ (x >> 31);
}

std::string OverrideTable::add(const RegistryState& state, const OverrideRow& row) {
  const Device device = Device::simulated(row["target"]);
  if (!device) return quoted("unknown target", row["target"]);
  const Result<Signature> signature = parse_signature(row["signature"]);
  if (!signature) return signature.status().message;
  const Signature wanted = resolved(*signature, arch_info(device.arch()).fp8);
  Key key{wanted.pack(), device.arch(), device.cu_num(), 0, 0, 0, {}};
  std::string wrong = operation_of(wanted.op).listing.read_override(row, wanted, key.more);
  if (wrong.empty()) wrong = read_size(row, "M", key.m);
  if (wrong.empty()) wrong = read_size(row, "N", key.n);
  if (wrong.empty()) wrong = read_size(row, "K", key.k);
  if (!wrong.empty()) return wrong;
  const std::uint32_t instance = state.find(row["instance"]);
  if (instance == no_index) return quoted("unknown instance", row["instance"]);
  std::int64_t k_batch = 0;
  if (!read_number(row["k_batch"], 0, k_batch) || k_batch > 0xffff)
    return quoted("k_batch is not a number of splits:", row["k_batch"]);
  if (state.instances[instance]->signature != wanted) return quoted("of another signature: instance", row["instance"]);
  if (!rows_.emplace(key, Override{instance, static_cast<std::uint32_t>(k_batch)}).second)
    return "a second row for this shape";
  return {};
}

Status Overrides::load(const RegistryState& state, const char* path) noexcept {
  try {
    std::string text;
    if (const std::string wrong = read_file(path, kLargestFile, text); !wrong.empty())
      return Status::error(StatusCode::invalid_argument, "override file %s cannot be read: %s", path, wrong.c_str());
    auto table = std::make_unique<OverrideTable>();
    std::vector<std::string_view> columns;
    int line_number = 0;
    int left_out = 0;
    std::string first;
    std::string_view rest = text;
    if (rest.substr(0, kBom.size()) == kBom) rest.remove_prefix(kBom.size());
    while (!rest.empty()) {
      ++line_number;
      const std::size_t end = rest.find('\n');
      const std::string_view line = trimmed(rest.substr(0, end));
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
      if (line.empty() || line.front() == '#') continue;
      const std::vector<std::string_view> cells = split(line);
      if (columns.empty()) {
        if (is_header(cells)) {
          columns = cells;
          continue;
        }
        return Status::error(StatusCode::invalid_argument,
                             "override file %s:%d: expected the columns target,signature,B,M,N,K,instance,k_batch",
                             path, line_number);
      }
      const std::string reason = shown(table->add(state, {columns, cells}));
      if (reason.empty()) continue;
      std::fprintf(stderr, "ckgen: override file %s:%d left out: %s\n", path, line_number, reason.c_str());
      if (left_out++ == 0) first = std::to_string(line_number) + ": " + reason;
    }
    const std::lock_guard lock(mutex_);
    tables_.push_back(std::move(table));
    current_.store(tables_.back()->empty() ? nullptr : tables_.back().get(), std::memory_order_release);
    if (left_out == 0) return Status::success();
    return Status::error(StatusCode::invalid_argument, "override file: %d row%s left out, first line %s", left_out,
                         left_out == 1 ? "" : "s", first.c_str());
  } catch (...) {
    return Status::error(StatusCode::internal, "out of memory while reading overrides");
  }
}

}  // namespace ckgen::inline v1::detail
