// What an attention instance costs on a problem, and into how many equal splits it cuts the keys. Integers, equal to
// codegen/ckgen/families/fmha/cost.py.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include <ckgen/fmha_split.hpp>

#include "src/fmha/append_rules.hpp"
#include "src/operation/cost.hpp"

namespace ckgen::inline v1::detail {

/// The sum over i below `rows` of i + first, not below 0 nor above `most`.
constexpr std::uint64_t ramp_sum(std::int64_t rows, std::int64_t first, std::int64_t most) noexcept {
  const std::int64_t begin = std::min(rows, std::max<std::int64_t>(0, -first));
  const std::int64_t end = std::min(rows, std::max(begin, most - first));
  const auto rising = static_cast<std::uint64_t>(begin + end - 1 + 2 * first) * static_cast<std::uint64_t>(end - begin);
  return (end > begin ? rising / 2 : 0) + static_cast<std::uint64_t>(rows - end) * static_cast<std::uint64_t>(most);
}

/// Columns that a row sees, the mean over the rows, rounded up; sink tokens are too few to count.
constexpr std::uint64_t mean_columns(const FmhaTraits& traits, const FmhaShape& x) noexcept {
  if (!traits.masked || x.seqlen_q == 0) return static_cast<std::uint64_t>(x.seqlen_k);
  const std::int64_t shift = x.corner == FmhaCorner::top_left ? 0 : x.seqlen_k - x.seqlen_q;
  const auto before = [&x](std::int64_t first) { return ramp_sum(x.seqlen_q, first, x.seqlen_k); };
  const std::uint64_t behind = x.window_right < 0
                                   ? static_cast<std::uint64_t>(x.seqlen_q) * static_cast<std::uint64_t>(x.seqlen_k)
                                   : before(shift + x.window_right + 1);
  const std::uint64_t hidden = x.window_left < 0 ? 0 : before(shift - x.window_left);
  return ceil_div(behind - std::min(behind, hidden), static_cast<std::uint64_t>(x.seqlen_q));
}

/// Rows that a compute unit computes while it brings their keys: of MI300X 32 as L2 gives them, 246 as memory does.
inline constexpr std::uint64_t kFmhaLoad = 64;
/// Rows times columns that a compute unit computes while the kernel starts that combines partial results.
inline constexpr std::uint64_t kFmhaCombine = 1 << 14;
/// The same where a CPU's threads meet (benchmarks/fmha_split.py; two threads of a Zen 4).
inline constexpr std::uint64_t kFmhaThreadBarrierCost = 1 << 18;
/// More than any other instance costs that is not at the end of what is counted.
inline constexpr Wide kFmhaLastResort = Wide{1} << 112;

/// Whether a workgroup takes all heads of a sequence's few rows; `group`: query heads of a KV head.
constexpr bool takes_all_heads(const FmhaConfig& c, std::int64_t seqlen_q, std::int64_t group) noexcept {
  return c.rows_together > 0 && seqlen_q * group <= c.rows_together;
}

/// A number of compute units, 0 counting as 1.
class CuCount {
 public:
  explicit CuCount(std::uint32_t cu_num) noexcept
      : count_(cu_num == 0 ? 1 : cu_num), reciprocal_(~std::uint64_t{0} / count_ + 1) {}

  std::uint64_t count() const noexcept { return count_; }
  /// A cost times the count, at most 2^128 - 1.
  Wide in_all(Wide cost) const noexcept { return cost >> 96 != 0 ? ~Wide{0} : cost * count_; }
  /// In which so many workgroups run: ceil(workgroups / count). Of 32 bits by the rounded reciprocal, which is exact
  /// there (Lemire, Kaser, Kurz: Faster remainder by direct computation, 2019); that of 1 has no 64 bits.
  std::uint64_t rounds(std::uint64_t workgroups) const noexcept {
    const std::uint64_t up = workgroups + count_ - 1;
    if (up >> 32 == 0 && reciprocal_ != 0) [[likely]]
      return static_cast<std::uint64_t>(Wide{reciprocal_} * up >> 64);
    return up / count_;
  }

 private:
  std::uint64_t count_, reciprocal_;
};

/// What the costs of all instances ask of a problem on a device.
struct FmhaAsked {
  FmhaAsked(const FmhaTraits& traits, const FmhaShape& x, std::uint32_t cu_num) noexcept
      : FmhaAsked(traits, x, cu_num, mean_columns(traits, x)) {}
  FmhaAsked(const FmhaTraits& traits, const FmhaShape& x, std::uint32_t cu_num, std::uint64_t mean) noexcept
      : shape(x),
        cus(cu_num),
        seen(mean),
        group(x.heads_q == x.heads_k ? 1 : x.heads_q / x.heads_k),
        begins_inside(traits.masked && x.window_left >= 0) {}

