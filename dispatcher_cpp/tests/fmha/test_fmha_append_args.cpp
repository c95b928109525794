// What a run that appends to a cache is given, and which sizes such a problem has.
#include <vector>

#include "fmha/fmha_fixture.hpp"

namespace test_fmha_append_args {

using namespace ckgen;
using tiny::attention;
using tiny::padded;

FmhaTraits appending(FmhaRope rope = FmhaRope::none, FmhaKv kv = FmhaKv::contiguous, bool varlen = false) {
  FmhaTraits traits;
  traits.entry = FmhaEntry::append;
  traits.rope = rope;
  traits.kv = kv;
  traits.varlen = varlen;
  return traits;
}

/// Two sequences of three new rows, in a cache of twelve rows, or of three pages of four rows, each.
FmhaShape append_sizes(const FmhaTraits& traits) {
  FmhaShape x = tiny::sizes(2, 4, 2, traits.rope == FmhaRope::none ? 0 : 3, 12, 16, 24);
  x.seqlen_new = 3;
  x.rotary_dim = 8;
  x.page_size = 4;
  x.pages = 6;
  return x;
}

class FmhaAppend : public tiny::FmhaTest {
 protected:
  template <class Change>
  std::string rule(const FmhaTraits& traits, Change change, FmhaConfig config = padded(8, 8, 256, 256)) {
    Registry own;
    EXPECT_TRUE(own.add(described(tiny::numbered("kernel", ++count_), config, attention(traits))).ok());
    FmhaShape shape = append_sizes(traits);
    change(shape);
    const Dispatcher runner(own, DispatcherOptions{});
    const Selection found = runner.select(Problem(attention(traits)).fmha(shape), device);
    return found ? "" : reason(found);
  }
  template <class Change>
  std::string refusal(const FmhaTraits& traits, Change change) {
    Registry own;
    EXPECT_TRUE(own.add(described(tiny::numbered("kernel", ++count_), padded(8, 8, 256, 256), attention(traits))).ok());
    const Dispatcher runner(own, DispatcherOptions{});
    const auto plan = runner.plan(Problem(attention(traits)).fmha(append_sizes(traits)), device);
    EXPECT_TRUE(plan) << plan.status().message;
    FmhaArgs x = fitting(traits);
    change(x);
    const int before = seen.launches;
    const Status status = runner.run(*plan, x, nullptr);
    EXPECT_EQ(seen.launches, before + (status.ok() ? 1 : 0)) << "what is refused is not launched";
    return status.message;
  }
  FmhaArgs fitting(const FmhaTraits& traits) {
    FmhaArgs x;
    x.k_cache = x.v_cache = memory.data();
    x.k_new = x.v_new = memory.data();
    x.k_strides = {2 * 16, 16, 12 * 2 * 16};
    x.v_strides = {2 * 24, 24, 12 * 2 * 24};
    x.k_new_strides = {2 * 16, 16, 3 * 2 * 16};
    x.v_new_strides = {2 * 24, 24, 3 * 2 * 24};
    x.q_strides = x.o_strides = {4 * 16, 16, 3 * 4 * 16};
    x.seqlen_k = ints.data();
    if (traits.rope != FmhaRope::none) {
      x.q = x.rotary_cos = x.rotary_sin = memory.data();
      x.o = memory.data();
    }
    if (traits.varlen) x.seqstart_q = ints.data();
    if (traits.varlen && traits.kv == FmhaKv::contiguous) x.seqstart_k = ints.data();
    if (traits.kv == FmhaKv::block_table) x.block_table = ints.data(), x.block_table_stride = 3;
    if (traits.kv == FmhaKv::page_list) {
      x.kv_indptr = x.kv_pages = x.kv_last_page = ints.data();
      x.seqlen_k = nullptr;
    }
    return x;
  }
  static constexpr auto nothing = [](auto&) {};

  std::vector<char> memory = std::vector<char>(64);
  std::vector<std::int32_t> ints = std::vector<std::int32_t>(8);

