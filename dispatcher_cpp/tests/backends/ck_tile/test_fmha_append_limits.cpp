// What ck_tile's kernel that appends refuses, rule by rule: its class judges nothing itself.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

#include <backends/ck_tile/fmha_append_limits.hpp>

namespace ckgen::tile {
namespace test_fmha_append_limits {

alignas(16) unsigned char memory[64];
std::int32_t numbers[4];

/// A legal problem of a padded kernel for heads of 64 that rotates, over a block table.
struct Case {
  FmhaAppendLimits limits{DType::bf16, {}, 64, 64, 64, true, true, true};
  FmhaShape shape;
  FmhaArgs args;

  Case() {
    limits.traits.entry = FmhaEntry::append;
    limits.traits.rope = FmhaRope::half;
    limits.traits.kv = FmhaKv::block_table;
    shape.batch = 2;
    shape.heads_q = 4;
    shape.heads_k = 2;
    shape.seqlen_q = shape.seqlen_new = 5;
    shape.seqlen_k = 200;
    shape.hdim_q = shape.hdim_v = 64;
    shape.rotary_dim = 32;
    shape.page_size = 128;
    shape.pages = 9;
    args.q = args.o = args.k_cache = args.v_cache = memory;
    args.k_new = args.v_new = args.rotary_cos = args.rotary_sin = memory;
    args.seqlen_k = args.block_table = numbers;
    args.block_table_stride = 2;
    args.q_strides = args.o_strides = {256, 64, 256 * 5};
    args.k_new_strides = args.v_new_strides = {128, 64, 128 * 5};
    args.k_strides = args.v_strides = {128, 64, 128 * 128};
  }
  std::string refusal() const { return check_fmha_append(limits, shape, args).message; }
};

std::string after(const std::function<void(Case&)>& change) {
  Case one;
  change(one);
  return one.refusal();
}

TEST(FmhaAppendLimits, WhatTheKernelTakes) {
  EXPECT_EQ(after([](Case&) {}), "");
  EXPECT_EQ(after([](Case& x) { x.shape.hdim_q = 40; }), "");
  EXPECT_EQ(after([](Case& x) { x.shape.seqlen_q = 0, x.args.q = nullptr, x.args.o = nullptr; }), "");
  EXPECT_EQ(after([](Case& x) { x.limits.traits.rope = FmhaRope::none, x.args.rotary_cos = nullptr; }), "");
  EXPECT_EQ(after([](Case& x) { x.limits.traits.kv = FmhaKv::contiguous, x.args.block_table = nullptr; }), "");
}

TEST(FmhaAppendLimits, SizesAndPages) {
  EXPECT_EQ(after([](Case& x) { x.shape.hdim_q = 72; }), "head dims of 72 and 64 do not fit tiles of 64");
  EXPECT_EQ(after([](Case& x) { x.shape.hdim_v = 60; }), "head dims of 64 and 60 do not fit tiles of 64");
  EXPECT_EQ(after([](Case& x) { x.limits.pad_hdim_v = false, x.shape.hdim_v = 56; }),
            "head dims of 64 and 56 do not fit tiles of 64");
  EXPECT_EQ(after([](Case& x) { x.limits.pad_q = false; }), "5 rows of Q are no whole tiles of 64");
  EXPECT_EQ(after([](Case& x) { x.shape.page_size = 96; }), "pages of 96 rows: new rows come in tiles of 64");
  EXPECT_EQ(after([](Case& x) { x.args.block_table = nullptr; }), "block_table is null, or its rows are too long");
  EXPECT_EQ(after([](Case& x) { x.args.seqlen_k = nullptr; }), "seqlen_k is null");
}

TEST(FmhaAppendLimits, Rotation) {
  EXPECT_EQ(after([](Case& x) { x.shape.rotary_dim = 24; }), "a rotary_dim of 24 is no multiple of 16 up to 64");
  EXPECT_EQ(after([](Case& x) { x.shape.rotary_dim = 80; }), "a rotary_dim of 80 is no multiple of 16 up to 64");
  EXPECT_EQ(after([](Case& x) { x.args.rotary_sin = memory + 2; }),
            "rotary_cos or rotary_sin is null or not aligned to 16 bytes");
  EXPECT_EQ(after([](Case& x) { x.args.o = memory + 16; }), "ck_tile rotates Q where it is: O must be Q");
  EXPECT_EQ(after([](Case& x) { x.args.o_strides.row = 512; }), "ck_tile rotates Q where it is: O must be Q");
  EXPECT_EQ(after([](Case& x) { x.shape.seqlen_k = 1 << 27; }), "cosines of 134217728 positions take 2 GiB or more");
}

TEST(FmhaAppendLimits, Memory) {
  EXPECT_EQ(after([](Case& x) { x.args.k_cache = nullptr; }), "the cache of K is null");
  EXPECT_EQ(after([](Case& x) { x.args.v_new = memory + 8; }),
            "v_new is not aligned to 16 bytes, which its vectors are");
  EXPECT_EQ(after([](Case& x) { x.args.k_new_strides.row = 129; }),
            "a stride of k_new of 129: it is loaded by vectors of 16 bytes");
  EXPECT_EQ(after([](Case& x) { x.args.v_strides.batch = std::int64_t{1} << 31; }),
            "a stride of the cache of V of 2147483648: ck_tile counts in 32 bits");
}

}  // namespace test_fmha_append_limits
}  // namespace ckgen::tile
