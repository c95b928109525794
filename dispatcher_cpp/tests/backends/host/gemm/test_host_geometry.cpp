// How a GEMM on the CPU is cut, and what goes where in its workspace: the rules of backends/host/gemm/driver.hpp in
// numbers.
#include "backends/host/gemm/blocking.hpp"
#include "backends/host/gemm/driver.hpp"
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

/// Tiles of 6 x 16 in blocks of 64 x 64 x 256.
Blocking blocking_of(std::int64_t split) {
  return {&kIsaV3, PackKind::f32, 6, 16, 64, 64, 256, split, 0, 1, false};
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

/// Tiles of 14 x 32 in blocks of 112 x 512 x 512.
Geometry wide_geometry(const Sizes& size) {
  return make_geometry(traits_of(), {&kIsaV4, PackKind::f32, 14, 32, 112, 512, 512, size.k, 0, 1, false}, size);
}

// All of B of 1 MiB at most is used for all rows at once by tiles, whose CPUs have room for it in the second-level
// cache.
TEST(HostGeometry, TilesHaveAllOfBPackedAtOnceWhereACoreHasRoom) {
  const IsaTable* const amx = table_for(Isa::x86_64_amx);
  if (amx == nullptr) GTEST_SKIP() << "this build has no tiles";
  const auto items = [amx](std::int64_t m, std::int64_t n, std::int64_t k, bool whole_b = true) {
    Blocking blocking{amx, PackKind::bf16, 32, 32, 128, 512, 2048, k, 0, 1, true};
    blocking.whole_b = whole_b;
    constexpr GemmTraits kBf16{DType::bf16, DType::bf16, DType::bf16, DType::fp32,
                               Layout::rcr, Quant::none, false,       false};
    return make_geometry(kBf16, blocking, {m, n, k, 1}).across;
  };
  EXPECT_EQ(items(1024, 512, 1024), 1);
  EXPECT_EQ(items(1024, 544, 1024), 3);
  EXPECT_EQ(items(1024, 512, 1026), 3);
  EXPECT_EQ(items(128, 512, 1024), 4);
  EXPECT_EQ(items(1024, 512, 1024, false), 2);
}

// 256 KiB of B, 512 words deep, in items as alike as their panels allow.
TEST(HostGeometry, PackedColumnsFitTheSecondLevelCacheTwice) {
  struct Row {
    Sizes size;
    std::int64_t columns, depth;
  };
  for (const Row& x :
       {Row{{64, 4096, 4096, 1}, 128, 512}, Row{{113, 4096, 4096, 1}, 128, 512}, Row{{64, 4096, 1000, 1}, 128, 512},
        Row{{64, 4096, 300, 1}, 192, 300}, Row{{500, 4096, 100, 1}, 512, 100}, Row{{64, 40, 9000, 1}, 64, 512},
        Row{{64, 320, 4096, 1}, 128, 512}, Row{{1000, 768, 3072, 1}, 128, 512}}) {
    SCOPED_TRACE(testing::Message() << x.size.m << " x " << x.size.n << " x " << x.size.k);
    const Geometry g = wide_geometry(x.size);
    EXPECT_EQ(g.item_n * 32, x.columns);
    EXPECT_EQ(g.across, ceil_div(g.n_panels, g.item_n));
    EXPECT_EQ(g.depth, x.depth);
    EXPECT_EQ(g.one_pass, x.size.k <= x.depth);
  }
}

// Twice as many where a core of tiles has the room, and all rows of A, which go by panel by panel, have none beside it.
TEST(HostGeometry, PackedColumnsAreTwiceAsManyWhereRowsStreamOnCpusWithTiles) {
  const IsaTable* const amx = table_for(Isa::x86_64_amx);
  if (amx == nullptr) GTEST_SKIP() << "this build has no tiles";
  const auto columns = [](const IsaTable* isa, std::int64_t m, std::int64_t block_m, bool whole_b = true) {
    Blocking blocking{isa, PackKind::f32, 14, 32, block_m, 512, 512, 4096, 0, 1, false};
    blocking.whole_b = whole_b;
    return make_geometry(traits_of(), blocking, {m, 4096, 4096, 1}).item_n * 32;
  };
  EXPECT_EQ(columns(amx, 257, 1), 256);
  EXPECT_EQ(columns(amx, 256, 1), 128);
  EXPECT_EQ(columns(amx, 257, 112), 128);
  EXPECT_EQ(columns(amx, 257, 1, false), 128);
  EXPECT_EQ(columns(&kIsaV4, 257, 1), 128);
}

// 8 MiB of packed A; where K takes several passes, 2 MiB of accumulators; never less than a panel.
TEST(HostGeometry, AsManyRowsArePackedAsTheBudgetsHold) {
  struct Row {
    Sizes size;
    std::int64_t rows, mr, panels, tail;
  };
  for (const Row& x : {Row{{100, 500, 300, 1}, 104, 13, 8, 10}, Row{{5000, 500, 300, 1}, 5012, 14, 358, 2},
                       Row{{5000, 500, 3000, 1}, 686, 14, 358, 2}, Row{{5000, 500, 600, 1}, 3486, 14, 358, 2},
                       Row{{100, 500, 60000, 1}, 28, 14, 8, 2}, Row{{20, 500, 20000000, 1}, 14, 14, 2, 6}}) {
    SCOPED_TRACE(testing::Message() << x.size.m << " x " << x.size.n << " x " << x.size.k);
    const Geometry g = wide_geometry(x.size);
    EXPECT_EQ(g.micro->mr, x.mr);
    EXPECT_EQ(g.tail->mr, x.tail);
    EXPECT_EQ(g.m_panels, x.panels);
    EXPECT_EQ(g.m_super * g.micro->mr, x.rows);
  }
}

// All of K for the items that follow the first; where none does, what is multiplied at once.
TEST(HostGeometry, AIsKeptPackedForOtherItemsOnly) {
  struct Row {
    Sizes size;
    std::int64_t split, across, words;
  };
  for (const Row& x : {Row{{100, 128, 4096, 1}, 4096, 1, 512}, Row{{100, 129, 4096, 1}, 4096, 2, 4096},
                       Row{{100, 128, 500, 1}, 500, 1, 500}, Row{{100, 128, 0, 1}, 1, 1, 1},
                       Row{{100, 128, 4096, 1}, 2048, 1, 4096}, Row{{5000, 128, 400000, 1}, 400000, 1, 512}}) {
    SCOPED_TRACE(testing::Message() << x.size.n << " x " << x.size.k << " split by " << x.split);
    const Geometry g =
        make_geometry(traits_of(), {&kIsaV4, PackKind::f32, 14, 32, 112, 512, 512, x.split, 0, 1, false}, x.size);
    EXPECT_EQ(g.across, x.across);
    EXPECT_EQ(g.a_words, x.words);
  }
}

// What launches of many products rely on: a part of fewer rows needs no more memory, on either side of one block.
TEST(HostGeometry, BytesGrowWithTheRows) {
  for (const std::int64_t k : {40, 3000, 300000})
    for (std::size_t before = 0, m = 1; m < 400; ++m) {
      const std::size_t bytes = wide_geometry({static_cast<std::int64_t>(m), 300, k, 1}).bytes;
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
  const std::int64_t acc_rows = g.one_pass ? std::min<std::int64_t>(g.m_super * mr, 64) : g.m_super * mr;
  EXPECT_EQ(g.acc_ld, acc_ld);
  const auto follow = [](std::size_t& at, std::size_t found, std::int64_t words, const char* what) {
    EXPECT_EQ(found, at) << what;
    at += words_bytes(words, 1);
  };
  std::size_t at = words_bytes(g.m_super * mr, g.a_words);
  follow(at, g.a_scale_offset, g.m_super * mr * g.groups, "scales of A");
  EXPECT_EQ(g.slot_offset, at);
  at = words_bytes(acc_rows, acc_ld);
  follow(at, g.slot_total_offset, g.splits > 1 ? acc_rows * acc_ld : 0, "sums of all splits");
  follow(at, g.slot_row_offset, g.item_n * nr, "a row");
  follow(at, g.slot_b_offset, g.item_n * nr * g.depth_words, "columns of B");
  follow(at, g.slot_b_scale_offset, g.item_n * nr * g.groups, "an item's scales of B");
  EXPECT_EQ(g.bytes, g.slot_offset + at);
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
