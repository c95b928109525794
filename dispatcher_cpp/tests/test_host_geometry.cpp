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

TEST(HostGeometry, TheSmallestTileThatHoldsAllRowsIsPicked) {
  struct Row {
    const IsaTable& isa;
    int mr, nr, m, picked;
  };
  for (const Row& x :
       {Row{kIsaV3, 6, 16, 1, 1}, Row{kIsaV3, 6, 16, 2, 2}, Row{kIsaV3, 6, 16, 3, 4}, Row{kIsaV3, 6, 16, 4, 4},
        Row{kIsaV3, 6, 16, 5, 6}, Row{kIsaV3, 6, 16, 99, 6}, Row{kIsaV3, 4, 16, 99, 4}, Row{kIsaV3, 5, 16, 99, 4},
        Row{kIsaV3, 2, 16, 1, 1}, Row{kIsaV3, 4, 24, 1, 4}, Row{kIsaV4, 14, 32, 13, 14}, Row{kIsaV4, 14, 32, 9, 12},
        Row{kIsaV4, 12, 32, 99, 12}, Row{kIsaV4, 14, 32, 5, 8}, Row{kIsaV4, 14, 32, 99, 14}, Row{kIsaV4, 8, 48, 1, 8},
        Row{kIsaV4, 8, 32, 9, 8}}) {
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

// 8 MiB of A, 16 MiB of B and items of 32 MiB at most, but never less than a panel.
TEST(HostGeometry, SuperblocksKeepToTheirBudgets) {
  using Panels = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;  // pm, pn, m_super, n_super
  const auto of = [](const Sizes& size) {
    const Geometry g = geometry(size);
    EXPECT_FALSE(g.fused);
    return Panels{g.pm, g.pn, g.m_super, g.n_super};
  };
  EXPECT_EQ(of({1000, 500, 300, 1}), (Panels{11, 4, 176, 32}));  // all of 167 and 32, in whole items
  EXPECT_EQ(of({2640, 4480, 1000, 1}), (Panels{11, 4, 341, 260}));
  EXPECT_EQ(of({2640, 4480, 10000, 1}), (Panels{11, 4, 33, 24}));
  EXPECT_EQ(of({1000, 2000, 30000, 1}), (Panels{11, 4, 11, 8}));
  EXPECT_EQ(of({1000, 2000, 139810, 1}), (Panels{10, 3, 10, 3}));
  EXPECT_EQ(of({1000, 2000, 139811, 1}), (Panels{9, 3, 9, 3}));
  EXPECT_EQ(of({1000, 2000, 200000, 1}), (Panels{6, 2, 6, 2}));
  EXPECT_EQ(of({1000, 2000, 5000000, 1}), (Panels{1, 1, 1, 1}));
}

TEST(HostGeometry, AnItemOfAllRowsPacksItsOwnB) {
  struct Row {
    std::int64_t m, n;
    bool fused;
    std::int64_t pm, pn;
  };
  for (const Row& x : {Row{66, 400, true, 11, 3}, Row{67, 400, false, 11, 4}, Row{50, 2000, true, 9, 4},
                       Row{50, 384, true, 9, 3}, Row{50, 383, true, 9, 3}, Row{50, 368, true, 9, 2},
                       Row{50, 240, true, 9, 1}, Row{50, 100, true, 9, 1}, Row{1, 5000, true, 1, 4}}) {
    SCOPED_TRACE(testing::Message() << x.m << " x " << x.n);
    const Geometry g = geometry({x.m, x.n, 300, 1});
    EXPECT_EQ(g.fused, x.fused);
    EXPECT_EQ(g.pm, x.pm);
    EXPECT_EQ(g.pn, x.pn);
    if (!x.fused) continue;
    EXPECT_EQ(g.m_super, x.pm);
    EXPECT_EQ(g.n_super, (x.n + 15) / 16);
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
  const std::int64_t e = elements_per_word(g.kind), whole = g.fused ? 0 : 1, own = g.fused ? 1 : 0;
  const std::int64_t acc_ld = g.pn * nr + 16;
  EXPECT_EQ(g.acc_ld, acc_ld);
  const auto follow = [](std::size_t& at, std::size_t found, std::int64_t words, const char* what) {
    EXPECT_EQ(found, at) << what;
    at += words_bytes(words, 1);
  };
  std::size_t at = words_bytes(g.m_super * mr, g.words);
  follow(at, g.b_offset, whole * g.n_super * nr * g.words, "packed B");
  follow(at, g.a_scale_offset, g.m_super * mr * g.groups, "scales of A");
  follow(at, g.b_scale_offset, whole * g.n_super * nr * g.groups, "scales of B");
  EXPECT_EQ(g.slots_offset, at);
  at = words_bytes(g.pm * mr, acc_ld);
  follow(at, g.slot_total_offset, g.splits > 1 ? g.pm * mr * acc_ld : 0, "sums of all splits");
  follow(at, g.slot_row_offset, g.pn * nr, "a row");
  follow(at, g.slot_b_offset, own * nr * std::min(g.kc / e, g.words), "a panel of B");
  follow(at, g.slot_b_scale_offset, own * g.pn * nr * g.groups, "an item's scales of B");
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
            EXPECT_EQ(g.m_panels, (m + 5) / 6);
            EXPECT_EQ(g.n_panels, 32);
            expect_laid_out(g, 6, 16);
          }
}

}  // namespace test_host_geometry
