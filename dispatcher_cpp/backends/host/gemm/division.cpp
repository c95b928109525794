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
// before the first is multiplied, and leave the second-level cache again. Tile instructions multiply so much faster,
// and many read rows where they lie.
constexpr std::int64_t kRowCost = 20, kColumnCost = 16, kRowCostOfTiles = 64, kColumnCostOfTiles = 128;

// A part's rest, and what cores are held to differ by: two of a virtual machine with nothing else to do multiplied 156
// and 126 GF/s.
constexpr std::int64_t kRestOfPart = 4, kMostPieces = 4;
constexpr double kUneven = 1.0 / 16;
// Less work is not worth taking by itself.
constexpr double kPieceFlops = 1e7;

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

// What so many rows and columns take, for each element of K: of sizes that may be 2^40 each.
double cost(const Blocking& b, std::int64_t rows, std::int64_t columns) noexcept {
  const bool of_tiles = has_tiles(b);
  const std::int64_t packing =
      (of_tiles ? kRowCostOfTiles : kRowCost) * rows + (of_tiles ? kColumnCostOfTiles : kColumnCost) * columns;
  const auto computed =
      static_cast<double>(computed_rows(b, rows)) * static_cast<double>(ceil_div(columns, b.nr) * b.nr);
  return computed + static_cast<double>(packing);
}

Cut cut_for(const Blocking& b, const Sizes& size, int threads) noexcept {
  Cut best{size.m, size.n, 1, 1};
  double least = std::numeric_limits<double>::infinity();
  // What a kernel reads in place it reads for all rows at once.
  const std::int64_t most = b.in_place != nullptr ? 1 : threads;
  for (std::int64_t down = 1; down <= most; ++down) {
    const Cut cut = cut_into(b, size, down, threads / down);
    if (const double found = cost(b, cut.rows, cut.columns); found < least) {
      least = found;
      best = cut;
    }
  }
  return best;
}

// Where the geometries of rests begin.
constexpr int kOfRest = 4;

// Of parts of so many rows and columns, what takes least where cores differ: all that a thread computes, and what it is
// late by, of the last that it takes.
Rest rest_for(const Blocking& b, const Cut& cut, const Sizes& size) noexcept {
  Rest best{false, 0, 0};
  double least = cost(b, cut.rows, cut.columns) * (1 + kUneven);
  for (const bool of_rows : {false, true}) {
    const std::int64_t length = of_rows ? cut.rows : cut.columns, unit = of_rows ? b.mr : b.nr;
    const std::int64_t last = of_rows ? size.m - (cut.down - 1) * length : size.n - (cut.across - 1) * length;
    for (std::int64_t count = 2; count <= kMostPieces; count *= 2) {
      const Rest rest{of_rows, ceil_div(ceil_div(length, kRestOfPart * count), unit) * unit, count};
      if (2 * rest.all() > length || rest.all() >= last) continue;
      const std::int64_t rows = of_rows ? rest.length : cut.rows, columns = of_rows ? cut.columns : rest.length;
      if (flops_of(rows, columns, size.k) < kPieceFlops) continue;
      const double of_piece = cost(b, rows, columns);
      const double found =
          cost(b, of_rows ? cut.rows - rest.all() : rows, of_rows ? columns : cut.columns - rest.all()) +
          of_piece * (static_cast<double>(count) + kUneven);
      if (found >= least) continue;
      least = found;
      best = rest;
    }
  }
  return best;
}

}  // namespace

Piece Division::piece(std::int64_t i) const noexcept {
  const std::int64_t parts = cut.count(), product = i / parts, taken = product / size.batch;  // of each part
  const std::int64_t row = i % parts / cut.across, column = i % cut.across;
  const bool is_last_row = row == cut.down - 1, is_last_column = column == cut.across - 1;
  const std::int64_t m0 = row * cut.rows, n0 = column * cut.columns;
  Piece p{product % size.batch,
          m0,
          n0,
          std::min(cut.rows, size.m - m0),
          std::min(cut.columns, size.n - n0),
          2 * is_last_row + is_last_column};
  std::int64_t& first = rest.of_rows ? p.m0 : p.n0;
  std::int64_t& length = rest.of_rows ? p.rows : p.columns;
  length -= rest.all();
  if (taken == 0) return p;
  first += length + (taken - 1) * rest.length;
  length = rest.length;
  p.geometry = kOfRest + (rest.of_rows ? is_last_column : is_last_row);
  return p;
}

Division make_division(const GemmTraits& traits, const Blocking& blocking, const Sizes& sizes) noexcept {
  Division d{sizes, {sizes.m, sizes.n, 1, 1}, {false, 0, 0}, 1, 0.0, {}, 0, 0};
  const double flops = flops_of(sizes.m, sizes.n, sizes.k);
  d.flops = flops * static_cast<double>(sizes.batch);
  const int threads = d.flops < kSerialFlops ? 1 : std::max(1, blocking.threads);
  const bool is_whole = sizes.batch > 1 && flops < kWholeProductFlops;
  if (threads > 1 && !is_whole) d.cut = cut_for(blocking, sizes, threads);
  d.threads = static_cast<int>(
      std::min<double>(threads, static_cast<double>(d.cut.count()) * static_cast<double>(sizes.batch)));
  if (d.threads > 1 && sizes.batch == 1 && blocking.in_place == nullptr) d.rest = rest_for(blocking, d.cut, sizes);
  Blocking of_part = blocking;
  of_part.whole_b = true;
  const auto make = [&](const Piece& p) {
    Geometry& made = d.geometry[p.geometry];
    made = make_geometry(traits, of_part, {p.rows, p.columns, sizes.k, 1});
    d.part_bytes = std::max(d.part_bytes, made.bytes);
  };
  const std::int64_t parts = d.cut.count() * sizes.batch;
  for (std::int64_t row = std::max<std::int64_t>(0, d.cut.down - 2); row < d.cut.down; ++row)
    for (std::int64_t column = std::max<std::int64_t>(0, d.cut.across - 2); column < d.cut.across; ++column) {
      const std::int64_t part = row * d.cut.across + column;
      make(d.piece(part));
      if (d.rest.count > 0) make(d.piece(parts + part));
    }
  d.bytes = d.part_bytes * static_cast<std::size_t>(d.threads);
  return d;
}

void execute(const Division& d, const GemmTraits& traits, const GemmArgs& args, void* workspace) noexcept {
  parallel_for(
      d.pieces(), d.threads,
      [&](std::int64_t i, int index) {
        const Piece p = d.piece(i);
        auto* c = static_cast<unsigned char*>(args.c) +
                  bytes_of(traits.c, p.batch * args.batch_stride_c + p.m0 * args.ldc + p.n0);
        execute_part(d.geometry[p.geometry], traits, args, {p.m0, p.n0, c, nullptr},
                     static_cast<unsigned char*>(workspace) + d.part_bytes * static_cast<std::size_t>(index), p.batch);
      },
      d.flops);
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
