// What ck_tile's kernels of attention's gradients refuse, rule by rule, and what they leave each other.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

#include <backends/ck_tile/fmha_backward_limits.hpp>
#include <backends/device/fmha_backward_room.hpp>

namespace ckgen::tile {
namespace test_fmha_backward_limits {

alignas(16) unsigned char memory[64];
std::int32_t numbers[4];

/// A legal problem of a masked batch for heads of 64, of which two share K and V.
struct Case {
  FmhaBackwardLimits limits{DType::bf16, {}, 64, 0, true};
  FmhaShape shape;
  FmhaArgs args;

  Case() {
    limits.traits.entry = FmhaEntry::backward;
    limits.traits.masked = true;
    shape.batch = 2;
    shape.heads_q = 4;
    shape.heads_k = 2;
    shape.seqlen_q = 5;
    shape.seqlen_k = 200;
    shape.hdim_q = shape.hdim_v = 64;
    args.q = args.k = args.v = args.dout = args.o = args.dq = args.dk = args.dv = memory;
    args.lse = reinterpret_cast<float*>(memory);
    args.q_strides = args.o_strides = args.dout_strides = args.dq_strides = {256, 64, 256 * 5};
    args.k_strides = args.v_strides = args.dk_strides = args.dv_strides = {128, 64, 128 * 200};
    args.lse_head_stride = 5;
    args.lse_batch_stride = 20;
  }
  std::string refusal() const { return check_fmha_backward(limits, shape, args).message; }
};

std::string after(const std::function<void(Case&)>& change) {
  Case one;
  change(one);
  return one.refusal();
}

TEST(FmhaBackwardLimits, WhatTheKernelsTake) {
  EXPECT_EQ(after([](Case&) {}), "");
  EXPECT_EQ(after([](Case& x) { x.limits.pad = 8, x.shape.hdim_q = 40, x.shape.hdim_v = 8; }), "");
  EXPECT_EQ(after([](Case& x) { x.limits.pad = 1, x.shape.hdim_q = 3, x.args.q_strides.row = 257; }), "");
  EXPECT_EQ(after([](Case& x) { x.limits.grouped = false, x.shape.heads_k = 4; }), "");
  EXPECT_EQ(after([](Case& x) { x.shape.seqlen_q = 0, x.args.q = nullptr, x.args.lse = nullptr; }), "");
  EXPECT_EQ(after([](Case& x) { x.args.dk_strides.row = 129; }), "") << "other kernels write dK";
}

TEST(FmhaBackwardLimits, HeadsAndOptions) {
  EXPECT_EQ(after([](Case& x) { x.shape.hdim_q = 32; }), "a head dim of 32 does not fit tiles of 64");
  EXPECT_EQ(after([](Case& x) { x.limits.pad = 8, x.shape.hdim_v = 72; }), "a head dim of 72 does not fit tiles of 64");
  EXPECT_EQ(after([](Case& x) { x.limits.pad = 8, x.shape.hdim_v = 12; }), "a head dim of 12 does not fit tiles of 64");
  EXPECT_EQ(after([](Case& x) { x.limits.grouped = false; }), "4 query heads of 2 KV heads: this kernel sums no heads");
  EXPECT_EQ(after([](Case& x) { x.shape.sink_tokens = 2; }),
            "the CK tree's masks have no sink tokens, 2 are asked for");
  EXPECT_EQ(after([](Case& x) { x.limits.traits.dropout = FmhaDropout::philox, x.args.p_drop = 1; }),
            "p_drop = 1 is not in [0, 1)");
  EXPECT_EQ(after([](Case& x) { x.limits.traits.bias = FmhaBias::alibi, x.args.bias_strides.head = 2; }),
            "slopes of heads are 2 apart: ck_tile's lie together");
  EXPECT_EQ(after([](Case& x) { x.limits.traits.bias = FmhaBias::alibi, x.args.bias_strides.head = 1; }),
            "the slopes are null");
}

TEST(FmhaBackwardLimits, ABiasWithItsGradient) {
  const auto biased = [](const std::function<void(Case&)>& change) {
    return after([&](Case& x) {
      x.limits.traits.bias = FmhaBias::elementwise;
      x.args.bias = x.args.dbias = memory;
      x.args.bias_strides = x.args.dbias_strides = {201, 201 * 5, std::int64_t{1} << 40};
      change(x);
    });
  };
  EXPECT_EQ(biased([](Case&) {}), "") << "heads and sequences any number of elements apart";
  EXPECT_EQ(biased([](Case& x) { x.args.bias = nullptr; }), "bias is null");
  EXPECT_EQ(biased([](Case& x) { x.args.dbias = nullptr; }), "dbias is null");
  const std::string shared = "a bias that rows, heads or sequences share: this kernel sums no dbias, host kernels do";
  EXPECT_EQ(biased([](Case& x) { x.args.bias_strides.row = 0; }), shared);
  EXPECT_EQ(biased([](Case& x) { x.args.bias_strides.head = 0; }), shared);
  EXPECT_EQ(biased([](Case& x) { x.args.bias_strides.batch = 0; }), shared);
  EXPECT_EQ(biased([](Case& x) { x.args.bias_strides.batch = 0, x.shape.batch = 1; }), "") << "of one sequence";
  EXPECT_EQ(biased([](Case& x) { x.args.dbias_strides.row = std::int64_t{1} << 31; }),
            "a stride of dbias of 2147483648: ck_tile counts in 32 bits");
}

TEST(FmhaBackwardLimits, Tensors) {
  EXPECT_EQ(after([](Case& x) { x.args.dout = nullptr; }), "dO is null");
  EXPECT_EQ(after([](Case& x) { x.args.lse = nullptr; }), "lse is null");
  EXPECT_EQ(after([](Case& x) { x.args.dv = nullptr; }), "dV is null");
  EXPECT_EQ(after([](Case& x) { x.args.dq_strides.row = 257; }),
            "a stride of dQ of 257: it is loaded by vectors of 16 bytes");
  EXPECT_EQ(after([](Case& x) { x.args.k_strides.batch = std::int64_t{1} << 31; }),
            "a stride of K of 2147483648: ck_tile counts in 32 bits");
  EXPECT_EQ(after([](Case& x) { x.shape.seqlen_q = 1 << 23, x.args.q_strides = {64, 0, 0}; }),
            "O: 8388608 rows, 256 elements apart, take 2 GiB or more");
  EXPECT_EQ(after([](Case& x) {
              x.shape.seqlen_q = 1 << 23, x.shape.batch = x.shape.heads_q = x.shape.heads_k = 1;
              x.args.q_strides = x.args.o_strides = x.args.dout_strides = x.args.dq_strides = {64, 64, 0};
            }),
            "the sums of dQ: 8388608 rows, 64 elements apart, take 2 GiB or more");
  EXPECT_EQ(after([](Case& x) { x.limits.traits.varlen = true, x.args.seqstart_q = numbers; }),
            "seqstart_q or seqstart_k is null");
}

TEST(FmhaBackwardRoom, HasTheSumsThenDeltaThenHeads) {
  Signature s{Op::fmha, DType::bf16, DType::bf16, DType::bf16};
  s.fmha.entry = FmhaEntry::backward;
  FmhaShape x;
  x.batch = 3, x.heads_q = 4, x.heads_k = 2, x.seqlen_q = 5, x.seqlen_k = 7, x.hdim_q = 32, x.hdim_v = 9;
  const auto of = [&](bool sums_heads, std::int32_t tile = 0) {
    return device::FmhaBackwardRoom::of(Problem(s).fmha(x), sums_heads, tile);
  };
  device::FmhaBackwardRoom room = of(true);
  EXPECT_EQ(room.dq_bytes, 3U * 4 * 5 * 32 * 4);
  EXPECT_EQ(room.delta, room.dq_bytes) << "a multiple of 256";
  EXPECT_EQ(room.dk, room.delta + 256) << "240 bytes, rounded up";
  EXPECT_EQ(room.dv, room.dk + 3 * 4 * 7 * 32 * 4);
  EXPECT_EQ(room.bytes, room.dv + 3 * 4 * 7 * 9 * 4);
  EXPECT_EQ(of(false).bytes, room.delta + 240);
  EXPECT_EQ(of(true, 3).dq_bytes, 3 * room.dq_bytes) << "tiles of 3 keys over 7";
  EXPECT_EQ(of(true, 7).dq_bytes, room.dq_bytes);
  s.fmha.varlen = true;
  x.total_q = 11;
  room = of(true);
  EXPECT_EQ(room.dq_bytes, 4U * 11 * 32 * 4);
  EXPECT_EQ(room.bytes - room.dv, 3U * 4 * 7 * 9 * 4) << "keys of all sequences are not known";
  EXPECT_EQ(of(true, 3).dq_bytes, 3U * 3 * 4 * 5 * 32 * 4) << "parts have the rows of the longest sequence";
  x.seqlen_k = 0;
  EXPECT_EQ(of(true, 3).dq_bytes, 3U * 4 * 5 * 32 * 4) << "a part of zeros";
  x.total_q = 0, x.seqlen_q = 0;
  EXPECT_EQ(of(false).bytes, 0U);
  EXPECT_EQ(of(false, 3).bytes, 0U);
}

TEST(FmhaBackwardRoom, CountsIn64Bits) {
  Signature s{Op::fmha, DType::bf16, DType::bf16, DType::bf16};
  s.fmha.entry = FmhaEntry::backward;
  FmhaShape x;
  x.batch = 8, x.heads_q = x.heads_k = 128, x.seqlen_q = 1 << 20, x.seqlen_k = 1, x.hdim_q = x.hdim_v = 128;
  EXPECT_EQ(device::FmhaBackwardRoom::of(Problem(s).fmha(x), false, 0).dq_bytes, std::uint64_t{1} << 39);
  x.batch = x.seqlen_q = (std::int64_t{1} << 31) - 1, x.heads_q = x.heads_k = 65535, x.hdim_q = 256;
  EXPECT_EQ(device::FmhaBackwardRoom::of(Problem(s).fmha(x), false, 0).bytes, ~std::uint64_t{0});
  EXPECT_EQ(device::FmhaBackwardRoom::of(Problem(s).fmha(x), false, 1).bytes, ~std::uint64_t{0});
}

}  // namespace test_fmha_backward_limits
}  // namespace ckgen::tile