 private:
  std::uint64_t count_ = 0;
};

TEST_F(FmhaAppend, Sizes) {
  const FmhaTraits plain = appending(), rope = appending(FmhaRope::half);
  const FmhaTraits varlen = appending(FmhaRope::half, FmhaKv::contiguous, true);
  for (const FmhaTraits& traits : {plain, rope, varlen}) EXPECT_EQ(rule(traits, nothing), "");
  EXPECT_EQ(rule(plain, [](FmhaShape& x) { x.seqlen_new = 12; }), "");
  EXPECT_EQ(rule(plain, [](FmhaShape& x) { x.seqlen_new = 13; }),
            "13 new rows or rows of Q are not within 0 to the cache's 12 (rule fmha.shape.seqlen-new)");
  EXPECT_EQ(rule(plain, [](FmhaShape& x) { x.seqlen_q = 13; }), "") << "nothing of Q rotates";
  EXPECT_EQ(rule(rope, [](FmhaShape& x) { x.seqlen_q = 13; }),
            "13 new rows or rows of Q are not within 0 to the cache's 12 (rule fmha.shape.seqlen-new)");
  EXPECT_EQ(rule(rope, [](FmhaShape& x) { x.seqlen_q = 5; }), "");
  EXPECT_EQ(rule(varlen, [](FmhaShape& x) { x.seqlen_q = 0; }), "");
  EXPECT_EQ(rule(varlen, [](FmhaShape& x) { x.seqlen_q = 5; }),
            "seqlen_q = 5 is neither 0 nor the seqlen_new = 3 of the same tokens (rule fmha.shape.append-q)");
  EXPECT_EQ(rule(plain, [](FmhaShape& x) { x.rotary_dim = 7; }), "");
  EXPECT_EQ(rule(rope, [](FmhaShape& x) { x.rotary_dim = 16; }), "");
  for (const std::int32_t dims : {0, 7, 18})
    EXPECT_EQ(
        rule(rope, [&](FmhaShape& x) { x.rotary_dim = dims; }),
        "rotary_dim = " + std::to_string(dims) + " is not an even number within 2 to 16 (rule fmha.shape.rotary-dim)");
}

TEST_F(FmhaAppend, WhatAnInstanceAsks) {
  const FmhaTraits plain = appending(), rope = appending(FmhaRope::half);
  FmhaConfig config = padded(8, 8, 256, 256);
  config.rotary_multiple = 16;
  EXPECT_EQ(rule(plain, nothing, config), "");
  EXPECT_EQ(rule(rope, nothing, config), "rotary_dim = 8 is not a multiple of 16 (rule fmha.instance.rotary-multiple)");
  config = padded(8, 8, 256, 256);
  config.pad_q = false;
  EXPECT_EQ(rule(plain, nothing, config), "");
  EXPECT_EQ(rule(rope, nothing, config), "seqlen_q = 3 does not fill tiles of 8 (rule fmha.instance.q-tile)");
}

TEST_F(FmhaAppend, TheTilesThatFitAreChosen) {
  const Signature signature = attention(appending());
  add("large", padded(64, 64, 256, 256), signature);
  add("small", padded(8, 8, 256, 256), signature);
  FmhaShape x = append_sizes(signature.fmha);
  EXPECT_EQ(chosen(x, signature), "small");
}

TEST_F(FmhaAppend, ArgumentsThatFitAreLaunched) {
  for (const FmhaRope rope : {FmhaRope::none, FmhaRope::interleaved})
    for (const FmhaKv kv : {FmhaKv::contiguous, FmhaKv::block_table, FmhaKv::page_list})
      for (const bool varlen : {false, true}) EXPECT_EQ(refusal(appending(rope, kv, varlen), nothing), "");
}

TEST_F(FmhaAppend, ArgumentsThatAreNeededAreAskedFor) {
  const FmhaTraits rope = appending(FmhaRope::half);
  EXPECT_EQ(refusal(rope, [](FmhaArgs& x) { x.k_cache = nullptr; }), "the cache of K is null");
  EXPECT_EQ(refusal(rope, [](FmhaArgs& x) { x.v_cache = nullptr; }), "the cache of V is null");
  EXPECT_EQ(refusal(rope, [](FmhaArgs& x) { x.k_new = nullptr; }), "k_new is null");
  EXPECT_EQ(refusal(rope, [](FmhaArgs& x) { x.v_new = nullptr; }), "v_new is null");
  EXPECT_EQ(refusal(rope, [](FmhaArgs& x) { x.q = nullptr; }), "Q is null");
  EXPECT_EQ(refusal(rope, [](FmhaArgs& x) { x.o = nullptr; }), "O is null");
  EXPECT_EQ(refusal(rope, [](FmhaArgs& x) { x.rotary_cos = nullptr; }), "rotary_cos is null");
  EXPECT_EQ(refusal(rope, [](FmhaArgs& x) { x.rotary_sin = nullptr; }), "rotary_sin is null");
  EXPECT_EQ(refusal(rope, [](FmhaArgs& x) { x.seqlen_k = nullptr; }), "seqlen_k is null");
  EXPECT_EQ(refusal(appending(FmhaRope::none, FmhaKv::contiguous, true), [](FmhaArgs& x) { x.seqstart_k = nullptr; }),
            "seqstart_k is null");
  EXPECT_EQ(refusal(appending(FmhaRope::none, FmhaKv::block_table), [](FmhaArgs& x) { x.block_table = nullptr; }),
            "block_table is null");
}

TEST_F(FmhaAppend, ArgumentsThatWouldBeDroppedAreRefused) {
  const FmhaTraits plain = appending();
  const std::string behind = " is given, and the plan has no use for it";
  EXPECT_EQ(refusal(plain, [this](FmhaArgs& x) { x.q = memory.data(); }), "q" + behind);
  EXPECT_EQ(refusal(plain, [this](FmhaArgs& x) { x.o = memory.data(); }), "o" + behind);
  EXPECT_EQ(refusal(plain, [this](FmhaArgs& x) { x.k = memory.data(); }), "k" + behind);
  EXPECT_EQ(refusal(plain, [this](FmhaArgs& x) { x.v = memory.data(); }), "v" + behind);
  EXPECT_EQ(refusal(plain, [this](FmhaArgs& x) { x.rotary_cos = memory.data(); }), "rotary_cos" + behind);
  EXPECT_EQ(refusal(plain, [](FmhaArgs& x) { x.scale = 1; }), "scale = 1, it must be 0 where nothing is scaled");
  EXPECT_EQ(refusal(appending(FmhaRope::none, FmhaKv::page_list), [this](FmhaArgs& x) { x.seqlen_k = ints.data(); }),
            "seqlen_k" + behind);
}

TEST_F(FmhaAppend, MemoryMustHoldTheRowsAndKeepThemApart) {
  const FmhaTraits plain = appending(), rope = appending(FmhaRope::half);
  EXPECT_EQ(refusal(plain, [](FmhaArgs& x) { x.k_new_strides.row = 15; }), "the row stride of k_new = 15 is below 16");
  EXPECT_EQ(refusal(plain, [](FmhaArgs& x) { x.v_strides.row = 24; }),
            "the head stride of the cache of V = 24 is below 288");
  EXPECT_EQ(refusal(plain, [](FmhaArgs& x) { x.k_strides.batch = 32; }),
            "the batch stride of the cache of K = 32 is below 384");
  EXPECT_EQ(refusal(rope, [](FmhaArgs& x) { x.o_strides = {16, 48, 192}; }), "O is Q with other strides");
  EXPECT_EQ(refusal(rope, [this](FmhaArgs& x) { x.o_strides = {16, 48, 192}, x.o = memory.data() + 32; }), "");
  EXPECT_EQ(refusal(appending(FmhaRope::none, FmhaKv::block_table), [](FmhaArgs& x) { x.block_table_stride = 2; }),
            "the row stride of block_table = 2 is below 3");
}

TEST_F(FmhaAppend, NothingNewIsNothingToLaunch) {
  add("any", padded(8, 8, 256, 256), attention(appending(FmhaRope::half)));
  FmhaShape x = append_sizes(appending(FmhaRope::half));
  x.seqlen_new = x.seqlen_q = 0;
  const Dispatcher own = dispatcher();
  const auto plan = own.plan(Problem(attention(appending(FmhaRope::half))).fmha(x), device);
  ASSERT_TRUE(plan) << plan.status().message;
  EXPECT_TRUE(own.run(*plan, FmhaArgs{}, nullptr).ok());
  EXPECT_EQ(seen.launches, 0);
}

}  // namespace test_fmha_append_args
