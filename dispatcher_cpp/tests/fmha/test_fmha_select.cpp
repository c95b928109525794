// Which attention instance is chosen, and what is said where none is.
#include "fmha/fmha_fixture.hpp"

#include <thread>
#include <vector>

#include "counted_new.hpp"

namespace test_fmha_select {

using namespace ckgen;
using tiny::attention;
using tiny::exact;
using tiny::numbered;
using tiny::padded;
using tiny::sizes;

class FmhaSelect : public tiny::FmhaTest {};

TEST_F(FmhaSelect, TheSmallestSufficientTileIsTaken) {
  add("m128", padded(128, 64, 128, 128));
  add("m64", padded(64, 64, 128, 128));
  add("m16", padded(16, 64, 128, 128));
  for (const auto& [rows, name] :
       {std::pair(1, "m16"), std::pair(16, "m16"), std::pair(60, "m64"), std::pair(128, "m128")})
    EXPECT_EQ(chosen(sizes(304, 1, 1, rows, 1024, 128, 128)), name) << rows;
}

TEST_F(FmhaSelect, TheNearestHeadDimensionIsTaken) {
  for (const std::int32_t hdim : {256, 192, 128, 64, 32})
    add(numbered("h", static_cast<std::uint64_t>(hdim)), padded(64, 64, hdim, hdim));
  for (const auto& [hdim, name] : {std::pair(24, "h32"), std::pair(32, "h32"), std::pair(40, "h64"),
                                   std::pair(128, "h128"), std::pair(136, "h192"), std::pair(256, "h256")})
    EXPECT_EQ(chosen(sizes(2, 8, 8, 512, 512, hdim, hdim)), name) << hdim;
}

TEST_F(FmhaSelect, HeadDimensionsOfQAndVAreTwo) {
  add("h192x128", padded(64, 64, 192, 128));
  add("h192x192", padded(64, 64, 192, 192));
  add("h64x256", padded(64, 64, 64, 256));
  EXPECT_EQ(chosen(sizes(2, 8, 8, 512, 512, 192, 128)), "h192x128");
  EXPECT_EQ(chosen(sizes(2, 8, 8, 512, 512, 192, 136)), "h192x192");
  EXPECT_EQ(chosen(sizes(2, 8, 8, 512, 512, 64, 200)), "h64x256");
}

TEST_F(FmhaSelect, OfEqualCostsTheFewerPadsThenTheEarlierWin) {
  add("padded", padded(64, 64, 128, 128));
  add("exact", exact(64, 64, 128, 128));
  add("again", exact(64, 64, 128, 128));
  EXPECT_EQ(chosen(sizes(2, 8, 8, 512, 512, 128, 128)), "exact");
  EXPECT_EQ(chosen(sizes(2, 8, 8, 512, 500, 128, 128)), "padded");
}

TEST_F(FmhaSelect, ALastResortAnswersWhereNoOtherDoesWhateverThatCosts) {
  const FmhaConfig small = padded(16, 64, 256, 256);
  FmhaConfig last = small;
  last.last_resort = true;
  add("small", small, attention({}, DType::fp16));
  add("large_half", exact(128, 64, 256, 256), attention({}, DType::fp16));
  add("large", exact(128, 64, 256, 256));
  add("last", last);
  const FmhaShape few = sizes(1, 1, 1, 128, 1024, 256, 256);
  EXPECT_EQ(chosen(few, attention({}, DType::fp16)), "small") << "it costs less";
  EXPECT_EQ(chosen(few), "large");
  EXPECT_EQ(chosen(sizes(1, 1, 1, 127, 1024, 256, 256)), "last");
}

TEST_F(FmhaSelect, NextGoesThroughTheRest) {
  add("padded", padded(64, 64, 128, 128));
  add("exact", exact(64, 64, 128, 128));
  add("other_op", padded(64, 64, 128, 128), attention({}, DType::fp16));
  const Dispatcher own = dispatcher();
  const Problem problem = Problem(attention()).fmha(sizes(2, 8, 8, 512, 512, 128, 128));
  const Selection first = own.select(problem, device);
  const Selection second = own.next(problem, device, first);
  EXPECT_EQ(first.tier, Tier::default_);
  EXPECT_EQ(first.instance, 1U);
  EXPECT_EQ(second.instance, 0U);
  EXPECT_FALSE(own.next(problem, device, second));
}

TEST_F(FmhaSelect, FewWorkgroupsShareTheDeviceBySmallerTiles) {
  add("m128", padded(128, 64, 128, 128));
  add("m64", padded(64, 64, 128, 128));
  EXPECT_EQ(chosen(sizes(1, 8, 8, 1024, 1024, 128, 128)), "m64") << "64 or 128 workgroups on 304 CUs: one round";
  EXPECT_EQ(chosen(sizes(19, 32, 8, 128, 1024, 128, 128)), "m128")
      << "608 or 1216 workgroups: keys are brought half as often";
}

TEST_F(FmhaSelect, EveryTraitIsMatched) {
  FmhaTraits all[12];
  all[1].varlen = all[2].v_column = all[3].masked = all[4].softcap = all[5].sink = all[6].lse = true;
  all[7].bias = FmhaBias::elementwise;
  all[8].bias = FmhaBias::alibi;
  all[9].dropout = FmhaDropout::philox;
  all[10].dropout = FmhaDropout::randval;
  all[11].kv = FmhaKv::page_list;
  FmhaShape x = sizes(2, 8, 8, 512, 512, 128, 128);
  x.page_size = 16;
  std::uint64_t i = 0;
  for (const FmhaTraits& traits : all) add(numbered("trait", i++), padded(64, 64, 128, 128), attention(traits));
  i = 0;
  for (const FmhaTraits& traits : all) EXPECT_EQ(chosen(x, attention(traits)), numbered("trait", i++));
  FmhaTraits two = all[3];
  two.lse = true;
  EXPECT_EQ(chosen(x, attention(two)),
            "no instance of this signature was built for this device (rule gemm.no-instance)");
}

TEST_F(FmhaSelect, PlainFp8IsTheDevicesOwn) {
  Signature own = attention({}, DType::fp8_fnuz);
  own.fmha.quant = FmhaQuant::per_tensor;
  own.c = DType::bf16;
  add("fnuz", padded(64, 64, 128, 128), own);
  const Problem problem = fmha("fp8_bf16_pertensor").fmha(sizes(2, 8, 8, 512, 512, 128, 128));
  EXPECT_TRUE(dispatcher().select(problem, device));
  EXPECT_FALSE(dispatcher().select(problem, Device::simulated("gfx950")));
  const auto plan = dispatcher().plan(problem, device);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->problem.signature().a, DType::fp8_fnuz);
}

