#include "backends/host/fmha/task.hpp"

#include "backends/host/fmha/pack.hpp"
#include "backends/host/fmha/rows.hpp"
#include "backends/host/fmha/turn.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {

namespace {

constexpr int kMostGroups = 4;  // at a time

/// Groups [first, end) against a tile.
void attend(const FmhaGeometry& g, FmhaRows& rows, const FmhaTileColumns& tile, const unsigned char* packed,
            std::int64_t first, std::int64_t end) noexcept {
  FmhaRows::Seen seen[kMostGroups];
  FmhaStep steps[kMostGroups];
  alignas(64) float rescale[kMostGroups][kFmhaLanes];
  std::int64_t of[kMostGroups];
  int count = 0;
  for (std::int64_t group = first; group < end; ++group) {
    FmhaRows::Seen& x = seen[count];
    rows.see(group, tile, x);
    if (x.first >= x.last) continue;
    FmhaStep& s = steps[count] = rows.step(0, group, count, x, rescale[count]);
    s.k = packed;
    s.v = packed + g.v_offset;
    of[count++] = group;
  }
  if (count == 0) return;
  g.kernels->groups.scores(steps, count);
  for (int i = 0; i < count; ++i) rows.weigh(0, of[i], tile, seen[i], steps[i]);
  g.kernels->groups.values(steps, count);
}

}  // namespace

void run_fmha_task(const FmhaRun& run, const FmhaTask& task, int slot) noexcept {
  const FmhaGeometry& g = run.g;
  FmhaRows rows(run, task, slot);
  if (rows.empty()) return;
  rows.begin();
  const FmhaTiles tiles = rows.tiles();
  const FmhaTurnHeld turn(g.kernels->groups.turn);
  for (std::int64_t i = 0; i < tiles.count(); ++i) {
    const FmhaTileColumns tile = rows.columns(tiles[i]);
    unsigned char* packed = rows.at<unsigned char>(g.tile);
    if (g.shared)
      packed = run.tile(task.batch * g.shape.heads_k + rows.kv_head(0), tile.first / g.tile_columns);
    else
      pack_fmha_tile(g, run.args, rows.sequence(), rows.kv_head(0), tile.first, tile.count, packed);
    for (std::int64_t group = 0; group < rows.groups(); group += g.score_places)
      attend(g, rows, tile, packed, group, std::min(group + g.score_places, rows.groups()));
  }
  rows.finish();
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
