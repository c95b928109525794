// What an attention instance costs on a problem, and into how many equal splits it cuts the keys. Integers, equal to
// codegen/ckgen/families/fmha/cost.py.
#pragma once

#include <algorithm>
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

/// Whether a workgroup takes all heads of a sequence's few rows.
constexpr bool takes_all_heads(const FmhaConfig& c, const FmhaShape& x) noexcept {
  return c.rows_together > 0 && x.seqlen_q * (x.heads_q / x.heads_k) <= c.rows_together;
}

/// A problem on a device in an instance's tiles.
class FmhaWork {
 public:
  FmhaWork(const FmhaConfig& c, const FmhaTraits& traits, const FmhaShape& x, std::uint32_t cu_num) noexcept
      : FmhaWork(c, traits, x, cu_num, mean_columns(traits, x)) {}

  /// `seen`: mean_columns(), which is the same for all instances.
  FmhaWork(const FmhaConfig& c, const FmhaTraits& traits, const FmhaShape& x, std::uint32_t cu_num,
           std::uint64_t seen) noexcept
      : c_(c), cus_(cu_num == 0 ? 1 : cu_num), seen_(seen) {
    const std::uint64_t of_v = whole(c.hdim_v, c.n1);
    const std::int64_t rows = c.merge_heads ? x.seqlen_q * (x.heads_q / x.heads_k) : x.seqlen_q;
    const std::int32_t heads = c.merge_heads ? x.heads_k : x.heads_q;
    together_ = takes_all_heads(c, x);
    heads_ = together_ ? static_cast<std::uint64_t>(heads) : 1;
    workgroups_ = Wide{whole(rows, c.m0) * static_cast<std::uint64_t>(x.batch)} *
                  (static_cast<std::uint64_t>(together_ ? 1 : heads) * of_v);
    shared_ = c.takes_items ? seen_ : static_cast<std::uint64_t>(x.seqlen_k);
    begins_inside_ = traits.masked && x.window_left >= 0;
    hdims_ = static_cast<std::uint64_t>(c.hdim_q) + of_v * static_cast<std::uint64_t>(c.n1);
    most_splits_ = x.split_items != 0 ? 1 : static_cast<std::uint64_t>(c.max_splits);
  }

  /// Rounds of workgroups times keys and products of one, what it costs to write and combine partial results, then how
  /// many sizes are padded: what computes least, and of equals what checks least; at most 2^128 - 1. Kernels that read
  /// schedules share the columns that rows see among splits, others all keys: then only those splits work that see a
  /// column, and all write their part.
  Wide cost(std::uint64_t splits) const noexcept {
    constexpr std::uint64_t kPart = FmhaSplitCost{}.item_row + FmhaSplitCost{}.partial_row;  // columns
    const bool combines = splits > 1 || c_.always_combines;
    const std::uint64_t part = std::max<std::uint64_t>(splits == 1 ? shared_ : ceil_div(shared_, splits), 1);
    const std::uint64_t busy = c_.takes_items ? splits : std::min(splits, parts_seen(splits, part));
    const std::uint64_t whole_columns = ceil_div(std::min(seen_, part), n0()) * n0();
    const int pads = int{c_.pad_q} + int{c_.pad_k} + int{c_.d_multiple != 0} + int{c_.dv_multiple != 0};
    const std::uint64_t meeting = together_ ? kFmhaThreadBarrierCost : kFmhaCombine;
    const std::uint64_t rest = (combines ? meeting : 0) * hdims_ * 8 + static_cast<unsigned>(pads);
    const Wide column = Wide{static_cast<std::uint64_t>(c_.m0) + kFmhaLoad} * hdims_ * 8;
    const Wide working = rounds(busy), writing = !combines ? 0 : busy == splits ? working : rounds(splits);
    return total(working, column * whole_columns, writing, column * kPart, rest);
  }

  /// Calls `visit(splits, cost)` for one split, and for the fewest of as long parts as fit in one, two and three
  /// rounds. Counted are workgroups that see keys.
  template <class Visit>
  void each_splits(Visit visit) const noexcept(noexcept(visit(1U, Wide{}))) {
    visit(1U, cost(1));
    const std::uint64_t seen = ceil_div(seen_, n0()), blocks = ceil_div(shared_, n0());
    if (most_splits_ == 1 || workgroups_ == 0 || workgroups_ > 2 * cus_) return;
    std::uint64_t last = 1;
    for (std::uint64_t rounds = 1; rounds <= 3; ++rounds) {
      const std::uint64_t busy =
          std::min({rounds * cus_ / static_cast<std::uint64_t>(workgroups_), most_splits_, seen});
      if (busy < 2) continue;
      std::uint64_t splits = std::min(ceil_div(blocks, ceil_div(seen, busy)), most_splits_);
      splits = ceil_div(blocks, ceil_div(blocks, splits));
      if (splits == last) continue;
      last = splits;
      visit(static_cast<std::uint32_t>(splits), cost(splits));
    }
  }

