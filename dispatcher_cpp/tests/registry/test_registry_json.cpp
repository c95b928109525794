// A registry's document, letter by letter.
#include <gtest/gtest.h>

#include <string>

#include <ckgen/registry_json.hpp>

#include "fmha/fmha_fixture.hpp"

namespace test_registry_json {

using namespace ckgen;

InstanceDesc gemm() {
  InstanceDesc d = tiny::instance("a \"b\\\n\x7f", 0x1234abc, tiny::fp16, {16, 32, 64}, {2, 3, 4, 5, 6, 7, true});
  d.backend = Backend::ck;
  d.archs = 1U << static_cast<unsigned>(Arch::gfx942) | 1U << static_cast<unsigned>(Arch::gfx950);
  d.table_kernel = "the peer's";
  Constraints& c = d.constraints;
  c.split_grain = 8, c.max_ab = std::int64_t{1} << 40, c.max_c = 10, c.split_turn = 11, c.split_lead = 12, c.max_m = 13;
  c.min_m = 20, c.measured_only = true, c.routed = {14, 15, 16, 21, 17, 18, true, 19};
  return d;
}

TEST(RegistryJson, AnEmptyRegistryIsADocumentToo) {
  EXPECT_EQ(to_json(Registry()), "{\"schema\": \"ckgen.instances/1\", \"instances\": []}\n");
}

TEST(RegistryJson, EveryFieldOfAGemmIsThere) {
  Registry registry;
  ASSERT_TRUE(registry.add(gemm()).ok());
  EXPECT_EQ(
      to_json(registry),
      R"({"schema": "ckgen.instances/1", "instances": [
{"name": "a \"b\\\u000a\u007f", "id": "0000000001234abc", "signature": "gemm_fp16_rcr", "backend": "ck", )"
      R"("archs": ["gfx942", "gfx950"], "table_kernel": "the peer's", "macro_tile": {"m": 16, "n": 32, "k": 64}, )"
      R"("constraints": {"m_multiple": 2, "n_multiple": 3, "k_multiple": 4, "k_multiple_per_split": 5, "min_k": 6, )"
      R"("max_k_batch": 7, "atomic_split": true, "split_grain": 8, "max_ab": 1099511627776, "max_c": 10, )"
      R"("split_turn": 11, "split_lead": 12, "max_m": 13, "min_m": 20, "measured_only": true, )"
      R"("routed": {"min_n": 14, "max_n": 15, "max_k": 16, "max_routed": 21, )"
      R"("few_experts": 17, "max_routed_few": 18, "presorted": true, "max_weights": 19}}, "strategy": "data_parallel"}]})"
      "\n");
}

class RegistryJsonOfAttention : public tiny::FmhaTest {};

TEST_F(RegistryJsonOfAttention, EveryFieldIsThere) {
  FmhaConfig c = tiny::padded(16, 32, 64, 128);
  c.k0 = 33, c.k1 = 34, c.n1 = 35, c.d_multiple = 36, c.dv_multiple = 37, c.max_splits = 38, c.page_multiple = 39;
  c.rotary_multiple = 40, c.rows_together = 41, c.max_page = 42, c.max_rows = 43, c.max_group = 44;
  c.cache_limit = std::int64_t{1} << 41, c.max_keys = 46;
  add("odd", c);
  FmhaConfig other = c;
  other.pad_q = other.pad_k = other.sink_tokens = other.takes_gaps_q = other.topleft_slopes = false;
  other.takes_items = other.merge_heads = other.always_combines = true;
  other.causal_only = other.topleft_only = other.needs_keys = other.needs_finite = other.unordered_dq =
      other.last_resort = true;
  add("even", other);
  const std::string found = to_json(registry);
  const auto numbers = [](const char* pads, const char* items, const char* needs, const char* takes) {
    return R"("fmha": {"m0": 16, "n0": 32, "k0": 33, "n1": 35, "k1": 34, "hdim_q": 64, "hdim_v": 128, )" +
           std::string(pads) + R"("d_multiple": 36, "dv_multiple": 37, "max_splits": 38, "page_multiple": 39, )" +
           items + R"("rotary_multiple": 40, "rows_together": 41, "max_page": 42, "max_rows": 43, "max_group": 44, )" +
           needs + R"("cache_limit": 2199023255552, "max_keys": 46, )" + takes;
  };
  const std::size_t first = found.find("\"fmha\""), second = found.find("\"fmha\"", first + 1);
  ASSERT_NE(second, std::string::npos);
  const std::string odd = numbers(
      R"("pad_q": true, "pad_k": true, )", R"("takes_items": false, "merge_heads": false, "always_combines": false, )",
      R"("causal_only": false, "topleft_only": false, "needs_keys": false, "needs_finite": false, )",
      R"("sink_tokens": true, "takes_gaps_q": true, "topleft_slopes": true, )"
      R"("unordered_dq": false, "last_resort": false}}, {)");
  const std::string even = numbers(
      R"("pad_q": false, "pad_k": false, )", R"("takes_items": true, "merge_heads": true, "always_combines": true, )",
      R"("causal_only": true, "topleft_only": true, "needs_keys": true, "needs_finite": true, )",
      R"("sink_tokens": false, "takes_gaps_q": false, "topleft_slopes": false, )"
      R"("unordered_dq": true, "last_resort": true}}]})");
  EXPECT_EQ(found.substr(first, odd.size()), odd);
  EXPECT_EQ(found.substr(second), even + "\n");
}

TEST(RegistryJson, EveryBackendHasItsWord) {
  const std::pair<Backend, const char*> words[] = {{Backend::ck_tile, "ck_tile"},
                                                   {Backend::ck, "ck"},
                                                   {Backend::hip, "hip"},
                                                   {Backend::asm_, "asm"},
                                                   {Backend::host, "host"},
                                                   {Backend::cutlass, "cutlass"},
                                                   {static_cast<Backend>(6), "unknown"}};
  for (const auto& [backend, word] : words) {
    InstanceDesc d = gemm();
    d.backend = backend;
    Registry registry;
    ASSERT_TRUE(registry.add(d).ok());
    EXPECT_NE(to_json(registry).find(std::string("\"backend\": \"") + word + "\""), std::string::npos);
  }
}

}  // namespace test_registry_json