  const FmhaShape& shape;
  CuCount cus;
  std::uint64_t seen;  // mean_columns()
  std::int64_t group;  // query heads of a KV head
  bool begins_inside;  // what rows see begins within a part
};

/// How many tiles cover a size: a shift where the tile is a power of two, as most are.
inline std::uint64_t tiles_over(std::uint64_t size, std::int32_t tile) noexcept {
  const auto of = static_cast<std::uint64_t>(tile);
  if ((of & (of - 1)) == 0) [[likely]]
    return (size + of - 1) >> std::countr_zero(of);
  return ceil_div(size, of);
}

/// The size in whole tiles.
inline std::uint64_t in_whole_tiles(std::uint64_t size, std::int32_t tile) noexcept {
  const auto of = static_cast<std::uint64_t>(tile);
  if ((of & (of - 1)) == 0) [[likely]]
    return (size + of - 1) & ~(of - 1);
  return ceil_div(size, of) * of;
}

/// Workgroups beside each other along V.
inline std::uint64_t parts_of_v(const FmhaConfig& c) noexcept {
  return c.n1 == c.hdim_v ? 1 : tiles_over(static_cast<std::uint64_t>(c.hdim_v), c.n1);
}

/// Products of a row and a column, in elements of the head.
inline std::uint64_t hdims_over(const FmhaConfig& c) noexcept {
  return static_cast<std::uint64_t>(c.hdim_q) + parts_of_v(c) * static_cast<std::uint64_t>(c.n1);
}

/// What a workgroup's column costs; below 2^25 of an instance that is registered.
inline std::uint64_t column_cost(const FmhaConfig& c) noexcept {
  return (static_cast<std::uint64_t>(c.m0) + kFmhaLoad) * hdims_over(c) * 8;
}

/// How many sizes are padded.
inline unsigned pads_of(const FmhaConfig& c) noexcept {
  return unsigned{c.pad_q} + unsigned{c.pad_k} + unsigned{c.d_multiple != 0} + unsigned{c.dv_multiple != 0};
}

/// A problem on a device in an instance's tiles.
class FmhaWork {
 public:
  FmhaWork(const FmhaConfig& c, const FmhaAsked& asked) noexcept : c_(c), asked_(asked) {
    const FmhaShape& x = asked.shape;
    const std::uint64_t of_v = parts_of_v(c);
    const auto rows = static_cast<std::uint64_t>(c.merge_heads ? x.seqlen_q * asked.group : x.seqlen_q);
    const auto heads = static_cast<std::uint64_t>(c.merge_heads ? x.heads_k : x.heads_q);
    together_ = takes_all_heads(c, x.seqlen_q, asked.group);
    heads_ = together_ ? heads : 1;
    workgroups_ =
        Wide{tiles_over(rows, c.m0)} * (static_cast<std::uint64_t>(x.batch) * ((together_ ? 1 : heads) * of_v));
    is_few_ = workgroups_ >> 32 == 0;
    shared_ = c.takes_items ? asked.seen : static_cast<std::uint64_t>(x.seqlen_k);
    column_ = column_cost(c);
    combining_ = (together_ ? kFmhaThreadBarrierCost : kFmhaCombine) * hdims_over(c) * 8;
    pads_ = pads_of(c);
    most_splits_ = x.split_items != 0 ? 1 : static_cast<std::uint64_t>(c.max_splits);
  }

  /// Rounds of workgroups times keys and products of one, what it costs to write and combine partial results, then how
  /// many sizes are padded: what computes least, and of equals what checks least; at most 2^128 - 1. Kernels that read
  /// schedules share the columns that rows see among splits, others all keys: then only those splits work that see a
  /// column, and all write their part. In line, as a search asks up to four times.
  [[gnu::always_inline]] Wide cost(std::uint64_t splits) const noexcept {
    constexpr std::uint64_t kPart = FmhaSplitCost{}.item_row + FmhaSplitCost{}.partial_row;  // columns
    const bool combines = splits > 1 || c_.always_combines;
    const std::uint64_t shared = std::max<std::uint64_t>(shared_, 1);
    const std::uint64_t part = splits == 1 ? shared : ceil_div(shared, splits);
    const std::uint64_t busy = busy_of(splits, part);
    const std::uint64_t rest = pads_ + (combines ? combining_ : 0);
    const std::uint64_t of_columns = column_ * in_whole_tiles(std::min(asked_.seen, part), c_.n0);
    const std::uint64_t of_parts = combines ? column_ * kPart : 0;
    if (is_few_ && !c_.last_resort) [[likely]] {
      const std::uint64_t working = few_rounds(busy);
      return Wide{working} * of_columns + Wide{busy == splits ? working : few_rounds(splits)} * of_parts + rest;
    }
    const Wide last = c_.last_resort ? kFmhaLastResort : 0;
    return total(rounds(busy), of_columns, rounds(splits), of_parts, last + rest);
  }

