#include "src/fmha/explain.hpp"

#include "src/fmha/cost.hpp"
#include "src/fmha/rules.hpp"
#include "src/fmha/text.hpp"

namespace ckgen::inline v1::detail {
namespace {

std::string sized(const char* key, std::int64_t value) {
  return std::string(" ") + key + '=' + std::to_string(value);
}

std::string mask_text(const FmhaShape& x) {
  std::string text = x.corner == FmhaCorner::top_left ? " mask=t:" : " mask=b:";
  text += std::to_string(x.window_left) + ',' + std::to_string(x.window_right);
  return x.sink_tokens != 0 ? text + ',' + std::to_string(x.sink_tokens) : text;
}

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
  std::string text = "batch=" + std::to_string(x.batch) + sized("heads_q", x.heads_q) + sized("heads_k", x.heads_k) +
                     sized("seqlen_q", x.seqlen_q) + sized("seqlen_k", x.seqlen_k) + sized("hdim_q", x.hdim_q) +
                     sized("hdim_v", x.hdim_v);
  if (traits.masked) text += mask_text(x);
  if (is_paged(traits)) text += sized("page_size", x.page_size) + sized("pages", x.pages);
  if (appends(traits)) text += sized("seqlen_new", x.seqlen_new);
  if (traits.rope != FmhaRope::none) text += sized("rotary_dim", x.rotary_dim);
  if (traits.varlen && x.total_q != 0) text += sized("total_q", x.total_q);
  if (has_lengths(traits) && x.min_seqlen_k != 0) text += sized("min_seqlen_k", x.min_seqlen_k);
  if (is_paged(traits) && x.finite_kv) text += sized("finite_kv", 1);
  if (traits.varlen && x.gaps_q) text += sized("gaps_q", 1);
  if (x.split_items == 0) return text;
  text += sized("split_items", x.split_items) + sized("split_combines", x.split_combines);
  text += sized("split_rows", x.split_rows) + sized("split_m0", x.split_m0) + sized("split_n0", x.split_n0);
  return text + sized("split_merged", int{x.split_merged});
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
  if (c.needs_keys) text += ", keys ≥ 1";
  if (c.needs_finite) text += ", finite pages";
  if (!c.takes_gaps_q) text += ", no gaps in Q";
  if (!c.topleft_slopes) text += ", slopes to the last key";
  if (c.max_keys != 0) text += ", seqlen_k ≤ " + std::to_string(c.max_keys);
  if (c.cache_limit != 0) text += ", cache ≤ " + std::to_string(c.cache_limit) + " elements";
  return text;
}

std::string fmha_splits(const FmhaConfig& c, const FmhaTraits& traits, const FmhaShape& x, std::uint32_t cu_num) {
  std::string text = "splits:";
  FmhaWork(c, traits, x, cu_num).each_splits([&text](std::uint32_t splits, Wide cost) {
    text += (splits == 1 ? " " : ", ") + std::to_string(splits) + " costs " + decimal(cost);
  });
  return text;
}

}  // namespace ckgen::inline v1::detail
