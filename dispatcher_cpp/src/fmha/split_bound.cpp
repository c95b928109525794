// Upper bounds of split-KV plans, and their memory on a device.
#include <algorithm>

#include <ckgen/fmha_split.hpp>

#include "src/fmha/split_check.hpp"

namespace ckgen::inline v1 {
namespace detail {
namespace {

/// Units that any tile sees, at most.
std::int64_t most_units(const SplitGeometry& g, std::int64_t length_k, std::int64_t unit) noexcept {
  const std::int64_t all = ceil_div(length_k, unit);
  if (!g.mask.masked || g.mask.window_left < 0 || g.mask.window_right < 0) return all;
  // queries of a tile, then columns of its window wherever it starts, then sinks
  const std::int64_t queries = (g.m0 - 1) / g.group + 2;
  const std::int64_t window = queries + g.mask.window_left + g.mask.window_right;
  return std::min(all, ceil_div(window, unit) + 1 + ceil_div(g.mask.sink_tokens, unit));
}

Status check_maxima(const FmhaSplitProblem& p, const SplitGeometry& g, const FmhaSplitMaxima& m) noexcept {
  const struct {
    const char* field;
    std::int64_t value, most;
  } ranges[] = {{"maxima.seqlen_q", m.seqlen_q, kMostInt / g.group},
                {"maxima.seqlen_k", m.seqlen_k, kMostInt},
                {"maxima.total_q", m.total_q, std::int64_t{p.batch} * std::max(m.seqlen_q, 0)}};
  for (const auto& r : ranges)
    if (r.value < 0 || r.value > r.most)
      return Status::error(StatusCode::invalid_argument, "%s = %lld is outside [0, %lld]", r.field,
                           static_cast<long long>(r.value), static_cast<long long>(r.most));
  return Status::success();
}

/// Slices behind each other; `fits` turns false where 64 bits do not count the bytes.
class Memory {
 public:
  FmhaSplitSlice take(const char* name, std::int64_t count, std::int64_t each) noexcept {
    constexpr std::int64_t alignment = 256;
    std::int64_t bytes = 0;
    std::int64_t offset = 0;
    bool over = __builtin_mul_overflow(count, each, &bytes);
    over |= __builtin_add_overflow(total_, alignment - 1, &offset);
    offset = offset / alignment * alignment;
    over |= __builtin_add_overflow(offset, bytes, &total_);
    if (over && failed_ == nullptr) failed_ = name;
    return {name, offset, bytes, false};
  }
  std::int64_t total() const noexcept { return total_; }
  const char* failed() const noexcept { return failed_; }

 private:
  std::int64_t total_ = 0;
  const char* failed_ = nullptr;
};

}  // namespace
}  // namespace detail

Result<FmhaSplitSizes> fmha_split_bound(const FmhaSplitProblem& problem, const FmhaSplitMaxima& maxima) noexcept {
  using detail::ceil_div;
  Status status = detail::check_split_problem(problem);
  if (!status.ok()) return status;
  const detail::SplitGeometry g = detail::split_geometry(problem);
  status = detail::check_maxima(problem, g, maxima);
  if (!status.ok()) return status;

  const std::int64_t rows = maxima.seqlen_q * g.group;
  std::int64_t tiles = problem.batch * ceil_div(rows, g.m0);
  if (maxima.total_q > 0) tiles = std::min(tiles, maxima.total_q * g.group / g.m0 + problem.batch);
  FmhaSplitSizes sizes{tiles, 0, 0, 1, g.heads};
  status = detail::check_split_grid(problem, g, tiles);
  if (status.ok()) status = detail::check_split_columns(g, tiles * detail::most_units(g, maxima.seqlen_k, g.unit));
  if (!status.ok()) return status;

  std::int64_t partials = 0;
  if (g.fixed_units != 0) {
    const std::int64_t splits =
        std::max<std::int64_t>(detail::most_units(g, maxima.seqlen_k, std::int64_t{problem.fixed_split_size}), 1);
    status = detail::check_fixed_splits(problem, splits);
    if (!status.ok()) return status;
    sizes.max_splits = static_cast<std::int32_t>(splits);
    sizes.items = tiles * splits;
    sizes.combine_items = splits > 1 ? tiles : 0;
    partials = splits > 1 ? sizes.items : 0;
  } else if (!problem.no_split) {
    const std::int64_t units = detail::most_units(g, maxima.seqlen_k, g.unit);
    const std::int64_t splits = std::clamp<std::int64_t>(units, 1, problem.max_splits);
    const std::int64_t extra = std::min(detail::most_extra_splits(problem, g), tiles * (splits - 1));
    sizes.max_splits = static_cast<std::int32_t>(std::min(splits, extra + 1));
    sizes.items = tiles + extra;
    sizes.combine_items = std::min(tiles, extra);
    partials = sizes.combine_items + extra;
  }
  sizes.partial_rows = partials * std::min(rows, g.m0);
  status = detail::check_split_grid(problem, g, sizes.items);
  if (!status.ok()) return status;
  return sizes;
}

Result<FmhaSplitWorkspace> fmha_split_workspace(const FmhaSplitSizes& sizes, std::int32_t batch,
                                                std::int32_t hdim_v) noexcept {
  const struct {
    const char* field;
    std::int64_t value, least;
  } counts[] = {{"items", sizes.items, 0}, {"combine_items", sizes.combine_items, 0},
                {"heads", sizes.heads, 1}, {"partial_rows", sizes.partial_rows, 0},
                {"batch", batch, 1},       {"hdim_v", hdim_v, 1}};
  for (const auto& c : counts)
    if (c.value < c.least)
      return Status::error(StatusCode::invalid_argument, "%s = %lld is below %lld", c.field,
                           static_cast<long long>(c.value), static_cast<long long>(c.least));
  std::int64_t rows = 0;  // of all heads
  const bool fits = !__builtin_mul_overflow(sizes.partial_rows, std::int64_t{sizes.heads}, &rows);
  detail::Memory memory;
  const FmhaSplitWorkspace found{{memory.take("o_acc", rows, std::int64_t{hdim_v} * 4), memory.take("lse_acc", rows, 4),
                                  memory.take("items", sizes.items, sizeof(FmhaSplitItem)),
                                  memory.take("combine_items", sizes.combine_items, sizeof(FmhaCombineItem)),
                                  memory.take("splits", batch, sizeof(std::int32_t)),
                                  memory.take("o_indptr", std::int64_t{batch} + 1, sizeof(std::int64_t))},
                                 memory.total()};
  const char* failed = fits ? memory.failed() : "o_acc";
  if (failed != nullptr)
    return Status::error(StatusCode::unsupported, "%s: the workspace is larger than 2^63 bytes", failed);
  return found;
}

}  // namespace ckgen::inline v1
