// How a GEMM on the CPU is cut, and what goes where in its workspace: the rules of backends/host/driver.hpp in numbers.
#include "backends/host/driver.hpp"
#include "backends/host/workspace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

namespace test_host_geometry {

using namespace ckgen;
using namespace ckgen::host;

GemmTraits traits_of(Quant quant = Quant::none) {
  return {DType::fp32, DType::fp32, DType::fp32, DType::fp32, Layout::rcr, quant, false, false};
}

/// Tiles of 6 x 16 in blocks of 64 x 64 x 256, on four threads.
Blocking blocking_of(std::int64_t split) {
  return {&kIsaV3, PackKind::f32, 6, 16, 64, 64, 256, split, 0, 4, false};
}

Geometry geometry(const Sizes& size, int threads = 4) {
  Blocking blocking = blocking_of(size.k);
  blocking.threads = threads;
  return make_geometry(traits_of(), blocking, size);
}

TEST(HostGeometry, TheSmallestTileThatNeedsNoMorePanelsIsPicked) {
  struct Row {
    const IsaTable& isa;
    int mr, nr, m, picked;
  };
  for (const Row& x : {Row{kIsaV3, 6, 16, 1, 1},    Row{kIsaV3, 6, 16, 2, 2},    Row{kIsaV3, 6, 16, 3, 4},
                       Row{kIsaV3, 6, 16, 4, 4},    Row{kIsaV3, 6, 16, 5, 6},    Row{kIsaV3, 6, 16, 8, 4},
                       Row{kIsaV3, 6, 16, 99, 6},   Row{kIsaV3, 4, 16, 99, 4},   Row{kIsaV3, 5, 16, 99, 4},
                       Row{kIsaV3, 2, 16, 1, 1},    Row{kIsaV4, 14, 32, 13, 13}, Row{kIsaV4, 14, 32, 9, 10},
                       Row{kIsaV4, 12, 32, 99, 12}, Row{kIsaV4, 14, 32, 5, 6},   Row{kIsaV4, 14, 32, 16, 8},
                       Row{kIsaV4, 14, 32, 33, 12}, Row{kIsaV4, 14, 32, 64, 13}, Row{kIsaV4, 14, 32, 99, 13},
                       Row{kIsaV4, 8, 48, 1, 8},    Row{kIsaV4, 8, 32, 9, 6}}) {
    SCOPED_TRACE(testing::Message() << x.mr << "x" << x.nr << " for " << x.m);
    const MicroKernel* const found = pick_micro(x.isa.menu[static_cast<int>(PackKind::f32)], x.mr, x.nr, x.m);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->mr, x.picked);
    EXPECT_EQ(found->nr, x.nr);
  }
  EXPECT_EQ(pick_micro(kIsaV3.menu[static_cast<int>(PackKind::f32)], 6, 17, 1), nullptr);
  EXPECT_EQ(pick_micro(kIsaV3.menu[static_cast<int>(PackKind::f32)], 0, 16, 1), nullptr);
}

// Below 1e6 operations one thread; products of a batch below 5e7 each are shared out whole.
TEST(HostGeometry, ThreadsShareAProductOrTheBatch) {
  struct Row {
    Sizes size;
    int threads, of_one, together;
  };
  for (const Row& x :
       {Row{{100, 100, 49, 1}, 4, 1, 1}, Row{{100, 100, 50, 1}, 4, 4, 1}, Row{{100, 100, 50, 1}, 0, 1, 1},
        Row{{64, 64, 64, 1}, 4, 1, 1}, Row{{64, 64, 64, 2}, 4, 1, 2}, Row{{64, 64, 64, 3}, 4, 1, 3},
        Row{{64, 64, 64, 8}, 4, 1, 4}, Row{{64, 64, 64, 8}, 2, 1, 2}, Row{{64, 64, 64, 8}, 1, 1, 1},
        Row{{500, 500, 99, 2}, 4, 1, 2}, Row{{500, 500, 100, 2}, 4, 4, 1}, Row{{500, 500, 100, 9}, 1, 1, 1}}) {
    SCOPED_TRACE(testing::Message() << x.size.m << " " << x.size.k << " batch " << x.size.batch << " on " << x.threads);
    const Geometry g = geometry(x.size, x.threads);
    EXPECT_EQ(g.threads, x.of_one);
    EXPECT_EQ(g.instances, x.together);
    EXPECT_EQ(g.batch_parallel, x.together > 1);
    EXPECT_EQ(g.problem_bytes, g.slots_offset + g.slot_bytes * static_cast<std::size_t>(x.of_one));
    EXPECT_EQ(g.bytes, g.problem_bytes * static_cast<std::size_t>(x.together));
  }
}

