#include "src/select/overrides.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <string>

#include <ckgen/device.hpp>
#include <ckgen/signature_text.hpp>

#include "src/select/query.hpp"
#include "src/select/read_file.hpp"

namespace ckgen::inline v1::detail {
namespace {

constexpr std::array<std::string_view, 12> kColumns = {"target",   "signature", "B",       "M",       "N",      "K",
                                                       "instance", "k_batch",   "heads_q", "heads_k", "hdim_v", "mask"};
constexpr std::size_t kNeeded = 8;  // the rest is attention's
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

bool number(std::string_view text, std::int64_t low, std::int64_t& out) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && out >= low;
}

std::string quoted(const char* what, std::string_view text) {
  return std::string(what) + " '" + std::string(text) + "'";
}

std::int64_t taken(std::string_view& text, char separator, std::int64_t least, bool& ok) noexcept {
  const auto at = text.find(separator);
  std::int64_t value = 0;
  ok = ok && number(text.substr(0, at), least, value) && value <= 0x7fffffff;
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return value;
}

/// Heads, hdim_v and mask: `none`, or LEFT:RIGHT[:SINK] behind `b:` or `t:` where masked. An empty string, or why not.
std::string read_attention(const std::vector<std::string_view>& cells, bool masked, FmhaShape& shape) {
  std::int32_t* const numbers[] = {&shape.heads_q, &shape.heads_k, &shape.hdim_v};
  for (std::size_t i = 0; i < 3; ++i) {
    std::string_view text = cells[kNeeded + i];
    bool ok = true;
    *numbers[i] = static_cast<std::int32_t>(taken(text, '\0', 1, ok));
    if (!ok) return quoted((std::string(kColumns[kNeeded + i]) + " is not a size:").c_str(), cells[kNeeded + i]);
  }
  std::string_view text = cells[kNeeded + 3];
  bool ok = masked ? text.substr(0, 2) == "b:" || text.substr(0, 2) == "t:" : text == "none";
  if (ok && masked) {
    shape.corner = text.front() == 't' ? FmhaCorner::top_left : FmhaCorner::bottom_right;
    text.remove_prefix(2);
    shape.window_left = static_cast<std::int32_t>(taken(text, ':', -1, ok));
    shape.window_right = static_cast<std::int32_t>(taken(text, ':', -1, ok));
    if (!text.empty()) shape.sink_tokens = static_cast<std::int32_t>(taken(text, '\0', 0, ok));
  }
  return ok ? std::string() : quoted("not a mask of the signature:", cells[kNeeded + 3]);
}

/// The file's columns in the order of kColumns, one that is not there behind them all; false where one is missing.
bool order_of(const std::vector<std::string_view>& header, std::array<std::size_t, kColumns.size()>& order) {
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    std::size_t at = 0;
    while (at < header.size() && header[at] != kColumns[i]) ++at;
    if (at == header.size() && i < kNeeded) return false;
    order[i] = at == header.size() ? std::string_view::npos : at;
  }
  return true;
}

}  // namespace

std::size_t OverrideTable::Hash::operator()(const Key& key) const noexcept {
  std::uint64_t x =
      key.signature * 0x9e3779b97f4a7c15ULL ^ (std::uint64_t{key.cu_num} << 8 | static_cast<std::uint64_t>(key.arch));
  for (const std::int64_t size : {key.batch, key.m, key.n, key.k})
    x = (x ^ (x >> 29) ^ static_cast<std::uint64_t>(size)) * 0xbf58476d1ce4e5b9ULL;
  for (const std::int64_t size : key.attention)
    x = (x ^ (x >> 29) ^ static_cast<std::uint64_t>(size)) * 0xbf58476d1ce4e5b9ULL;
  return x ^ (x >> 31);
}

std::string OverrideTable::add(const RegistryState& state, const std::vector<std::string_view>& cells) {
  const Device device = Device::simulated(cells[0]);
  if (!device) return quoted("unknown target", cells[0]);
  const Result<Signature> signature = parse_signature(cells[1]);
  if (!signature) return signature.status().message;
  const Signature wanted = resolved(*signature, device.arch());
  Key key{wanted.pack(), device.arch(), device.cu_num(), 0, 0, 0, 0, {}};
  if (wanted.op == Op::fmha) {
    FmhaShape shape;
    if (std::string wrong = read_attention(cells, wanted.fmha.masked, shape); !wrong.empty()) return wrong;
    key.attention = attention_of(wanted, shape);
  }
  const bool has_batch = wanted.batched || wanted.op == Op::moe || wanted.op == Op::fmha;  // of moe the routing's key
  if (has_batch && !number(cells[2], 1, key.batch)) return quoted("B is not a size:", cells[2]);
  if (!number(cells[3], 1, key.m)) return quoted("M is not a size:", cells[3]);
  if (!number(cells[4], 1, key.n)) return quoted("N is not a size:", cells[4]);
  if (!number(cells[5], 1, key.k)) return quoted("K is not a size:", cells[5]);
  const std::uint32_t instance = state.find(cells[6]);
  if (instance == no_index) return quoted("unknown instance", cells[6]);
  std::int64_t k_batch = 0;
  if (!number(cells[7], 0, k_batch) || k_batch > 0xffff) return quoted("k_batch is not a number of splits:", cells[7]);
  if (state.instances[instance]->signature != wanted) return quoted("of another signature: instance", cells[6]);
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
    std::array<std::size_t, kColumns.size()> order{};
    bool has_header = false;
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
      if (!has_header) {
        has_header = order_of(cells, order);
        if (has_header) continue;
        return Status::error(StatusCode::invalid_argument,
                             "override file %s:%d: expected the columns target,signature,B,M,N,K,instance,k_batch",
                             path, line_number);
      }
      std::vector<std::string_view> ordered;
      for (const std::size_t at : order) ordered.push_back(at < cells.size() ? cells[at] : std::string_view());
      const std::string reason = shown(table->add(state, ordered));
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
