// What the host backend refuses of a GEMM before it runs: every rule, on both sides of its limit.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "backends/host/gemm/check.hpp"
#include "backends/host/gemm/check_fused.hpp"

namespace test_host_check_gemm {

using namespace ckgen;
using namespace ckgen::host;

constexpr GemmTraits kPlain{DType::bf16, DType::bf16, DType::bf16, DType::fp32, Layout::rcr, Quant::none, false, false};
constexpr GemmTraits kInt8{DType::int8, DType::int8, DType::int32, DType::int32,
                           Layout::rcr, Quant::none, false,        false};

/// Why it is refused; empty where it is not.
std::string text(const Status& status) {
  return status.message;
}

template <class Value, class Change>
Value with(Value value, Change change) {
  change(value);
  return value;
}

template <class Change>
std::string traits(const GemmTraits& from, Change change) {
  return text(check_traits(with(from, change)));
}

TEST(HostCheckGemm, TypesHaveKernelsOrAreNamed) {
  for (const DType type : {DType::fp32, DType::fp16, DType::bf16, DType::fp4, DType::fp8_fnuz, DType::fp8_ocp,
                           DType::bf8_fnuz, DType::bf8_ocp}) {
    EXPECT_EQ(traits(kPlain, [type](GemmTraits& t) { t.a = type; }), "");
    EXPECT_EQ(traits(kPlain, [type](GemmTraits& t) { t.b = type; }), "");
    EXPECT_EQ(is_fp8(type), bits(type) == 8);
  }
  EXPECT_FALSE(is_fp8(DType::int8) || is_fp8(DType::e8m0));
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.b = DType::int4; }), "");
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.a = DType::int4; }), "no host kernel for a=int4 b=bf16");
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.a = DType::int8; }), "no host kernel for a=int8 b=bf16");
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.b = DType::int8; }), "no host kernel for a=bf16 b=int8");
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.acc = DType::int32; }),
            "float operands accumulate in fp32, not int32");
  for (const DType type : {DType::fp32, DType::fp16, DType::bf16}) {
    EXPECT_EQ(traits(kPlain, [type](GemmTraits& t) { t.c = type; }), "");
    EXPECT_EQ(traits(kInt8, [type](GemmTraits& t) { t.c = type; }), "");
  }
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.c = DType::int32; }),
            "result dtype int32 is not one of fp32, fp16, bf16");
  EXPECT_EQ(traits(kInt8, [](GemmTraits&) {}), "");
  EXPECT_EQ(traits(kInt8, [](GemmTraits& t) { t.c = DType::fp8_ocp; }),
            "result dtype fp8_ocp is not one of int32, fp32, fp16, bf16");
  EXPECT_EQ(traits(kInt8, [](GemmTraits& t) { t.acc = DType::fp32; }), "int8 operands accumulate in int32, not fp32");
}

TEST(HostCheckGemm, QuantisationsAndLayoutsHaveKernelsOrAreNamed) {
  const std::string exact = "an int32 result takes neither scales nor bias";
  EXPECT_EQ(traits(kInt8, [](GemmTraits& t) { t.quant = Quant::rowwise; }), exact);
  EXPECT_EQ(traits(kInt8, [](GemmTraits& t) { t.bias = true; }), exact);
  EXPECT_EQ(traits(kInt8, [](GemmTraits& t) { t.quant = Quant::rowwise, t.c = DType::bf16, t.bias = true; }), "");
  EXPECT_EQ(traits(kInt8, [](GemmTraits& t) { t.quant = Quant::blockscale; }), "int8 operands have no blockscale twin");
  EXPECT_EQ(traits(kInt8, [](GemmTraits& t) { t.quant = Quant::mx; }), "int8 operands have no mx twin");
  const std::string packed = "an int4 B is packed along K and not preshuffled";
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.b = DType::int4, t.layout = Layout::rrr; }), packed);
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.b = DType::int4, t.preshuffle_b = true; }), packed);
  const std::string block = "the scale block is out of range", range = "quant or layout out of range";
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.scale_block = {ScaleSides::b, 1, 1}; }), "");
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.scale_block.k = 0; }), block);
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.scale_block.n = 0; }), block);
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.scale_block.sides = static_cast<ScaleSides>(3); }), block);
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.quant = Quant::mx, t.layout = Layout::crr; }), "");
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.quant = static_cast<Quant>(5); }), range);
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.layout = static_cast<Layout>(4); }), range);
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.preshuffle_b = true; }), "");
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.preshuffle_b = true, t.layout = Layout::rrr; }),
            "a preshuffled B needs layout rcr or ccr, not rrr");
}

