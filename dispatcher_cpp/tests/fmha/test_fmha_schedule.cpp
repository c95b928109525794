// What the planner is asked for a selected instance, and the shape that its answer makes.
#include <gtest/gtest.h>

#include <ckgen/ckgen.hpp>

namespace test_fmha_schedule {

using namespace ckgen;

const std::int32_t kQueries[] = {1, 2}, kKeys[] = {5000, 700};

InstanceDesc instance_of(Backend backend, FmhaKv kv) {
  InstanceDesc instance{};
  instance.backend = backend;
  instance.signature.op = Op::fmha;
  instance.signature.fmha.kv = kv;
  instance.fmha.m0 = 16, instance.fmha.n0 = 64;
  return instance;
}

FmhaShape shape_of() {
  FmhaShape shape;
  shape.batch = 2, shape.heads_q = 32, shape.heads_k = 8, shape.seqlen_q = 2, shape.seqlen_k = 5000;
  shape.hdim_q = 128, shape.hdim_v = 64, shape.page_size = 16, shape.pages = 400;
  shape.corner = FmhaCorner::top_left, shape.window_left = 300, shape.window_right = 1, shape.sink_tokens = 4;
  return shape;
}

TEST(FmhaSchedule, AsksForTheTilesTheMaskAndTheHeadsOfTheInstance) {
  InstanceDesc instance = instance_of(Backend::hip, FmhaKv::block_table);
  instance.signature.fmha.masked = true, instance.fmha.merge_heads = true;
  const FmhaSplitProblem p = fmha_split_problem(instance, shape_of(), 304, kQueries, kKeys);
  EXPECT_TRUE(p.batch == 2 && p.seqlen_q == kQueries && p.seqlen_k == kKeys);
  EXPECT_TRUE(p.heads_q == 32 && p.heads_k == 8 && p.hdim_v == 64 && p.merge_heads);
  EXPECT_TRUE(p.m0 == 16 && p.n0 == 64 && p.page_size == 16 && p.cu_num == 304);
  EXPECT_TRUE(p.mask.masked && p.mask.corner == FmhaCorner::top_left);
  EXPECT_TRUE(p.mask.window_left == 300 && p.mask.window_right == 1 && p.mask.sink_tokens == 4);
  EXPECT_EQ(p.workgroup_heads, 1);
}

TEST(FmhaSchedule, ContiguousKvHasNoPagesAndAThreadOfACpuTakesAllHeads) {
  InstanceDesc instance = instance_of(Backend::host, FmhaKv::contiguous);
  instance.fmha.rows_together = 8;  // two queries of four heads
  const FmhaSplitProblem p = fmha_split_problem(instance, shape_of(), 2, kQueries, kKeys);
  EXPECT_TRUE(p.page_size == 0 && !p.mask.masked && !p.merge_heads);
  EXPECT_EQ(p.workgroup_heads, 32);
  const auto sizes = fmha_split_sizes(p);
  ASSERT_TRUE(sizes) << sizes.status().message;
  EXPECT_GT(sizes->max_splits, 1);  // one long request on two threads
  instance.fmha.rows_together = 7;
  EXPECT_EQ(fmha_split_problem(instance, shape_of(), 2, kQueries, kKeys).workgroup_heads, 1);
}

TEST(FmhaSchedule, ThePlannersAnswerIsPartOfTheShape) {
  const FmhaSplitProblem p =
      fmha_split_problem(instance_of(Backend::host, FmhaKv::contiguous), shape_of(), 2, kQueries, kKeys);
  const auto sizes = fmha_split_sizes(p);
  ASSERT_TRUE(sizes);
  const FmhaShape shape = with_schedule(shape_of(), p, *sizes);
  EXPECT_TRUE(shape.split_items == sizes->items && shape.split_combines == sizes->combine_items);
  EXPECT_EQ(shape.split_rows, sizes->partial_rows);
  EXPECT_TRUE(shape.split_m0 == 16 && shape.split_n0 == 64 && !shape.split_merged);
  EXPECT_TRUE(shape.heads_q == 32 && shape.seqlen_k == 5000);
}

}  // namespace test_fmha_schedule
