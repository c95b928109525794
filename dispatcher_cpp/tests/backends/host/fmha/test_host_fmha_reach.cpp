// Where few rows of attention on the CPU find K and V, and what they ask memory for: each byte of what comes next, once
// and in the order of its addresses.
#include "backends/host/fmha/host_fmha_fixture.hpp"
#include "backends/host/fmha/reach.hpp"

#include <set>

namespace host_test {
namespace test_host_fmha_reach {

using host::FmhaReach;
using host::FmhaRowsOf;
using Run = std::pair<std::uintptr_t, std::int64_t>;  // an address, and how many bytes from it on

std::uintptr_t address(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p);
}

class Reach {
 public:
  /// One row of fp32 queries on all of `heads` KV heads.
  Reach(int heads, int hdim, bool heads_first, int page_size) : f(of(heads, hdim, heads_first, page_size)) {
    const Problem problem = Problem(f.c.signature).fmha(f.c.shape);
    g = host::make_fmha_geometry(f.instance(), problem, 1);
    g.take_heads(heads);
    sequence = host::sequence_of(g.signature, g.shape, f.args, 0);
    room.assign(FmhaReach::kPointers, nullptr);
  }
  FmhaReach reach() { return {g, f.args, sequence, 0, g.heads, room.data(), nullptr}; }

  std::uintptr_t row(bool of_v, std::int64_t head, std::int64_t column) const {
    const host_test::Bytes& all = of_v ? f.v : f.k;
    return address(all.data()) +
           static_cast<std::uintptr_t>(4 * (of_v ? f.value(0, head, column, 0) : f.key(0, head, column, 0)));
  }

  FmhaFixture f;
  host::FmhaGeometry g;
  host::FmhaSequence sequence;
  std::vector<const unsigned char*> room;

