// Attention over the C API: every argument arrives where it belongs.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "c_api/c_api_fmha_fixture.hpp"

namespace test_c_api_fmha_args {

using namespace c_api_fmha;

class CApiFmhaArgs : public CApiFmha {
 protected:
  /// A new address for each call, on ints that are lengths of sequences that fit.
  template <class T>
  T* fresh() {
    return reinterpret_cast<T*>(memory.data() + 64 * ++used);
  }

  std::vector<char> memory = std::vector<char>(4096);
  std::size_t used = 0;
};

TEST_F(CApiFmhaArgs, EveryFieldOfTheArgumentsArrives) {
  make_plan(kSignature);
  ckgen_fmha_args x{};
  x.size = sizeof x;
  x.q = fresh<char>();
  x.k = fresh<char>();
  x.v = fresh<char>();
  x.o = fresh<char>();
  x.lse = fresh<float>();
  x.bias = fresh<char>();
  x.sink = fresh<float>();
  x.rand_val = fresh<std::uint8_t>();
  x.q_descale = fresh<float>();
  x.k_descale = fresh<float>();
  x.v_descale = fresh<float>();
  std::int64_t next = 1000;
  for (ckgen_fmha_strides* strides :
       {&x.q_strides, &x.k_strides, &x.v_strides, &x.o_strides, &x.bias_strides, &x.rand_val_strides}) {
    strides->row = ++next;
    strides->head = 100 * ++next;
    strides->batch = 10000 * ++next;
  }
  x.lse_head_stride = ++next;
  x.lse_batch_stride = ++next;
  x.seqstart_q = fresh<std::int32_t>();
  x.seqlen_q = fresh<std::int32_t>();
  x.seqlen_k = fresh<std::int32_t>();
  x.block_table = fresh<std::int32_t>();
  x.block_table_stride = ++next;
  x.scale = 0.5F;
  x.p_drop = 0.25F;
  ASSERT_EQ(ckgen_run_fmha(dispatcher, plan, &x, nullptr, nullptr, message()), CKGEN_OK) << text;
  const FmhaArgs& y = seen.args;
  EXPECT_EQ(std::vector<const void*>({x.q, x.k, x.v, x.o, x.lse, x.bias, x.sink, x.rand_val, x.q_descale, x.k_descale,
                                      x.v_descale, x.seqstart_q, x.seqlen_q, x.seqlen_k, x.block_table}),
            std::vector<const void*>({y.q, y.k, y.v, y.o, y.lse, y.bias, y.sink, y.rand_val, y.q_descale, y.k_descale,
                                      y.v_descale, y.seqstart_q, y.seqlen_q, y.seqlen_k, y.block_table}));
  const auto same = [](const ckgen_fmha_strides& a, const ckgen::FmhaStrides& b) {
    return a.row == b.row && a.head == b.head && a.batch == b.batch;
  };
  EXPECT_TRUE(same(x.q_strides, y.q_strides) && same(x.k_strides, y.k_strides) && same(x.v_strides, y.v_strides));
  EXPECT_TRUE(same(x.o_strides, y.o_strides) && same(x.bias_strides, y.bias_strides) &&
              same(x.rand_val_strides, y.rand_val_strides));
  EXPECT_EQ(x.lse_head_stride, y.lse_head_stride);
  EXPECT_EQ(x.lse_batch_stride, y.lse_batch_stride);
  EXPECT_EQ(x.block_table_stride, y.block_table_stride);
  EXPECT_EQ(x.scale, y.scale);
  EXPECT_EQ(x.p_drop, y.p_drop);
  EXPECT_EQ(seen.shape.window_left, -1);

  make_plan(kOther);
  ckgen_fmha_args z = x;
  z.lse = nullptr;
  z.bias = nullptr;
  z.sink = z.q_descale = z.k_descale = z.v_descale = nullptr;
  z.rand_val = nullptr;
  z.seqlen_k = z.block_table = nullptr;
  z.kv_indptr = fresh<std::int32_t>();
  z.kv_pages = fresh<std::int32_t>();
  z.kv_last_page = fresh<std::int32_t>();
  z.softcap = 20;
  z.seed = 123456789012345ULL;
  z.offset = 54321;
  ASSERT_EQ(ckgen_run_fmha_pooled(dispatcher, plan, &z, nullptr, message()), CKGEN_OK) << text;
  EXPECT_EQ(y.kv_indptr, z.kv_indptr);
  EXPECT_EQ(y.kv_pages, z.kv_pages);
  EXPECT_EQ(y.kv_last_page, z.kv_last_page);
  EXPECT_EQ(y.softcap, 20);
  EXPECT_EQ(y.seed, z.seed);
  EXPECT_EQ(y.offset, z.offset);

  make_plan(tiny::attention());
  ckgen_fmha_args p{};
  p.size = sizeof p;
  p.q = p.k = p.v = p.o = memory.data();
  p.q_strides = p.k_strides = p.v_strides = p.o_strides = {24, 1000, 10000};
  p.scale = 1;
  ckgen_bench_result timed{};
  timed.size = sizeof timed;
  EXPECT_EQ(ckgen_bench_fmha(dispatcher, plan, &p, 0, 2, &timed, message()), CKGEN_OK) << text;
  EXPECT_EQ(timed.runs, 2);
  p.seqstart_k = fresh<std::int32_t>();
  EXPECT_EQ(ckgen_run_fmha_pooled(dispatcher, plan, &p, nullptr, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_STREQ(text, "seqstart_k is given, and the plan has no use for it");
}

TEST_F(CApiFmhaArgs, WhatAppendIsGivenArrives) {
  shape.seqlen_new = 8;
  shape.rotary_dim = 6;
  make_plan(kAppend);
  ckgen_fmha_args x{};
  x.size = sizeof x;
  x.q = fresh<char>();
  x.o = fresh<char>();
  x.k_cache = fresh<char>();
  x.v_cache = fresh<char>();
  x.k_new = fresh<char>();
  x.v_new = fresh<char>();
  x.rotary_cos = fresh<char>();
  x.rotary_sin = fresh<char>();
  x.seqlen_k = fresh<std::int32_t>();
  x.q_strides = x.o_strides = x.k_strides = x.v_strides = {100, 25, 10000};
  x.k_new_strides = {101, 26, 20000};
  x.v_new_strides = {102, 27, 30000};
  ASSERT_EQ(ckgen_run_fmha(dispatcher, plan, &x, nullptr, nullptr, message()), CKGEN_OK) << text;
  const FmhaArgs& y = seen.args;
  EXPECT_EQ(std::vector<const void*>({x.k_cache, x.v_cache, x.k_new, x.v_new, x.rotary_cos, x.rotary_sin, x.o}),
            std::vector<const void*>({y.k_cache, y.v_cache, y.k_new, y.v_new, y.rotary_cos, y.rotary_sin, y.o}));
  EXPECT_EQ(y.k_new_strides.row + y.k_new_strides.head + y.k_new_strides.batch, 101 + 26 + 20000);
  EXPECT_EQ(y.v_new_strides.row + y.v_new_strides.head + y.v_new_strides.batch, 102 + 27 + 30000);
  EXPECT_EQ(seen.shape.seqlen_new, 8);
  EXPECT_EQ(seen.shape.rotary_dim, 6);
}

}  // namespace test_c_api_fmha_args
