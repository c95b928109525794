// How threads share a product, and which lines of B they ask for ahead.
#include "backends/host/gemm/ahead.hpp"
#include "backends/host/gemm/division.hpp"
#include "backends/host/gemm/pack_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace test_host_division {

using namespace ckgen;
using namespace ckgen::host;

constexpr GemmTraits kTraits{DType::fp32, DType::fp32, DType::fp32, DType::fp32,
                             Layout::rcr, Quant::none, false,       false};

/// Tiles of 14 x 32 in blocks of 112 x 512 x 512.
Blocking blocking(std::int64_t k, int threads) {
  return {&kIsaV4, PackKind::f32, 14, 32, 112, 512, 512, k, 0, threads, false};
}

Division division(const Sizes& size, int threads) {
  return make_division(kTraits, blocking(size.k, threads), size);
}

// Below 1e6 operations one thread; products of a batch below 5e7 each are shared out whole.
TEST(HostDivision, ThreadsShareAProductOrTheBatch) {
  struct Row {
    Sizes size;
    int threads, parts, together;
  };
  for (const Row& x :
       {Row{{100, 100, 49, 1}, 4, 1, 1}, Row{{100, 100, 50, 1}, 4, 4, 4}, Row{{100, 100, 50, 1}, 0, 1, 1},
        Row{{64, 64, 64, 1}, 4, 1, 1}, Row{{64, 64, 64, 2}, 4, 1, 2}, Row{{64, 64, 64, 3}, 4, 1, 3},
        Row{{64, 64, 64, 8}, 4, 1, 4}, Row{{64, 64, 64, 8}, 2, 1, 2}, Row{{64, 64, 64, 8}, 1, 1, 1},
        Row{{500, 500, 99, 2}, 4, 1, 2}, Row{{500, 500, 100, 2}, 4, 4, 4}, Row{{500, 500, 100, 9}, 1, 1, 1}}) {
    SCOPED_TRACE(testing::Message() << x.size.m << " " << x.size.k << " batch " << x.size.batch << " on " << x.threads);
    const Division d = division(x.size, x.threads);
    EXPECT_EQ(d.cut.count(), x.parts);
    EXPECT_EQ(d.threads, x.together);
    EXPECT_EQ(d.bytes, d.part_bytes * static_cast<std::size_t>(x.together));
  }
}

TEST(HostDivision, PartsAreThoseThatPackLeast) {
  struct Row {
    Sizes size;
    int threads;
    Cut cut;
  };
  for (const Row& x : {Row{{4096, 512, 512, 1}, 2, {2048, 512, 2, 1}}, Row{{64, 4096, 4096, 1}, 2, {64, 2048, 1, 2}},
                       Row{{1024, 1024, 1024, 1}, 4, {512, 512, 2, 2}}, Row{{1000, 32, 4096, 1}, 4, {250, 32, 4, 1}},
                       Row{{1024, 1024, 1024, 1}, 3, {342, 1024, 3, 1}}, Row{{14, 32, 40000, 1}, 2, {7, 32, 2, 1}},
                       Row{{512, 512, 512, 1}, 2, {256, 512, 2, 1}}}) {
    SCOPED_TRACE(testing::Message() << x.size.m << " x " << x.size.n << " on " << x.threads);
    const Division d = division(x.size, x.threads);
    EXPECT_EQ(d.cut.rows, x.cut.rows);
    EXPECT_EQ(d.cut.columns, x.cut.columns);
    EXPECT_EQ(d.cut.down, x.cut.down);
    EXPECT_EQ(d.cut.across, x.cut.across);
  }
}

TEST(HostDivision, PartsCoverTheProductInWholeRegisterTiles) {
  for (const std::int64_t m : {1, 13, 130, 1001})
    for (const std::int64_t n : {1, 33, 500, 3000})
      for (const int threads : {2, 3, 8, 61}) {
        SCOPED_TRACE(testing::Message() << m << " x " << n << " on " << threads);
        const Cut cut = division({m, n, 2000, 1}, threads).cut;
        EXPECT_LE(cut.count(), threads);
        EXPECT_TRUE(cut.across == 1 || cut.columns % 32 == 0) << cut.columns;
        EXPECT_TRUE(cut.rows * (cut.down - 1) < m && m <= cut.rows * cut.down) << cut.rows << " by " << cut.down;
        EXPECT_TRUE(cut.columns * (cut.across - 1) < n && n <= cut.columns * cut.across) << cut.columns;
      }
}

// What of each part is left to be taken last: the costs of packing decide whether rows, columns or nothing.
TEST(HostDivision, TheRestOfAPartIsWhatPacksLeast) {
  struct Row {
    Sizes size;
    int threads;
    Rest rest;
  };
  for (const Row& x : {Row{{4096, 512, 512, 1}, 2, {true, 266, 2}}, Row{{64, 4096, 4096, 1}, 2, {false, 256, 2}},
                       Row{{256, 1792, 5120, 1}, 2, {false, 128, 2}}, Row{{4096, 512, 512, 1}, 1, {false, 0, 0}},
                       Row{{4096, 512, 512, 2}, 2, {false, 0, 0}}, Row{{130, 96, 60, 1}, 2, {false, 0, 0}}}) {
    SCOPED_TRACE(testing::Message() << x.size.m << " x " << x.size.n << " on " << x.threads);
    const Rest rest = division(x.size, x.threads).rest;
    EXPECT_EQ(rest.of_rows, x.rest.of_rows);
    EXPECT_EQ(rest.length, x.rest.length);
    EXPECT_EQ(rest.count, x.rest.count);
  }
}

