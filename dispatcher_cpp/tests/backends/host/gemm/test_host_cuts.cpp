// How products are cut into parts and blocks, and how much workspace their parts take: the rules in numbers.
#include "backends/host/gemm/blocking.hpp"
#include "backends/host/gemm/pack_source.hpp"
#include "backends/host/gemm/parts.hpp"
#include "backends/host/gemm/small_m.hpp"
#include "backends/host/gemm/stream_k.hpp"
#include "backends/host/workspace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace test_host_cuts {

using namespace ckgen;
using namespace ckgen::host;

GemmTraits traits_of(DType a, DType b, Quant quant = Quant::none) {
  return {a, b, DType::fp32, a == DType::int8 ? DType::int32 : DType::fp32, Layout::rcr, quant, false, false};
}

/// Tiles of 6 x 16 in blocks of 64 x 64 x 256.
Blocking blocking_of(std::int64_t k, int threads) {
  return {&kIsaV3, PackKind::f32, 6, 16, 64, 64, 256, k, 0, threads, false};
}

// N first, in whole register tiles of at least 128 columns; then M, in whole ones of at least 64 rows.
TEST(HostCuts, AProductIsCutAlongNThenM) {
  struct Row {
    std::int64_t m, n, k;
    double flops;
    std::int64_t rows, columns, down, across;
  };
  for (const Row& x : {
           Row{100, 1000, 50, 1.1e7, 100, 1000, 1, 1},  // 1e7 in all
           Row{100, 1000, 50, 1e7, 100, 512, 1, 2},     // as much as a part has is two of them
           Row{100, 1000, 50, 4e6, 100, 336, 1, 3},     // 3 pieces: 334 columns, 21 tiles
           Row{100, 1000, 50, 1.3e6, 100, 128, 1, 8},   // 8 pieces
           Row{100, 1000, 50, 1.2e6, 66, 128, 2, 8},    // 9 pieces, of 50 rows: 64, 11 tiles
           Row{1000, 1000, 50, 1e6, 78, 128, 13, 8},    // 101 pieces: 13 of 77 rows
           Row{1000, 1000, 50, 0, 66, 128, 16, 8},      // as many as there can be
           Row{40, 1000, 50, 1e3, 40, 128, 1, 8},
           Row{40, 100, 50, 1e3, 40, 100, 1, 1},
           Row{100, 1000, 0, 1e6, 100, 1000, 1, 1},
       }) {
    SCOPED_TRACE(testing::Message() << x.m << "x" << x.n << "x" << x.k << " in parts of " << x.flops);
    const Cut cut = cut_product(blocking_of(x.k, 1), x.m, x.n, x.k, x.flops);
    EXPECT_EQ(cut.rows, x.rows);
    EXPECT_EQ(cut.columns, x.columns);
    EXPECT_EQ(cut.down, x.down);
    EXPECT_EQ(cut.across, x.across);
    EXPECT_EQ(cut.count(), x.down * x.across);
  }
  Blocking blocking = blocking_of(50, 1);
  blocking.mr = blocking.nr = 1;
  const Cut cut = cut_product(blocking, 1000, 1000, 50, 0);
  EXPECT_EQ(cut.rows, 64);
  EXPECT_EQ(cut.columns, 128);
}

TEST(HostCuts, ATwinsBlocksAreItsTiles) {
  struct Row {
    std::int32_t tile_k;
    std::int64_t k_batch, k, kc, split;
  };
  for (const Row& x :
       {Row{32, 1, 100, 256, 128}, Row{32, 4, 100, 256, 32}, Row{32, 4, 129, 256, 64}, Row{48, 2, 100, 240, 96},
        Row{300, 1, 100, 300, 300}, Row{256, 3, 1536, 256, 512}, Row{32, 2, 0, 256, 1}}) {
    SCOPED_TRACE(testing::Message() << "tile_k " << x.tile_k << " k_batch " << x.k_batch << " k " << x.k);
    const TwinConfig config{96, 160, x.tile_k, 2, true, true, true};
    const Blocking b = twin_blocking(traits_of(DType::bf16, DType::bf16), config, x.k_batch, x.k);
    EXPECT_EQ(b.kind, PackKind::f32);
    EXPECT_EQ(b.block_m, 96);
    EXPECT_EQ(b.block_n, 160);
    EXPECT_EQ(b.kc, x.kc);
    EXPECT_EQ(b.split, x.split);
    EXPECT_EQ(b.split_mode, 2);
    EXPECT_EQ(b.threads, thread_count());
    EXPECT_FALSE(b.dots);
    EXPECT_EQ(b.mr, b.isa->menu[0].kernels[0].mr);
    EXPECT_EQ(b.nr, b.isa->menu[0].kernels[0].nr);
  }
}

