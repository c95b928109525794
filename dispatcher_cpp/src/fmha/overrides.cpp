#include "src/fmha/overrides.hpp"

#include <ckgen/fmha.hpp>

namespace ckgen::inline v1::detail {
namespace {

constexpr const char* kColumns[] = {"heads_q", "heads_k", "hdim_v"};

std::int64_t taken(std::string_view& text, char separator, std::int64_t least, bool& ok) noexcept {
  const auto at = text.find(separator);
  std::int64_t value = 0;
  ok = ok && read_number(text.substr(0, at), least, value) && value <= 0x7fffffff;
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return value;
}

/// Heads, hdim_v and mask. An empty string, or why not.
std::string read_attention(const FileRow& row, bool masked, FmhaShape& shape) {
  std::int32_t* const numbers[] = {&shape.heads_q, &shape.heads_k, &shape.hdim_v};
  for (std::size_t i = 0; i < 3; ++i) {
    std::string_view text = row[kColumns[i]];
    bool ok = true;
    *numbers[i] = static_cast<std::int32_t>(taken(text, '\0', 1, ok));
    if (!ok) return quoted(std::string(kColumns[i]) + " is not a size:", row[kColumns[i]]);
  }
  const bool ok = masked ? read_fmha_mask(row["mask"], ':', shape) : row["mask"] == "none";
  return ok ? std::string() : quoted("not a mask of the signature:", row["mask"]);
}

void set_own(const FmhaTraits& traits, const FmhaShape& x, OverrideKey& key) noexcept {
  key.own = {x.heads_q, x.heads_k, x.hdim_v};
  if (traits.masked)
    key.own = {x.heads_q,     x.heads_k,      x.hdim_v,     static_cast<std::int64_t>(x.corner),
               x.window_left, x.window_right, x.sink_tokens};
}

}  // namespace

bool read_fmha_mask(std::string_view text, char separator, FmhaShape& shape) noexcept {
  bool ok = text.substr(0, 2) == "b:" || text.substr(0, 2) == "t:";
  if (!ok) return false;
  shape.corner = text.front() == 't' ? FmhaCorner::top_left : FmhaCorner::bottom_right;
  text.remove_prefix(2);
  shape.window_left = static_cast<std::int32_t>(taken(text, separator, -1, ok));
  shape.window_right = static_cast<std::int32_t>(taken(text, separator, -1, ok));
  shape.sink_tokens = text.empty() ? 0 : static_cast<std::int32_t>(taken(text, '\0', 0, ok));
  return ok;
}

std::string read_fmha_override(const FileRow& row, const Signature& signature, OverrideKey& key) {
  FmhaShape shape;
  if (std::string wrong = read_attention(row, signature.fmha.masked, shape); !wrong.empty()) return wrong;
  set_own(signature.fmha, shape, key);
  return read_size(row, "B", key.batch);
}

void fmha_override_key(const Request& q, OverrideKey& key) noexcept {
  set_own(q.signature.fmha, q.problem.fmha(), key);
}

}  // namespace ckgen::inline v1::detail
