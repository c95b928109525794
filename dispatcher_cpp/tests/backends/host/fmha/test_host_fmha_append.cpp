// Appending to a cache on the CPU against its definition in fp64: types, layouts, rotation, lengths, refusals.
#include "backends/host/fmha/host_fmha_append_fixture.hpp"

#include <algorithm>

namespace host_test {
namespace test_host_fmha_append {

TEST(HostFmhaAppend, EveryLayoutWithAndWithoutRotation) {
  for (const FmhaRope rope : {FmhaRope::none, FmhaRope::interleaved, FmhaRope::half})
    for (const FmhaKv kv : {FmhaKv::contiguous, FmhaKv::block_table, FmhaKv::page_list})
      for (const bool varlen : {false, true})
        for (const bool other : {false, true}) {
          SCOPED_TRACE(testing::Message() << name(rope) << " " << name(kv) << " " << varlen << other);
          FmhaTraits traits;
          traits.rope = rope, traits.kv = kv, traits.varlen = varlen;
          if (kv != FmhaKv::contiguous && other) traits.kv_layout = FmhaKvLayout::vectorized;
          traits.v_column = kv == FmhaKv::contiguous && other && !varlen;
          AppendFixture(append_case(DType::bf16, traits)).expect_right();
        }
}

TEST(HostFmhaAppend, EveryType) {
  FmhaTraits traits;
  traits.rope = FmhaRope::half;
  for (const DType type : {DType::fp32, DType::fp16, DType::bf16}) {
    AppendCase c = append_case(type, traits);
    c.in_place = type == DType::fp16;
    AppendFixture(c).expect_right();
  }
  traits.kv = FmhaKv::block_table;
  for (const FmhaQuant quant : {FmhaQuant::per_tensor, FmhaQuant::kv_blockscale})
    for (const DType type : {DType::fp8_ocp, DType::fp8_fnuz}) {
      traits.quant = quant;
      traits.kv_layout = type == DType::fp8_ocp ? FmhaKvLayout::vectorized : FmhaKvLayout::linear;
      AppendFixture(append_case(DType::bf16, traits, type)).expect_right();
    }
}

TEST(HostFmhaAppend, RowsOfQAreThoseThatAreGiven) {
  FmhaTraits traits;
  traits.rope = FmhaRope::interleaved;
  for (const std::int64_t rows : {0, 1, 4}) {
    AppendCase c = append_case(DType::fp32, traits);
    c.shape.seqlen_q = rows;
    AppendFixture(c).expect_right();
  }
  AppendCase c = append_case(DType::fp32, traits);
  c.shape.seqlen_new = 0;
  c.added = {0, 0, 0};
  AppendFixture(c).expect_right();
}

TEST(HostFmhaAppend, ValuesBeyondTheLargestAreLimited) {
  FmhaTraits traits;
  traits.quant = FmhaQuant::per_tensor;
  AppendFixture one(append_case(DType::fp16, traits, DType::fp8_fnuz));
  one.descales[0] = 1e-3F;
  ASSERT_TRUE(one.run().ok());
  double most = 0;
  for (std::int64_t i = 0; i < 5 * 2 * 32; ++i) most = std::max(most, double{read(DType::fp8_fnuz, one.k.data(), i)});
  EXPECT_EQ(most, 240);
}

}  // namespace test_host_fmha_append
}  // namespace host_test