TEST_F(FmhaSelect, WhatIsNotThereIsRefusedByName) {
  const FmhaShape x = [] {
    FmhaShape shape = sizes(2, 8, 8, 512, 512, 128, 128);
    shape.page_size = 16;
    return shape;
  }();
  const auto of = [](std::string_view text) { return fmha(text).signature(); };
  const std::string append =
      "no instance that appends keys and values to a cache was built for this signature (rule fmha.no-append)";
  const std::string paged =
      "no instance that reads keys and values in pages (of 16 rows) was built for this signature (rule "
      "fmha.no-paged-kv)";
  for (const bool is_empty : {true, false}) {
    if (!is_empty) add("plain", padded(64, 64, 128, 128));
    EXPECT_EQ(chosen(x, of("bf16_append_blocktable")), append);
    EXPECT_EQ(chosen(x, of("bf16_blocktable")), paged);
    EXPECT_EQ(chosen(x, of("bf16_varlen_pagelist_vectorized")), paged);
    EXPECT_EQ(chosen(x, of("bf16_softcap")),
              "no instance of this signature was built for this device (rule gemm.no-instance)");
    const auto bare = dispatcher().plan(Problem(of("bf16_softcap")).fmha(x), device);
    EXPECT_EQ(std::string(bare.status().message),
              std::string("no instance of this signature was built for this device (rule gemm.no-instance): "
                          "fmha_bf16_softcap on gfx942: ") +
                  (is_empty ? "attention of these types was not built at all"
                            : "the nearest, fmha_bf16, is without softcap"));
    const auto plan = dispatcher().plan(Problem(of("bf16_blocktable")).fmha(x), device);
    EXPECT_EQ(plan.status().code, StatusCode::unsupported);
    EXPECT_EQ(std::string(plan.status().message).find(paged + ": fmha_bf16_blocktable on gfx942: "), 0U);
    EXPECT_NE(dispatcher().explain(Problem(of("bf16_blocktable")).fmha(x), device).find("unsupported  " + paged),
              std::string::npos);
  }
  EXPECT_EQ(chosen(x, attention({}, DType::fp16)),
            "no instance of this signature was built for this device (rule gemm.no-instance)");
}