  /// Calls `visit(splits, cost)` for one split, and for the fewest of as long parts as fit in one, two and three
  /// rounds. Counted are workgroups that see keys.
  template <class Visit>
  void each_splits(Visit visit) const noexcept(noexcept(visit(1U, Wide{}))) {
    const std::uint64_t cus = asked_.cus.count();
    const bool cuts = most_splits_ > 1 && workgroups_ != 0 && workgroups_ <= 2 * cus;
    const std::uint64_t workgroups = cuts ? static_cast<std::uint64_t>(workgroups_) : 1;
    const std::uint64_t in_one = cus / workgroups, left_of_one = cus % workgroups;
    const std::uint64_t seen = tiles_over(asked_.seen, c_.n0), blocks = tiles_over(shared_, c_.n0);
    std::uint64_t fitting = 0, left = 0, last = 0, splits = 1;
    for (int rounds = 0;;) {
      if (splits != last) visit(static_cast<std::uint32_t>(splits), cost(splits));
      if (!cuts || rounds == 3) return;
      ++rounds;
      fitting += in_one, left += left_of_one;
      if (left >= workgroups) left -= workgroups, ++fitting;
      last = splits;
      const std::uint64_t busy = std::min({fitting, most_splits_, seen});
      if (busy < 2) continue;
      splits = ceil_div(blocks, ceil_div(seen, busy));
      if (splits > most_splits_) splits = ceil_div(blocks, ceil_div(blocks, most_splits_));
    }
  }

 private:
  /// working * of_columns + writing * of_parts + rest, at most 2^128 - 1.
  static Wide total(Wide working, Wide of_columns, Wide writing, Wide of_parts, Wide rest) noexcept {
    Wide all = 0, parts = 0;
    const bool beyond = __builtin_mul_overflow(working, of_columns, &all) ||
                        __builtin_mul_overflow(writing, of_parts, &parts) || __builtin_add_overflow(all, parts, &all) ||
                        __builtin_add_overflow(all, rest, &all);
    return beyond ? ~Wide{0} : all;
  }
  /// Splits that see a column, of `splits` of `part` columns each: all where the last one does, as of most problems.
  std::uint64_t busy_of(std::uint64_t splits, std::uint64_t part) const noexcept {
    if (c_.takes_items || asked_.seen > (splits - 1) * part) return splits;
    return std::min(splits, ceil_div(asked_.seen, part) + std::uint64_t{asked_.begins_inside});
  }
  Wide rounds(std::uint64_t splits) const noexcept {
    const Wide count = workgroups_ * splits;
    const std::uint64_t cus = asked_.cus.count();
    if (together_ && count < cus) return rounds_of_shared_heads(static_cast<std::uint64_t>(count));
    return (count + cus - 1) / cus * heads_;
  }
  /// Of workgroups below 2^32; splits and heads have 16 bits.
  std::uint64_t few_rounds(std::uint64_t splits) const noexcept {
    const std::uint64_t count = static_cast<std::uint64_t>(workgroups_) * splits;
    if (together_ && count < asked_.cus.count()) return rounds_of_shared_heads(count);
    return asked_.cus.rounds(count) * heads_;
  }
  /// Fewer workgroups than compute units, which share the heads of one. Then each reads pieces of rows, which memory
  /// gives at four fifths of its speed (benchmarks/fmha_split.py).
  std::uint64_t rounds_of_shared_heads(std::uint64_t count) const noexcept {
    if (count == 0) return 0;
    const std::uint64_t parts = std::min(ceil_div(asked_.cus.count(), count), heads_);
    const std::uint64_t found = asked_.cus.rounds(count * parts) * ceil_div(heads_, parts);
    return parts == 1 ? found : found + ceil_div(found, std::uint64_t{4});
  }

  const FmhaConfig& c_;
  const FmhaAsked& asked_;
  std::uint64_t shared_, most_splits_;  // shared_: columns that splits cut
  std::uint64_t column_, combining_;    // what a workgroup's column costs, and that parts are combined
  std::uint64_t heads_;                 // of a workgroup
  unsigned pads_;
  bool together_;  // a workgroup takes all heads
  bool is_few_;    // workgroups have 32 bits
  Wide workgroups_;
};

/// The least cost; of equal ones the fewest splits.
inline SplitCost best_splits(const FmhaWork& work) noexcept {
  SplitCost best;
  work.each_splits([&best](std::uint32_t splits, Wide cost) noexcept {
    if (splits == 1 || cost < best.cost) best = {cost, splits};
  });
  return best;
}

/// The same of an instance by itself; `seen`: mean_columns().
inline SplitCost best_splits(const FmhaConfig& c, const FmhaTraits& traits, const FmhaShape& x, std::uint32_t cu_num,
                             std::uint64_t seen) noexcept {
  if (appends(traits)) return {fmha_append_cost(c, traits, x, cu_num), 1};
  const FmhaAsked asked(traits, x, cu_num, seen);
  return best_splits(FmhaWork(c, asked));
}

inline SplitCost best_splits(const FmhaConfig& c, const FmhaTraits& traits, const FmhaShape& x,
                             std::uint32_t cu_num) noexcept {
  return best_splits(c, traits, x, cu_num, mean_columns(traits, x));
}

}  // namespace ckgen::inline v1::detail
