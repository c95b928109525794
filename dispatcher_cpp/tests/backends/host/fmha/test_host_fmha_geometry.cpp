// How attention on the CPU is cut into tasks, and what goes where in its workspace: the rules in numbers.
#include "backends/host/fmha/geometry.hpp"
#include "backends/host/fmha/host_fmha_fixture.hpp"
#include "backends/host/fmha/task.hpp"
#include "backends/host/workspace.hpp"

#include <algorithm>

namespace host_test {
namespace test_host_fmha_geometry {

using host::FmhaGeometry;
using host::PackKind;
using host::words_bytes;

FmhaGeometry geometry(const FmhaCase& c) {
  InstanceDesc i{};
  i.signature = c.signature;
  i.backend = c.twin ? c.twin_of : Backend::host;
  i.host_config.isa = c.isa, i.host_config.threads = c.threads;
  i.fmha.m0 = c.m0, i.fmha.n0 = c.n0, i.fmha.merge_heads = c.merge_heads;
  return host::make_fmha_geometry(i, Problem(c.signature).fmha(c.shape), c.splits);
}

/// fp32 at x86_64_v3 on one thread: two sequences, 4 query heads on each of 2 KV heads, 1000 keys.
FmhaCase plain(std::int64_t rows) {
  FmhaCase c = fmha_case(DType::fp32, DType::fp32, DType::fp32, {}, fmha_shape(2, 8, 2, rows, 1000, 64, 48));
  c.threads = 1;
  return c;
}

TEST(HostFmhaGeometry, NumbersOfAProblem) {
  for (const auto& [isa, type, kind, panel, elements, columns, tiles, row_tiles] :
       {std::tuple{Isa::x86_64_v3, DType::fp32, PackKind::f32, 16, 1, 65, 16, 7},
        std::tuple{Isa::x86_64_v4, DType::bf16, PackKind::f32, 32, 1, 195, 6, 4},
        std::tuple{Isa::x86_64_v4_bf16, DType::bf16, PackKind::bf16, 32, 2, 65, 16, 7},
        std::tuple{Isa::x86_64_v4_bf16, DType::fp16, PackKind::f32, 32, 1, 195, 6, 4}}) {
    FmhaCase c = plain(100);
    c.isa = isa, c.n0 = 65;
    c.signature.a = c.signature.b = type;
    c.shape.hdim_q = 33;
    const FmhaGeometry g = geometry(c);
    EXPECT_EQ(g.kind, kind);
    EXPECT_EQ(g.kernels->panel, panel);
    EXPECT_EQ(g.group, 4);
    EXPECT_EQ(g.pairs, 4);
    EXPECT_EQ(g.splits, 1);
    EXPECT_EQ(g.tile_columns, columns);
    EXPECT_EQ(g.tiles, tiles);
    EXPECT_EQ(g.words, (33 + elements - 1) / elements);
    EXPECT_EQ(g.v_words, (columns + elements - 1) / elements);
    EXPECT_EQ(g.k_panels, (columns + panel - 1) / panel);
    EXPECT_EQ(g.v_panels, (48 + panel - 1) / panel);
    EXPECT_EQ(g.row_tiles, row_tiles);  // 400 rows
    EXPECT_EQ(g.threads, 1);
    EXPECT_EQ(g.q_words, 8 * g.words);
  }
  FmhaCase c = plain(100);
  c.splits = 0;
  EXPECT_EQ(geometry(c).splits, 1);
  for (const int threads : {0, 1, 2, 999}) {
    c.threads = threads;
    EXPECT_EQ(geometry(c).threads, threads == 0 ? host::thread_count() : std::min(threads, host::thread_count()));
  }
  c.twin = true, c.threads = 1;
  EXPECT_EQ(geometry(c).threads, host::thread_count()) << "a twin's";
}

// Up to 32 rows of a KV head read K and V where they are, whole tiles of n0 in 256 columns at a time.
TEST(HostFmhaGeometry, FewRowsAreInPlace) {
  for (const auto& [rows, in_place] : {std::pair{1, true}, std::pair{8, true}, std::pair{9, false}}) {
    const FmhaGeometry g = geometry(plain(rows));
    EXPECT_EQ(g.in_place != nullptr, in_place) << rows;
    EXPECT_EQ(g.m0, in_place ? 4 * rows : 64);
    EXPECT_EQ(g.row_tiles, 1);
    EXPECT_EQ(g.tile_columns, in_place ? 256 : 64);
  }
  for (const auto& [n0, columns] : {std::pair{96, 192}, std::pair{30, 240}, std::pair{129, 129}, std::pair{256, 256}}) {
    FmhaCase c = plain(1);
    c.n0 = n0;
    EXPECT_EQ(geometry(c).tile_columns, columns);
  }
  FmhaCase c = plain(1);
  c.signature.fmha.v_column = true;
  EXPECT_EQ(geometry(c).in_place, nullptr);
  for (const DType type :
       {DType::fp32, DType::fp16, DType::bf16, DType::fp8_ocp, DType::bf8_ocp, DType::fp8_fnuz, DType::bf8_fnuz})
    for (const Isa isa : {Isa::x86_64_v3, Isa::x86_64_v4, Isa::x86_64_v4_bf16, Isa::x86_64_amx}) {
      c = plain(1);
      c.isa = isa;
      c.signature.a = bits(type) == 8 ? DType::bf16 : type, c.signature.b = type;
      const host::FmhaRowType row = type == DType::fp32                                ? host::kFmhaRowsFp32
                                    : type == DType::fp16                              ? host::kFmhaRowsFp16
                                    : type == DType::bf16                              ? host::kFmhaRowsBf16
                                    : type == DType::fp8_ocp || type == DType::bf8_ocp ? host::kFmhaRowsFp8
                                                                                       : host::kFmhaRowsFnuz;
      const FmhaGeometry g = geometry(c);
      EXPECT_EQ(g.in_place, bits(type) == 8 && isa < Isa::x86_64_v4_bf16 ? nullptr : &g.kernels->rows[row])
          << name(type);
    }
}

// As many heads as leave a task for every thread, whose blocks of 32 columns are 128 KiB, and that are 16 groups of
// 8 rows.
TEST(HostFmhaGeometry, ATaskTakesSeveralHeads) {
  struct Row {
    int batch, heads_q, heads_k, rows, hdim_q, hdim_v;
    std::uint32_t splits;
    int threads, heads;
  };
  const int two = std::min(2, host::thread_count());
  for (const Row& x :
       {Row{2, 16, 16, 1, 64, 48, 1, 1, 16}, Row{2, 32, 32, 1, 64, 48, 1, 1, 16}, Row{2, 34, 34, 1, 64, 48, 1, 1, 12},
        Row{2, 16, 16, 1, 256, 48, 1, 1, 4}, Row{2, 16, 16, 1, 48, 256, 1, 1, 4}, Row{2, 16, 16, 1, 200, 16, 1, 1, 4},
        Row{2, 16, 16, 9, 64, 48, 1, 1, 8}, Row{2, 64, 16, 8, 64, 48, 1, 1, 4},
        Row{1, 16, 16, 1, 64, 48, 1, two, 16 / two}, Row{2, 16, 16, 1, 64, 48, 1, two, 16},
        Row{1, 16, 16, 1, 64, 48, 2, two, 16}, Row{1, 1, 1, 1, 64, 48, 1, two, 1},
        Row{2, 16, 16, 40, 64, 48, 1, 1, 1}}) {
    SCOPED_TRACE(testing::Message() << x.heads_q << "/" << x.heads_k << " heads, rows " << x.rows << " dims "
                                    << x.hdim_q);
    FmhaCase c = fmha_case(DType::fp32, DType::fp32, DType::fp32, {},
                           fmha_shape(x.batch, x.heads_q, x.heads_k, x.rows, 1000, x.hdim_q, x.hdim_v));
    c.splits = x.splits, c.threads = x.threads;
    const FmhaGeometry g = geometry(c);
    EXPECT_EQ(g.heads, x.heads);
    EXPECT_EQ(g.blocks, x.batch * ((x.heads_k + x.heads - 1) / x.heads));
  }
  FmhaCase c = plain(1);
  c.signature.fmha.kv = FmhaKv::block_table, c.signature.fmha.kv_layout = FmhaKvLayout::vectorized;
  c.shape.page_size = 16, c.shape.pages = 200;
  EXPECT_EQ(geometry(c).heads, 1);
}

// 64 MiB of packed tiles at a time, at least one pair's, at most all.
TEST(HostFmhaGeometry, PackedTilesAreSharedByRowsThatBeginAtThem) {
  const auto chunk = [](std::int64_t keys, std::int64_t batch) {
    FmhaCase c = plain(40);
    c.shape.seqlen_k = keys, c.shape.batch = batch;
    const FmhaGeometry g = geometry(c);
    EXPECT_TRUE(g.shared);
    EXPECT_EQ(g.tile_bytes, 28672U);  // 64 columns of 64 and of 48 dimensions
    return g.chunk;
  };
  EXPECT_EQ(chunk(1000, 2), 4);
  EXPECT_EQ(chunk(585 * 64, 8), 4);  // 64 MiB
  EXPECT_EQ(chunk(585 * 64 + 1, 8), 3);
  EXPECT_EQ(chunk(1000000, 8), 1);
  EXPECT_EQ(chunk(0, 2), 4);

  const auto shared = [](std::int64_t rows, Backend backend, std::uint32_t splits, int sinks) {
    FmhaCase c = plain(rows);
    c.twin = backend != Backend::host, c.twin_of = backend, c.splits = splits, c.m0 = 16;
    c.signature.fmha.masked = true, c.shape.sink_tokens = sinks;
    const FmhaGeometry g = geometry(c);
    EXPECT_EQ(g.cut, backend == Backend::hip                     ? host::FmhaCut::blocks
                     : backend == Backend::ck_tile && sinks == 0 ? host::FmhaCut::columns
                                                                 : host::FmhaCut::tiles);
    return g.shared;
  };
  EXPECT_TRUE(shared(40, Backend::host, 1, 0));
  EXPECT_TRUE(shared(40, Backend::host, 3, 0));
  EXPECT_TRUE(shared(40, Backend::ck_tile, 1, 0));
  EXPECT_FALSE(shared(40, Backend::ck_tile, 3, 0));
  EXPECT_TRUE(shared(40, Backend::ck_tile, 3, 1));
  EXPECT_FALSE(shared(40, Backend::hip, 3, 0));
  EXPECT_TRUE(shared(40, Backend::hip, 1, 0));
  EXPECT_FALSE(shared(4, Backend::host, 1, 0)) << "in place";
}

TEST(HostFmhaGeometry, BlocksAreCutFromRowsOfATile) {
  for (const auto& [merge, rows, splits, m0] :
       {std::tuple{true, 40, 3U, 16}, std::tuple{false, 40, 3U, 64}, std::tuple{false, 3, 3U, 12},
        std::tuple{true, 3, 3U, 12}, std::tuple{false, 40, 1U, 16}}) {
    FmhaCase c = plain(rows);
    c.twin = true, c.twin_of = Backend::hip, c.m0 = 16, c.splits = splits, c.merge_heads = merge;
    const FmhaGeometry g = geometry(c);
    EXPECT_EQ(g.m0, m0);
    EXPECT_EQ(g.row_tiles, (4 * rows + m0 - 1) / m0);
    EXPECT_EQ(g.merges_heads, merge);
    EXPECT_EQ(g.in_place != nullptr, splits > 1 && m0 <= 32);
  }
}

// Products by tiles of AMX want many columns, up to 512 in whole n0, and tasks of up to 128 rows, four for each thread.
TEST(HostFmhaGeometry, GroupsHaveLargeTilesWhereNothingIsSplit) {
  const auto of = [](Isa isa, std::int64_t batch, std::int64_t keys, std::uint32_t splits) {
    FmhaCase c = plain(100);
    c.isa = isa, c.splits = splits, c.m0 = 32, c.n0 = 96;
    c.signature.a = c.signature.b = DType::bf16;
    c.shape.batch = batch, c.shape.seqlen_k = keys;
    const FmhaGeometry g = geometry(c);
    EXPECT_EQ(g.tiles, (keys + g.tile_columns - 1) / g.tile_columns);
    EXPECT_EQ(g.v_words, g.tile_columns / 2);
    return std::pair{g.m0, g.tile_columns};
  };
  EXPECT_EQ(of(Isa::x86_64_amx, 2, 1000, 1), (std::pair<std::int64_t, std::int64_t>{128, 480}));
  EXPECT_EQ(of(Isa::x86_64_amx, 2, 90, 1), (std::pair<std::int64_t, std::int64_t>{128, 96})) << "no room for more";
  EXPECT_EQ(of(Isa::x86_64_amx, 2, 0, 1).second, 96);
  EXPECT_EQ(of(Isa::x86_64_amx, 2, 1000, 3), (std::pair<std::int64_t, std::int64_t>{128, 96})) << "splits";
  EXPECT_EQ(of(Isa::x86_64_v4_bf16, 2, 1000, 1), (std::pair<std::int64_t, std::int64_t>{32, 96})) << "no groups";
  FmhaCase few = plain(100);
  few.isa = Isa::x86_64_amx, few.m0 = 32;
  few.signature.a = few.signature.b = DType::bf16;
  few.shape = fmha_shape(1, 1, 1, 300, 1000, 64, 48);
  EXPECT_EQ(geometry(few).m0, 64) << "4 tasks of 128 rows are not there";
}

/// Where everything is, from the numbers of panels and heads.
void expect_laid_out(const FmhaCase& c) {
  const FmhaGeometry g = geometry(c);
  const FmhaTraits& t = c.signature.fmha;
  const std::int64_t panel = g.kernels->panel, rows = c.shape.seqlen_q * g.group;
  const bool few = g.in_place != nullptr, vectors = t.kv_layout == FmhaKvLayout::vectorized;
  EXPECT_EQ(g.v_offset, words_bytes(g.k_panels * g.words, panel));
  EXPECT_EQ(g.tile_bytes, g.v_offset + words_bytes(g.v_panels * g.v_words, panel));
  const auto follow = [](std::size_t& at, std::size_t found, std::size_t bytes, const char* what) {
    EXPECT_EQ(found, at) << what;
    at += host::aligned_64(bytes);
  };
  std::size_t at = g.shared ? host::aligned_64(static_cast<std::size_t>(g.chunk * g.tiles) * g.tile_bytes) : 0;
  const std::int64_t counted = g.shared ? g.chunk : 0;
  follow(at, g.progress_offset, static_cast<std::size_t>(counted) * sizeof(host::FmhaProgress), "how far pairs are");
  const std::int64_t partials = g.splits > 1 ? g.pairs * rows * g.splits : 0;
  follow(at, g.partial_offset, words_bytes(partials, c.shape.hdim_v), "rows of splits");
  follow(at, g.lse_offset, words_bytes(partials, 1), "their lse");
  EXPECT_EQ(g.slots_offset, at);

  const std::int64_t whole = few ? panel : std::max(g.kernels->groups.grain, 1),
                     words = (g.words + whole - 1) / whole * whole;
  EXPECT_EQ(g.q_words, 8 * words);
  const std::int64_t groups = (std::min(g.m0, rows) + 7) / 8, together = std::max(g.kernels->groups.most, 1),
                     units = few ? g.heads * groups : together;
  at = 0;
  follow(at, g.q, words_bytes(groups * g.q_words, 1), "Q");
  follow(at, g.out, words_bytes(groups * g.v_panels * 8, panel), "O");
  follow(at, g.state, static_cast<std::size_t>(groups) * sizeof(host::FmhaState), "states");
  EXPECT_EQ(g.own_bytes, at);

  const std::size_t scores = 8 * 544 * 4;
  const bool factors =
      t.dropout != FmhaDropout::none || t.quant == FmhaQuant::kv_blockscale || t.quant == FmhaQuant::blockscale;
  const auto gathered =
      static_cast<std::size_t>(bytes_of(c.signature.b, g.tile_columns * (c.shape.hdim_q + c.shape.hdim_v)));
  EXPECT_EQ(g.score_places, units);
  EXPECT_EQ(g.gathered_bytes, gathered);
  at = 0;
  follow(at, g.tile, g.shared || few ? 0 : g.tile_bytes, "a tile");
  follow(at, g.pointers, few ? 4 * 256 * sizeof(void*) : 0, "addresses of rows");
  follow(at, g.gathered, few && vectors ? 2 * gathered : 0, "rows out of vectors");
  follow(at, g.own, static_cast<std::size_t>(g.heads) * g.own_bytes, "of each head");
  follow(at, g.scores, static_cast<std::size_t>(units) * scores, "scores");
  follow(at, g.weights, g.kind == PackKind::f32 ? 0 : static_cast<std::size_t>(units) * scores, "weights");
  follow(at, g.bias, t.bias == FmhaBias::elementwise ? scores : 0, "bias");
  follow(at, g.factor, factors ? scores : 0, "factors");
  follow(at, g.keep, t.dropout == FmhaDropout::philox ? 16 * 512 : 0, "drawn bytes");
  follow(at, g.columns, 2 * 544 * 4, "factors of columns");
  follow(at, g.row, words_bytes(std::max(g.words, g.v_panels * panel), 1), "a row");
  EXPECT_EQ(g.slot_bytes, at);
  EXPECT_EQ(g.bytes, g.slots_offset + static_cast<std::size_t>(g.threads) * at);
}

TEST(HostFmhaGeometry, WhatLiesInTheWorkspaceFollowsInItsOrder) {
  for (const int options : {0, 1, 2, 3, 4, 5})
    for (const int rows : {1, 7, 40})
      for (const std::uint32_t splits : {1U, 3U})
        for (const Isa isa : {Isa::x86_64_v3, Isa::x86_64_v4_bf16}) {
          SCOPED_TRACE(testing::Message() << "options " << options << " rows " << rows << " splits " << splits);
          FmhaCase c = plain(rows);
          c.isa = isa, c.splits = splits, c.threads = 0;
          c.shape.hdim_q = 72, c.shape.hdim_v = rows == 40 ? 200 : 40;
          c.signature.a = c.signature.b = rows == 7 ? DType::fp32 : DType::bf16;
          FmhaTraits& t = c.signature.fmha;
          if (options == 1) t.bias = FmhaBias::elementwise;
          if (options == 2) t.dropout = FmhaDropout::philox;
          if (options == 3) t.dropout = FmhaDropout::randval;
          if (options == 4)
            t.kv = FmhaKv::block_table, t.kv_layout = FmhaKvLayout::vectorized, t.quant = FmhaQuant::kv_blockscale;
          if (options == 5) t.quant = FmhaQuant::blockscale;
          c.shape.page_size = 16, c.shape.pages = 200;
          expect_laid_out(c);
        }
}

}  // namespace test_host_fmha_geometry
}  // namespace host_test
