// The builder of attention problems: every line of fmha_builder_cases.inc, which Python's builder is held to too.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <ckgen/ckgen.hpp>

#include "src/fmha/builder_tables.hpp"

namespace test_fmha_builder {

using namespace ckgen;

constexpr const char* kCases =
#include "fmha/fmha_builder_cases.inc"
    ;

using Values = std::vector<std::string>;

std::int32_t number(const Values& values, std::size_t at, std::int32_t otherwise = 0) {
  return at < values.size() ? static_cast<std::int32_t>(std::strtol(values[at].c_str(), nullptr, 10)) : otherwise;
}

template <class Enum>
Enum word(const Values& values, std::size_t at, Enum otherwise = {}) {
  Enum found = otherwise;
  EXPECT_TRUE(at >= values.size() || parse(values[at], found)) << values[at];
  return found;
}

DType dtype(const Values& values, std::size_t at) {
  return word<DType>(values, at);
}

using Setter = std::function<void(FmhaBuilder&, const Values&)>;
const std::map<std::string, Setter>& setters() {
  static const std::map<std::string, Setter> all{
      {"types",
       [](FmhaBuilder& b, const Values& v) {
         v.size() == 1 ? b.types(dtype(v, 0)) : b.types(dtype(v, 0), dtype(v, 1), dtype(v, 2));
       }},
      {"batch", [](FmhaBuilder& b, const Values& v) { b.batch(number(v, 0)); }},
      {"heads", [](FmhaBuilder& b,
                   const Values& v) { v.size() == 1 ? b.heads(number(v, 0)) : b.heads(number(v, 0), number(v, 1)); }},
      {"seqlen",
       [](FmhaBuilder& b, const Values& v) {
         v.size() == 1 ? b.seqlen(number(v, 0)) : b.seqlen(number(v, 0), number(v, 1));
       }},
      {"hdim", [](FmhaBuilder& b,
                  const Values& v) { v.size() == 1 ? b.hdim(number(v, 0)) : b.hdim(number(v, 0), number(v, 1)); }},
      {"backward", [](FmhaBuilder& b, const Values&) { b.backward(); }},
      {"append", [](FmhaBuilder& b, const Values& v) { b.append(number(v, 0)); }},
      {"rope", [](FmhaBuilder& b, const Values& v) { b.rope(word<FmhaRope>(v, 0), number(v, 1)); }},
      {"varlen", [](FmhaBuilder& b, const Values& v) { b.varlen(number(v, 0), number(v, 1) != 0); }},
      {"causal", [](FmhaBuilder& b, const Values& v) { b.causal(word(v, 0, FmhaCorner::bottom_right)); }},
      {"window", [](FmhaBuilder& b,
                    const Values& v) { b.window(number(v, 0), number(v, 1), word(v, 2, FmhaCorner::bottom_right)); }},
      {"sink_tokens", [](FmhaBuilder& b, const Values& v) { b.sink_tokens(number(v, 0)); }},
      {"bias", [](FmhaBuilder& b, const Values&) { b.bias(); }},
      {"alibi", [](FmhaBuilder& b, const Values&) { b.alibi(); }},
      {"softcap", [](FmhaBuilder& b, const Values&) { b.softcap(); }},
      {"sink", [](FmhaBuilder& b, const Values&) { b.sink(); }},
      {"lse", [](FmhaBuilder& b, const Values&) { b.lse(); }},
      {"dropout", [](FmhaBuilder& b, const Values&) { b.dropout(); }},
      {"randval", [](FmhaBuilder& b, const Values&) { b.randval(); }},
      {"quant", [](FmhaBuilder& b, const Values& v) { b.quant(word<FmhaQuant>(v, 0)); }},
      {"v_column", [](FmhaBuilder& b, const Values&) { b.v_column(); }},
      {"block_table", [](FmhaBuilder& b, const Values& v) { b.block_table(number(v, 0), number(v, 1)); }},
      {"page_list", [](FmhaBuilder& b, const Values& v) { b.page_list(number(v, 0), number(v, 1)); }},
      {"vectorized", [](FmhaBuilder& b, const Values&) { b.vectorized(); }},
      {"min_seqlen_k", [](FmhaBuilder& b, const Values& v) { b.min_seqlen_k(number(v, 0)); }},
      {"finite_kv", [](FmhaBuilder& b, const Values&) { b.finite_kv(); }},
      {"splits",
       [](FmhaBuilder& b, const Values& v) {
         b.splits(number(v, 0), number(v, 1), number(v, 2), number(v, 3), number(v, 4), number(v, 5) != 0);
       }},
      {"deterministic", [](FmhaBuilder& b, const Values&) { b.deterministic(); }},
      {"batch_invariant", [](FmhaBuilder& b, const Values&) { b.batch_invariant(); }},
      {"num_threads", [](FmhaBuilder& b, const Values& v) { b.num_threads(number(v, 0)); }},
  };
  return all;
}

/// "heads=32,8" as its setter's name and values.
void call(FmhaBuilder& builder, const std::string& text, std::set<std::string>& called) {
  const std::size_t equals = text.find('=');
  Values values;
  if (equals != std::string::npos) {
    std::istringstream rest(text.substr(equals + 1));
    for (std::string one; std::getline(rest, one, ',');) values.push_back(one);
  }
  const std::string name = text.substr(0, equals);
  ASSERT_TRUE(setters().count(name)) << text;
  called.insert(name);
  setters().at(name)(builder, values);
}

/// The signature, sizes that are not what FmhaShape has by itself, and wishes; or the refusal.
std::string told(const Result<Problem>& found) {
  if (!found) return std::string("refused: ") + found.status().message;
  char text[kSignatureTextSize];
  std::string said(text, canonical_text(found->signature(), text));
  const FmhaShape x = found->fmha(), usual;
  const auto size = [&said](const char* name, std::int64_t value, std::int64_t otherwise) {
    if (value != otherwise) said += std::string(" ") + name + "=" + std::to_string(value);
  };
  size("batch", x.batch, usual.batch);
  size("heads_q", x.heads_q, usual.heads_q);
  size("heads_k", x.heads_k, usual.heads_k);
  size("seqlen_q", x.seqlen_q, usual.seqlen_q);
  size("seqlen_k", x.seqlen_k, usual.seqlen_k);
  size("hdim_q", x.hdim_q, usual.hdim_q);
  size("hdim_v", x.hdim_v, usual.hdim_v);
  if (x.corner != usual.corner) said += " corner=" + std::string(name(x.corner));
  size("window_left", x.window_left, usual.window_left);
  size("window_right", x.window_right, usual.window_right);
  size("sink_tokens", x.sink_tokens, usual.sink_tokens);
  size("page_size", x.page_size, usual.page_size);
  size("pages", x.pages, usual.pages);
  size("total_q", x.total_q, usual.total_q);
  size("split_items", x.split_items, usual.split_items);
  size("split_combines", x.split_combines, usual.split_combines);
  size("split_rows", x.split_rows, usual.split_rows);
  size("split_m0", x.split_m0, usual.split_m0);
  size("split_n0", x.split_n0, usual.split_n0);
  size("split_merged", x.split_merged, usual.split_merged);
  size("seqlen_new", x.seqlen_new, usual.seqlen_new);
  size("rotary_dim", x.rotary_dim, usual.rotary_dim);
  size("min_seqlen_k", x.min_seqlen_k, usual.min_seqlen_k);
  size("finite_kv", x.finite_kv, usual.finite_kv);
  size("gaps_q", x.gaps_q, usual.gaps_q);
  if (found->batch_invariant())
    said += " batch_invariant";
  else if (found->deterministic())
    said += " deterministic";
  size("num_threads", found->num_threads(), 0);
  return said;
}

TEST(FmhaBuilder, SaysWhatEachLineOfTheCasesSays) {
  std::istringstream lines(kCases);
  std::set<std::string> called;
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    const std::size_t arrow = line.find(" -> ");
    ASSERT_NE(arrow, std::string::npos) << line;
    FmhaBuilder builder;
    std::istringstream words(line.substr(0, arrow));
    for (std::string one; words >> one;) call(builder, one, called);
    EXPECT_EQ(told(builder.build()), line.substr(arrow + 4)) << line;
    ++count;
  }
  EXPECT_GT(count, 60);
  EXPECT_EQ(called.size(), static_cast<std::size_t>(detail::FmhaSetter::num_threads) + 1);
}

TEST(FmhaBuilder, TheProblemIsThatOfTheTextAndTheStruct) {
  const auto built = FmhaBuilder().types(DType::bf16).heads(32, 8).seqlen(77).hdim(128).causal().build();
  ASSERT_TRUE(built);
  FmhaShape shape;
  shape.heads_q = 32, shape.heads_k = 8, shape.seqlen_q = shape.seqlen_k = 77, shape.hdim_q = shape.hdim_v = 128;
  const Problem bare = fmha("bf16_masked").fmha(shape);
  EXPECT_EQ(built->signature(), bare.signature());
  EXPECT_EQ(told(*built), told(bare));
  EXPECT_EQ(built->m(), bare.m());
}

}  // namespace test_fmha_builder
