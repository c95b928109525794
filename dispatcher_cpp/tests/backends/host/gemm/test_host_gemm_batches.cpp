// Batches of GEMMs on the CPU: an operand that all products share is there once, with its scales; and what needs no
// workspace.
#include "backends/host/gemm/gemm.hpp"
#include "backends/host/host_fixture.hpp"

#include <string>

namespace test_host_gemm_batches {

using namespace host_test;

constexpr host::TwinConfig kTile{32, 64, 32, 1, true, true, true};
constexpr host::HostConfig kOwn{host::Isa::x86_64_v3, 6, 16, 64, 64, 128, 2};

void run(const Fixture& f, bool twin) {
  const GemmArgs& x = f.args;
  const Workspace w(twin ? host::gemm_twin_workspace(f.traits, kTile, 1, x.m, x.n, x.k, x.batch)
                         : host::gemm_host_workspace(f.traits, kOwn, x.m, x.n, x.k, x.batch));
  const Status s =
      twin ? host::run_gemm_twin(f.traits, kTile, 1, x, w.data) : host::run_gemm_host(f.traits, kOwn, x, w.data);
  ASSERT_TRUE(s.ok()) << s.message;
}

/// Three products with one A, or one B: each has the bits of a product of its own.
void expect_shared(const GemmTraits& t, Shape shape, bool twin, bool of_a, bool shuffled) {
  Fixture all(t, shape, 3), one(t, shape);
  all.args.mx_scale_shuffled = one.args.mx_scale_shuffled = shuffled;
  (of_a ? all.args.batch_stride_a : all.args.batch_stride_b) = 0;
  const auto room = [](std::int64_t rows, std::int64_t groups) {
    return std::max(rows * groups, shuffled_mx_scale_bytes(rows, groups));
  };
  // Memory of one product's scales for what is shared, of three for what is not; codes of mx are any of ten powers.
  Bytes a_codes, b_codes;
  if (t.quant == Quant::mx) {
    const std::int64_t a_bytes = room(shape.m, all.groups), b_bytes = room(shape.n, all.groups);
    for (std::int64_t i = 0; i < a_bytes * (of_a ? 1 : 3); ++i)
      a_codes.push_back(static_cast<unsigned char>(122 + i * 7 % 10));
    for (std::int64_t i = 0; i < b_bytes * (of_a ? 3 : 1); ++i)
      b_codes.push_back(static_cast<unsigned char>(122 + i * 3 % 10));
    all.args.a_scale = a_codes.data(), all.args.b_scale = b_codes.data();
  } else if (t.quant != Quant::none) {
    for (std::size_t i = 0; i < all.sa.size(); ++i) all.sa[i] = static_cast<float>(1 << i * 5 % 7);
    for (std::size_t i = 0; i < all.sb.size(); ++i) all.sb[i] = static_cast<float>(1 << i * 3 % 7);
  }
  run(all, twin);
  const std::int64_t a_scales = t.quant != Quant::mx ? shape.m * all.groups
                                : shuffled           ? shuffled_mx_scale_bytes(shape.m, all.groups)
                                                     : shape.m * all.groups;
  const std::int64_t b_rows = t.quant == Quant::blockscale ? (shape.n + 127) / 128 : shape.n;
  const std::int64_t b_scales =
      t.quant == Quant::mx && shuffled ? shuffled_mx_scale_bytes(shape.n, all.groups) : b_rows * all.groups;
  const std::int64_t size = t.quant == Quant::mx ? 1 : 4;
  for (std::int64_t i = 0; i < 3; ++i) {
    const GemmArgs& from = all.args;
    GemmArgs& x = one.args;
    x.a = static_cast<const unsigned char*>(from.a) + bytes_of(t.a, i * from.batch_stride_a);
    x.b = static_cast<const unsigned char*>(from.b) + bytes_of(t.b, i * from.batch_stride_b);
    if (t.quant != Quant::none) {
      x.a_scale = static_cast<const unsigned char*>(from.a_scale) + (of_a ? 0 : i * a_scales * size);
      x.b_scale = static_cast<const unsigned char*>(from.b_scale) + (of_a ? i * b_scales * size : 0);
    }
    x.bias = from.bias;
    run(one, twin);
    const std::int64_t bytes = bytes_of(t.c, from.batch_stride_c);
    ASSERT_EQ(std::memcmp(one.c.data(), all.c.data() + i * bytes, static_cast<std::size_t>(bytes)), 0)
        << "product " << i;
  }
}

TEST(HostGemmBatches, ASharedOperandIsThereOnceWithItsScales) {
  for (const Quant quant : {Quant::none, Quant::rowwise, Quant::blockscale, Quant::mx})
    for (const std::int64_t m : {3, 40})
      for (const bool twin : {true, false})
        for (const bool of_a : {true, false})
          for (const bool shuffled : {false, true}) {
            if (shuffled && quant != Quant::mx) continue;
            SCOPED_TRACE(testing::Message() << name(quant) << " m " << m << (twin ? " twin" : "")
                                            << (of_a ? " A" : " B") << (shuffled ? " shuffled" : ""));
            const DType type = quant == Quant::none ? DType::bf16 : DType::fp8_ocp;
            expect_shared({type, type, DType::fp32, DType::fp32, Layout::rcr, quant, false, true}, {m, 150, 200}, twin,
                          of_a, shuffled);
          }
}

TEST(HostGemmBatches, WhatCannotRunOrHasNoResultNeedsNoWorkspace) {
  const GemmTraits t{DType::bf16, DType::bf16, DType::fp32, DType::fp32, Layout::rcr, Quant::none, false, false};
  const auto needs = [&](const GemmTraits& traits, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) {
    std::string bytes;
    for (const std::size_t found :
         {host::gemm_twin_workspace(traits, kTile, 1, m, n, k, batch),
          host::gemm_host_workspace(traits, kOwn, m, n, k, batch),
          host::gemm_twin_stream_k_workspace(traits, kTile, Strategy::linear, 2, m, n, k, batch),
          host::gemm_host_stream_k_workspace(traits, kOwn, Strategy::linear, 2, m, n, k, batch)})
      bytes += found == 0 ? "0" : found >= 1000 ? "x" : "?";
    return bytes;
  };
  EXPECT_EQ(needs(t, 40, 150, 400, 1), "xxxx");
  EXPECT_EQ(needs(t, 0, 150, 400, 1), "0000");
  EXPECT_EQ(needs(t, 40, 0, 400, 1), "0000");
  EXPECT_EQ(needs(t, 40, 150, 400, 0), "0000");
  EXPECT_EQ(needs(t, -1, 150, 400, 1), "0000");
  EXPECT_EQ(needs(t, 40, 150, 0, 1), "xx00") << "no iteration of K";
  EXPECT_EQ(needs(t, 1, 1, 1, 1), "xx00") << "fewer iterations than workgroups";
  GemmTraits wrong = t;
  wrong.c = DType::int32;
  EXPECT_EQ(needs(wrong, 40, 150, 400, 1), "0000");
  wrong = t, wrong.quant = Quant::mx;
  EXPECT_EQ(needs(wrong, 40, 150, 400, 1), "xx00") << "scales of K groups";
  for (const Strategy strategy : {Strategy::data_parallel, Strategy::linear, Strategy::atomic, Strategy::tree}) {
    const bool is_cut = strategy != Strategy::data_parallel;
    EXPECT_EQ(host::gemm_twin_stream_k_workspace(t, kTile, strategy, 2, 40, 150, 400, 1) != 0, is_cut);
    EXPECT_EQ(host::gemm_host_stream_k_workspace(t, kOwn, strategy, 2, 40, 150, 400, 1) != 0, is_cut);
  }
  EXPECT_EQ(host::gemm_twin_stream_k_workspace(t, kTile, Strategy::linear, 0, 40, 150, 400, 1), 0U);
  EXPECT_NE(host::gemm_twin_stream_k_workspace(t, kTile, Strategy::linear, 1, 40, 150, 400, 1), 0U);
  EXPECT_EQ(host::gemm_twin_workspace(t, kTile, 0, 40, 150, 400, 1), 0U);
  host::TwinConfig whole = kTile;
  whole.k_batch_mode = 0;
  EXPECT_EQ(host::gemm_twin_workspace(t, whole, 2, 40, 150, 400, 1), 0U);
}

}  // namespace test_host_gemm_batches
