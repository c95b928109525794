#include <ckgen/fmha_split.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include "src/fmha/split_check.hpp"

namespace ckgen::inline v1 {
namespace detail {
namespace {

/// Places for items in descending order of cost: some hundred classes, each in the order of its requests.
class Order {
 public:
  /// Of costs in [least, most].
  void reset(std::int64_t least, std::int64_t most) noexcept {
    least_ = least;
    scale_ = (std::uint64_t{kClasses - 1} << 32) / static_cast<std::uint64_t>(most - least + 1);
    next_.fill(0);
  }
  void count(std::int64_t cost, std::int64_t items) noexcept { next_[class_of(cost)] += items; }
  /// After the last count.
  void place() noexcept {
    std::int64_t before = 0;
    for (std::int64_t& at : next_) before += std::exchange(at, before);
  }
  /// The first of so many places that were counted.
  std::int64_t take(std::int64_t cost, std::int64_t items) noexcept {
    std::int64_t& at = next_[class_of(cost)];
    return std::exchange(at, at + items);
  }

 private:
  static constexpr std::size_t kClasses = 512;
  std::size_t class_of(std::int64_t cost) const noexcept {
    return kClasses - 1 - static_cast<std::size_t>(static_cast<std::uint64_t>(cost - least_) * scale_ >> 32);
  }
  std::int64_t least_ = 0;
  std::uint64_t scale_ = 0;
  std::array<std::int64_t, kClasses> next_;
};

/// One batch: gathers its tiles, decides how they are cut, counts what that gives, writes it.
class Planner {
 public:
  explicit Planner(const FmhaSplitProblem& problem) noexcept
      : p_(problem), g_(split_geometry(problem)), costs_(split_costs(problem, g_)) {}

  Status decide() noexcept {
    Status status = gather();
    if (!status.ok()) return status;
    const bool searched = g_.fixed_units == 0 && !p_.no_split && p_.max_splits > 1;
    const std::int64_t most = searched ? most_extra_splits(p_, g_) : 0;
    rule_ = {std::max<std::int64_t>(tiles_.longest(), 1), 0, 1};
    if (searched) {
      tiles_.finish();
      rule_ = best_rule(tiles_, costs_, g_.workgroups, std::int64_t{p_.cu_num} * p_.occupancy, p_.max_splits, most);
    }
    count();
    // what holds for classes' means may not quite hold for their tiles
    while (searched && sizes_.items - tiles_.tiles() > most) {
      rule_ = rule_.longer();
      count();
    }
    if (g_.fixed_units != 0) status = check_fixed_splits(p_, sizes_.max_splits);
    return status.ok() ? check_split_grid(p_, g_, sizes_.items) : status;
  }

  const FmhaSplitSizes& sizes() const noexcept { return sizes_; }

  /// After decide(); once.
  void write(const FmhaSplitArrays& arrays) noexcept {
    order_.place();
    std::int64_t partial = 0;
    FmhaCombineItem* combine = arrays.combine_items;
    arrays.o_indptr[0] = 0;
    for (std::int32_t b = 0; b < p_.batch; ++b) {
      std::int32_t most = 0;
      each_cut(b, [&](const Cut& cut, std::int32_t tile, std::int32_t rows) {
        const std::int32_t n = cut.splits;
        FmhaSplitItem* item = arrays.items + order_.take(cut.cost, n);
        for (std::int32_t s = 0; s < n; ++s, ++item) {
          const Columns columns = part(cut, s);
          *item = {b, tile, s, n, columns.begin, columns.end, n == 1 ? -1 : partial + std::int64_t{s} * rows};
        }
        if (n > 1) {
          *combine++ = {b, tile, n, rows, partial};
          partial += std::int64_t{n} * rows;
        }
        most = std::max(most, n);
      });
      arrays.splits[b] = most;
      arrays.o_indptr[b + 1] = partial;
    }
    std::fill(arrays.items + sizes_.items, arrays.items + arrays.item_room, FmhaSplitItem{-1, 0, 0, 0, 0, 0, -1});
    std::fill(combine, arrays.combine_items + arrays.combine_room, FmhaCombineItem{-1, 0, 0, 0, 0});
  }

 private:
  struct Cut {
    TileKeys keys;
    std::int32_t splits;
    std::int64_t cost;  // of the longest item
  };

  /// Calls visit(keys, tile, rows) for each query tile of a request.
  template <class Visit>
  void each_tile(std::int32_t b, Visit visit) const noexcept {
    const std::int64_t length_q = p_.seqlen_q[b];
    const std::int64_t rows = length_q * g_.group;
    std::int32_t tile = 0;
    for (std::int64_t row = 0; row < rows; row += g_.m0, ++tile) {
      const std::int64_t own = std::min(g_.m0, rows - row);
      visit(tile_keys(g_, length_q, p_.seqlen_k[b], row, own), tile, static_cast<std::int32_t>(own));
    }
  }

  Status gather() noexcept {
    const std::int64_t most_tiles = p_.max_workgroups / g_.workgroups;
    const std::int64_t most_length = kMostInt / g_.group;
    std::int64_t left = most_tiles;
    for (std::int32_t b = 0; b < p_.batch; ++b) {
      const std::int32_t q = p_.seqlen_q[b];
      if (q < 0 || q > most_length || p_.seqlen_k[b] < 0) return refused_length(b, most_length);
      left -= narrow_ceil_div(q * g_.group, g_.m0);
      if (left < 0) return check_split_grid(p_, g_, most_tiles - left);
      each_tile(b, [&](const TileKeys& keys, std::int32_t, std::int32_t) { tiles_.add(keys.units, 1); });
    }
    return check_split_columns(g_, tiles_.units());
  }

