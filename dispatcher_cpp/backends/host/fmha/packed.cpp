#include "backends/host/fmha/packed.hpp"

#include "backends/host/fmha/columns.hpp"
#include "backends/host/fmha/pack.hpp"
#include "backends/host/fmha/wait.hpp"

#include <algorithm>
#include <new>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

/// The tile's columns, as far as a row of the pair sees some.
void pack_tile(const FmhaRun& run, std::int64_t pair, std::int64_t tile) noexcept {
  const FmhaGeometry& g = run.g;
  const std::int64_t heads = g.shape.heads_k;
  const FmhaSequence x = sequence_of(g.signature, g.shape, run.args, pair / heads);
  const std::int64_t column = tile * g.tile_columns;
  if (x.length_q == 0 || column >= x.length_k) return;
  const FmhaSequenceMask mask(g.shape, g.signature.fmha.masked, x.length_q, x.length_k);
  const FmhaTiles seen(mask.rows(0, x.length_q), g.tile_columns);
  if (tile >= seen.sink && (tile < seen.first || tile >= seen.last)) return;
  pack_fmha_tile(g, run.args, x, pair % heads, column, std::min(g.tile_columns, x.length_k - column),
                 run.tile(pair, tile));
}

}  // namespace

void clear_fmha_tiles(const FmhaRun& run, std::int64_t pairs) noexcept {
  for (std::int64_t i = 0; i < pairs; ++i) new (&run.progress(run.first_block + i)) FmhaProgress{};
}

void need_fmha_tiles(const FmhaRun& run, std::int64_t pair) noexcept {
  FmhaProgress& progress = run.progress(pair);
  const std::int64_t tiles = run.g.tiles;
  while (progress.taken.load(std::memory_order_relaxed) < tiles) {
    const std::int64_t tile = progress.taken.fetch_add(1, std::memory_order_relaxed);
    if (tile >= tiles) break;
    pack_tile(run, pair, tile);
    progress.packed.fetch_add(1, std::memory_order_release);
  }
  wait_until([&] { return progress.packed.load(std::memory_order_acquire) == tiles; });
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
