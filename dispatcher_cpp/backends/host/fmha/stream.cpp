#include "backends/host/fmha/stream.hpp"

#include "backends/host/fmha/reach.hpp"
#include "backends/host/fmha/rows.hpp"
#include "backends/host/fmha/turn.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

class Stream {
 public:
  Stream(const FmhaRun& run, FmhaRows& rows) noexcept
      : g_(run.g),
        rows_(rows),
        reach_(run.g, run.args, rows.sequence(), rows.kv_head(0), rows.heads(),
               rows.at<const unsigned char*>(run.g.pointers), rows.at<unsigned char>(run.g.gathered)) {}

  void attend() noexcept {
    const FmhaTurnHeld turn(g_.in_place->turn);
    const FmhaTiles tiles = rows_.tiles();
    for (std::int64_t i = 0; i < tiles.count(); ++i) {
      const FmhaTileColumns tile = rows_.columns(tiles[i]);
      reach_.go(tile, i + 1 < tiles.count() ? rows_.columns(tiles[i + 1]) : FmhaTileColumns{0, 0});
      attend(tile);
    }
  }

 private:
  void attend(const FmhaTileColumns& tile) noexcept {
    FmhaRows::Seen seen[kFmhaGroups];
    std::int32_t first = kFmhaMaxColumns, last = 0;
    for (std::int64_t i = 0; i < rows_.groups(); ++i) {
      rows_.see(i, tile, seen[i]);
      if (seen[i].first >= seen[i].last) continue;
      first = std::min(first, seen[i].first);
      last = std::max(last, seen[i].last);
    }
    if (first >= last) return;
    reach_.cover(first, last);
    each_unit(seen, [&](std::int64_t head, std::int64_t group, std::int64_t unit) {
      steps_[unit] = rows_.step(head, group, unit, seen[group], rescale_[unit]);
    });
    each_block([&](std::int32_t block) {
      each_unit(seen, [&](std::int64_t head, std::int64_t group, std::int64_t unit) {
        FmhaStep& s = steps_[unit];
        if (!cut(reach_.first_of(block), seen[group], s)) return;
        s.k_rows = reach_.keys(head, block, group == 0);
        g_.in_place->scores(s);
      });
    });
    each_unit(seen, [&](std::int64_t head, std::int64_t group, std::int64_t unit) {
      FmhaStep& s = steps_[unit];
      s.first = seen[group].first, s.last = seen[group].last;
      rows_.weigh(head, group, tile, seen[group], s);
    });
    each_block([&](std::int32_t block) {
      each_unit(seen, [&](std::int64_t head, std::int64_t group, std::int64_t unit) {
        FmhaStep& s = steps_[unit];
        if (!cut(reach_.first_of(block), seen[group], s)) return;
        s.v_rows = reach_.values(head, block, group == 0);
        g_.in_place->values(s);
        s.rescale = nullptr;
      });
    });
  }

  /// The block's part of the columns that are seen; false where it has none.
  bool cut(std::int32_t first, const FmhaRows::Seen& seen, FmhaStep& s) const noexcept {
    s.first = std::max(seen.first, first);
    s.last = std::min(seen.last, first + reach_.block());
    return s.first < s.last;
  }

  template <class Body>
  void each_block(const Body& body) const noexcept {
    for (std::int32_t block = 0; block < reach_.blocks(); ++block) body(block);
  }

  template <class Body>
  void each_unit(const FmhaRows::Seen* seen, const Body& body) const noexcept {
    for (std::int64_t h = 0, unit = 0; h < rows_.heads(); ++h)
      for (std::int64_t i = 0; i < rows_.groups(); ++i, ++unit)
        if (seen[i].first < seen[i].last) body(h, i, unit);
  }

  const FmhaGeometry& g_;
  FmhaRows& rows_;
  FmhaReach reach_;
  FmhaStep steps_[kFmhaUnits];
  alignas(64) float rescale_[kFmhaUnits][kFmhaLanes];
};

}  // namespace

void stream_fmha_task(const FmhaRun& run, const FmhaTask& task, int slot) noexcept {
  FmhaRows rows(run, task, slot);
  if (rows.empty()) return;
  rows.begin();
  Stream(run, rows).attend();
  rows.finish();
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