TEST_F(FmhaSelect, TheNearestOfOtherTraitsIsTold) {
  const auto of = [](std::string_view text) { return fmha(text).signature(); };
  for (const char* built : {"bf16_varlen", "bf16_masked_lse", "bf16_masked_alibi_lse", "fp16_masked_softcap"})
    add(built, padded(64, 64, 128, 128), of(built));
  InstanceDesc elsewhere = described("elsewhere", padded(64, 64, 128, 128), of("bf16_masked_softcap"));
  elsewhere.archs = tiny::bit(Arch::gfx950);
  add(elsewhere);
  const auto plan = dispatcher().plan(Problem(of("bf16_masked_softcap")).fmha(sizes(1, 1, 1, 8, 8, 64, 64)), device);
  EXPECT_STREQ(
      plan.status().message,
      "no instance of this signature was built for this device (rule gemm.no-instance): "
      "fmha_bf16_masked_softcap on gfx942: the nearest, fmha_bf16_masked_lse, is without softcap and with lse");
}

TEST_F(FmhaSelect, AnInstanceIsWholeInTheRegistrysDocument) {
  FmhaConfig config = padded(64, 32, 192, 128);
  config.pad_k = false;
  config.max_splits = 8;
  config.page_multiple = 16;
  config.takes_items = true;
  config.rotary_multiple = 16;
  add("described", config);
  ASSERT_TRUE(registry.add(tiny::instance("gemm", 90, tiny::fp16, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false})).ok());
  const std::string text = to_json(registry);
  EXPECT_NE(text.find("\"signature\": \"fmha_bf16\""), std::string::npos);
  const std::string fmha =
      "\"fmha\": {\"m0\": 64, \"n0\": 32, \"k0\": 32, \"n1\": 128, \"k1\": 32, \"hdim_q\": 192, \"hdim_v\": 128, "
      "\"pad_q\": true, \"pad_k\": false, \"d_multiple\": 8, \"dv_multiple\": 8, \"max_splits\": 8, "
      "\"page_multiple\": 16, \"takes_items\": true, \"merge_heads\": false, "
      "\"always_combines\": false, \"rotary_multiple\": 16, \"rows_together\": 0, \"max_page\": 0, \"max_rows\": 0, "
      "\"max_group\": 0, \"causal_only\": false, \"topleft_only\": false, \"needs_keys\": false, \"needs_finite\": "
      "false, "
      "\"cache_limit\": 0, \"max_keys\": 0, \"sink_tokens\": true, "
      "\"takes_gaps_q\": true, \"topleft_slopes\": true, \"unordered_dq\": false, \"last_resort\": false}";
  EXPECT_NE(text.find(fmha), std::string::npos) << text;
  EXPECT_EQ(text.find("\"fmha\": {"), text.rfind("\"fmha\": {")) << "of attention only";
}

TEST_F(FmhaSelect, TheTrailHasAllSizesAndEachRejectedInstance) {
  FmhaTraits traits;
  traits.masked = traits.lse = true;
  add("small", exact(64, 64, 64, 64), attention(traits));
  add("whole", exact(128, 64, 128, 128), attention(traits));
  add("padded", padded(128, 64, 128, 128), attention(traits));
  FmhaShape x = sizes(2, 32, 8, 100, 4096, 128, 128);
  x.window_left = 255;
  const std::string text = dispatcher().explain(Problem(attention(traits)).fmha(x), device);
  const char* const lines[] = {
      "fmha bf16·bf16→bf16 masked lse  batch=2 heads_q=32 heads_k=8 seqlen_q=100 seqlen_k=4096 hdim_q=128 hdim_v=128 "
      "mask=b:255,0  on gfx942:304 (simulated)\n",
      "✘ small   k_batch 1",
      "rejected: head dimension = 128 is above 64 (rule fmha.instance.hdim)\n",
      "✘ whole   k_batch 1",
      "rejected: seqlen_q = 100 does not fill tiles of 128 (rule fmha.instance.q-tile)\n",
      "✔ padded   k_batch 1",
      "supports: ok (hdim_q ≤ 128, hdim_q % 8 = 0, hdim_v ≤ 128, hdim_v % 8 = 0)\n"};
  std::size_t at = 0;
  for (const char* line : lines) {
    at = text.find(line, at);
    ASSERT_NE(at, std::string::npos) << line << "\n" << text;
  }
}

