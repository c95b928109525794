#include "src/fmha/explain.hpp"

#include <functional>

#include "src/fmha/cost.hpp"
#include "src/fmha/rules.hpp"
#include "src/fmha/shape_words.hpp"
#include "src/fmha/text.hpp"

namespace ckgen::inline v1::detail {
namespace {

/// As in "batch=2 heads_q=32 mask=b:-1,0".
struct SizesText {
  const FmhaShape& x;
  std::string text;

  template <class Size>
  void operator()(const char* word, Size size, Said said) {
    if (said == Said::if_set ? size != Size{} : said == Said::always || x.split_items != 0)
      put(word) += std::to_string(size);
  }
  void operator()(const FmhaShape&) {
    put("mask") += x.corner == FmhaCorner::top_left ? "t:" : "b:";
    text += std::to_string(x.window_left) + ',' + std::to_string(x.window_right);
    if (x.sink_tokens != 0) text += ',' + std::to_string(x.sink_tokens);
  }

 private:
  std::string& put(const char* word) {
    if (!text.empty()) text += ' ';
    text += word;
    return text += '=';
  }
};

std::string decimal(Wide value) {
  std::string text;
  for (; value != 0 || text.empty(); value /= 10) text.insert(text.begin(), static_cast<char>('0' + value % 10));
  return text;
}

std::string hdim_demand(const char* key, std::int32_t most, std::int32_t multiple) {
  if (multiple == 0) return std::string(key) + " = " + std::to_string(most);
  std::string text = std::string(key) + " ≤ " + std::to_string(most);
  return multiple > 1 ? text + ", " + key + " % " + std::to_string(multiple) + " = 0" : text;
}

}  // namespace

std::string fmha_described(const Signature& s) {
  std::string text = "fmha " + std::string(name(s.a)) + "·" + std::string(name(s.b)) + "→" + std::string(name(s.c));
  write_traits(s.fmha, [&text](const std::string& word) { text += ' ' + word; });
  return text;
}

std::string fmha_sizes(const FmhaTraits& traits, const FmhaShape& x) {
  SizesText words{x, {}};
  visit_shape(traits, x, std::ref(words));
  return words.text;
}

std::string fmha_demands(const FmhaConfig& c) {
  std::string text =
      hdim_demand("hdim_q", c.hdim_q, c.d_multiple) + ", " + hdim_demand("hdim_v", c.hdim_v, c.dv_multiple);
  if (!c.pad_q) text += ", seqlen_q % " + std::to_string(c.m0) + " = 0";
  if (!c.pad_k) text += ", seqlen_k % " + std::to_string(c.n0) + " = 0";
  if (c.page_multiple > 1) text += ", page_size % " + std::to_string(c.page_multiple) + " = 0";
  if (c.rotary_multiple > 2) text += ", rotary_dim % " + std::to_string(c.rotary_multiple) + " = 0";
  if (c.max_rows != 0) text += ", seqlen_q ≤ " + std::to_string(c.max_rows);
  if (c.max_group != 0) text += ", heads_q ≤ " + std::to_string(c.max_group) + " heads_k";
  if (c.max_page != 0) text += ", page_size ≤ " + std::to_string(c.max_page);
  if (c.causal_only) text += ", causal";
  if (c.topleft_only) text += ", causal from the first key";
  if (c.needs_keys) text += ", keys ≥ 1";
  if (c.needs_finite) text += ", finite pages";
  if (!c.takes_gaps_q) text += ", no gaps in Q";
  if (!c.topleft_slopes) text += ", slopes to the last key";
  if (c.unordered_dq) text += ", deterministic: seqlen_k ≤ " + std::to_string(2 * c.n0);
  if (c.max_keys != 0) text += ", seqlen_k ≤ " + std::to_string(c.max_keys);
  if (c.cache_limit != 0) text += ", cache ≤ " + std::to_string(c.cache_limit) + " elements";
  if (c.last_resort) text += ", where no other does";
  return text;
}

std::string fmha_splits(const FmhaConfig& c, const FmhaTraits& traits, const FmhaShape& x, std::uint32_t cu_num) {
  std::string text = "splits:";
  const FmhaAsked asked(traits, x, cu_num);
  FmhaWork(c, asked).each_splits([&text](std::uint32_t splits, Wide cost) {
    text += (splits == 1 ? " " : ", ") + std::to_string(splits) + " costs " + decimal(cost);
  });
  return text;
}

}  // namespace ckgen::inline v1::detail