TEST(HostCuts, AnInstanceOfTheCpuHasItsConfig) {
  for (const int wanted : {0, 1, 2, 999}) {
    const int threads = wanted == 0 ? thread_count() : std::min(wanted, thread_count());
    const HostConfig config{Isa::x86_64_v4, 12, 32, 40, 50, 60, wanted};
    const Blocking b = host_blocking(traits_of(DType::fp32, DType::fp32), config, 70);
    EXPECT_EQ(b.isa, &kIsaV4);
    EXPECT_EQ(b.mr, 12);
    EXPECT_EQ(b.nr, 32);
    EXPECT_EQ(b.block_m, 40);
    EXPECT_EQ(b.block_n, 50);
    EXPECT_EQ(b.kc, 60);
    EXPECT_EQ(b.split, 70);
    EXPECT_EQ(b.split_mode, 0);
    EXPECT_EQ(b.threads, threads);
    EXPECT_TRUE(b.dots);
    const GemmTraits plain = traits_of(DType::fp32, DType::fp32);  // which a Cutting refers to
    const Cutting cutting(plain, config);
    EXPECT_EQ(cutting.blocking(70).threads, threads);
    EXPECT_EQ(cutting.part_blocking(70).threads, 1);
  }
  EXPECT_EQ(host_blocking(traits_of(DType::fp32, DType::fp32), {Isa::x86_64_v4, 12, 32, 40, 50, 60, 0}, 0).split, 1);
}

// As many words of any type, but for tiles.
TEST(HostCuts, ADepthOfFp32IsAsManyWordsOfNarrowerTypes) {
  struct Row {
    Isa isa;
    std::int32_t mr, nr;
    DType type;
    std::int64_t kc;
  };
  for (const Row& x : {Row{Isa::x86_64_v3, 6, 16, DType::fp16, 60}, Row{Isa::x86_64_v3, 6, 16, DType::int8, 120},
                       Row{Isa::x86_64_v4, 8, 32, DType::bf16, 60}, Row{Isa::x86_64_v4_bf16, 8, 32, DType::bf16, 120},
                       Row{Isa::x86_64_amx, 8, 32, DType::bf16, 120}, Row{Isa::x86_64_amx, 16, 32, DType::bf16, 60},
                       Row{Isa::x86_64_amx, 8, 32, DType::int8, 240}, Row{Isa::x86_64_amx, 32, 32, DType::int8, 60}}) {
    if (table_for(x.isa) == nullptr) continue;
    SCOPED_TRACE(testing::Message() << isa_name(x.isa) << " " << name(x.type) << " " << x.mr);
    EXPECT_EQ(host_blocking(traits_of(x.type, x.type), {x.isa, x.mr, x.nr, 40, 50, 60, 0}, 70).kc, x.kc);
  }
}

