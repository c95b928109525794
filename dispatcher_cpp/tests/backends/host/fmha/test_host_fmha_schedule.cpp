// Schedules of unequal splits of KV (ckgen/fmha_split.hpp) on the CPU.
#include "backends/host/fmha/host_fmha_reference.hpp"
#include "backends/host/fmha/host_fmha_scheduled.hpp"

namespace host_test {
namespace test_host_fmha_schedule {

FmhaCase batch_of(FmhaKv kv, bool varlen, int rows, bool merge_heads) {
  FmhaTraits traits;
  traits.kv = kv;
  traits.varlen = varlen;
  traits.masked = traits.lse = traits.sink = true;
  FmhaShape shape = fmha_shape(4, 4, 2, rows, 450, 32, 24);
  if (kv != FmhaKv::contiguous) shape.page_size = 16;
  FmhaCase c = fmha_case(DType::bf16, DType::bf16, DType::bf16, traits, shape);
  if (varlen) c.rows_q = {rows, 1, 0, rows}, c.rows_k = {450, 133, 20, 0};
  if (!varlen || kv == FmhaKv::block_table) c.used_k = {450, 133, 20, 0};
  if (kv == FmhaKv::page_list) c.used_k.clear();
  c.m0 = rows > 8 ? 36 : 16, c.merge_heads = merge_heads;  // K and V packed, or where they are
  return c;
}

TEST(HostFmhaSchedule, GivesEveryRow) {
  for (const bool merge_heads : {true, false})
    for (const auto& [kv, varlen] : {std::pair{FmhaKv::contiguous, true}, std::pair{FmhaKv::block_table, false},
                                     std::pair{FmhaKv::page_list, true}, std::pair{FmhaKv::contiguous, false}})
      for (const int rows : {1, 20}) {
        SCOPED_TRACE(testing::Message() << "merged " << merge_heads << " kv " << name(kv) << " rows " << rows);
        Scheduled s(batch_of(kv, varlen, rows, merge_heads));
        EXPECT_TRUE(rows > 1 || s.most_splits > 1);
        const Status status = s.f.run();
        ASSERT_TRUE(status.ok()) << status.message;
        expect_right(s.f);
      }
}

TEST(HostFmhaSchedule, GivesTheSameBitsWhateverTheThreads) {
  FmhaCase c = batch_of(FmhaKv::block_table, false, 3, true);
  c.threads = 1;
  Scheduled one(c);
  c.threads = 2;
  Scheduled two(c);
  ASSERT_TRUE(one.f.run().ok());
  ASSERT_TRUE(two.f.run().ok());
  EXPECT_EQ(one.f.o, two.f.o);
  EXPECT_EQ(one.f.lse, two.f.lse);
}

/// Without a mask, in fp32: what a plan of equal splits computes.
FmhaCase even(bool merge_heads) {
  FmhaTraits traits;
  traits.lse = true;
  FmhaCase c = fmha_case(DType::fp32, DType::fp32, DType::fp32, traits, fmha_shape(2, 4, 2, 2, 600, 32, 24));
  c.m0 = 16, c.merge_heads = merge_heads;
  return c;
}

TEST(HostFmhaSchedule, OfEqualSplitsGivesTheirBits) {
  for (const bool merge_heads : {true, false}) {
    const FmhaCase c = even(merge_heads);
    Scheduled s(c, [](FmhaSplitProblem& p) { p.fixed_split_size = 256; });
    ASSERT_TRUE(s.f.run().ok());
    FmhaCase equal = c;
    equal.splits = 3;  // 10 tiles of 64: 4, 4 and 2
    FmhaFixture three(equal), one(c);
    ASSERT_TRUE(three.run().ok());
    ASSERT_TRUE(one.run().ok());
    EXPECT_EQ(s.f.o, three.o);
    EXPECT_EQ(s.f.lse, three.lse);
    EXPECT_NE(s.f.o, one.o);
  }
}

TEST(HostFmhaSchedule, ItsItemsAreAllThatIsComputed) {
  Scheduled s(even(true), [](FmhaSplitProblem& p) { p.fixed_split_size = 256; });
  for (FmhaSplitItem& item : s.items)
    if (item.split == 2) item.request = -1;
  for (FmhaCombineItem& item : s.combines) item.splits = 2;
  ASSERT_TRUE(s.f.run().ok());
  FmhaFixture& f = s.f;
  f.c.used_k = {512, 512};
  expect_right(f);
}

TEST(HostFmhaSchedule, WhatIsOutOfItsRoomIsRefused) {
  const auto refused = [](const char* text, const auto& change) {
    Scheduled s(even(true), [](FmhaSplitProblem& p) { p.fixed_split_size = 256; });
    change(s);
    const Status status = s.f.run();
    EXPECT_EQ(status.code, StatusCode::invalid_argument) << text;
    EXPECT_NE(std::string(status.message).find(text), std::string::npos) << status.message;
  };
  refused("split.items is null", [](Scheduled& s) { s.f.args.split.items = nullptr; });
  refused("split.combine_items is null", [](Scheduled& s) { s.f.args.split.combine_items = nullptr; });
  refused("split.items[1]: no such tile", [](Scheduled& s) { s.items[1].request = 2; });
  refused("split.items[0]: no such tile", [](Scheduled& s) { s.items[0].q_tile = 1; });
  refused("split.items[0]: its keys", [](Scheduled& s) { s.items[0].kv_begin += 32; });
  refused("split.items[0]: its keys", [](Scheduled& s) { s.items[0].kv_end = -1; });
  refused("split.items[0]: its partial rows",
          [](Scheduled& s) { s.items[0].partial_row = s.f.c.shape.split_rows - 1; });
  refused("split.combine_items[0]: no such rows", [](Scheduled& s) { s.combines[0].rows = 5; });
  refused("split.combine_items[0]: its partial rows", [](Scheduled& s) { s.combines[0].splits = 9; });
  refused("split.combine_items[1]: its partial rows", [](Scheduled& s) { s.combines[1].partial_row = -1; });
}

}  // namespace test_host_fmha_schedule
}  // namespace host_test