TEST(HostCheckGemm, EveryNumberOfAConfigHasItsRange) {
  constexpr TwinConfig twin{16, 16, 16, 0, false, false, false};
  for (const auto field : {&TwinConfig::tile_m, &TwinConfig::tile_n, &TwinConfig::tile_k})
    for (const auto& [value, good] : {std::pair(0, false), {1, true}, {1 << 16, true}, {(1 << 16) + 1, false}})
      EXPECT_EQ(check_config(with(twin, [&](TwinConfig& c) { c.*field = value; })).ok(), good) << value;
  for (const auto& [mode, good] : {std::pair(-1, false), {0, true}, {2, true}, {3, false}})
    EXPECT_EQ(check_config(with(twin, [&](TwinConfig& c) { c.k_batch_mode = mode; })).ok(), good) << mode;
  EXPECT_EQ(text(check_config(TwinConfig{1, 2, 3, 4, false, false, false})),
            "tile 1x2x3 or k_batch_mode 4 is out of range");
  constexpr HostConfig host{Isa::x86_64_v3, 4, 16, 64, 512, 512, 0};
  for (const auto field : {&HostConfig::mc, &HostConfig::nc})
    for (const auto& [value, good] : {std::pair(0, false), {1, true}, {1 << 16, true}, {(1 << 16) + 1, false}})
      EXPECT_EQ(check_config(with(host, [&](HostConfig& c) { c.*field = value; })).ok(), good) << value;
  for (const auto& [depth, good] : {std::pair(0, false), {1, true}, {1 << 20, true}, {(1 << 20) + 1, false}})
    EXPECT_EQ(check_config(with(host, [&](HostConfig& c) { c.kc = depth; })).ok(), good) << depth;
  EXPECT_TRUE(check_config(with(host, [](HostConfig& c) { c.isa = Isa::x86_64_amx; })).ok());
  EXPECT_FALSE(check_config(with(host, [](HostConfig& c) { c.isa = static_cast<Isa>(4); })).ok());
  EXPECT_EQ(text(check_config(with(host, [](HostConfig& c) { c.threads = -1; }))),
            "mc=64 nc=512 kc=512 threads=-1 is out of range");
}

TEST(HostCheckGemm, ATwinSplitsAsItsConfigSays) {
  const TwinConfig whole{16, 16, 16, 0, true, true, true}, splitting{16, 16, 16, 1, true, true, true};
  EXPECT_EQ(text(check_twin(kPlain, whole, 1)), "");
  EXPECT_EQ(text(check_twin(kPlain, whole, 0)), "k_batch=0 is outside [1, 2^20]");
  EXPECT_EQ(text(check_twin(kPlain, splitting, 1 << 20)), "");
  EXPECT_EQ(text(check_twin(kPlain, splitting, (1 << 20) + 1)), "k_batch=1048577 is outside [1, 2^20]");
  EXPECT_EQ(text(check_twin(kPlain, whole, 2)), "k_batch=2, but this instance does not split K");
  const GemmTraits fused = with(kPlain, [](GemmTraits& t) { t.epilogue.ops[0] = EpilogueOp::relu; });
  EXPECT_EQ(text(check_twin(fused, splitting, 1)), "");
  EXPECT_EQ(text(check_twin(fused, splitting, 2)), "k_batch=2: an epilogue takes whole sums");
  EXPECT_NE(text(check_twin(kPlain, with(whole, [](TwinConfig& c) { c.tile_k = 0; }), 1)), "");
}

TEST(HostCheckGemm, EverySizeHasItsRange) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  const auto sizes = [](int which, std::int64_t value) {
    std::int64_t x[] = {1, 1, 1, 1};
    x[which] = value;
    return check_sizes(x[0], x[1], x[2], x[3]).ok();
  };
  for (int which = 0; which < 4; ++which) {
    EXPECT_TRUE(sizes(which, 0) && sizes(which, most)) << which;
    EXPECT_FALSE(sizes(which, -1) || sizes(which, most + 1)) << which;
  }
  EXPECT_EQ(text(check_sizes(-1, 2, 3, 4)), "m=-1 n=2 k=3 batch=4: each must be in [0, 2^40]");
}

