#include "backends/host/gemm/division.hpp"

#include "backends/host/threads.hpp"

#include <algorithm>
#include <limits>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// A batch of products smaller than this is shared out product by product.
constexpr double kWholeProductFlops = 5e7;

// What packing takes, in multiplications of the same element by a register tile's columns or rows. The rows are packed
// before the first is multiplied, and leave the second-level cache again.
constexpr std::int64_t kRowCost = 20, kColumnCost = 16;

// Of `down` by `across` parts as alike as register tiles allow.
Cut cut_into(const Blocking& b, const Sizes& size, std::int64_t down, std::int64_t across) noexcept {
  Cut cut{ceil_div(size.m, down), std::min(size.n, ceil_div(ceil_div(size.n, b.nr), across) * b.nr), 0, 0};
  cut.down = ceil_div(size.m, cut.rows);
  cut.across = ceil_div(size.n, cut.columns);
  return cut;
}

// Rows that register tiles compute for so many, the last ones by the smallest tile that holds them.
std::int64_t computed_rows(const Blocking& b, std::int64_t rows) noexcept {
  const IsaTable::Menu& menu = b.isa->menu[static_cast<int>(b.kind)];
  const std::int64_t height = pick_micro(menu, b.mr, b.nr, rows)->mr, rest = rows % height;
  return rows - rest + (rest == 0 ? 0 : pick_micro(menu, static_cast<std::int32_t>(height), b.nr, rest)->mr);
}

// What the largest part takes, for each element of K: of sizes that may be 2^40 each.
double cost(const Blocking& b, const Cut& cut) noexcept {
  const std::int64_t rows = computed_rows(b, cut.rows), columns = ceil_div(cut.columns, b.nr) * b.nr;
  return static_cast<double>(rows) * static_cast<double>(columns) +
         static_cast<double>(kRowCost * cut.rows + kColumnCost * cut.columns);
}

Cut cut_for(const Blocking& b, const Sizes& size, int threads) noexcept {
  Cut best{size.m, size.n, 1, 1};
  double least = std::numeric_limits<double>::infinity();
  // What a kernel reads in place it reads for all rows at once.
  const std::int64_t most = b.in_place != nullptr ? 1 : threads;
  for (std::int64_t down = 1; down <= most; ++down) {
    const Cut cut = cut_into(b, size, down, threads / down);
    if (const double found = cost(b, cut); found < least) {
      least = found;
      best = cut;
    }
  }
  return best;
}

Sizes size_of(const Cut& cut, const Sizes& whole, std::int64_t row, std::int64_t column) noexcept {
  return {std::min(cut.rows, whole.m - row * cut.rows), std::min(cut.columns, whole.n - column * cut.columns), whole.k,
          1};
}

}  // namespace

Division make_division(const GemmTraits& traits, const Blocking& blocking, const Sizes& sizes) noexcept {
  Division d{sizes, {sizes.m, sizes.n, 1, 1}, 1, 0.0, {}, 0, 0};
  const double flops = 2.0 * static_cast<double>(sizes.m) * static_cast<double>(sizes.n) * static_cast<double>(sizes.k);
  d.flops = flops * static_cast<double>(sizes.batch);
  const int threads = d.flops < kSerialFlops ? 1 : std::max(1, blocking.threads);
  const bool is_whole = sizes.batch > 1 && flops < kWholeProductFlops;
  if (threads > 1 && !is_whole) d.cut = cut_for(blocking, sizes, threads);
  d.threads = static_cast<int>(
      std::min<double>(threads, static_cast<double>(d.cut.count()) * static_cast<double>(sizes.batch)));
  for (std::int64_t row = std::max<std::int64_t>(0, d.cut.down - 2); row < d.cut.down; ++row)
    for (std::int64_t column = std::max<std::int64_t>(0, d.cut.across - 2); column < d.cut.across; ++column) {
      Geometry& made = d.geometry[row == d.cut.down - 1][column == d.cut.across - 1];
      made = make_geometry(traits, blocking, size_of(d.cut, sizes, row, column));
      d.part_bytes = std::max(d.part_bytes, made.bytes);
    }
  d.bytes = d.part_bytes * static_cast<std::size_t>(d.threads);
  return d;
}

void execute(const Division& d, const GemmTraits& traits, const GemmArgs& args, void* workspace) noexcept {
  const std::int64_t parts = d.cut.count();
  parallel_for(
      d.size.batch * parts, d.threads,
      [&](std::int64_t i, int index) {
        const std::int64_t batch = i / parts, row = i % parts / d.cut.across, column = i % d.cut.across;
        const std::int64_t m0 = row * d.cut.rows, n0 = column * d.cut.columns;
        auto* c =
            static_cast<unsigned char*>(args.c) + bytes_of(traits.c, batch * args.batch_stride_c + m0 * args.ldc + n0);
        execute_part(d.geometry_of(row, column), traits, args, {m0, n0, c, nullptr},
                     static_cast<unsigned char*>(workspace) + d.part_bytes * static_cast<std::size_t>(index), batch);
      },
      d.flops);
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
