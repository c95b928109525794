// Attention over the C API: its structs, and sizes that arrive where they belong.
#include <cstddef>
#include <string>
#include <vector>

#include "c_api/c_api_fmha_fixture.hpp"

namespace test_c_api_fmha {

using namespace c_api_fmha;

// What callers in other languages count on.
static_assert(sizeof(ckgen_problem_fmha) == 144);
static_assert(offsetof(ckgen_problem_fmha, heads_q) == 32);
static_assert(offsetof(ckgen_problem_fmha, corner) == 48);
static_assert(offsetof(ckgen_problem_fmha, pages) == 64);
static_assert(offsetof(ckgen_problem_fmha, page_size) == 80);
static_assert(sizeof(ckgen_problem) == 96 && offsetof(ckgen_problem, fmha) == 80);
static_assert(sizeof(ckgen_fmha_args) == 640 && offsetof(ckgen_fmha_args, dout) == 472);
static_assert(offsetof(ckgen_fmha_args, q_strides) == 96);
static_assert(offsetof(ckgen_fmha_args, lse_head_stride) == 240);
static_assert(offsetof(ckgen_fmha_args, seqstart_q) == 256);
static_assert(offsetof(ckgen_fmha_args, block_table_stride) == 296);
static_assert(offsetof(ckgen_fmha_args, scale) == 328);
static_assert(offsetof(ckgen_fmha_args, seed) == 344);

TEST_F(CApiFmha, TheMostKBatchIsThatOfSplitsOfKeys) {
  ckgen_instance_info info{};
  info.size = sizeof info;
  ASSERT_EQ(ckgen_instance(dispatcher, 0, &info, message()), CKGEN_OK) << text;
  EXPECT_EQ(info.max_k_batch, 8);
}

TEST_F(CApiFmha, TheDefaultsAreThoseOfAShape) {
  ckgen_problem_fmha x{};
  x.size = sizeof x;
  x.page_size = x.sink_tokens = 77;
  ASSERT_EQ(ckgen_problem_fmha_defaults(&x, message()), CKGEN_OK);
  EXPECT_EQ(x.size, sizeof x);
  EXPECT_EQ(x.batch, 1);
  EXPECT_EQ(x.heads_k, 1);
  EXPECT_EQ(x.corner, 1);
  EXPECT_EQ(x.window_left, -1);
  EXPECT_EQ(x.window_right, 0);
  EXPECT_EQ(x.page_size + x.sink_tokens + x.min_seqlen_k, 0);
  x.size = 8;
  EXPECT_EQ(ckgen_problem_fmha_defaults(&x, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_problem_fmha_defaults(nullptr, message()), CKGEN_INVALID_ARGUMENT);
}

TEST_F(CApiFmha, EverySizeArrives) {
  shape.corner = 0;
  shape.window_left = 5;
  shape.window_right = 6;
  shape.sink_tokens = 7;
  shape.total_q = 15;
  shape.min_seqlen_k = 3;
  shape.finite_kv = 1;
  shape.gaps_q = 1;
  make_plan(kSignature);
  ckgen_fmha_args args{};
  args.size = sizeof args;
  // Refused before the launch: the sizes are read from the trail instead.
  EXPECT_EQ(ckgen_run_fmha(dispatcher, plan, &args, nullptr, nullptr, message()), CKGEN_INVALID_ARGUMENT);
  const ckgen_problem wanted = problem(kSignature);
  std::vector<char> trail(4096);
  ASSERT_EQ(ckgen_explain(dispatcher, device, &wanted, {trail.data(), trail.size()}, nullptr), CKGEN_OK);
  EXPECT_NE(std::string(trail.data())
                .find("batch=2 heads_q=4 heads_k=2 seqlen_q=8 seqlen_k=12 hdim_q=16 hdim_v=24 mask=t:5,6,7 "
                      "page_size=4 pages=6 total_q=15 min_seqlen_k=3 finite_kv=1 gaps_q=1"),
            std::string::npos)
      << trail.data();
}

TEST_F(CApiFmha, StructsOfAnEarlierVersionAreTold) {
  ckgen_problem wanted = problem(tiny::attention());
  ckgen_selection chosen{};
  chosen.size = sizeof chosen;
  ASSERT_EQ(ckgen_select(dispatcher, device, &wanted, &chosen, message()), CKGEN_OK) << text;
  EXPECT_EQ(chosen.instance, 2U);
  shape.size = sizeof shape - 8;
  EXPECT_EQ(ckgen_select(dispatcher, device, &wanted, &chosen, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_STREQ(text, "a struct's size field is smaller than the struct");
  EXPECT_EQ(ckgen_plan_create(dispatcher, device, &wanted, nullptr, &plan, message()), CKGEN_INVALID_ARGUMENT);
  wanted.size = offsetof(ckgen_problem, fmha);  // a caller that knows nothing of attention: the pointer is not followed
  ASSERT_EQ(ckgen_select(dispatcher, device, &wanted, &chosen, message()), CKGEN_OK) << text;
  ASSERT_EQ(ckgen_reason(&chosen, message()), CKGEN_OK);
  EXPECT_STREQ(text, "head dimension = 0 is not within 1 to 256 (rule fmha.shape.hdim)");
  shape.size = sizeof shape;
  make_plan(tiny::attention());
  ckgen_fmha_args args{};
  args.size = sizeof args - 8;
  EXPECT_EQ(ckgen_run_fmha(dispatcher, plan, &args, nullptr, nullptr, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_run_fmha(dispatcher, plan, nullptr, nullptr, nullptr, message()), CKGEN_INVALID_ARGUMENT);
}

}  // namespace test_c_api_fmha