 private:
  /// working * of_columns + writing * of_parts + rest, at most 2^128 - 1.
  static Wide total(Wide working, Wide of_columns, Wide writing, Wide of_parts, std::uint64_t rest) noexcept {
    constexpr Wide low = ~std::uint64_t{0};
    if ((((working | writing) & ~low) | ((of_columns | of_parts) & ~(low >> 2))) == 0) [[likely]]
      return product(working, of_columns) + product(writing, of_parts) + rest;
    Wide all = 0, parts = 0;
    const bool beyond = __builtin_mul_overflow(working, of_columns, &all) ||
                        __builtin_mul_overflow(writing, of_parts, &parts) || __builtin_add_overflow(all, parts, &all) ||
                        __builtin_add_overflow(all, Wide{rest}, &all);
    return beyond ? ~Wide{0} : all;
  }
  /// Of two numbers of a word each: one instruction.
  static Wide product(Wide x, Wide y) noexcept {
    return Wide{static_cast<std::uint64_t>(x)} * static_cast<std::uint64_t>(y);
  }
  /// Splits that see a column, of `splits` of `part` columns each.
  std::uint64_t parts_seen(std::uint64_t splits, std::uint64_t part) const noexcept {
    return (splits == 1 ? std::uint64_t{seen_ != 0} : ceil_div(seen_, part)) + std::uint64_t{begins_inside_};
  }
  static std::uint64_t whole(std::int64_t size, std::int32_t tile) noexcept {
    return ceil_div(static_cast<std::uint64_t>(size), static_cast<std::uint64_t>(tile));
  }
  std::uint64_t n0() const noexcept { return static_cast<std::uint64_t>(c_.n0); }
  Wide rounds(std::uint64_t splits) const noexcept {
    const Wide count = workgroups_ * splits;
    if (together_ && count < cus_) return rounds_of_shared_heads(static_cast<std::uint64_t>(count));
    return (count >> 63 == 0 ? Wide{ceil_div(static_cast<std::uint64_t>(count), cus_)} : (count + cus_ - 1) / cus_) *
           heads_;
  }
  /// Fewer workgroups than compute units, which share the heads of one. Then each reads pieces of rows, which memory
  /// gives at four fifths of its speed (benchmarks/fmha_split.py).
  Wide rounds_of_shared_heads(std::uint64_t count) const noexcept {
    if (count == 0) return 0;
    const std::uint64_t parts = std::min(ceil_div(cus_, count), heads_);
    const std::uint64_t found = ceil_div(count * parts, cus_) * ceil_div(heads_, parts);
    return parts == 1 ? found : found + ceil_div(found, std::uint64_t{4});
  }

  const FmhaConfig& c_;
  std::uint64_t cus_, seen_, shared_, hdims_, most_splits_;  // shared_: columns that splits cut
  std::uint64_t heads_;                                      // of a workgroup
  bool together_;                                            // a workgroup takes all heads
  bool begins_inside_;                                       // what rows see begins within a part
  Wide workgroups_;
};

/// The least cost; of equal ones the fewest splits.
inline SplitCost best_splits(const FmhaConfig& c, const FmhaTraits& traits, const FmhaShape& x, std::uint32_t cu_num,
                             std::uint64_t seen) noexcept {
  if (appends(traits)) return {fmha_append_cost(c, traits, x, cu_num), 1};
  SplitCost best;
  FmhaWork(c, traits, x, cu_num, seen).each_splits([&best](std::uint32_t splits, Wide cost) noexcept {
    if (splits == 1 || cost < best.cost) best = {cost, splits};
  });
  return best;
}

inline SplitCost best_splits(const FmhaConfig& c, const FmhaTraits& traits, const FmhaShape& x,
                             std::uint32_t cu_num) noexcept {
  return best_splits(c, traits, x, cu_num, mean_columns(traits, x));
}

}  // namespace ckgen::inline v1::detail
