// Attention on the CPU against its definition in fp64: masks, lengths, biases, dropout, descales, and what is refused.
#include "backends/host/fmha/host_fmha_reference.hpp"

namespace host_test {
namespace test_host_fmha_options {

TEST(HostFmhaOptions, MasksOfBothCornersWithWindowsAndSinkTokens) {
  FmhaTraits traits;
  traits.masked = traits.lse = true;
  for (const FmhaCorner corner : {FmhaCorner::top_left, FmhaCorner::bottom_right})
    for (const auto& [left, right] :
         {std::pair{-1, 0}, std::pair{5, 0}, std::pair{40, 17}, std::pair{-1, -1}, std::pair{0, 3}, std::pair{70, -1}})
      for (const int sink : {0, 3, 37})
        for (const auto& [rows, columns] : {std::pair{50, 130}, std::pair{97, 40}}) {
          SCOPED_TRACE(testing::Message() << name(corner) << " " << left << " " << right << " sink " << sink << " of "
                                          << rows << " x " << columns);
          FmhaShape shape = fmha_shape(1, 2, 1, rows, columns, 16, 8);
          shape.corner = corner;
          shape.window_left = left, shape.window_right = right, shape.sink_tokens = sink;
          FmhaCase c = fmha_case(DType::bf16, DType::bf16, DType::fp32, traits, shape);
          c.n0 = 32;
          expect_right(c);
        }
}

// All rows of a group, being query heads of one row, then begin at the same whole panel.
TEST(HostFmhaOptions, AWindowMayBeginAtAPanel) {
  for (const DType type : {DType::fp32, DType::bf16})
    for (const int left : {31, 32, 63}) {
      FmhaTraits traits;
      traits.masked = traits.lse = traits.v_column = true;  // packed, however few the rows
      FmhaShape shape = fmha_shape(1, 8, 1, 1, 128, 16, 16);
      shape.window_left = left;
      FmhaCase c = fmha_case(type, type, type, traits, shape);
      c.n0 = 128;
      expect_right(c);
    }
}

// What no row sees may be anything, even a NaN.
TEST(HostFmhaOptions, HiddenTilesAreNotRead) {
  FmhaTraits traits;
  traits.masked = true;
  FmhaShape shape = fmha_shape(1, 2, 2, 40, 400, 16, 16);
  shape.corner = FmhaCorner::top_left;
  shape.window_left = 10;
  FmhaCase c = fmha_case(DType::fp32, DType::fp32, DType::fp32, traits, shape);
  c.n0 = 32, c.m0 = 8;
  FmhaFixture f(c);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t j = 64; j < 400; ++j)
    for (std::int64_t i = 0; i < 32; ++i) {
      write(DType::fp32, f.k.data(), j * 32 + i, nan);
      write(DType::fp32, f.v.data(), j * 32 + i, nan);
    }
  ASSERT_TRUE(f.run().ok());
  expect_right(f);
}

TEST(HostFmhaOptions, VarlenWithEmptySequences) {
  for (const bool masked : {false, true})
    for (const bool used : {false, true}) {
      FmhaTraits traits;
      traits.varlen = traits.lse = true;
      traits.masked = masked;
      FmhaCase c = fmha_case(DType::bf16, DType::bf16, DType::bf16, traits, fmha_shape(5, 4, 2, 70, 90, 32, 24));
      c.rows_q = {13, 0, 70, 5, 9};
      c.rows_k = {90, 20, 33, 0, 9};
      if (used) c.used_q = {13, 0, 50, 5, 1}, c.used_k = {77, 3, 33, 0, 0};
      c.m0 = 16;
      expect_right(c);
    }
}

TEST(HostFmhaOptions, VarlenWithColumnsOfValues) {
  FmhaTraits traits;
  traits.varlen = traits.v_column = true;
  FmhaCase c = fmha_case(DType::bf16, DType::bf16, DType::fp32, traits, fmha_shape(3, 2, 1, 20, 45, 16, 33));
  c.rows_q = {13, 20, 5}, c.rows_k = {11, 45, 32};
  expect_right(c);
}

TEST(HostFmhaOptions, LengthsOfABatch) {
  FmhaTraits traits;
  traits.masked = traits.lse = true;
  FmhaCase c = fmha_case(DType::fp16, DType::fp16, DType::fp16, traits, fmha_shape(4, 2, 2, 30, 100, 24, 24));
  c.used_k = {100, 0, 1, 63};
  expect_right(c);
}

TEST(HostFmhaOptions, NoColumnsAtAll) {
  for (const bool sink : {false, true}) {
    FmhaTraits traits;
    traits.lse = true;
    traits.sink = sink;
    expect_right(fmha_case(DType::bf16, DType::bf16, DType::bf16, traits, fmha_shape(1, 2, 2, 9, 0, 16, 16)));
  }
  FmhaFixture nothing(fmha_case(DType::bf16, DType::bf16, DType::bf16, {}, fmha_shape(1, 2, 2, 0, 9, 16, 16)));
  EXPECT_TRUE(nothing.run().ok());
}

TEST(HostFmhaOptions, BiasSoftcapAndSink) {
  for (const FmhaBias bias : {FmhaBias::none, FmhaBias::elementwise, FmhaBias::alibi})
    for (int options = 0; options < 8; ++options)
      for (const DType type : {DType::fp32, DType::bf16}) {
        SCOPED_TRACE(testing::Message() << name(bias) << " " << options);
        FmhaTraits traits;
        traits.bias = bias;
        traits.softcap = options & 1, traits.sink = options & 2, traits.masked = options & 4;
        traits.lse = true;
        FmhaCase c = fmha_case(type, type, type, traits, fmha_shape(2, 4, 2, 21, 75, 16, 16));
        c.alibi_per_batch = options & 1;
        c.n0 = 32;
        expect_right(c);
      }
}

TEST(HostFmhaOptions, VarlenWithBiasAndDropout) {
  for (const FmhaBias bias : {FmhaBias::elementwise, FmhaBias::alibi}) {
    FmhaTraits traits;
    traits.varlen = traits.masked = true;
    traits.bias = bias;
    traits.dropout = FmhaDropout::randval;
    FmhaCase c = fmha_case(DType::fp16, DType::fp16, DType::fp16, traits, fmha_shape(3, 4, 2, 25, 60, 16, 16));
    c.rows_q = {3, 25, 10}, c.rows_k = {60, 7, 31};
    c.alibi_per_batch = true;
    expect_right(c);
  }
}

TEST(HostFmhaOptions, Dropout) {
  for (const FmhaDropout dropout : {FmhaDropout::philox, FmhaDropout::randval})
    for (const float p : {0.0F, 0.25F, 0.9F})
      for (const std::uint32_t splits : {1U, 2U}) {
        SCOPED_TRACE(testing::Message() << name(dropout) << " " << p);
        FmhaTraits traits;
        traits.dropout = dropout;
        traits.lse = traits.masked = true;
        FmhaCase c = fmha_case(DType::bf16, DType::bf16, DType::fp32, traits, fmha_shape(2, 4, 2, 45, 110, 16, 16));
        c.p_drop = p;
        c.n0 = 48;
        c.splits = splits;
        expect_right(c);
      }
}

TEST(HostFmhaOptions, Descales) {
  for (const FmhaQuant quant : {FmhaQuant::per_tensor, FmhaQuant::blockscale})
    for (const DType type : {DType::fp8_ocp, DType::fp8_fnuz})
      for (const DType o : {DType::bf16, DType::fp16, DType::fp32}) {
        FmhaTraits traits;
        traits.quant = quant;
        traits.lse = traits.masked = true;
        FmhaCase c = fmha_case(type, type, o, traits, fmha_shape(2, 4, 2, 140, 270, 16, 24));
        c.n0 = 96;
        expect_right(c);
      }
}

// ---- refused --------------------------------------------------------------------------------------------------------

FmhaCase plain() {
  FmhaTraits traits;
  traits.lse = true;
  return fmha_case(DType::bf16, DType::bf16, DType::bf16, traits, fmha_shape(2, 2, 2, 5, 9, 16, 16));
}

template <class Change>
void expect_refused(FmhaCase c, StatusCode code, const std::string& text, Change change) {
  FmhaFixture f(std::move(c));
  change(f);
  const Bytes before = f.o;
  const Status s = f.run();
  EXPECT_EQ(s.code, code) << s.message;
  EXPECT_NE(std::string(s.message).find(text), std::string::npos) << s.message << " has no " << text;
  EXPECT_EQ(f.o, before);
}

TEST(HostFmhaOptions, NullsAreNamed) {
  const auto refused = [](const FmhaCase& c, const std::string& text, auto change) {
    expect_refused(c, StatusCode::invalid_argument, text + " is null", change);
  };
  refused(plain(), "q", [](FmhaFixture& f) { f.args.q = nullptr; });
  refused(plain(), "k", [](FmhaFixture& f) { f.args.k = nullptr; });
  refused(plain(), "v", [](FmhaFixture& f) { f.args.v = nullptr; });
  refused(plain(), "o", [](FmhaFixture& f) { f.args.o = nullptr; });
  refused(plain(), "lse", [](FmhaFixture& f) { f.args.lse = nullptr; });
  FmhaCase c = plain();
  c.signature.fmha.sink = true;
  refused(c, "sink", [](FmhaFixture& f) { f.args.sink = nullptr; });
  c.signature.fmha.bias = FmhaBias::elementwise;
  refused(c, "bias", [](FmhaFixture& f) { f.args.bias = nullptr; });
  c.signature.fmha.dropout = FmhaDropout::randval;
  refused(c, "rand_val", [](FmhaFixture& f) { f.args.rand_val = nullptr; });
}

TEST(HostFmhaOptions, LengthsAreWithinTheShape) {
  FmhaCase c = plain();
  for (const std::int32_t bad : {-1, 10}) {
    c.used_k = {9, bad};
    expect_refused(c, StatusCode::invalid_argument, "seqlen_k of sequence 1", [](FmhaFixture&) {});
  }
  c = plain();
  c.signature.fmha.varlen = true;
  c.rows_q = {5, 4}, c.rows_k = {9, 9};
  expect_refused(c, StatusCode::invalid_argument, "seqstart_q falls", [](FmhaFixture& f) { f.seqstart_q[2] = 3; });
  c.rows_q = {6, 2};
  expect_refused(c, StatusCode::invalid_argument, "seqstart_q of sequence 0", [](FmhaFixture&) {});
  c.rows_q = {5, 4};
  c.used_q = {5, 5}, c.used_k = {9, 9};
  expect_refused(c, StatusCode::invalid_argument, "seqlen_q of sequence 1", [](FmhaFixture&) {});
}

TEST(HostFmhaOptions, NumbersOutOfRange) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const auto refused = [](const FmhaCase& c, const std::string& text, auto change) {
    expect_refused(c, StatusCode::invalid_argument, text, change);
  };
  for (const float bad : {nan, infinity})
    refused(plain(), "scale is not finite", [bad](FmhaFixture& f) { f.args.scale = bad; });
  FmhaCase c = plain();
  c.signature.fmha.softcap = true;
  for (const float bad : {0.0F, -1.0F, nan}) refused(c, "softcap", [bad](FmhaFixture& f) { f.args.softcap = bad; });
  c.signature.fmha.dropout = FmhaDropout::philox;
  for (const float bad : {-0.1F, 1.0F, nan}) refused(c, "p_drop", [bad](FmhaFixture& f) { f.args.p_drop = bad; });
  refused(plain(), "stride of k is negative", [](FmhaFixture& f) { f.args.k_strides.row = -1; });
  refused(plain(), "rows of o overlap", [](FmhaFixture& f) { f.args.o_strides.row = 15; });
  refused(plain(), "hdim_q=257", [](FmhaFixture& f) { f.c.shape.hdim_q = 257; });
  refused(plain(), "heads_q=2", [](FmhaFixture& f) { f.c.shape.heads_k = 3; });
  refused(plain(), "vectorized", [](FmhaFixture& f) { f.c.signature.fmha.kv_layout = FmhaKvLayout::vectorized; });
}

TEST(HostFmhaOptions, WhatHasNoKernelIsNamed) {
  const auto refused = [](const std::string& text, auto change) {
    expect_refused(plain(), StatusCode::unsupported, text, change);
  };
  refused("append", [](FmhaFixture& f) { f.c.signature.fmha.entry = FmhaEntry::append; });
  refused("o=int8", [](FmhaFixture& f) { f.c.signature.c = DType::int8; });
  refused("64 x 257", [](FmhaFixture& f) { f.c.n0 = 257; });
}

}  // namespace test_host_fmha_options
}  // namespace host_test
