// The split-KV planner over plain C: the same answers, and what is no legal call.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include <ckgen/c_api_fmha_split.h>
#include <ckgen/fmha_split.hpp>

namespace test_c_api_fmha_split {

class CApiFmhaSplit : public testing::Test {
 protected:
  CApiFmhaSplit() {
    problem_.size = sizeof problem_;
    EXPECT_EQ(ckgen_fmha_split_defaults(&problem_, message_), CKGEN_OK);
    problem_.seqlen_q = q_.data();
    problem_.seqlen_k = k_.data();
    problem_.batch = 2;
    problem_.hdim_v = 64;
    problem_.m0 = 16;
    problem_.n0 = 64;
    problem_.cu_num = 80;
    sizes_.size = sizeof sizes_;
  }
  std::array<std::int32_t, 2> q_{1, 1}, k_{1000, 9};
  ckgen_fmha_split_problem problem_{};
  ckgen_fmha_split_sizes sizes_{};
  char text_[256] = {};
  ckgen_message message_{text_, sizeof text_};
};

TEST_F(CApiFmhaSplit, PlansAreThoseOfCpp) {
  ckgen::FmhaSplitProblem own;
  own.seqlen_q = q_.data();
  own.seqlen_k = k_.data();
  own.batch = 2;
  own.hdim_v = 64;
  own.m0 = 16;
  own.n0 = 64;
  own.cu_num = 80;
  const auto expected = ckgen::fmha_split_sizes(own);
  ASSERT_TRUE(expected);
  ASSERT_EQ(ckgen_fmha_split_count(&problem_, &sizes_, message_), CKGEN_OK) << text_;
  EXPECT_EQ(sizes_.items, expected->items);
  EXPECT_EQ(sizes_.partial_rows, expected->partial_rows);
  EXPECT_GT(sizes_.max_splits, 1);
  std::array<ckgen_fmha_split_item, 64> items{};
  std::array<ckgen_fmha_combine_item, 4> combine{};
  std::array<std::int32_t, 2> splits{};
  std::array<std::int64_t, 3> indptr{};
  const ckgen_fmha_split_arrays arrays{sizeof arrays, items.data(), 64, combine.data(), 4,
                                       splits.data(), indptr.data()};
  ASSERT_EQ(ckgen_fmha_split_plan(&problem_, &arrays, &sizes_, message_), CKGEN_OK) << text_;
  std::array<ckgen::FmhaSplitItem, 64> own_items{};
  std::array<ckgen::FmhaCombineItem, 4> own_combine{};
  std::array<std::int32_t, 2> own_splits{};
  std::array<std::int64_t, 3> own_indptr{};
  ASSERT_TRUE(
      ckgen::fmha_split_plan(own, {own_items.data(), 64, own_combine.data(), 4, own_splits.data(), own_indptr.data()}));
  EXPECT_EQ(std::memcmp(items.data(), own_items.data(), sizeof items), 0);
  EXPECT_EQ(std::memcmp(combine.data(), own_combine.data(), sizeof combine), 0);
  EXPECT_EQ(splits, own_splits);
  EXPECT_EQ(indptr, own_indptr);
}

TEST_F(CApiFmhaSplit, BoundsAndWorkspacesAnswer) {
  ASSERT_EQ(ckgen_fmha_split_bound(&problem_, 1, 4096, 0, &sizes_, message_), CKGEN_OK) << text_;
  EXPECT_EQ(sizes_.heads, 1);
  std::array<ckgen_fmha_split_slice, CKGEN_FMHA_SPLIT_SLICES> slices{};
  std::int64_t total = 0;
  ASSERT_EQ(ckgen_fmha_split_workspace(&sizes_, 2, 64, slices.data(), &total, message_), CKGEN_OK) << text_;
  EXPECT_STREQ(slices[0].name, "o_acc");
  EXPECT_EQ(slices[0].bytes, sizes_.partial_rows * 64 * 4);
  EXPECT_EQ(total, slices[5].offset + slices[5].bytes);
}

TEST_F(CApiFmhaSplit, WhatIsMissingOrTooSmallIsRefused) {
  EXPECT_EQ(ckgen_fmha_split_count(nullptr, &sizes_, message_), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_fmha_split_count(&problem_, nullptr, message_), CKGEN_INVALID_ARGUMENT);
  problem_.corner = 2;
  EXPECT_EQ(ckgen_fmha_split_count(&problem_, &sizes_, message_), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(std::string{text_}, "corner is neither top_left (0) nor bottom_right (1)");
  problem_.corner = 1;
  problem_.size = 8;
  EXPECT_EQ(ckgen_fmha_split_count(&problem_, &sizes_, message_), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(std::string{text_}, "a struct's size field is smaller than the struct");
  problem_.size = sizeof problem_;
  std::array<ckgen_fmha_split_slice, CKGEN_FMHA_SPLIT_SLICES> slices{};
  std::int64_t total = 0;
  ASSERT_EQ(ckgen_fmha_split_count(&problem_, &sizes_, message_), CKGEN_OK) << text_;
  EXPECT_EQ(ckgen_fmha_split_workspace(nullptr, 2, 64, slices.data(), &total, message_), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_fmha_split_workspace(&sizes_, 2, 64, nullptr, &total, message_), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_fmha_split_workspace(&sizes_, 2, 64, slices.data(), nullptr, message_), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_fmha_split_bound(nullptr, 1, 4096, 0, &sizes_, message_), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_fmha_split_bound(&problem_, 1, 4096, 0, nullptr, message_), CKGEN_INVALID_ARGUMENT);
  ckgen_fmha_split_arrays arrays{};
  arrays.size = sizeof arrays;
  EXPECT_EQ(ckgen_fmha_split_plan(nullptr, &arrays, &sizes_, message_), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_fmha_split_plan(&problem_, nullptr, &sizes_, message_), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_fmha_split_plan(&problem_, &arrays, nullptr, message_), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_fmha_split_defaults(nullptr, message_), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(std::string{text_}, "a required argument is null");
}

TEST_F(CApiFmhaSplit, EveryFieldReachesThePlanner) {
  const ckgen_fmha_split_problem good = problem_;
  using Field = std::int32_t ckgen_fmha_split_problem::*;
  const std::pair<const char*, Field> fields[] = {{"batch", &ckgen_fmha_split_problem::batch},
                                                  {"heads_q", &ckgen_fmha_split_problem::heads_q},
                                                  {"heads_k", &ckgen_fmha_split_problem::heads_k},
                                                  {"hdim_v", &ckgen_fmha_split_problem::hdim_v},
                                                  {"workgroup_heads", &ckgen_fmha_split_problem::workgroup_heads},
                                                  {"m0", &ckgen_fmha_split_problem::m0},
                                                  {"n0", &ckgen_fmha_split_problem::n0},
                                                  {"page_size", &ckgen_fmha_split_problem::page_size},
                                                  {"mask.window_left", &ckgen_fmha_split_problem::window_left},
                                                  {"mask.window_right", &ckgen_fmha_split_problem::window_right},
                                                  {"mask.sink_tokens", &ckgen_fmha_split_problem::sink_tokens},
                                                  {"cu_num", &ckgen_fmha_split_problem::cu_num},
                                                  {"occupancy", &ckgen_fmha_split_problem::occupancy},
                                                  {"max_splits", &ckgen_fmha_split_problem::max_splits},
                                                  {"fixed_split_size", &ckgen_fmha_split_problem::fixed_split_size},
                                                  {"cost.item_row", &ckgen_fmha_split_problem::cost_item_row},
                                                  {"cost.partial_row", &ckgen_fmha_split_problem::cost_partial_row}};
  for (const auto& [name, field] : fields) {
    problem_ = good;
    problem_.*field = -7;
    EXPECT_EQ(ckgen_fmha_split_count(&problem_, &sizes_, message_), CKGEN_INVALID_ARGUMENT);
    EXPECT_EQ(std::string{text_}.find(std::string{name} + " = -7 is outside ["), 0U) << text_;
  }
  problem_ = good;
  problem_.max_workgroups = -7;
  EXPECT_EQ(ckgen_fmha_split_count(&problem_, &sizes_, message_), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(std::string{text_}.find("max_workgroups = -7 is outside ["), 0U) << text_;
  problem_ = good;
  problem_.fixed_split_size = 64;
  problem_.no_split = 1;
  EXPECT_EQ(ckgen_fmha_split_count(&problem_, &sizes_, message_), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(std::string{text_}, "fixed_split_size = 64 contradicts no_split");
  problem_ = good;
  problem_.seqlen_q = nullptr;
  EXPECT_EQ(ckgen_fmha_split_count(&problem_, &sizes_, message_), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(std::string{text_}, "seqlen_q is null");
  problem_ = good;
  problem_.seqlen_k = nullptr;
  EXPECT_EQ(ckgen_fmha_split_count(&problem_, &sizes_, message_), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(std::string{text_}, "seqlen_k is null");
}

TEST_F(CApiFmhaSplit, HeadsMergeAndMasksHideAsAsked) {
  problem_.heads_q = 8;
  problem_.heads_k = 2;
  for (const int merge : {0, 1}) {
    problem_.merge_heads = merge;
    ASSERT_EQ(ckgen_fmha_split_count(&problem_, &sizes_, message_), CKGEN_OK) << text_;
    EXPECT_EQ(sizes_.heads, merge != 0 ? 2 : 8);
  }
  q_ = {640, 640};
  k_ = {640, 640};
  problem_.m0 = 64;
  problem_.window_left = problem_.window_right = problem_.sink_tokens = 0;
  problem_.fixed_split_size = 64;
  for (const int masked : {0, 1}) {
    problem_.masked = masked;
    ASSERT_EQ(ckgen_fmha_split_count(&problem_, &sizes_, message_), CKGEN_OK) << text_;
    EXPECT_EQ(sizes_.max_splits, masked != 0 ? 1 : 10) << "only the diagonal is seen";
  }
}

TEST_F(CApiFmhaSplit, DefaultsAreThoseOfCpp) {
  const ckgen::FmhaSplitProblem own;
  ckgen_fmha_split_problem x;
  std::memset(&x, 0x55, sizeof x);
  x.size = sizeof x;
  ASSERT_EQ(ckgen_fmha_split_defaults(&x, message_), CKGEN_OK);
  EXPECT_EQ(x.merge_heads != 0, own.merge_heads);
  EXPECT_EQ(x.masked != 0, own.mask.masked);
  EXPECT_EQ(x.no_split != 0, own.no_split);
  EXPECT_EQ(x.corner, static_cast<std::int32_t>(own.mask.corner));
}

}  // namespace test_c_api_fmha_split