class HostCheckGemmArgs : public testing::Test {
 protected:
  HostCheckGemmArgs() {
    args_.a = args_.b = args_.c = memory_;
    args_.m = 3, args_.n = 16, args_.k = 64, args_.batch = 1;
    args_.lda = args_.ldb = 64, args_.ldc = 16;
  }
  template <class Change>
  std::string refusal(const GemmTraits& t, Change change) const {
    return text(check_args(t, with(args_, change)));
  }
  char memory_[64] = {};
  GemmArgs args_{};
};

TEST_F(HostCheckGemmArgs, NullsAreNamed) {
  EXPECT_EQ(refusal(kPlain, [](GemmArgs&) {}), "");
  EXPECT_EQ(refusal(kPlain, [](GemmArgs& x) { x.c = nullptr; }), "c is null");
  EXPECT_EQ(refusal(kPlain, [](GemmArgs& x) { x.a = nullptr; }), "a is null");
  EXPECT_EQ(refusal(kPlain, [](GemmArgs& x) { x.b = nullptr; }), "b is null");
  EXPECT_EQ(refusal(kPlain, [](GemmArgs& x) { x.a = x.b = nullptr, x.k = 0; }), "");
  EXPECT_EQ(refusal(kPlain, [](GemmArgs& x) { x.bias = x.c; }), "bias is given, but this instance adds none");
  const GemmTraits biased = with(kPlain, [](GemmTraits& t) { t.bias = true; });
  EXPECT_EQ(refusal(biased, [](GemmArgs&) {}), "bias is null");
  EXPECT_EQ(refusal(biased, [](GemmArgs& x) { x.bias = x.c; }), "");
}

TEST_F(HostCheckGemmArgs, ScalesAreNeededWhereTheyAreRead) {
  for (const Quant quant : {Quant::per_tensor, Quant::rowwise, Quant::blockscale, Quant::mx}) {
    GemmTraits t = with(kPlain, [quant](GemmTraits& x) { x.quant = quant; });
    EXPECT_EQ(refusal(t, [](GemmArgs& x) { x.a_scale = x.b_scale = x.c; }), "");
    EXPECT_EQ(refusal(t, [](GemmArgs& x) { x.b_scale = x.c; }), "a_scale is null");
    EXPECT_EQ(refusal(t, [](GemmArgs& x) { x.a_scale = x.c; }), "b_scale is null");
    const bool by_groups = quant == Quant::blockscale || quant == Quant::mx;
    EXPECT_EQ(refusal(t, [](GemmArgs& x) { x.k = 0; }), by_groups ? "" : "a_scale is null");
    if (quant != Quant::blockscale) continue;
    t.scale_block.sides = ScaleSides::b;
    EXPECT_EQ(refusal(t, [](GemmArgs& x) { x.b_scale = x.c; }), "");
    t.scale_block.sides = ScaleSides::a;
    EXPECT_EQ(refusal(t, [](GemmArgs& x) { x.a_scale = x.c; }), "");
  }
}

TEST_F(HostCheckGemmArgs, RowsAreAsLongAsTheLayoutSays) {
  const struct {
    Layout layout;
    std::int64_t lda, ldb;
  } layouts[] = {{Layout::rcr, 64, 64}, {Layout::rrr, 64, 16}, {Layout::ccr, 3, 64}, {Layout::crr, 3, 16}};
  for (const auto& [layout, lda, ldb] : layouts) {
    const GemmTraits t = with(kPlain, [layout = layout](GemmTraits& x) { x.layout = layout; });
    args_.lda = lda, args_.ldb = ldb;
    EXPECT_EQ(refusal(t, [](GemmArgs&) {}), "") << name(layout);
    EXPECT_EQ(refusal(t, [](GemmArgs& x) { --x.lda; }),
              "lda=" + std::to_string(lda - 1) + " is less than the row length " + std::to_string(lda));
    EXPECT_EQ(refusal(t, [](GemmArgs& x) { --x.ldb; }),
              "ldb=" + std::to_string(ldb - 1) + " is less than the row length " + std::to_string(ldb));
  }
  args_.lda = args_.ldb = 64;
  EXPECT_EQ(refusal(kPlain, [](GemmArgs& x) { x.ldc = 15; }), "ldc=15 is less than the row length 16");
  const GemmTraits shuffled = with(kPlain, [](GemmTraits& t) { t.preshuffle_b = true; });
  EXPECT_EQ(refusal(shuffled, [](GemmArgs& x) { x.ldb = 0; }), "");
  const std::string blocks = "preshuffled B needs n=";
  EXPECT_EQ(refusal(shuffled, [](GemmArgs& x) { x.n = 8; }).find(blocks + "8"), 0U);
  EXPECT_EQ(refusal(shuffled, [](GemmArgs& x) { x.k = 24; }).find(blocks + "16"), 0U);
}