TEST(HostCuts, PanelsAreOfTheKindThatTheTypesAllow) {
  using enum DType;
  for (const DType type : {bf16, fp8_ocp, fp8_fnuz, bf8_ocp, bf8_fnuz}) {
    EXPECT_EQ(host_kind(traits_of(type, bf16), kIsaV4Bf16), PackKind::bf16);
    EXPECT_EQ(host_kind(traits_of(bf16, type, Quant::rowwise), kIsaV4Bf16), PackKind::bf16);
    EXPECT_EQ(host_kind(traits_of(bf16, type, Quant::per_tensor), kIsaV4Bf16), PackKind::bf16);
    EXPECT_EQ(host_kind(traits_of(type, fp16), kIsaV4Bf16), PackKind::f32);
    EXPECT_EQ(host_kind(traits_of(fp32, type), kIsaV4Bf16), PackKind::f32);
    const PackKind of_blocks = type == bf16 ? PackKind::f32 : PackKind::bf16;
    EXPECT_EQ(host_kind(traits_of(type, type, Quant::blockscale), kIsaV4Bf16), of_blocks);
    EXPECT_EQ(host_kind(traits_of(type, type, Quant::mx), kIsaV4Bf16), of_blocks);
    EXPECT_EQ(host_kind(traits_of(type, type), kIsaV4), PackKind::f32);
    GemmTraits two = traits_of(type, type);
    two.a_op = OperandOp::mul;
    EXPECT_EQ(host_kind(two, kIsaV4Bf16), PackKind::f32);
    std::swap(two.a_op, two.b_op);
    EXPECT_EQ(host_kind(two, kIsaV4Bf16), PackKind::f32);
  }
  GemmTraits block = traits_of(fp8_ocp, bf8_ocp, Quant::blockscale);
  EXPECT_EQ(host_kind(block, kIsaV4), PackKind::f32);
  block.scale_block.k = 32;
  EXPECT_EQ(host_kind(block, kIsaV4Bf16), PackKind::bf16);
  block.scale_block.k = 16;
  EXPECT_EQ(host_kind(block, kIsaV4Bf16), PackKind::f32);
  GemmTraits mx = traits_of(fp8_ocp, fp4, Quant::mx);
  EXPECT_EQ(host_kind(mx, kIsaV4Bf16), PackKind::bf16);
  mx.layout = Layout::rrr;
  EXPECT_EQ(host_kind(mx, kIsaV4Bf16), PackKind::f32);
  EXPECT_EQ(host_kind(traits_of(fp4, fp4), kIsaV4Bf16), PackKind::f32);
  EXPECT_EQ(host_kind(traits_of(int8, int8), kIsaV3), PackKind::i16);
  EXPECT_EQ(host_kind(traits_of(int8, int8), kIsaV4), PackKind::i16);
  EXPECT_EQ(host_kind(traits_of(int8, int8), kIsaV4Bf16), PackKind::i8);
  EXPECT_EQ(table_for(Isa::x86_64_v3), &kIsaV3);
  EXPECT_EQ(table_for(Isa::x86_64_v4), &kIsaV4);
  EXPECT_EQ(table_for(Isa::x86_64_v4_bf16), &kIsaV4Bf16);
  EXPECT_EQ(table_for(static_cast<Isa>(4)), nullptr);
}

TEST(HostCuts, TilesStandBehindTheKernelsOfTheLevelBelowAndAreNotMixedWithThem) {
  const IsaTable& amx = *table_for(Isa::x86_64_amx);
  const auto f32 = static_cast<int>(PackKind::f32);
  EXPECT_EQ(amx.menu[f32].kernels, kIsaV4Bf16.menu[f32].kernels);
  for (const PackKind kind : {PackKind::bf16, PackKind::i8}) {
    const IsaTable::Menu &menu = amx.menu[static_cast<int>(kind)], &below = kIsaV4Bf16.menu[static_cast<int>(kind)];
    ASSERT_EQ(menu.count, below.count + 2);
    EXPECT_EQ(menu.kernels[0].run, below.kernels[0].run);
    for (const int m : {1, 16, 17, 33, 48}) {
      const MicroKernel* tile = pick_micro(menu, 32, 32, m);
      EXPECT_EQ(tile->grain, kGrain) << m;
      EXPECT_EQ(tile->mr, m == 1 || m == 16 ? 16 : 32) << m;
      EXPECT_EQ(pick_micro(menu, 14, 32, m)->grain, 1) << m;
    }
  }
}

