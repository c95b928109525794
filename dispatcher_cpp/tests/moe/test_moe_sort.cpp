// Tokens by expert against a stable sort, and back again; nothing is written beyond or allocated.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <ckgen/ckgen.hpp>

#include "counted_new.hpp"

namespace test_moe_sort {

using namespace ckgen;

constexpr std::int32_t kGuard = 0x5a5a5a5a;

struct Routed {
  std::int64_t tokens;
  Routing routing;
  std::int64_t block_m;
  std::vector<std::int32_t> ids;
  std::vector<float> weights;

  std::int64_t rows() const { return tokens * routing.top_k; }
  std::int64_t capacity() const { return sorted_capacity(tokens, routing, block_m); }
};

/// `skew` experts get most of the tokens; 0 spreads them evenly.
Routed routed(std::mt19937& random, std::int64_t tokens, Routing routing, std::int64_t block_m, int skew = 0) {
  Routed r{tokens, routing, block_m, {}, {}};
  for (std::int64_t row = 0; row < r.rows(); ++row) {
    const bool favoured = skew != 0 && random() % 8 != 0;
    r.ids.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(favoured ? skew : routing.experts)));
    r.weights.push_back(static_cast<float>(row) + 0.5F);
  }
  return r;
}

/// The four arrays with a guard behind each.
struct Memory {
  explicit Memory(const Routed& r)
      : ids(static_cast<std::size_t>(r.capacity()) + 1, kGuard),
        weights(static_cast<std::size_t>(r.capacity()) + 1, -1.0F),
        experts(static_cast<std::size_t>(r.capacity() / r.block_m) + 1, kGuard),
        valid(3, kGuard) {}
  SortedTokens out() { return {ids.data(), weights.data(), experts.data(), valid.data()}; }
  void expect_guards() const {
    EXPECT_EQ(ids.back(), kGuard);
    EXPECT_EQ(weights.back(), -1.0F);
    EXPECT_EQ(experts.back(), kGuard);
    EXPECT_EQ(valid.back(), kGuard);
  }
  std::vector<std::int32_t> ids;
  std::vector<float> weights;
  std::vector<std::int32_t> experts, valid;
};

std::int32_t packed(std::int64_t slot, std::int64_t token) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(slot << 24 | token));
}

/// By a stable sort of the rows and padding of each expert's.
void expect_sorted(const Routed& r, const Memory& memory) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(r.rows()));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t x, std::int64_t y) {
    return r.ids[static_cast<std::size_t>(x)] < r.ids[static_cast<std::size_t>(y)];
  });
  std::vector<std::int32_t> ids, experts;
  std::vector<float> weights;
  const auto pad = [&](std::int64_t up_to) {
    while (static_cast<std::int64_t>(ids.size()) < up_to) {
      ids.push_back(packed(r.routing.top_k, r.tokens));
      weights.push_back(0.0F);
    }
  };
  const auto blocks = [&] { return (static_cast<std::int64_t>(ids.size()) + r.block_m - 1) / r.block_m; };
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto row = static_cast<std::size_t>(order[i]);
    if (i > 0 && r.ids[static_cast<std::size_t>(order[i - 1])] != r.ids[row]) pad(blocks() * r.block_m);
    if (static_cast<std::int64_t>(ids.size()) % r.block_m == 0) experts.push_back(r.ids[row]);
    ids.push_back(packed(order[i] % r.routing.top_k, order[i] / r.routing.top_k));
    weights.push_back(r.weights[row]);
  }
  pad(blocks() * r.block_m);
  EXPECT_EQ(memory.valid[0], static_cast<std::int64_t>(ids.size()));
  EXPECT_EQ(memory.valid[1], r.tokens);
  EXPECT_LE(static_cast<std::int64_t>(ids.size()), r.capacity());
  pad(r.capacity());
  experts.resize(static_cast<std::size_t>(r.capacity() / r.block_m), -1);
  EXPECT_TRUE(std::equal(ids.begin(), ids.end(), memory.ids.begin()));
  EXPECT_TRUE(std::equal(weights.begin(), weights.end(), memory.weights.begin()));
  EXPECT_TRUE(std::equal(experts.begin(), experts.end(), memory.experts.begin()));
  memory.expect_guards();
}