TEST_F(HostCheckGemmArgs, BatchesNeitherOverlapNorStartInsideAByte) {
  args_.batch = 2;
  args_.batch_stride_c = 2 * 16 + 16;
  EXPECT_EQ(refusal(kPlain, [](GemmArgs&) {}), "");
  EXPECT_EQ(refusal(kPlain, [](GemmArgs& x) { --x.batch_stride_c; }), "batch_stride_c=47 makes the results overlap");
  EXPECT_EQ(refusal(kPlain, [](GemmArgs& x) { x.batch_stride_a = -1; }), "batch_stride_a=-1 is negative");
  EXPECT_EQ(refusal(kPlain, [](GemmArgs& x) { x.batch_stride_b = -1; }), "batch_stride_b=-1 is negative");
  EXPECT_EQ(refusal(kPlain, [](GemmArgs& x) { x.batch_stride_a = -1, x.batch = 1; }), "");
  EXPECT_EQ(refusal(kPlain, [](GemmArgs& x) { x.batch_stride_a = 65; }), "");
  const GemmTraits nibbles = with(kPlain, [](GemmTraits& t) { t.a = DType::fp4; });
  EXPECT_EQ(refusal(nibbles, [](GemmArgs& x) { x.batch_stride_a = 65; }),
            "batch_stride_a=65 would start inside a byte");
  EXPECT_EQ(refusal(nibbles, [](GemmArgs& x) { x.batch_stride_a = 65, x.batch = 1; }), "");
  EXPECT_EQ(refusal(nibbles, [](GemmArgs& x) { x.batch_stride_a = 66; }), "");
}

TEST_F(HostCheckGemmArgs, ExtentsFitIn63Bits) {
  constexpr std::int64_t most = std::int64_t{1} << 60;
  const std::string told = "a: the extent does not fit in 63 bits";
  EXPECT_EQ(refusal(kPlain, [](GemmArgs& x) { x.m = 1, x.lda = most; }), "");
  EXPECT_EQ(refusal(kPlain, [](GemmArgs& x) { x.m = 1, x.lda = most + 1; }), told);
  EXPECT_EQ(refusal(kPlain, [](GemmArgs& x) { x.m = 16, x.lda = most; }), told);
  args_.batch = 2;
  args_.batch_stride_c = 64;
  EXPECT_EQ(refusal(kPlain, [](GemmArgs& x) { x.batch_stride_a = most / 2 - 96; }), "");
  EXPECT_EQ(refusal(kPlain, [](GemmArgs& x) { x.batch_stride_a = most / 2 - 95; }), told);
  EXPECT_EQ(refusal(kPlain, [](GemmArgs& x) { x.batch_stride_a = most * 4; }), told);
}

TEST_F(HostCheckGemmArgs, WhatIsNotPaddedIsWholeTiles) {
  const TwinConfig none{16, 32, 24, 1, false, false, false}, all{16, 32, 24, 1, true, true, true};
  const auto padding = [&](Layout layout, const TwinConfig& c, std::int64_t k_batch, std::int64_t m, std::int64_t n,
                           std::int64_t k) {
    const GemmTraits t = with(kPlain, [layout](GemmTraits& x) { x.layout = layout; });
    return text(check_padding(t, c, k_batch, with(args_, [&](GemmArgs& x) { x.m = m, x.n = n, x.k = k; })));
  };
  EXPECT_EQ(padding(Layout::crr, none, 2, 16, 32, 48), "");
  EXPECT_EQ(padding(Layout::crr, all, 2, 15, 31, 47), "");
  EXPECT_EQ(padding(Layout::crr, none, 2, 16, 32, 24), "k=24 is not a multiple of 48 and this instance does not pad k");
  EXPECT_EQ(padding(Layout::crr, none, 1, 15, 32, 24), "m=15 is not a multiple of 16 and this instance does not pad m");
  EXPECT_EQ(padding(Layout::crr, none, 1, 16, 31, 24), "n=31 is not a multiple of 32 and this instance does not pad n");
  EXPECT_EQ(padding(Layout::rcr, none, 1, 15, 31, 24), "") << "rows of A and columns of B need no padding";
}