TEST(HostCuts, TilesTakeKInWholeGrainsButForTheLast) {
  Blocking b{};
  b.isa = table_for(Isa::x86_64_amx);
  b.kind = PackKind::bf16;
  b.mr = b.nr = 32;
  b.block_m = b.block_n = 64;
  b.kc = 33;
  b.split = 1000;
  b.threads = 1;
  const Geometry g = make_geometry(traits_of(DType::bf16, DType::bf16), b, {40, 40, 1000, 1});
  EXPECT_EQ(g.kc, 64);            // 33 elements are two grains of 32
  EXPECT_EQ(g.split_words, 512);  // 500 of bf16
  EXPECT_EQ(g.depth % 32, 1000 % 32);
}

// Panels of A for tiles, of values that differ, from rows and from columns. `untouched`: a byte that none must keep.
template <class Element, int GRAINS>
void expect_rows_of_whole_grains(PackKind kind, DType type, bool is_a, int untouched) {
  const IsaTable& amx = *table_for(Isa::x86_64_amx);
  constexpr int kRows = 19, kK = 77, kLd = 96, kMr = 32, kOfGrain = 4 / sizeof(Element) * kGrain;
  std::vector<Element> a(kRows * kLd), turned(kLd * kRows);
  for (int r = 0; r < kRows; ++r)
    for (int k = 0; k < kLd; ++k) {
      a[r * kLd + k] = static_cast<Element>(1 + r * (sizeof(Element) == 1 ? 37 : 256) + k);
      turned[k * kRows + r] = a[r * kLd + k];
    }
  // A workspace is aligned to 16 bytes at least, and so are panels in it.
  struct alignas(64) Panel {
    Element before[16 / sizeof(Element)];
    Element words[GRAINS][kMr][kOfGrain];
  };
  for (const bool k_contiguous : {true, false}) {
    const auto panel = std::make_unique<Panel>();
    std::memset(panel.get(), untouched, sizeof(Panel));
    PackSource source = make_pack_source(kind, type, k_contiguous ? a.data() : turned.data(),
                                         k_contiguous ? kLd : kRows, k_contiguous, false);
    source.is_a = is_a;
    amx.pack_tiles(source, 2, kRows - 2, kMr, 6, kK, panel->words);
    for (int k = 0; k < GRAINS * kOfGrain; ++k)
      for (int r = 0; r < kMr; ++r) {
        const int expected = r < kRows - 2 && k < kK ? a[(r + 2) * kLd + k + 6] : 0;
        ASSERT_EQ(panel->words[k / kOfGrain][r][k % kOfGrain], expected) << k_contiguous << " row " << r << " k " << k;
      }
  }
}

TEST(HostCuts, PanelsOfTilesHaveRowsOfWholeGrains) {
  if (!isa_available(Isa::x86_64_v4_bf16)) GTEST_SKIP() << cpu_brand();
  expect_rows_of_whole_grains<std::uint16_t, 3>(PackKind::bf16, DType::bf16, false, 0xff);
}

// Signed as they are in memory, whatever other kernels of int8 add to A.
TEST(HostCuts, PanelsOfTilesHaveBytesAsTheyAre) {
  if (!isa_available(Isa::x86_64_v4_bf16)) GTEST_SKIP() << cpu_brand();
  expect_rows_of_whole_grains<std::int8_t, 2>(PackKind::i8, DType::int8, true, 0x55);
}