/// Tiles of 14 x 32 in blocks of 112 x 512 x 512.
Geometry wide_geometry(const Sizes& size, int threads) {
  return make_geometry(traits_of(), {&kIsaV4, PackKind::f32, 14, 32, 112, 512, 512, size.k, 0, threads, false}, size);
}

// 512 KiB of B: of few rows 1024 words deep, of more than a block of rows as wide as 512 words deep allow.
TEST(HostGeometry, PackedColumnsFitTheSecondLevelCache) {
  struct Row {
    Sizes size;
    int threads;
    std::int64_t columns, depth;
  };
  for (const Row& x : {Row{{64, 4096, 4096, 1}, 1, 128, 1024}, Row{{113, 4096, 4096, 1}, 1, 256, 512},
                       Row{{64, 4096, 1000, 1}, 1, 128, 1000}, Row{{64, 4096, 300, 1}, 1, 416, 300},
                       Row{{500, 4096, 100, 1}, 1, 512, 100}, Row{{64, 40, 9000, 1}, 1, 64, 1024},
                       Row{{64, 320, 4096, 1}, 1, 128, 1024}, Row{{1000, 768, 3072, 1}, 1, 256, 512}}) {
    SCOPED_TRACE(testing::Message() << x.size.m << " x " << x.size.n << " x " << x.size.k << " on " << x.threads);
    const Geometry g = wide_geometry(x.size, x.threads);
    EXPECT_EQ(g.item_n * 32, x.columns);
    EXPECT_EQ(g.depth, x.depth);
    EXPECT_EQ(g.one_pass, x.size.k <= x.depth);
  }
}

TEST(HostGeometry, EveryThreadHasAsManyItems) {
  struct Row {
    Sizes size;
    int threads;
    std::int64_t columns, rows, items;  // of an item, and how many there are
  };
  for (const Row& x : {Row{{64, 640, 1024, 1}, 2, 128, 65, 6}, Row{{128, 128, 8192, 1}, 2, 32, 130, 4},
                       Row{{64, 768, 4096, 1}, 2, 128, 65, 6}, Row{{1024, 32, 1024, 1}, 2, 32, 266, 4},
                       Row{{1024, 1024, 1024, 1}, 16, 32, 1036, 32}, Row{{4096, 64, 512, 1}, 8, 32, 518, 16},
                       Row{{60, 32, 4096, 1}, 4, 32, 60, 1}}) {
    SCOPED_TRACE(testing::Message() << x.size.m << " x " << x.size.n << " x " << x.size.k << " on " << x.threads);
    const Geometry g = wide_geometry(x.size, x.threads);
    EXPECT_EQ(g.item_n * 32, x.columns);
    EXPECT_EQ(g.item_m * g.micro->mr, x.rows);
    EXPECT_EQ(g.across * ceil_div(g.m_panels, g.item_m), x.items);
  }
}

// 32 MiB of packed A; where K takes several passes, 2 MiB of accumulators; never less than a panel.
TEST(HostGeometry, AsManyRowsArePackedAsTheBudgetsHold) {
  struct Row {
    Sizes size;
    std::int64_t rows, mr, panels, tail;
  };
  for (const Row& x : {Row{{100, 500, 300, 1}, 104, 13, 8, 10}, Row{{5000, 500, 300, 1}, 5012, 14, 358, 2},
                       Row{{5000, 500, 3000, 1}, 1918, 14, 358, 2}, Row{{100, 500, 200000, 1}, 28, 14, 8, 2},
                       Row{{20, 500, 20000000, 1}, 14, 14, 2, 6}}) {
    SCOPED_TRACE(testing::Message() << x.size.m << " x " << x.size.n << " x " << x.size.k);
    const Geometry g = wide_geometry(x.size, 1);
    EXPECT_EQ(g.micro->mr, x.mr);
    EXPECT_EQ(g.tail->mr, x.tail);
    EXPECT_EQ(g.m_panels, x.panels);
    EXPECT_EQ(g.m_super * g.micro->mr, x.rows);
  }
}

// What launches of many products rely on: a part of fewer rows needs no more memory, on either side of one block.
TEST(HostGeometry, BytesGrowWithTheRows) {
  for (const std::int64_t k : {40, 3000, 300000})
    for (std::size_t before = 0, m = 1; m < 400; ++m) {
      const std::size_t bytes = wide_geometry({static_cast<std::int64_t>(m), 300, k, 1}, 1).bytes;
      if (m == 113) before = 0;
      EXPECT_GE(bytes, before) << m << " rows, K " << k;
      before = bytes;
    }
}