TEST_F(HostCheckGemmArgs, FusedTensorsHaveTheirSizes) {
  const GemmTraits added = with(kPlain, [](GemmTraits& t) { t.epilogue.ops[0] = EpilogueOp::add; });
  args_.d[0] = memory_, args_.ldd[0] = 16;
  EXPECT_EQ(refusal(added, [](GemmArgs&) {}), "");
  EXPECT_EQ(refusal(added, [](GemmArgs& x) { x.d[0] = nullptr; }), "d0 is null");
  EXPECT_EQ(refusal(added, [](GemmArgs& x) { x.ldd[0] = 0; }), "") << "one row for all";
  EXPECT_EQ(refusal(added, [](GemmArgs& x) { x.ldd[0] = 15; }), "ldd0=15: less than 16");
  EXPECT_EQ(refusal(added, [](GemmArgs& x) { x.batch_stride_d[0] = -1; }), "");
  args_.batch = 2;
  args_.batch_stride_c = 64;
  EXPECT_EQ(refusal(added, [](GemmArgs& x) { x.batch_stride_d[0] = -1; }), "batch_stride_d0=-1: less than 0");
  EXPECT_EQ(refusal(added, [](GemmArgs& x) { x.ldd[0] = (std::int64_t{1} << 60) / 3 + 1; }),
            "d0: the extent does not fit in 63 bits");
  const GemmTraits both = with(kPlain, [](GemmTraits& t) { t.a_op = OperandOp::add, t.b_op = OperandOp::mul; });
  EXPECT_EQ(refusal(both, [](GemmArgs& x) { x.b1 = x.c; }), "a1 is null");
  EXPECT_EQ(refusal(both, [](GemmArgs& x) { x.a1 = x.c; }), "b1 is null");
  EXPECT_EQ(refusal(both, [](GemmArgs& x) { x.k = 0; }), "");
}

TEST(HostCheckGemm, FusedOpsHaveKernelsOrAreNamed) {
  const auto range = "an epilogue's op is out of range";
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.epilogue.ops[0] = EpilogueOp::scale; }), "");
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.epilogue.ops[0] = static_cast<EpilogueOp>(7); }), range);
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.epilogue.ops[0] = t.epilogue.ops[1] = EpilogueOp::add; }), "");
  EXPECT_EQ(traits(kPlain,
                   [](GemmTraits& t) {
                     for (auto& op : t.epilogue.ops) op = EpilogueOp::mul;
                   }),
            "an epilogue takes at most 2 D tensors");
  EXPECT_EQ(traits(kInt8, [](GemmTraits& t) { t.epilogue.ops[0] = EpilogueOp::relu; }),
            "no epilogue is defined for a result of int32");
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.a_op = OperandOp::mul; }), "");
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.a_op = static_cast<OperandOp>(3); }), "the op of A is out of range");
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.b_op = OperandOp::add, t.preshuffle_b = true; }),
            "no host kernel makes B of bf16 from two tensors");
  EXPECT_EQ(traits(kPlain, [](GemmTraits& t) { t.a_op = OperandOp::add, t.quant = Quant::rowwise; }),
            "no host kernel makes A of bf16 from two tensors");
}

TEST(HostCheckGemm, AWorkspaceIsAligned) {
  alignas(16) static char memory[32];
  EXPECT_TRUE(check_workspace(memory).ok());
  for (const int off : {1, 8, 15}) EXPECT_FALSE(check_workspace(memory + off).ok());
  EXPECT_EQ(text(check_workspace(nullptr)), "workspace is null or not aligned to 16 bytes");
}

}  // namespace test_host_check_gemm