// A panel: sizes, scales of 16 rows, values in whole chunks of 64 that no cache set is crowded by. A thread: its part
// of C, a row, scales of the four rows of B that go together.
TEST(HostCuts, FewRowsTakeAPanelAndWhatTheirThreadsNeed) {
  struct Row {
    DType type;
    Quant quant;
    std::int64_t m, n, k, batch;
    int threads;
    std::int64_t row_bytes, scales, slice;
    int of_one, together;
  };
  using enum DType;
  for (const Row& x : {
           Row{fp32, Quant::none, 3, 100, 100, 1, 4, 512, 16, 24, 1, 1},     // 60 000 operations
           Row{fp32, Quant::none, 3, 1000, 1000, 1, 4, 4160, 16, 60, 4, 1},  // 4096 bytes more a line
           Row{fp32, Quant::none, 3, 999, 1024, 1, 4, 4160, 16, 60, 4, 1},
           Row{fp32, Quant::none, 3, 1000, 3000, 1, 4, 12032, 16, 20, 4, 1},  // 21 rows of B are 256 KiB
           Row{fp32, Quant::none, 1, 1000, 90000, 1, 4, 360192, 16, 4, 4, 1},
           Row{fp32, Quant::none, 16, 9000, 100, 1, 4, 512, 16, 256, 4, 1},
           Row{fp32, Quant::none, 16, 1000, 100, 1, 2, 512, 16, 124, 2, 1},
           Row{fp32, Quant::none, 16, 1000, 100, 2, 4, 512, 16, 248, 1, 2},
           Row{fp32, Quant::none, 16, 1000, 100, 9, 4, 512, 16, 248, 1, 4},
           Row{fp32, Quant::none, 16, 1000, 100, 9, 1, 512, 16, 248, 1, 1},
           Row{fp32, Quant::none, 10, 5000, 500, 2, 4, 2048, 16, 128, 4, 1},  // 5e7 operations each
           Row{fp32, Quant::none, 10, 5000, 499, 2, 4, 2048, 16, 128, 1, 2},
           Row{fp32, Quant::none, 10, 500, 100, 1, 4, 512, 16, 28, 4, 1},  // 1e6 operations
           Row{fp32, Quant::none, 10, 500, 99, 1, 4, 512, 16, 124, 1, 1},
           Row{int8, Quant::none, 2, 400, 100, 1, 1, 256, 16, 100, 1, 1},
           Row{fp8_ocp, Quant::mx, 2, 400, 32 * 15, 1, 1, 2048, 16, 100, 1, 1},
           Row{fp8_ocp, Quant::mx, 2, 400, 32 * 16, 1, 1, 2048, 32, 100, 1, 1},
           Row{fp8_ocp, Quant::blockscale, 2, 400, 129, 1, 1, 768, 16, 100, 1, 1},
       }) {
    SCOPED_TRACE(testing::Message() << name(x.type) << " " << x.m << "x" << x.n << "x" << x.k << " batch " << x.batch);
    const std::int64_t panel = 64 + 16 * x.scales * 4 + x.m * x.row_bytes;
    const std::size_t slot =
        words_bytes(x.m, x.slice) + words_bytes(x.slice, 1) + static_cast<std::size_t>(4 * x.scales * 4);
    const std::size_t one = static_cast<std::size_t>(panel) + slot * static_cast<std::size_t>(x.of_one);
    EXPECT_EQ(
        small_m_workspace(traits_of(x.type, x.type, x.quant), blocking_of(x.k, x.threads), {x.m, x.n, x.k, x.batch}),
        one * static_cast<std::size_t>(x.together));
  }
}

TEST(HostCuts, FewRowsHaveNoKernelForTheseAtAll) {
  const auto bytes = [](const GemmTraits& t, std::int64_t m, std::int64_t k, std::int64_t split) {
    return small_m_workspace(t, blocking_of(split, 1), {m, 100, k, 1});
  };
  const GemmTraits plain = traits_of(DType::fp8_ocp, DType::fp8_ocp);
  EXPECT_NE(bytes(plain, 16, 100, 100), 0U);
  EXPECT_NE(bytes(plain, 16, 1, 1), 0U);
  EXPECT_EQ(bytes(plain, 17, 100, 100), 0U);
  EXPECT_EQ(bytes(plain, 16, 0, 1), 0U);
  EXPECT_EQ(bytes(plain, 16, 100, 99), 0U);
  for (const int k : {32, 64, 96, 128, 192, 16, 48}) {
    GemmTraits t = traits_of(DType::fp8_ocp, DType::fp8_ocp, Quant::blockscale);
    t.scale_block.k = static_cast<std::uint8_t>(k);
    EXPECT_EQ(bytes(t, 4, 384, 384) != 0, k == 32 || k % 64 == 0) << k;
  }
  GemmTraits t = plain;
  t.layout = Layout::rrr;
  EXPECT_EQ(bytes(t, 4, 100, 100), 0U);
  t = plain, t.preshuffle_b = true;
  EXPECT_EQ(bytes(t, 4, 100, 100), 0U);
  t = plain, t.a_op = OperandOp::add;
  EXPECT_EQ(bytes(t, 4, 100, 100), 0U);
  t = plain, t.b_op = OperandOp::add;
  EXPECT_EQ(bytes(t, 4, 100, 100), 0U);
}