TEST(HostGeometry, EachSplitBeginsOnAWordOfItsOwn) {
  struct Row {
    PackKind kind;
    std::int64_t k, split, kc, splits, words_of_one, words, deep;
  };
  for (const Row& x :
       {Row{PackKind::f32, 300, 128, 256, 3, 128, 384, 256}, Row{PackKind::f32, 300, 300, 0, 1, 300, 300, 1},
        Row{PackKind::f32, 300, 999, 7, 1, 300, 300, 7}, Row{PackKind::i16, 301, 301, 255, 1, 151, 151, 256},
        Row{PackKind::i16, 100, 33, 256, 4, 17, 68, 256}, Row{PackKind::f32, 0, 1, 256, 0, 1, 1, 256},
        Row{PackKind::i16, 64, 32, 1, 2, 16, 32, 2}}) {
    SCOPED_TRACE(testing::Message() << "k " << x.k << " split " << x.split);
    Blocking blocking = blocking_of(x.split);
    blocking.kind = x.kind;
    blocking.kc = x.kc;
    blocking.split_mode = 2;
    const Geometry g = make_geometry(traits_of(), blocking, {100, 100, x.k, 1});
    EXPECT_EQ(g.split_mode, 2);
    EXPECT_EQ(g.splits, x.splits);
    EXPECT_EQ(g.split_words, x.words_of_one);
    EXPECT_EQ(g.words, x.words);
    EXPECT_EQ(g.kc, x.deep);
  }
}

TEST(HostGeometry, GroupsOfKShareAScale) {
  struct Row {
    Quant quant;
    std::int64_t k, group, groups;
  };
  for (const Row& x :
       {Row{Quant::none, 300, 0, 0}, Row{Quant::rowwise, 300, 0, 0}, Row{Quant::mx, 320, 32, 10},
        Row{Quant::mx, 321, 32, 11}, Row{Quant::blockscale, 384, 128, 3}, Row{Quant::blockscale, 385, 128, 4}}) {
    GemmTraits traits = traits_of(x.quant);
    const Geometry g = make_geometry(traits, blocking_of(x.k), {100, 100, x.k, 1});
    EXPECT_EQ(g.group, x.group);
    EXPECT_EQ(g.groups, x.groups);
  }
}

/// What lies where, from the numbers of panels alone.
void expect_laid_out(const Geometry& g, std::int64_t mr, std::int64_t nr) {
  const std::int64_t acc_ld = g.item_n * nr + 16;
  const std::int64_t acc_rows = g.one_pass ? std::min<std::int64_t>(g.item_m * mr, 64) : g.item_m * mr;
  EXPECT_EQ(g.acc_ld, acc_ld);
  const auto follow = [](std::size_t& at, std::size_t found, std::int64_t words, const char* what) {
    EXPECT_EQ(found, at) << what;
    at += words_bytes(words, 1);
  };
  std::size_t at = words_bytes(g.m_super * mr, g.words);
  follow(at, g.a_scale_offset, g.m_super * mr * g.groups, "scales of A");
  EXPECT_EQ(g.slots_offset, at);
  at = words_bytes(acc_rows, acc_ld);
  follow(at, g.slot_total_offset, g.splits > 1 ? acc_rows * acc_ld : 0, "sums of all splits");
  follow(at, g.slot_row_offset, g.item_n * nr, "a row");
  follow(at, g.slot_b_offset, g.item_n * nr * g.depth_words, "columns of B");
  follow(at, g.slot_b_scale_offset, g.item_n * nr * g.groups, "an item's scales of B");
  EXPECT_EQ(g.slot_bytes, at);
}

TEST(HostGeometry, WhatLiesInTheWorkspaceFollowsInItsOrder) {
  for (const Quant quant : {Quant::none, Quant::mx, Quant::blockscale})
    for (const PackKind kind : {PackKind::f32, PackKind::i16})
      for (const std::int64_t m : {5, 66, 700})
        for (const std::int64_t k : {37, 301, 700})
          for (const std::int64_t split : {64, 701}) {
            SCOPED_TRACE(testing::Message() << name(quant) << " m " << m << " k " << k << " split " << split);
            Blocking blocking = blocking_of(split);
            blocking.kind = kind;
            const Geometry g = make_geometry(traits_of(quant), blocking, {m, 500, k, 1});
            EXPECT_EQ(g.n_panels, 32);
            expect_laid_out(g, g.micro->mr, 16);
          }
}

}  // namespace test_host_geometry
