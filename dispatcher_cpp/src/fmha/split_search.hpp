// How long a part of a query tile's keys should be: the makespan under the cost model, and the least that a few
// candidates reach.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "src/fmha/split_tiles.hpp"

namespace ckgen::inline v1::detail {

/// Into how many splits a tile of so many units goes: as many as give parts of at most `length`, where a rest of at
/// most `slack` makes no split of its own. Or as many as give parts of which a slot does several in the time of one of
/// `length`, where all parts then take less of the slots.
struct SplitRule {
  static constexpr std::int64_t kMostShare = 4;
  struct Parts {
    std::int64_t count, share;  // so many, each a share-th of what a slot does
  };

  std::int64_t length = 1;  // units
  std::int64_t slack = 0;
  std::int64_t max_splits = 1;
  std::int64_t whole = length + slack;                    // units of a tile that is not split
  std::array<std::int64_t, kMostShare - 1> several = {};  // units of parts of which a slot does 2, 3, 4; 0: none

  std::int64_t splits(std::int64_t units) const noexcept { return max_splits == 1 ? 1 : parts(units).count; }

  Parts parts(std::int64_t units) const noexcept {
    if (units <= whole) return {1, 1};
    Parts best{narrow_ceil_div(units - slack, length), 1};
    for (std::int64_t share = 2; share <= kMostShare; ++share) {
      const std::int64_t most = several[static_cast<std::size_t>(share - 2)];
      if (most == 0) break;
      const std::int64_t count = narrow_ceil_div(units, most);
      if (count * best.share < best.count * share) best = {count, share};
    }
    best.count = std::min(best.count, max_splits);
    return best;
  }

  /// Of every part, where max_splits allows it.
  std::int64_t longest() const noexcept { return std::max(length + slack, whole); }

  /// A rule of fewer splits.
  SplitRule longer() const noexcept {
    const std::int64_t next = length + length / 8 + 1;
    return {next, slack, max_splits, std::max(whole, next + slack), {}};
  }
};

/// Costs in columns.
struct ItemCosts {
  std::int64_t item;     // of any
  std::int64_t partial;  // more, of one of several splits
  std::int64_t unit;     // per unit of keys
};

/// The tiles of a batch by their units. A class each where few differ; of more, exact below 32 units, 16 classes per
/// octave above, each with its mean.
class TileClasses {
 public:
  static constexpr std::size_t kFew = 24;
  static constexpr std::size_t kStep = 16;          // classes of an octave
  static constexpr std::size_t kMost = kStep * 28;  // up to 2^31 - 1 units

  void add(std::int64_t units, std::int64_t count) noexcept {
    Class& found = classes_[index(units)];
    found.count += count;
    found.units += units * count;
    if (differing_ <= kFew) note(units, count);
    tiles_ += count;
    units_ += units * count;
    if (units > longest_) longest_ = units;
  }
  /// Replaces sums by means and drops empty classes; once, after the last add.
  void finish() noexcept;

  struct Class {
    std::int64_t units = 0;  // of all tiles; after finish() the mean, rounded up
    std::int64_t count = 0;
  };
  const Class* begin() const noexcept { return classes_.data(); }
  const Class* end() const noexcept { return classes_.data() + used_; }
  std::int64_t tiles() const noexcept { return tiles_; }
  std::int64_t units() const noexcept { return units_; }
  std::int64_t longest() const noexcept { return longest_; }

 private:
  static std::size_t index(std::int64_t units) noexcept {
    if (units < std::int64_t{2 * kStep}) return static_cast<std::size_t>(units);
    const int shift = 59 - __builtin_clzll(static_cast<unsigned long long>(units));
    return kStep * static_cast<std::size_t>(shift) + static_cast<std::size_t>(units >> shift);
  }
  void note(std::int64_t units, std::int64_t count) noexcept {
    std::size_t at = 0;
    while (at < differing_ && few_[at].units != units) ++at;
    if (at == differing_ && differing_++ == kFew) return;
    few_[at].units = units;
    few_[at].count += count;
  }
  std::array<Class, kMost> classes_;
  std::array<Class, kFew> few_;  // while no more differ
  std::size_t differing_ = 0;
  std::size_t used_ = kMost;
  std::int64_t tiles_ = 0;
  std::int64_t units_ = 0;
  std::int64_t longest_ = 0;
};

/// The rule of the least makespan found on `slots` workgroups at once, for `workgroups` times the tiles, that makes at
/// most `most_extra` splits more than there are tiles (of classes' means: the caller counts again). slots >= 1.
SplitRule best_rule(const TileClasses& tiles, const ItemCosts& costs, std::int64_t workgroups, std::int64_t slots,
                    std::int64_t max_splits, std::int64_t most_extra) noexcept;

}  // namespace ckgen::inline v1::detail
