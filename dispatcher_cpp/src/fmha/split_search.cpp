#include "src/fmha/split_search.hpp"

#include <algorithm>
#include <limits>

namespace ckgen::inline v1::detail {
namespace {

/// A candidate is looked at closely where its bound is better by more than one in so many.
constexpr std::int64_t kLeast = 64;
/// Of so few classes, lengths are tried more closely: it takes less time, and their makespans jump more.
constexpr std::ptrdiff_t kFewClasses = 40;
/// Nothing more is tried where the makespan is above the mean of all slots by less than one in so many.
constexpr std::int64_t kNear = 32;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// Items by cost on a scale of kLevels to a lower bound of the makespan, and their longest-first schedule.
class Schedule {
 public:
  explicit Schedule(std::int64_t bound) noexcept : bound_(std::max<std::int64_t>(bound, 1)) {
    while (bound_ >> shift_ >> 31 != 0) ++shift_;
    scale_ = (std::uint64_t{kLevels} << 32) / static_cast<std::uint64_t>(bound_ >> shift_);
  }

  /// `count` items of a cost of at most the bound. Fractions of a level are carried on, so that sums are kept.
  void add(std::int64_t cost, std::int64_t count) noexcept {
    const std::uint64_t levels = static_cast<std::uint64_t>(cost >> shift_) * scale_;  // in 2^-32
    const std::size_t low = std::min<std::size_t>(levels >> 32, std::size_t{kLevels});
    carry_ += static_cast<std::int64_t>(levels >> 16 & 0xFFFF) * count;
    const std::int64_t high = std::min(carry_ >> 16, count);
    carry_ -= high << 16;
    items_[low] += static_cast<std::uint32_t>(count - high);
    items_[low + 1] += static_cast<std::uint32_t>(high);
  }

  /// The time at which the last slot is done, where the slot that is free first gets the longest item that is left.
  std::int64_t makespan(std::int64_t slots) noexcept {
    std::array<std::uint32_t, 2 * kLevels + 8> at{};  // slots that are done at a level
    at[0] = static_cast<std::uint32_t>(slots);
    std::size_t now = 0;
    std::size_t last = 0;
    for (std::size_t cost = kLevels + 1; cost > 0; --cost)
      for (std::uint32_t left = items_[cost]; left > 0;) {
        while (at[now] == 0) ++now;
        const std::uint32_t some = std::min(left, at[now]);
        const std::size_t then = std::min(now + cost, at.size() - 1);
        at[now] -= some;
        at[then] += some;
        last = std::max(last, then);
        left -= some;
      }
    const auto levels = static_cast<std::int64_t>(last);
    return bound_ / kLevels * levels + bound_ % kLevels * levels / kLevels;
  }

 private:
  static constexpr int kLevels = 256;
  std::int64_t bound_;
  int shift_ = 0;
  std::uint64_t scale_;
  std::array<std::uint32_t, kLevels + 2> items_{};  // all of a grid are below 2^32
  std::int64_t carry_ = 0;                          // in 2^-16
};

class Search {
 public:
  Search(const TileClasses& tiles, const ItemCosts& costs, std::int64_t workgroups, std::int64_t slots,
         std::int64_t max_splits, std::int64_t most_extra) noexcept
      : tiles_(tiles),
        costs_(costs),
        workgroups_(workgroups),
        slots_(slots),
        max_splits_(max_splits),
        most_extra_(most_extra),
        longest_(std::max<std::int64_t>(tiles.longest(), 1)) {}

  SplitRule run() noexcept {
    consider({longest_, 0, max_splits_});
    const std::int64_t start = balanced_length();
    consider(rule(start, 0));
    if (tiles_.end() - tiles_.begin() <= kFewClasses)
      walk(start, 8, 2, 12);
    else
      walk(start, 4, 1, 6);
    for (const std::int64_t waves : {1, 2, 3}) fill(waves);
    walk(best_.length, 10, 1, 1);
    const std::int64_t found = best_.length;
    for (const int percent : {25, 50}) consider(rule(found, percent));
    share();
    return best_;
  }

 private:
  /// Lengths around one, each a `share`-th apart from the one before.
  void walk(std::int64_t from, std::int64_t share, int up, int down) noexcept {
    std::int64_t length = from;
    for (int i = 0; i < up; ++i) consider(rule(length += length / share + 1, 0));
    length = from;
    for (int i = 0; i < down && length > 1; ++i) consider(rule(length -= (length + share) / (share + 1), 0));
  }

  /// The shortest parts of which all are done in so many waves: a part more would take a wave more.
  void fill(std::int64_t waves) noexcept {
    const std::int64_t most = std::min(slots_ * waves / workgroups_ - tiles_.tiles(), most_extra_);
    if (most < 0) return;
    std::int64_t low = 1;
    std::int64_t high = longest_;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (extra({middle, 0, max_splits_}) > most)
        low = middle + 1;
      else
        high = middle;
    }
    consider(rule(low, 0));
  }

  /// The first times at which all may be done where a slot may do several parts.
  void share() noexcept {
    const std::int64_t least = totals({longest_, 0, 1}).cost / slots_;
    if (makespan_ - least <= least / kNear) return;
    std::int64_t below = least;
    std::int64_t time = makespan_;
    while (time - below > least / 128 + 1) {
      const std::int64_t middle = below + (time - below) / 2;
      (have_room(middle) ? time : below) = middle;
    }
    for (int i = 0; i < 6 && time < makespan_; ++i, time += time / 64 + 1) consider(sharing(time));
  }

