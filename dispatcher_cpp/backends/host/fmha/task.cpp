#include "backends/host/fmha/task.hpp"

#include "backends/host/fmha/pack.hpp"
#include "backends/host/fmha/rows.hpp"
#include "backends/host/fmha/turn.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

void run_fmha_task(const FmhaRun& run, const FmhaTask& task, int slot) noexcept {
  const FmhaGeometry& g = run.g;
  FmhaRows rows(run, task, slot);
  if (rows.empty()) return;
  rows.begin();
  const FmhaTiles tiles = rows.tiles();
  const FmhaTurnHeld turn(g.kernels->turn);
  alignas(64) float rescale[kFmhaLanes];
  for (std::int64_t i = 0; i < tiles.count(); ++i) {
    const FmhaTileColumns tile = rows.columns(tiles[i]);
    unsigned char* packed = rows.at<unsigned char>(g.tile);
    if (g.shared)
      packed = run.tile(task.batch * g.shape.heads_k + rows.kv_head(0), tile.first / g.n0);
    else
      pack_fmha_tile(g, run.args, rows.sequence(), rows.kv_head(0), tile.first, tile.count, packed);
    for (std::int64_t group = 0; group < rows.groups(); ++group) {
      FmhaRows::Seen seen;
      rows.see(group, tile, seen);
      if (seen.first >= seen.last) continue;
      FmhaStep s = rows.step(0, group, seen, rescale);
      s.k = packed;
      s.v = packed + g.v_offset;
      g.kernels->scores(s);
      rows.weigh(0, group, tile, seen, s);
      g.kernels->values(s);
    }
  }
  rows.finish();
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