void expect_round_trip(const Routed& r) {
  Memory memory(r);
  const long before = allocations();
  const bool sorted = sort_tokens(r.ids.data(), r.weights.data(), r.tokens, r.routing, r.block_m, memory.out());
  EXPECT_EQ(allocations(), before);
  ASSERT_TRUE(sorted);
  expect_sorted(r, memory);
  std::vector<std::int32_t> ids(r.ids.size());
  std::vector<float> weights(r.weights.size());
  ASSERT_TRUE(unsort_tokens(memory.out(), r.tokens, r.routing, r.block_m, ids.data(), weights.data()));
  EXPECT_EQ(ids, r.ids);
  EXPECT_EQ(weights, r.weights);
}

TEST(MoeSort, AgreesWithAStableSortAndInverts) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    const auto experts = static_cast<std::uint16_t>(1 + random() % 40);
    const auto top_k = static_cast<std::uint16_t>(1 + random() % std::min<unsigned>(experts, 9));
    const std::int64_t blocks[] = {1, 2, 7, 16, 64, 128};
    expect_round_trip(routed(random, random() % 70, {experts, top_k}, blocks[random() % 6],
                             static_cast<int>(random() % std::min<unsigned>(experts, 3))));
  }
}

TEST(MoeSort, MoreExpertsThanOnePassCounts) {
  std::mt19937 random(3);
  expect_round_trip(routed(random, 500, {65535, 8}, 16));
  expect_round_trip(routed(random, 64, {4097, 255}, 32, 1));
  Routed last = routed(random, 5, {65535, 1}, 16);
  std::fill(last.ids.begin(), last.ids.end(), 65534);
  expect_round_trip(last);
}

TEST(MoeSort, AllTokensToOneExpertFillItsBlocksOnly) {
  std::mt19937 random(5);
  Routed r = routed(random, 33, {256, 1}, 16);
  std::fill(r.ids.begin(), r.ids.end(), 200);
  expect_round_trip(r);
  Memory memory(r);
  ASSERT_TRUE(sort_tokens(r.ids.data(), r.weights.data(), r.tokens, r.routing, r.block_m, memory.out()));
  EXPECT_EQ(memory.valid[0], 48);
  EXPECT_EQ(memory.experts[0], 200);
  EXPECT_EQ(memory.experts[3], -1);
}

TEST(MoeSort, TheCapacityIsWhatTheWorstRoutingTakes) {
  // each of 4 experts one row, the other 9 rows all of one of them
  EXPECT_EQ(sorted_capacity(13, {4, 1}, 4), (4 + 9 / 4) * 4);
  std::mt19937 random(1);
  Routed r = routed(random, 13, {4, 1}, 4);
  std::fill(r.ids.begin(), r.ids.end(), 0);
  for (int i = 0; i < 4; ++i) r.ids[static_cast<std::size_t>(i)] = i;
  Memory memory(r);
  ASSERT_TRUE(sort_tokens(r.ids.data(), r.weights.data(), r.tokens, r.routing, r.block_m, memory.out()));
  EXPECT_EQ(memory.valid[0], 24);
  EXPECT_EQ(sorted_capacity(0, {4, 2}, 16), 0);
  EXPECT_EQ(sorted_capacity(2, {256, 2}, 16), 64) << "no more blocks than rows";
}