TEST(HostDivision, PiecesCoverTheProductOnceInTheMemoryOfAPart) {
  for (const std::int64_t m : {15, 113, 400, 2000})
    for (const std::int64_t n : {97, 700, 1400})
      for (const std::int64_t k : {40, 3000, 70000})
        for (const int threads : {1, 2, 3, 7}) {
          SCOPED_TRACE(testing::Message() << m << " x " << n << ", K " << k << " on " << threads);
          const Division d = division({m, n, k, 1}, threads);
          std::vector<int> times(static_cast<std::size_t>(m * n));
          for (std::int64_t i = 0; i < d.pieces(); ++i) {
            const Piece p = d.piece(i);
            ASSERT_TRUE(p.rows > 0 && p.columns > 0 && p.m0 + p.rows <= m && p.n0 + p.columns <= n) << i;
            for (std::int64_t r = p.m0; r < p.m0 + p.rows; ++r)
              for (std::int64_t c = p.n0; c < p.n0 + p.columns; ++c) ++times[static_cast<std::size_t>(r * n + c)];
            const Geometry made = make_geometry(kTraits, blocking(k, 1), {p.rows, p.columns, k, 1});
            const Geometry& kept = d.geometry[p.geometry];
            EXPECT_EQ(kept.size.m, p.rows);
            EXPECT_EQ(kept.size.n, p.columns);
            EXPECT_EQ(kept.bytes, made.bytes);
            EXPECT_LE(made.bytes, d.part_bytes);
          }
          EXPECT_EQ(std::count(times.begin(), times.end(), 1), m * n);
        }
}

/// Every line that calls of `words` steps ask for, in order, until there are no more.
std::vector<const unsigned char*> lines_of(Ahead ahead, std::int64_t words) {
  std::vector<const unsigned char*> lines;
  while (const unsigned char* const* runs = ahead.take(words))
    for (std::int64_t k = 0; k < words; ++k) lines.push_back(runs[k / kAheadWords] + k % kAheadWords * 64);
  return lines;
}

TEST(HostDivision, EachLineOfTheNextColumnsIsAskedFor) {
  constexpr std::int64_t kLd = 5000, kColumns = 20, kDepth = 3000;
  static unsigned char memory[64 * kLd * 2];
  const PackSource b = make_pack_source(PackKind::bf16, DType::bf16, memory, kLd, true, false);
  const std::vector<const unsigned char*> lines = lines_of({b, 3, kColumns, 100, kDepth}, 256);
  const std::set<const unsigned char*> found(lines.begin(), lines.end());
  for (std::int64_t n = 3; n < 3 + kColumns; ++n)
    for (std::int64_t k = 100; k < 100 + kDepth; k += 32)
      ASSERT_TRUE(found.contains(memory + (n * kLd + k) * 2)) << n << " " << k;
}

TEST(HostDivision, EachLineOfTheNextPackedPanelsIsAskedFor) {
  constexpr std::int64_t kWords = 700;
  static unsigned char memory[4 * kWords * 64];
  PackSource b = make_pack_source(PackKind::bf16, DType::bf16, memory, kWords, true, false);
  b.prepacked = true;
  const std::vector<const unsigned char*> lines = lines_of({b, 16, 33, 200, 1000}, 64);
  const std::set<const unsigned char*> found(lines.begin(), lines.end());
  for (std::int64_t panel = 1; panel < 4; ++panel)
    for (std::int64_t word = 100; word < 600; ++word)
      ASSERT_TRUE(found.contains(memory + (panel * kWords + word) * 64)) << panel << " " << word;
}

TEST(HostDivision, RowsWithoutGapsAreOneRun) {
  static unsigned char memory[40 * 128];
  const PackSource b = make_pack_source(PackKind::bf16, DType::bf16, memory, 64, true, false);
  const std::vector<const unsigned char*> lines = lines_of({b, 0, 40, 0, 64}, 32);
  ASSERT_EQ(lines.size(), 96U);  // 80 lines in runs of 32
  for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i], memory + i * 64);
}

TEST(HostDivision, NothingIsAskedForWhereThereAreNoRuns) {
  static unsigned char memory[64];
  const PackSource by_row = make_pack_source(PackKind::bf16, DType::bf16, memory, 64, false, false);
  const PackSource shuffled = make_pack_source(PackKind::bf16, DType::bf16, memory, 64, true, true);
  EXPECT_EQ(Ahead(by_row, 0, 16, 0, 64).take(32), nullptr);
  EXPECT_EQ(Ahead(shuffled, 0, 16, 0, 64).take(32), nullptr);
  PackSource gathered = make_pack_source(PackKind::bf16, DType::bf16, memory, 64, true, false);
  constexpr std::int32_t kRows[16] = {};
  gathered.rows = kRows;
  EXPECT_EQ(Ahead(gathered, 0, 16, 0, 64).take(32), nullptr);
  EXPECT_EQ(Ahead().take(32), nullptr);
  const PackSource plain = make_pack_source(PackKind::bf16, DType::bf16, memory, 64, true, false);
  EXPECT_EQ(Ahead(plain, 0, 1, 0, 32).take(1 << 20), nullptr);  // more steps than a call has runs for
}

}  // namespace test_host_division