TEST_F(FmhaSelect, ASelectionIsSaidInOneLine) {
  add("padded", padded(128, 64, 128, 128));
  DispatcherOptions options;
  options.verbose = true;
  const Dispatcher own(registry, options);
  ::testing::internal::CaptureStderr();
  own.select(Problem(attention()).fmha(sizes(2, 32, 8, 1, 4096, 128, 128)).deterministic(), device);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "ckgen_verbose,v1,select,fmha_bf16,gfx942:304,batch=2 heads_q=32 heads_k=8 seqlen_q=1 seqlen_k=4096 "
            "hdim_q=128 hdim_v=128 deterministic,default,padded,1,-\n");
}

TEST_F(FmhaSelect, SplitsGoWithTheInstance) {
  FmhaConfig config = padded(64, 128, 128, 128);
  config.max_splits = 128;
  add("whole", padded(64, 128, 128, 128));
  add("split", config);
  const Dispatcher own = dispatcher();
  const auto of = [&](std::int64_t batch, std::int64_t keys) {
    const Selection found = own.select(Problem(attention()).fmha(sizes(batch, 8, 8, 1, keys, 128, 128)), device);
    return std::string(own.registry().instance(found.instance).name) + ' ' + std::to_string(found.k_batch);
  };
  EXPECT_EQ(of(1, 65536), "split 37") << "8 workgroups on 304 CUs: 512 blocks of keys in parts of 14, one round";
  EXPECT_EQ(of(8, 65536), "split 14") << "three rounds are fuller than one";
  EXPECT_EQ(of(38, 65536), "whole 1") << "one round is full";
  EXPECT_EQ(of(1, 256), "whole 1") << "too short to gain by it";
  const Problem problem = Problem(attention()).fmha(sizes(1, 8, 8, 1, 65536, 128, 128));
  const Selection first = own.select(problem, device), second = own.next(problem, device, first);
  EXPECT_EQ(second.instance, 0U);
  EXPECT_EQ(second.k_batch, 1U);
  DispatcherOptions options;
  options.force = "split";
  EXPECT_EQ(Dispatcher(registry, options).select(problem, device).k_batch, first.k_batch);
  const auto plan = own.plan(problem, device);
  ASSERT_TRUE(plan) << plan.status().message;
  EXPECT_EQ(plan->stages[0].k_batch, first.k_batch);
  const std::string text = own.explain(problem, device);
  EXPECT_NE(text.find("✔ split   k_batch 37\n"), std::string::npos) << text;
  EXPECT_NE(text.find("splits: 1 costs "), std::string::npos) << text;
  EXPECT_NE(text.find(", 37 costs "), std::string::npos) << text;
}

TEST_F(FmhaSelect, SelectionNeitherAllocatesNorDependsOnTheThread) {
  for (const std::int32_t m0 : {128, 64, 32, 16}) {
    FmhaConfig config = padded(m0, 64, 128, 128);
    config.max_splits = m0;
    add(numbered("m", static_cast<std::uint64_t>(m0)), config);
  }
  const Dispatcher own = dispatcher();
  std::vector<Problem> problems;
  for (int rows = 1; rows <= 256; ++rows)
    problems.push_back(Problem(attention()).fmha(sizes(rows % 7 + 1, 8, 2, rows, 512, 128, 128)));
  std::vector<std::uint32_t> expected;
  for (const Problem& problem : problems) expected.push_back(own.select(problem, device).instance);
  const long before = allocations();
  for (const Problem& problem : problems) static_cast<void>(own.plan(problem, device));
  EXPECT_EQ(allocations(), before);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < problems.size(); ++i) {
        if (own.select(problems[i], device).instance != expected[i]) ADD_FAILURE() << i;
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace test_fmha_select