TEST(MoeSort, IllegalSizesHaveNoCapacity) {
  EXPECT_EQ(sorted_capacity(-1, {4, 1}, 4), -1);
  EXPECT_EQ(sorted_capacity(std::int64_t{1} << 24, {4, 1}, 4), -1);
  EXPECT_EQ(sorted_capacity(1, {0, 0}, 4), -1);
  EXPECT_EQ(sorted_capacity(1, {4, 0}, 4), -1);
  EXPECT_EQ(sorted_capacity(1, {4, 5}, 4), -1) << "more slots than experts";
  EXPECT_EQ(sorted_capacity(1, {1000, 256}, 4), -1) << "a slot has eight bits";
  EXPECT_EQ(sorted_capacity(1, {4, 1}, 0), -1);
  EXPECT_EQ(sorted_capacity(1, {4, 1}, std::int64_t{1} << 31), -1);
  EXPECT_EQ(sorted_capacity((1 << 24) - 1, {256, 255}, 64), -1) << "beyond 2^31 - 1";
  EXPECT_EQ(sorted_capacity((1 << 24) - 1, {256, 8}, 64), (256 + (16777215LL * 8 - 256) / 64) * 64);
}

TEST(MoeSort, AnIdThatIsNoExpertWritesNothing) {
  std::mt19937 random(2);
  for (const std::int32_t wrong : {-1, 8, 1 << 30}) {
    Routed r = routed(random, 6, {8, 2}, 4);
    r.ids[7] = wrong;
    Memory memory(r);
    EXPECT_FALSE(sort_tokens(r.ids.data(), r.weights.data(), r.tokens, r.routing, r.block_m, memory.out()));
    EXPECT_TRUE(std::all_of(memory.ids.begin(), memory.ids.end(), [](std::int32_t x) { return x == kGuard; }));
    EXPECT_TRUE(std::all_of(memory.valid.begin(), memory.valid.end(), [](std::int32_t x) { return x == kGuard; }));
  }
}

TEST(MoeSort, WhatIsNoSortedFormIsRefused) {
  std::mt19937 random(9);
  const Routed r = routed(random, 9, {6, 3}, 4);
  const auto refused = [&](auto change) {
    Memory memory(r);
    EXPECT_TRUE(sort_tokens(r.ids.data(), r.weights.data(), r.tokens, r.routing, r.block_m, memory.out()));
    change(memory);
    std::vector<std::int32_t> ids(r.ids.size());
    std::vector<float> weights(r.ids.size());
    return !unsort_tokens(memory.out(), r.tokens, r.routing, r.block_m, ids.data(), weights.data());
  };
  EXPECT_FALSE(refused([](Memory&) {}));
  EXPECT_TRUE(refused([](Memory& x) { x.valid[0] += 1; }));
  EXPECT_TRUE(refused([](Memory& x) { x.valid[0] = -4; }));
  EXPECT_TRUE(refused([](Memory& x) { x.valid[0] += 1 << 20; }));
  EXPECT_TRUE(refused([](Memory& x) { x.valid[0] -= 4; })) << "a slot is left out";
  EXPECT_TRUE(refused([](Memory& x) { x.valid[1] = 8; }));
  EXPECT_TRUE(refused([](Memory& x) { x.experts[0] = 6; }));
  EXPECT_TRUE(refused([](Memory& x) { x.experts[0] = -1; }));
  EXPECT_TRUE(refused([](Memory& x) { x.ids[0] = packed(3, 2); })) << "no such slot";
  EXPECT_TRUE(refused([](Memory& x) { x.ids[0] = packed(0, 9); })) << "no such token";
  EXPECT_TRUE(refused([](Memory& x) { x.ids[0] = x.ids[1]; })) << "twice";
  EXPECT_TRUE(refused([](Memory& x) { x.ids[0] = packed(3, 9); })) << "left out";
  EXPECT_TRUE(refused([](Memory& x) { *std::find(x.ids.begin(), x.ids.end(), packed(3, 9)) = x.ids[0]; }))
      << "twice, in place of padding";
}

}  // namespace test_moe_sort
