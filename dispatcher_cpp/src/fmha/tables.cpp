#include "src/fmha/tables.hpp"

#include <functional>
#include <limits>

#include <ckgen/fmha_table.hpp>

#include "src/fmha/overrides.hpp"
#include "src/fmha/shape_words.hpp"

namespace ckgen::inline v1::detail {
namespace {

/// Sets the size whose word is `key`.
struct SizeReader {
  std::string_view key;
  std::string_view value;
  bool ok = false;

  template <class Size>
  void operator()(const char* word, Size& size, Said) noexcept {
    std::int64_t number = 0;
    if (key != word || !read_number(value, 0, number)) return;
    if (number > static_cast<std::int64_t>(std::numeric_limits<Size>::max())) return;
    size = static_cast<Size>(number);
    ok = true;
  }
  void operator()(FmhaShape& x) noexcept {
    if (key == "mask") ok = read_fmha_mask(value, ';', x);
  }
};

}  // namespace

std::string read_fmha_shape(const FileRow& row, const Signature& signature, ShapeProblem& shape) {
  FmhaShape x;
  std::string_view text = row["sizes"];
  while (!text.empty()) {
    const auto end = text.find(' ');
    const std::string_view word = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) return quoted("no size of attention:", word);
    SizeReader reader{word.substr(0, equals), word.substr(equals + 1)};
    visit_shape(signature.fmha, x, std::ref(reader));
    if (!reader.ok) return quoted("no size of this attention:", word);
  }
  if (x.seqlen_k == 0 || x.hdim_q == 0 || x.hdim_v == 0)
    return quoted("sizes of attention are missing in", row["sizes"]);
  if (is_paged(signature.fmha) && x.pages == 0 && x.page_size > 0)
    x.pages = x.batch * ((x.seqlen_k + x.page_size - 1) / x.page_size);
  shape.problem = Problem(signature).fmha(x);
  return {};
}

void fmha_measured_key(const Request& q, MeasuredKey& key) noexcept {
  const FmhaShape& x = q.problem.fmha();
  const FmhaContext c = fmha_context(q.signature.fmha, x);
  key.same = {
      x.batch,       c.heads_q,      c.heads_k,    c.hdim_q, c.hdim_v, c.page_size, static_cast<std::int64_t>(c.corner),
      c.window_left, c.window_right, c.sink_tokens};
  key.sizes = {x.seqlen_q, x.seqlen_k};
}

}  // namespace ckgen::inline v1::detail