 private:
  static FmhaCase of(int heads, int hdim, bool heads_first, int page_size) {
    FmhaTraits traits;
    FmhaShape shape = fmha_shape(1, heads, heads, 1, 700, hdim, hdim);
    if (page_size > 0) traits.kv = FmhaKv::block_table, shape.page_size = page_size;
    FmhaCase c = fmha_case(DType::fp32, DType::fp32, DType::fp32, traits, shape);
    c.heads_first = heads_first;
    if (page_size > 0) c.used_k = {700};
    c.threads = 1;
    return c;
  }
};

/// Columns [first, end) of K or V that are used together.
struct Piece {
  bool of_v;
  std::int64_t first, end;
};

/// What all heads ask for while they use one block: the bytes of `next` in all heads, each once.
void expect_brought(const Reach& x, const std::vector<FmhaRowsOf>& asked, const Piece& next) {
  const std::int64_t heads = x.g.heads, bytes = 4 * (next.of_v ? x.g.shape.hdim_v : x.g.shape.hdim_q);
  std::set<Run> wanted, found;
  for (std::int64_t j = next.first; j < next.end; ++j)
    for (std::int64_t h = 0; h < heads; ++h) wanted.insert({x.row(next.of_v, h, j), bytes});
  std::size_t count = 0;
  for (const FmhaRowsOf& one : asked) {
    std::uintptr_t last = 0;
    for (std::int32_t p = 0; p < one.pieces; ++p) {
      const std::uintptr_t at = address(one.next[p]) + static_cast<std::uintptr_t>(one.next_offset);
      const bool in_order = x.g.signature.fmha.kv != FmhaKv::contiguous || at > last;
      EXPECT_TRUE(in_order);
      last = at;
      ASSERT_EQ(one.piece_bytes % bytes, 0);
      for (std::int64_t i = 0; i < one.piece_bytes; i += bytes, ++count)
        found.insert({at + static_cast<std::uintptr_t>(i), bytes});
    }
  }
  EXPECT_EQ(found, wanted);
  EXPECT_EQ(count, wanted.size());
}

void expect_reached(int heads, int hdim, bool heads_first, int page_size, std::int32_t block) {
  SCOPED_TRACE(testing::Message() << heads << " heads of " << hdim << (heads_first ? " first" : "") << " pages of "
                                  << page_size);
  Reach x(heads, hdim, heads_first, page_size);
  FmhaReach reach = x.reach();
  ASSERT_EQ(reach.block(), block);
  const std::pair<std::int64_t, std::int64_t> tiles[] = {{0, 256}, {256, 256}, {512, 188}, {0, 0}};
  for (int i = 0; i < 3; ++i) {
    const auto [origin, count] = tiles[i];
    const auto [next, coming] = tiles[i + 1];
    reach.go({origin, count}, {next, coming});
    const std::int32_t first = i == 1 ? 37 : 0, last = static_cast<std::int32_t>(i == 1 ? 201 : count);
    reach.cover(first, last);
    const std::int32_t begin = first / 32 * 32;
    ASSERT_EQ(reach.blocks(), (last - begin + block - 1) / block);
    std::vector<Piece> order;
    for (const bool of_v : {false, true})
      for (std::int32_t at = begin; at < last; at += block)
        order.push_back({of_v, origin + at, origin + std::min(at + block, last)});
    const auto used = static_cast<std::int32_t>(order.size());
    if (coming > 0) order.push_back({false, next, next + std::min<std::int64_t>(coming, block)});
    for (std::int32_t b = 0; b < used; ++b) {
      const bool of_v = b >= reach.blocks();
      const std::int32_t of = of_v ? b - reach.blocks() : b;
      EXPECT_EQ(reach.first_of(of), begin + of * block);
      std::vector<FmhaRowsOf> asked;
      for (int h = 0; h < heads; ++h) {
        const FmhaRowsOf quiet = of_v ? reach.values(h, of, false) : reach.keys(h, of, false);
        EXPECT_EQ(quiet.pieces, 0);
        asked.push_back(of_v ? reach.values(h, of, true) : reach.keys(h, of, true));
        EXPECT_EQ(asked.back().rows, quiet.rows);
        for (std::int64_t j = 0; j < (count + 15) / 16 * 16; ++j)  // whole panels: the last row again
          ASSERT_EQ(address(quiet.rows[j]) + static_cast<std::uintptr_t>(quiet.offset),
                    x.row(of_v, h, origin + std::min(j, count - 1)));
      }
      if (b + 1 < static_cast<std::int32_t>(order.size())) {
        expect_brought(x, asked, order[static_cast<std::size_t>(b + 1)]);
      } else {
        for (const FmhaRowsOf& one : asked) EXPECT_EQ(one.pieces, 0) << "nothing follows";
      }
    }
  }
}

// Blocks are 128 KiB of all heads, a power of two of 32 to 256 columns.
TEST(HostFmhaReach, WhatComesNextIsAskedForOnce) {
  for (const bool heads_first : {false, true})
    for (const int page_size : {0, 16, 48}) {
      if (page_size > 0 && heads_first) continue;
      expect_reached(1, 64, heads_first, page_size, 256);
      expect_reached(4, 64, heads_first, page_size, 128);
      expect_reached(6, 64, heads_first, page_size, 64);
      expect_reached(4, 256, heads_first, page_size, 32);
      expect_reached(10, 128, heads_first, page_size, 32);
      expect_reached(2, 65, heads_first, page_size, 128);
    }
}

// Rows without gaps are one piece, so are rows of all heads side by side.
TEST(HostFmhaReach, RowsWithoutGapsAreOnePiece) {
  for (const bool heads_first : {false, true})
    for (const int heads : {1, 2}) {
      Reach x(heads, 64, heads_first, 0);
      FmhaReach reach = x.reach();
      reach.go({0, 256}, {0, 0});
      reach.cover(0, 256);
      const std::int64_t row = 4 * 64, half = reach.block();
      for (int h = 0; h < heads; ++h) {
        const FmhaRowsOf next = reach.keys(h, reach.blocks() - 1, true);
        EXPECT_EQ(next.pieces, 1);
        EXPECT_EQ(next.piece_bytes, row * half);
      }
      reach.go({0, 256}, {256, 2});
      reach.cover(0, 256);
      EXPECT_EQ(reach.values(0, reach.blocks() - 1, true).pieces, 1) << "two rows";
    }
}

}  // namespace test_host_fmha_reach
}  // namespace host_test
