// The rule by which split-KV plans cut tiles, against all rules of its kind: how long its items take on so many slots.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <vector>

#include "src/fmha/split_search.hpp"

namespace test_fmha_split_rules {

using namespace ckgen::detail;

// The search tries few lengths: what it missed of 600 small batches at most, and in the mean.
constexpr double kWorst = 1.17;
constexpr double kUsual = 1.0023;

/// What best_rule() is asked; `tiles` are units of keys of each.
struct Question {
  std::vector<std::int64_t> tiles;
  ItemCosts costs;
  std::int64_t workgroups, slots, max_splits, most_extra;

  SplitRule answer() const {
    TileClasses classes;
    for (const std::int64_t units : tiles) classes.add(units, 1);
    classes.finish();
    return best_rule(classes, costs, workgroups, slots, max_splits, most_extra);
  }
  std::int64_t extra(const SplitRule& rule) const {
    std::int64_t items = 0;
    for (const std::int64_t units : tiles) items += rule.splits(units) - 1;
    return items;
  }
  /// When the last item is done, if each slot takes the longest one that is left.
  std::int64_t makespan(const SplitRule& rule) const {
    std::vector<std::int64_t> items;
    for (const std::int64_t units : tiles) {
      const std::int64_t n = rule.splits(units), longer = units % n;
      for (std::int64_t i = 0; i < n; ++i)
        items.insert(items.end(), static_cast<std::size_t>(workgroups),
                     costs.item + (n > 1 ? costs.partial : 0) + (units / n + (i < longer ? 1 : 0)) * costs.unit);
    }
    std::sort(items.begin(), items.end(), std::greater<>());
    std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> done;
    for (std::int64_t i = 0; i < slots; ++i) done.push(0);
    std::int64_t last = 0;
    for (const std::int64_t item : items) {
      const std::int64_t end = done.top() + item;
      done.pop();
      done.push(end);
      last = std::max(last, end);
    }
    return last;
  }
  /// Of all lengths, with no slack, a quarter or a half of it.
  std::int64_t least_makespan() const {
    const std::int64_t longest = *std::max_element(tiles.begin(), tiles.end());
    std::int64_t least = makespan({std::max<std::int64_t>(longest, 1), 0, max_splits});
    for (std::int64_t length = 1; length <= longest; ++length)
      for (const int percent : {0, 25, 50}) {
        const SplitRule rule{length, length * percent / 100, max_splits};
        if (extra(rule) <= most_extra) least = std::min(least, makespan(rule));
      }
    return least;
  }
};

TEST(FmhaSplitRules, HardlyAnyRuleOfItsKindIsBetter) {
  std::mt19937 random{3};
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
  constexpr int rounds = 600;
  double sum = 0;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    Question asked{{}, {below(3) * 40, below(3) * 60, 64}, 1 + below(3) * below(6), 1 + below(24), 0, 0};
    asked.max_splits = below(3) == 0 ? 2 + below(8) : 128;
    asked.most_extra = 1 + (4 * asked.slots - 1) / asked.workgroups;
    for (std::int64_t i = 1 + below(below(3) == 0 ? 12 : 3); i > 0; --i) asked.tiles.push_back(1 + below(31));
    const SplitRule rule = asked.answer();
    ASSERT_LE(asked.extra(rule), asked.most_extra);
    ASSERT_EQ(rule.max_splits, asked.max_splits);
    const double ratio = static_cast<double>(asked.makespan(rule)) / static_cast<double>(asked.least_makespan());
    EXPECT_LE(ratio, kWorst);
    sum += ratio;
  }
  EXPECT_LE(sum / rounds, kUsual);
}

}  // namespace test_fmha_split_rules