  Status refused_length(std::int32_t b, std::int64_t most) const noexcept {
    const bool is_q = p_.seqlen_q[b] < 0 || p_.seqlen_q[b] > most;
    return Status::error(StatusCode::invalid_argument, "%s[%d] = %d is outside [0, %lld]",
                         is_q ? "seqlen_q" : "seqlen_k", b, is_q ? p_.seqlen_q[b] : p_.seqlen_k[b],
                         static_cast<long long>(is_q ? most : kMostInt));
  }

  Cut cut_of(const TileKeys& keys) const noexcept {
    std::int64_t splits;
    std::int64_t longest;
    if (g_.fixed_units == 0) {
      splits = rule_.splits(keys.units);
      longest = splits == 1 ? keys.units : narrow_ceil_div(keys.units, splits);
    } else {
      splits = FixedCuts{keys, g_.fixed_units}.count();
      longest = std::min(keys.units, g_.fixed_units);
    }
    const std::int64_t cost = costs_.item + (splits > 1 ? costs_.partial : 0) + longest * costs_.unit;
    return {keys, static_cast<std::int32_t>(splits), cost};
  }

  /// Of every item's keys, in units.
  std::int64_t most_units() const noexcept {
    if (g_.fixed_units != 0) return std::min(tiles_.longest(), g_.fixed_units);
    return std::min(tiles_.longest(), std::max(rule_.longest(), ceil_div(tiles_.longest(), rule_.max_splits)));
  }

  void count() noexcept {
    order_.reset(costs_.item, costs_.item + costs_.partial + most_units() * costs_.unit);
    sizes_ = {0, 0, 0, 1, g_.heads};
    for (std::int32_t b = 0; b < p_.batch; ++b)
      each_cut(b, [&](const Cut& cut, std::int32_t, std::int32_t rows) {
        order_.count(cut.cost, cut.splits);
        sizes_.items += cut.splits;
        if (cut.splits == 1) return;
        ++sizes_.combine_items;
        sizes_.partial_rows += std::int64_t{cut.splits} * rows;
        sizes_.max_splits = std::max(sizes_.max_splits, cut.splits);
      });
  }

  Columns part(const Cut& cut, std::int32_t s) const noexcept {
    const std::int64_t units = cut.keys.units;
    if (units == 0) return {0, 0};
    if (g_.fixed_units != 0) {
      const FixedCuts cuts{cut.keys, g_.fixed_units};
      return columns_of(g_, cut.keys, cuts.begin(s), cuts.begin(s + 1));
    }
    const std::int64_t each = narrow_div(units, cut.splits);
    const std::int64_t longer = units - each * cut.splits;  // the first ones have a unit more
    return columns_of(g_, cut.keys, each * s + std::min<std::int64_t>(s, longer),
                      each * (s + 1) + std::min<std::int64_t>(s + 1, longer));
  }

  /// Calls visit(cut, tile, rows) for each query tile of a request.
  template <class Visit>
  void each_cut(std::int32_t b, Visit visit) const noexcept {
    each_tile(b, [&](const TileKeys& keys, std::int32_t tile, std::int32_t rows) { visit(cut_of(keys), tile, rows); });
  }

  const FmhaSplitProblem& p_;
  SplitGeometry g_;
  ItemCosts costs_;
  TileClasses tiles_;
  SplitRule rule_;
  Order order_;
  FmhaSplitSizes sizes_;
};

Status check_given(const FmhaSplitProblem& problem) noexcept {
  if (problem.seqlen_q == nullptr || problem.seqlen_k == nullptr)
    return Status::error(StatusCode::invalid_argument, "%s is null",
                         problem.seqlen_q == nullptr ? "seqlen_q" : "seqlen_k");
  return check_split_problem(problem);
}

Status check_room(const char* field, const void* array, std::int64_t room, std::int64_t needed) noexcept {
  if (room < needed)
    return Status::error(StatusCode::invalid_argument, "%s: %lld are needed, there is room for %lld", field,
                         static_cast<long long>(needed), static_cast<long long>(room));
  if (array == nullptr && room > 0) return Status::error(StatusCode::invalid_argument, "%s is null", field);
  return Status::success();
}

Status check_arrays(const FmhaSplitArrays& arrays, const FmhaSplitSizes& sizes) noexcept {
  Status status = check_room("items", arrays.items, arrays.item_room, sizes.items);
  if (status.ok()) status = check_room("combine_items", arrays.combine_items, arrays.combine_room, sizes.combine_items);
  if (status.ok()) status = check_room("splits", arrays.splits, 1, 1);
  return status.ok() ? check_room("o_indptr", arrays.o_indptr, 1, 1) : status;
}

}  // namespace
}  // namespace detail

Result<FmhaSplitSizes> fmha_split_sizes(const FmhaSplitProblem& problem) noexcept {
  Status status = detail::check_given(problem);
  if (!status.ok()) return status;
  detail::Planner planner{problem};
  status = planner.decide();
  if (!status.ok()) return status;
  return planner.sizes();
}

Result<FmhaSplitSizes> fmha_split_plan(const FmhaSplitProblem& problem, const FmhaSplitArrays& arrays) noexcept {
  Status status = detail::check_given(problem);
  if (!status.ok()) return status;
  detail::Planner planner{problem};
  status = planner.decide();
  if (status.ok()) status = detail::check_arrays(arrays, planner.sizes());
  if (!status.ok()) return status;
  planner.write(arrays);
  return planner.sizes();
}

}  // namespace ckgen::inline v1