  /// Parts that are done by a time, one or several after each other.
  SplitRule sharing(std::int64_t time) const noexcept {
    const auto units = [&](std::int64_t share, std::int64_t partial) {
      return std::clamp<std::int64_t>((time / share - costs_.item - partial) / costs_.unit, 0, longest_);
    };
    SplitRule found{std::max<std::int64_t>(units(1, costs_.partial), 1), 0, max_splits_, units(1, 0), {}};
    for (std::int64_t share = 2; share <= SplitRule::kMostShare; ++share)
      found.several[static_cast<std::size_t>(share - 2)] = units(share, costs_.partial);
    return found;
  }

  /// Whether slots have room for the parts, were those of all tiles to fit together.
  bool have_room(std::int64_t time) const noexcept {
    const SplitRule rule = sharing(time);
    if (rule.length * costs_.unit + costs_.item + costs_.partial > time) return false;
    std::int64_t twelfths = 0;
    for (const TileClasses::Class& c : tiles_) {
      const auto [count, share] = rule.parts(c.units);
      const std::int64_t of_each =
          c.units > rule.whole ? 12 / share : (costs_.item + c.units * costs_.unit) * 12 / time;
      twelfths += count * of_each * c.count;
    }
    return twelfths * workgroups_ <= 12 * slots_;
  }

  SplitRule rule(std::int64_t length, int slack_percent) const noexcept {
    length = std::clamp<std::int64_t>(length, 1, longest_);
    return {length, length * slack_percent / 100, max_splits_};
  }

  /// Splits beyond one per tile.
  std::int64_t extra(const SplitRule& rule) const noexcept {
    std::int64_t items = 0;
    for (const TileClasses::Class& c : tiles_) items += rule.splits(c.units) * c.count;
    return items - tiles_.tiles();
  }

  struct Totals {
    std::int64_t cost;     // of all workgroups; kNever: too many splits
    std::int64_t longest;  // item's cost
  };
  /// And each class's splits and longest part, for who looks closely.
  Totals totals(const SplitRule& rule) noexcept {
    std::int64_t items = 0;
    std::int64_t partials = 0;
    std::int64_t longest = 0;
    Cut* cut = cuts_.data();
    for (const TileClasses::Class& c : tiles_) {
      const std::int64_t n = rule.splits(c.units);
      items += n * c.count;
      if (n > 1) partials += n * c.count;
      const std::int64_t part = n == 1 ? c.units : narrow_ceil_div(c.units, n);
      *cut++ = {n, part};
      longest = std::max(longest, part * costs_.unit + (n > 1 ? costs_.partial : 0));
    }
    if (items - tiles_.tiles() > most_extra_) return {kNever, kNever};
    const std::int64_t cost = tiles_.units() * costs_.unit + items * costs_.item + partials * costs_.partial;
    return {cost * workgroups_, longest + costs_.item};
  }

  /// The length of parts at which one item takes about as long as all items shared among all slots.
  std::int64_t balanced_length() noexcept {
    std::int64_t length = longest_;
    for (int i = 0; i < 4; ++i) {
      const Totals all = totals({length, 0, max_splits_});
      if (all.cost == kNever) break;
      const std::int64_t share = all.cost / slots_;
      length = std::clamp<std::int64_t>((share - costs_.item - costs_.partial) / costs_.unit, 1, longest_);
    }
    while (length < longest_ && extra({length, 0, max_splits_}) > most_extra_) length += length / 4 + 1;
    return std::min(length, longest_);
  }

  void consider(const SplitRule& candidate) noexcept {
    const Totals all = totals(candidate);
    if (all.cost == kNever) return;
    const std::int64_t bound = std::max((all.cost + slots_ - 1) / slots_, all.longest);
    if (bound >= makespan_ - makespan_ / kLeast) return;
    Schedule schedule{bound};
    const Cut* cut = cuts_.data();
    for (const TileClasses::Class& c : tiles_) {
      const auto [n, part] = *cut++;
      const std::int64_t fixed = costs_.item + (n > 1 ? costs_.partial : 0);
      const std::int64_t shorter = part * n - c.units;
      schedule.add(fixed + part * costs_.unit, (n - shorter) * c.count * workgroups_);
      if (shorter > 0) schedule.add(fixed + (part - 1) * costs_.unit, shorter * c.count * workgroups_);
    }
    const std::int64_t found = schedule.makespan(slots_);
    if (found >= makespan_) return;
    makespan_ = found;
    best_ = candidate;
  }

  struct Cut {
    std::int64_t splits, longest;
  };

  const TileClasses& tiles_;
  ItemCosts costs_;
  std::int64_t workgroups_, slots_, max_splits_, most_extra_, longest_;
  std::array<Cut, TileClasses::kMost> cuts_;  // of the rule that totals() saw last
  SplitRule best_;
  std::int64_t makespan_ = kNever;
};

}  // namespace

void TileClasses::finish() noexcept {
  if (differing_ <= kFew) {
    std::copy_n(few_.begin(), differing_, classes_.begin());
    used_ = differing_;
    return;
  }
  std::size_t to = 0;
  for (const Class& c : classes_)
    if (c.count > 0) classes_[to++] = {(c.units + c.count - 1) / c.count, c.count};
  used_ = to;
}

SplitRule best_rule(const TileClasses& tiles, const ItemCosts& costs, std::int64_t workgroups, std::int64_t slots,
                    std::int64_t max_splits, std::int64_t most_extra) noexcept {
  return Search(tiles, costs, workgroups, slots, max_splits, most_extra).run();
}

}  // namespace ckgen::inline v1::detail
