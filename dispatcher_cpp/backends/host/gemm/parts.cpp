#include "backends/host/gemm/parts.hpp"

#include "backends/host/gemm/check.hpp"
#include "backends/host/gemm/in_place.hpp"
#include "backends/host/gemm/small_m.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// A part this wide packs a row of A in well under a tenth of the time that it multiplies it.
constexpr std::int64_t kLeastColumns = 128;
constexpr std::int64_t kLeastRows = 64;

constexpr std::int64_t up_to(std::int64_t value, std::int64_t multiple) noexcept {
  return ceil_div(value, multiple) * multiple;
}

}  // namespace

Status Cutting::check() const noexcept {
  return twin_ != nullptr ? check_twin(traits_, *twin_, k_batch_) : gemm_host_supports(traits_, *host_);
}

Blocking Cutting::blocking(std::int64_t k) const noexcept {
  Blocking b = twin_ != nullptr ? twin_blocking(traits_, *twin_, k_batch_, k) : host_blocking(traits_, *host_, k);
  b.few_rows = rows_ == RowOrder::any || is_exact(traits_);
  return b;
}

Blocking Cutting::part_blocking(std::int64_t k) const noexcept {
  Blocking b = blocking(k);
  b.threads = 1;
  return b;
}

Cut cut_product(const Blocking& blocking, std::int64_t m, std::int64_t n, std::int64_t k, double flops) noexcept {
  const double all = flops_of(m, n, k);
  // n panels are the most there can be, so that the quotient fits
  const auto pieces = static_cast<std::int64_t>(std::min(all / std::max(flops, 1.0), 1e15)) + 1;
  Cut cut{m, n, 1, 1};
  if (pieces == 1) return cut;
  cut.columns = std::min(n, up_to(std::max(ceil_div(n, pieces), kLeastColumns), blocking.nr));
  cut.across = ceil_div(n, cut.columns);
  if (cut.across < pieces)
    cut.rows = std::min(m, up_to(std::max(ceil_div(m, ceil_div(pieces, cut.across)), kLeastRows), blocking.mr));
  cut.down = ceil_div(m, cut.rows);
  return cut;
}

void run_part(const GemmTraits& traits, const Blocking& blocking, std::int64_t rows, std::int64_t columns,
              bool few_rows, const GemmArgs& args, const Part& part, void* workspace) noexcept {
  const Sizes sizes{rows, columns, args.k, 1};
  if (few_rows && execute_small_part(traits, blocking, sizes, args, part, workspace)) return;
  execute_part(make_geometry(traits, in_place_blocking(traits, blocking, rows), sizes), traits, args, part, workspace);
}

std::size_t part_bytes(const GemmTraits& traits, const Blocking& blocking, std::int64_t m, std::int64_t n,
                       std::int64_t k) noexcept {
  // The bytes grow with the height of a part, on either side of one block.
  const auto bytes = [&](std::int64_t rows) {
    return make_geometry(traits, blocking, {std::min(rows, m), n, k, 1}).bytes;
  };
  const Sizes few{std::min<std::int64_t>(m, kInPlaceRows), n, k, 1};
  const std::size_t in_place = make_geometry(traits, in_place_blocking(traits, blocking, few.m), few).bytes;
  const std::size_t most = std::max({bytes(m), bytes(blocking.block_m), in_place});
  return std::max(most, small_m_workspace(traits, blocking, {std::min(m, kSmallRows), n, k, 1}));
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
