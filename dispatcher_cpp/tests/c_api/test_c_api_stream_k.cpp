// Stream-K's partition over plain C: the same answers, and what is no legal call.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include <ckgen/c_api.h>
#include <ckgen/stream_k.hpp>

namespace test_c_api_stream_k {

using Sizes = std::array<std::int64_t, 4>;
using Tile = std::array<std::int64_t, 3>;

constexpr std::int64_t kMost = std::int64_t{1} << 31;
constexpr std::int64_t kMostExtent = std::int64_t{1} << 16;
constexpr std::int64_t kMostGrid = std::int64_t{1} << 20;

class CApiStreamK : public testing::Test {
 protected:
  ckgen_status partition(const Sizes& sizes, const Tile& tile, std::int64_t grid, std::int64_t acc_bytes = 4) {
    std::memset(&out_, 0x55, sizeof out_);
    out_.size = sizeof out_;
    return ckgen_stream_k_partition(sizes.data(), tile.data(), grid, acc_bytes, &out_, message_);
  }
  std::string refusal(const Sizes& sizes, const Tile& tile, std::int64_t grid, std::int64_t acc_bytes = 4) {
    const ckgen_status status = partition(sizes, tile, grid, acc_bytes);
    EXPECT_TRUE(status == CKGEN_OK || status == CKGEN_INVALID_ARGUMENT);
    return status == CKGEN_OK ? "" : text_;
  }

