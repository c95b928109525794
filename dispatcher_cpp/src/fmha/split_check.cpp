#include "src/fmha/split_check.hpp"

#include <algorithm>
#include <numeric>

namespace ckgen::inline v1::detail {
namespace {

/// More items per resident workgroup hardly balance better, and a captured graph needs a bound.
constexpr std::int64_t kMostWaves = 4;
// Within these, 64 bits count every sum of costs.
constexpr std::int64_t kMostSlots = 1 << 20;
constexpr std::int64_t kMostRows = 1 << 16;
constexpr std::int64_t kMostWeight = 1 << 10;

std::int64_t unit_of(const FmhaSplitProblem& p) noexcept {
  return std::lcm(std::int64_t{p.n0}, std::max<std::int64_t>(p.page_size, 1));
}

}  // namespace

Status check_split_problem(const FmhaSplitProblem& p) noexcept {
  const struct {
    const char* field;
    std::int64_t value, least, most;
  } ranges[] = {{"batch", p.batch, 1, kMostInt - 1},
                {"heads_q", p.heads_q, 1, kMostInt},
                {"heads_k", p.heads_k, 1, kMostInt},
                {"hdim_v", p.hdim_v, 1, kMostInt},
                {"workgroup_heads", p.workgroup_heads, 1, kMostInt},
                {"m0", p.m0, 1, kMostRows},
                {"n0", p.n0, 1, kMostRows},
                {"page_size", p.page_size, 0, kMostRows},
                {"mask.window_left", p.mask.window_left, -1, kMostInt},
                {"mask.window_right", p.mask.window_right, -1, kMostInt},
                {"mask.sink_tokens", p.mask.sink_tokens, 0, kMostInt},
                {"cu_num", p.cu_num, 1, kMostSlots},
                {"occupancy", p.occupancy, 1, kMostSlots / std::max(p.cu_num, 1)},
                {"max_splits", p.max_splits, 1, kMostInt},
                {"max_workgroups", p.max_workgroups, 1, kMostInt},
                {"fixed_split_size", p.fixed_split_size, 0, kMostInt},
                {"cost.item_row", p.cost.item_row, 0, kMostWeight},
                {"cost.partial_row", p.cost.partial_row, 0, kMostWeight}};
  for (const auto& r : ranges)
    if (r.value < r.least || r.value > r.most)
      return Status::error(StatusCode::invalid_argument, "%s = %lld is outside [%lld, %lld]", r.field,
                           static_cast<long long>(r.value), static_cast<long long>(r.least),
                           static_cast<long long>(r.most));
  if (p.heads_q % p.heads_k != 0)
    return Status::error(StatusCode::invalid_argument, "heads_q = %d is no multiple of heads_k = %d", p.heads_q,
                         p.heads_k);
  if (p.fixed_split_size != 0 && p.no_split)
    return Status::error(StatusCode::invalid_argument, "fixed_split_size = %d contradicts no_split",
                         p.fixed_split_size);
  if (p.fixed_split_size % unit_of(p) != 0)
    return Status::error(StatusCode::invalid_argument,
                         "fixed_split_size = %d is no multiple of n0 = %d and of page_size = %d", p.fixed_split_size,
                         p.n0, p.page_size);
  return Status::success();
}

SplitGeometry split_geometry(const FmhaSplitProblem& p) noexcept {
  const std::int64_t unit = unit_of(p);
  const std::int64_t group = p.merge_heads ? p.heads_q / p.heads_k : 1;
  const std::int32_t heads = p.merge_heads ? p.heads_k : p.heads_q;
  const auto workgroups = static_cast<std::int32_t>(ceil_div(std::int64_t{heads}, p.workgroup_heads));
  return {p.mask, p.m0, p.n0, group, unit, p.fixed_split_size / unit, heads, workgroups};
}

ItemCosts split_costs(const FmhaSplitProblem& p, const SplitGeometry& g) noexcept {
  return {p.cost.item_row * g.m0, p.cost.partial_row * g.m0, g.unit};
}

std::int64_t most_extra_splits(const FmhaSplitProblem& p, const SplitGeometry& g) noexcept {
  return ceil_div(kMostWaves * p.cu_num * p.occupancy, g.workgroups);
}

Status check_split_grid(const FmhaSplitProblem& p, const SplitGeometry& g, std::int64_t items) noexcept {
  if (items <= p.max_workgroups / g.workgroups) return Status::success();
  return Status::error(StatusCode::unsupported, "%lld items of %d workgroups are more than max_workgroups = %lld",
                       static_cast<long long>(items), g.workgroups, static_cast<long long>(p.max_workgroups));
}

Status check_split_columns(const SplitGeometry& g, std::int64_t units) noexcept {
  constexpr std::int64_t most = std::int64_t{1} << 62;
  if (units <= most / g.unit / g.heads) return Status::success();
  return Status::error(StatusCode::unsupported, "seqlen_k: all tiles and heads have more than 2^62 columns");
}

Status check_fixed_splits(const FmhaSplitProblem& p, std::int64_t splits) noexcept {
  if (splits <= p.max_splits) return Status::success();
  return Status::error(StatusCode::unsupported, "fixed_split_size = %d makes %lld splits, more than max_splits = %d",
                       p.fixed_split_size, static_cast<long long>(splits), p.max_splits);
}

}  // namespace ckgen::inline v1::detail