// Two slices per workgroup where tiles are split, then a slot per thread: sums, packed A, a panel of B, two rows.
TEST(HostCuts, StreamKTakesTwoSlicesPerWorkgroup) {
  struct Row {
    Sizes size;
    std::int64_t workgroups;
    int threads;
    std::int64_t rows, columns, kc;  // of a tile, in whole register tiles
    int mr;
    bool split;
  };
  for (const Row& x : {
           Row{{100, 100, 1000, 1}, 3, 3, 66, 64, 256, 6, true},  // 2e7 operations
           Row{{100, 100, 1000, 1}, 2, 2, 66, 64, 256, 6, false},
           Row{{100, 100, 1000, 1}, 9, 4, 66, 64, 256, 6, true},
           Row{{100, 100, 50, 1}, 3, 3, 66, 64, 50, 6, true},  // 1e6
           Row{{100, 100, 49, 1}, 3, 1, 66, 64, 49, 6, true},
           Row{{50, 100, 50, 2}, 3, 3, 54, 64, 50, 6, true},
           Row{{3, 20, 1000, 1}, 3, 1, 4, 32, 256, 4, true},
       }) {
    SCOPED_TRACE(testing::Message() << x.size.m << "x" << x.size.n << "x" << x.size.k << " on " << x.workgroups);
    const StreamKGeometry g =
        make_stream_k_geometry(blocking_of(x.size.k, 4), {Strategy::linear, 64, 64, 16, x.workgroups}, x.size);
    EXPECT_EQ(g.tiles_m, (x.size.m + 63) / 64);
    EXPECT_EQ(g.tiles_n, (x.size.n + 63) / 64);
    EXPECT_EQ(g.micro->mr, x.mr);
    EXPECT_EQ(g.kc, x.kc);
    EXPECT_EQ(g.m_panels, x.rows / x.mr);
    EXPECT_EQ(g.n_panels, x.columns / 16);
    EXPECT_EQ(g.acc_ld, x.columns + 16);
    EXPECT_EQ(g.threads, x.threads);
    const std::size_t slice = words_bytes(x.rows, x.columns + 16);
    EXPECT_EQ(g.slice_bytes, slice);
    EXPECT_EQ(g.partition.sk_tiles != 0, x.split);
    EXPECT_EQ(g.slots_offset, x.split ? slice * static_cast<std::size_t>(2 * x.workgroups) : 0);
    EXPECT_EQ(g.slot_a_offset, slice);
    EXPECT_EQ(g.slot_b_offset, slice + words_bytes(x.rows, x.kc));
    EXPECT_EQ(g.slot_row_offset, g.slot_b_offset + words_bytes(16, x.kc));
    EXPECT_EQ(g.slot_bytes, g.slot_row_offset + words_bytes(2, x.columns + 16));
    EXPECT_EQ(g.bytes, g.slots_offset + g.slot_bytes * static_cast<std::size_t>(x.threads));
  }
  Blocking blocking = blocking_of(101, 1);
  blocking.kind = PackKind::i16, blocking.kc = 31;
  const StreamKGeometry g = make_stream_k_geometry(blocking, {Strategy::linear, 64, 64, 16, 3}, {64, 64, 101, 1});
  EXPECT_EQ(g.kc, 32) << "whole words";
  EXPECT_EQ(g.slot_b_offset, g.slot_a_offset + words_bytes(66, 16));
}

}  // namespace test_host_cuts