  ckgen_stream_k out_{};
  char text_[256] = {};
  ckgen_message message_{text_, sizeof text_};
};

TEST_F(CApiStreamK, PartitionsAreThoseOfCpp) {
  const struct {
    Sizes sizes;
    Tile tile;
    std::int64_t grid, acc_bytes;
    int feasible;
  } cases[] = {{{2, 100, 70, 33}, {16, 32, 8}, 9, 4, 1},
               {{1, 64, 64, 64}, {16, 16, 16}, 8, 8, 1},
               {{1, 16, 16, 64}, {16, 16, 16}, 5, 4, 0},
               {{0, 16, 16, 16}, {16, 16, 16}, 5, 4, -1}};
  for (const auto& one : cases) {
    const auto& [b, m, n, k] = one.sizes;
    const ckgen::StreamKPartition own =
        ckgen::stream_k_partition(b, m, n, k, one.tile[0], one.tile[1], one.tile[2], one.grid);
    ASSERT_EQ(partition(one.sizes, one.tile, one.grid, one.acc_bytes), CKGEN_OK) << text_;
    EXPECT_EQ(out_.size, sizeof out_);
    EXPECT_EQ(out_.num_tiles, own.num_tiles);
    EXPECT_EQ(out_.iters_per_tile, own.iters_per_tile);
    EXPECT_EQ(out_.grid, one.grid);
    EXPECT_EQ(out_.dp_tiles, own.dp_tiles);
    EXPECT_EQ(out_.sk_tiles, own.sk_tiles);
    EXPECT_EQ(out_.feasible, one.feasible);
    if (one.feasible != 1) {
      EXPECT_EQ(out_.max_iters_per_workgroup | out_.max_splits | out_.slice_bytes | out_.flags_offset | out_.workspace,
                0);
      continue;
    }
    const ckgen::StreamKWorkspace room = ckgen::stream_k_workspace(own, one.tile[0], one.tile[1], one.acc_bytes);
    EXPECT_EQ(out_.max_iters_per_workgroup, own.max_iters_per_workgroup());
    EXPECT_EQ(out_.max_splits, own.max_splits());
    EXPECT_EQ(out_.slice_bytes, room.slice_bytes);
    EXPECT_EQ(out_.flags_offset, room.flags_offset);
    EXPECT_EQ(out_.workspace, room.total());
    std::int64_t first = -1, last = -1;
    for (std::int64_t g = 0; g < one.grid; ++g) {
      ASSERT_EQ(ckgen_stream_k_workgroup(&out_, g, &first, &last, message_), CKGEN_OK) << text_;
      EXPECT_EQ(first, own.begin(g));
      EXPECT_EQ(last, own.end(g));
    }
    for (std::int64_t tile = 0; tile < own.num_tiles; ++tile) {
      ASSERT_EQ(ckgen_stream_k_tile(&out_, tile, &first, &last, message_), CKGEN_OK) << text_;
      EXPECT_EQ(first, own.first_workgroup(tile));
      EXPECT_EQ(last, own.last_workgroup(tile));
    }
  }
}

TEST_F(CApiStreamK, WhatIsOutOfRangeIsRefused) {
  const Sizes good{1, 64, 64, 64};
  const Tile tile{16, 16, 16};
  const auto with = [](auto array, std::size_t i, std::int64_t value) {
    array[i] = value;
    return array;
  };
  EXPECT_EQ(refusal(good, tile, 8), "");
  const std::string size = "a size is outside [0, 2^31]", extent = "an extent of the tile is outside [1, 2^16]";
  for (std::size_t i = 0; i < good.size(); ++i) {
    EXPECT_EQ(refusal(with(good, i, -1), tile, 8), size);
    EXPECT_EQ(refusal(with(good, i, 0), tile, 8), "");
    EXPECT_EQ(refusal(with(good, i, kMost), {kMostExtent, kMostExtent, kMostExtent}, 1), "");
    EXPECT_EQ(refusal(with(good, i, kMost + 1), {kMostExtent, kMostExtent, kMostExtent}, 1), size);
  }
  for (std::size_t i = 0; i < tile.size(); ++i) {
    EXPECT_EQ(refusal(good, with(tile, i, 0), 8), extent);
    EXPECT_EQ(refusal(good, with(tile, i, 1), 8), "");
    EXPECT_EQ(refusal(good, with(tile, i, kMostExtent), 1), "");
    EXPECT_EQ(refusal(good, with(tile, i, kMostExtent + 1), 1), extent);
  }
  const std::string rest = "the grid is outside [0, 2^20] or an accumulator outside [1, 8] bytes";
  EXPECT_EQ(refusal(good, tile, -1), rest);
  EXPECT_EQ(refusal(good, tile, 0), "");
  EXPECT_EQ(refusal(good, tile, kMostGrid), "");
  EXPECT_EQ(refusal(good, tile, kMostGrid + 1), rest);
  EXPECT_EQ(refusal(good, tile, 8, 0), rest);
  EXPECT_EQ(refusal(good, tile, 8, 1), "");
  EXPECT_EQ(refusal(good, tile, 8, 8), "");
  EXPECT_EQ(refusal(good, tile, 8, 9), rest);
}

TEST_F(CApiStreamK, IterationsAreCountedIn62Bits) {
  const Tile one{1, 1, 1};
  const std::string refused = "more than 2^62 iterations of the main loop";
  EXPECT_EQ(refusal({1, kMost, kMost, 1}, one, 1), "");
  EXPECT_EQ(refusal({2, kMost, kMost, 1}, one, 1), refused);
  EXPECT_EQ(refusal({1, kMost, kMost, 2}, one, 1), refused);
  EXPECT_EQ(refusal({1, kMost, kMost, 2}, {1, 1, 2}, 1), "");
  EXPECT_EQ(refusal({2, kMost, kMost, 1}, {1, 2, 1}, 1), "");
  EXPECT_EQ(refusal({2, kMost, kMost, 1}, {2, 1, 1}, 1), "");
  EXPECT_EQ(refusal({0, kMost, kMost, kMost}, one, 1), "");
  EXPECT_EQ(refusal({1, kMost, 1, kMost}, one, kMostGrid - 1), "");
  EXPECT_EQ(out_.max_iters_per_workgroup, (kMost * kMost + kMostGrid - 2) / (kMostGrid - 1));
}

TEST_F(CApiStreamK, NumbersOfNoWorkgroupAndNoTileAreRefused) {
  ASSERT_EQ(partition({1, 64, 48, 64}, {16, 16, 16}, 8), CKGEN_OK) << text_;
  std::int64_t first = 0, last = 0;
  for (const std::int64_t workgroup : {-1, 8}) {
    EXPECT_EQ(ckgen_stream_k_workgroup(&out_, workgroup, &first, &last, message_), CKGEN_INVALID_ARGUMENT);
    EXPECT_STREQ(text_, "no workgroup has this number");
  }
  for (const std::int64_t tile : {-1, 12}) {
    EXPECT_EQ(ckgen_stream_k_tile(&out_, tile, &first, &last, message_), CKGEN_INVALID_ARGUMENT);
    EXPECT_STREQ(text_, "no tile has this number");
  }
}

TEST_F(CApiStreamK, WhatNoPartitionIsIsRefused) {
  ASSERT_EQ(partition({1, 64, 48, 64}, {16, 16, 16}, 8), CKGEN_OK) << text_;
  const ckgen_stream_k good = out_;
  std::int64_t first = 0, last = 0;
  const auto refused = [&](auto change) {
    ckgen_stream_k x = good;
    change(x);
    const ckgen_status of_workgroup = ckgen_stream_k_workgroup(&x, 0, &first, &last, message_);
    EXPECT_EQ(of_workgroup, ckgen_stream_k_tile(&x, 0, &first, &last, message_));
    return of_workgroup == CKGEN_OK ? "" : std::string(text_);
  };
  EXPECT_EQ(refused([](auto&) {}), "");
  EXPECT_EQ(refused([](auto& x) { ++x.dp_tiles; }), "not a feasible partition");
  EXPECT_EQ(refused([](auto& x) { --x.sk_tiles; }), "not a feasible partition");
  EXPECT_EQ(refused([](auto& x) { x.grid = 0, x.sk_tiles = 0, x.dp_tiles = x.num_tiles; }), "not a feasible partition");
  EXPECT_EQ(refused([](auto& x) { x.num_tiles = 3, x.iters_per_tile = INT64_MAX, x.dp_tiles = 0, x.sk_tiles = 3; }),
            "not a feasible partition");
  EXPECT_EQ(refused([](auto& x) { x.size = sizeof x - 1; }), "a struct's size field is smaller than the struct");
}

TEST_F(CApiStreamK, WhatIsMissingIsRefused) {
  const Sizes sizes{1, 64, 48, 64};
  const Tile tile{16, 16, 16};
  ASSERT_EQ(partition(sizes, tile, 8), CKGEN_OK) << text_;
  std::int64_t first = 0, last = 0;
  EXPECT_EQ(ckgen_stream_k_partition(nullptr, tile.data(), 8, 4, &out_, message_), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_stream_k_partition(sizes.data(), nullptr, 8, 4, &out_, message_), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_stream_k_partition(sizes.data(), tile.data(), 8, 4, nullptr, message_), CKGEN_INVALID_ARGUMENT);
  for (const auto& asked : {ckgen_stream_k_workgroup, ckgen_stream_k_tile}) {
    EXPECT_EQ(asked(nullptr, 0, &first, &last, message_), CKGEN_INVALID_ARGUMENT);
    EXPECT_EQ(asked(&out_, 0, nullptr, &last, message_), CKGEN_INVALID_ARGUMENT);
    EXPECT_EQ(asked(&out_, 0, &first, nullptr, message_), CKGEN_INVALID_ARGUMENT);
    EXPECT_STREQ(text_, "a required argument is null");
  }
  out_.size = sizeof out_ - 1;
  EXPECT_EQ(ckgen_stream_k_partition(sizes.data(), tile.data(), 8, 4, &out_, message_), CKGEN_INVALID_ARGUMENT);
  EXPECT_STREQ(text_, "a struct's size field is smaller than the struct");
}

}  // namespace test_c_api_stream_k
