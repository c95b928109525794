// What an attention instance costs on a problem, and into how many equal splits it cuts the keys. Integers, equal to
// codegen/ckgen/families/fmha/cost.py.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ckgen/fmha_split.hpp>

#include "fmha_append_rules.hpp"
#include "strategy.hpp"

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

/// A problem on a device in an instance's tiles.
class FmhaWork {
 public:
  FmhaWork(const FmhaConfig& c, const FmhaTraits& traits, const FmhaShape& x, std::uint32_t cu_num) noexcept
      : c_(c), cus_(cu_num == 0 ? 1 : cu_num), keys_(static_cast<std::uint64_t>(x.seqlen_k)) {
    const std::uint64_t of_v = whole(c.hdim_v, c.n1);
    const std::int64_t rows = c.merge_heads ? x.seqlen_q * (x.heads_q / x.heads_k) : x.seqlen_q;
    const std::int32_t heads = c.merge_heads ? x.heads_k : x.heads_q;
    workgroups_ =
        Wide{whole(rows, c.m0) * static_cast<std::uint64_t>(x.batch)} * (static_cast<std::uint64_t>(heads) * of_v);
    columns_ = mean_columns(traits, x);
    hdims_ = static_cast<std::uint64_t>(c.hdim_q) + of_v * static_cast<std::uint64_t>(c.n1);
    most_splits_ = x.split_items != 0 ? 1 : static_cast<std::uint64_t>(c.max_splits);
  }

  /// Rounds of workgroups times keys and products of one, what it costs to write and combine partial results, then how
  /// many sizes are padded: what computes least, and of equals what checks least; at most 2^128 - 1.
  Wide cost(std::uint64_t splits) const noexcept {
    constexpr std::uint64_t kPart = FmhaSplitCost{}.item_row + FmhaSplitCost{}.partial_row;  // columns
    const bool combines = splits > 1 || c_.always_combines;
    const Wide count = workgroups_ * splits;
    const Wide rounds =
        count >> 63 == 0 ? Wide{ceil_div(static_cast<std::uint64_t>(count), cus_)} : (count + cus_ - 1) / cus_;
    const std::uint64_t columns = std::min(columns_, ceil_div(keys_, splits));
    const std::uint64_t whole_columns = ceil_div(columns, n0()) * n0() + (combines ? kPart : 0);
    const int pads = int{c_.pad_q} + int{c_.pad_k} + int{c_.d_multiple != 0} + int{c_.dv_multiple != 0};
    const Wide each = Wide{(static_cast<std::uint64_t>(c_.m0) + kFmhaLoad) * whole_columns} * hdims_ * 8;
    const Wide rest = Wide{combines ? kFmhaCombine : 0} * hdims_ * 8 + static_cast<unsigned>(pads);
    Wide all = 0;
    return __builtin_mul_overflow(rounds, each, &all) || __builtin_add_overflow(all, rest, &all) ? ~Wide{0} : all;
  }

  /// Calls `visit(splits, cost)` for one split, and for the fewest of as long parts as fit in one, two and three
  /// rounds.
  template <class Visit>
  void each_splits(Visit visit) const noexcept(noexcept(visit(1U, Wide{}))) {
    visit(1U, cost(1));
    const std::uint64_t blocks = ceil_div(keys_, n0());
    if (most_splits_ == 1 || workgroups_ == 0 || workgroups_ > 2 * cus_) return;
    std::uint64_t last = 1;
    for (std::uint64_t rounds = 1; rounds <= 3; ++rounds) {
      std::uint64_t splits = std::min({rounds * cus_ / static_cast<std::uint64_t>(workgroups_), most_splits_, blocks});
      if (splits < 2) continue;
      splits = ceil_div(blocks, ceil_div(blocks, splits));
      if (splits == last) continue;
      last = splits;
      visit(static_cast<std::uint32_t>(splits), cost(splits));
    }
  }

 private:
  static std::uint64_t whole(std::int64_t size, std::int32_t tile) noexcept {
    return ceil_div(static_cast<std::uint64_t>(size), static_cast<std::uint64_t>(tile));
  }
  std::uint64_t n0() const noexcept { return static_cast<std::uint64_t>(c_.n0); }

  const FmhaConfig& c_;
  std::uint64_t cus_, keys_, columns_, hdims_, most_splits_;
  Wide workgroups_;
};

struct FmhaSplits {
  Wide cost = 0;
  std::uint32_t splits = 1;
};

/// The least cost; of equal ones the fewest splits.
inline FmhaSplits best_splits(const FmhaConfig& c, const FmhaTraits& traits, const FmhaShape& x,
                              std::uint32_t cu_num) noexcept {
  if (appends(traits)) return {fmha_append_cost(c, traits, x, cu_num), 1};
  FmhaSplits best;
  FmhaWork(c, traits, x, cu_num).each_splits([&best](std::uint32_t splits, Wide cost) noexcept {
    if (splits == 1 || cost < best.cost) best = {cost, splits};
  });
  return best;
}

}  // namespace ckgen::inline v1::detail
