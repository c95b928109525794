// Where everything goes: items, superblocks and the exact workspace.
#include "backends/host/driver.hpp"
#include "backends/host/workspace.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// Packed operands should stay near the last-level cache; a superblock is never smaller than one item.
constexpr std::int64_t kPackedABytes = std::int64_t{8} << 20;
constexpr std::int64_t kPackedBBytes = std::int64_t{16} << 20;
constexpr std::int64_t kItemBytes = std::int64_t{32} << 20;

// A batch of problems smaller than this runs one problem per thread.
constexpr double kSmallProblemFlops = 5e7;

// What an item of one row of tiles reads of A at a time while it reads prepacked panels of B.
constexpr std::int64_t kPanelsABytes = std::int64_t{256} << 10;

// Whether the words that a kernel multiplies are those of prepacked panels.
bool has_prepacked_words(PackKind kind, DType b) noexcept {
  return (kind == PackKind::f32 && b == DType::fp32) || (kind == PackKind::bf16 && b == DType::bf16) ||
         kind == PackKind::i8;
}

// Panels per superblock: as many as the budget holds, in whole items.
std::int64_t superblock(std::int64_t panels, std::int64_t per_item, std::int64_t panel_bytes,
                        std::int64_t budget) noexcept {
  const std::int64_t items = std::max<std::int64_t>(1, budget / std::max<std::int64_t>(1, panel_bytes * per_item));
  return std::min(ceil_div(panels, per_item), items) * per_item;
}

}  // namespace

const MicroKernel* pick_micro(const IsaTable::Menu& menu, std::int32_t mr, std::int32_t nr, std::int64_t m) noexcept {
  const MicroKernel* best = nullptr;
  for (int i = 0; i < menu.count; ++i) {
    const MicroKernel& candidate = menu.kernels[i];
    if (candidate.nr != nr || candidate.mr > mr) continue;
    const bool enough = candidate.mr >= m;
    if (best == nullptr) {
      best = &candidate;
      continue;
    }
    const bool best_enough = best->mr >= m;
    if (enough ? (!best_enough || candidate.mr < best->mr) : (!best_enough && candidate.mr > best->mr))
      best = &candidate;
  }
  return best;
}

Geometry make_geometry(const GemmTraits& traits, const Blocking& blocking, const Sizes& sizes) noexcept {
  Geometry g{};
  g.isa = blocking.isa;
  g.kind = blocking.kind;
  g.size = sizes;
  g.micro = pick_micro(blocking.isa->menu[static_cast<int>(blocking.kind)], blocking.mr, blocking.nr, sizes.m);
  const std::int64_t mr = g.micro->mr, nr = g.micro->nr, e = elements_per_word(g.kind);

  const double flops = 2.0 * static_cast<double>(sizes.m) * static_cast<double>(sizes.n) * static_cast<double>(sizes.k);
  const double all_flops = flops * static_cast<double>(sizes.batch);
  g.flops = all_flops;
  int threads = std::max(1, blocking.threads);
  if (all_flops < kSerialFlops) threads = 1;
  g.batch_parallel = threads > 1 && sizes.batch > 1 && flops < kSmallProblemFlops;
  g.threads = g.batch_parallel ? 1 : threads;
  g.instances = g.batch_parallel ? static_cast<int>(std::min<std::int64_t>(threads, sizes.batch)) : 1;

  g.split = std::max<std::int64_t>(1, std::min(blocking.split, sizes.k));
  g.splits = ceil_div(sizes.k, g.split);
  g.split_mode = blocking.split_mode;
  g.kc = ceil_div(std::max<std::int64_t>(1, blocking.kc), e) * e;
  g.split_words = ceil_div(g.split, e);
  g.words = std::max<std::int64_t>(1, g.split_words * g.splits);
  g.group = traits.quant == Quant::blockscale ? traits.scale_block.k : traits.quant == Quant::mx ? 32 : 0;
  g.groups = g.group == 0 ? 0 : ceil_div(sizes.k, g.group);

  g.m_panels = ceil_div(sizes.m, mr);
  g.n_panels = ceil_div(sizes.n, nr);
  g.pm = std::min(g.m_panels, std::max<std::int64_t>(1, ceil_div(blocking.block_m, mr)));
  g.pn = std::min(g.n_panels, std::max<std::int64_t>(1, ceil_div(blocking.block_n, nr)));
  g.fused = g.m_panels <= g.pm;
  if (g.fused) {
    // Enough items for the threads, and a slice of B that stays in a core's cache.
    g.pn = std::max<std::int64_t>(1, std::min(g.pn, g.n_panels / (2 * g.threads)));
  } else {
    g.pm = std::max<std::int64_t>(1, std::min(g.pm, kItemBytes / (mr * g.words * 4)));
    g.pn = std::max<std::int64_t>(1, std::min(g.pn, kItemBytes / (nr * g.words * 4)));
  }
  g.in_place = blocking.prepacked && g.micro->run_prepacked != nullptr && has_prepacked_words(g.kind, traits.b) &&
               g.splits <= 1 && g.groups == 0;
  // B is read once, and in longer runs where A stays in a core's cache nevertheless.
  if (g.in_place && g.m_panels == 1) g.kc = std::max(g.kc, kPanelsABytes / 4 / mr * e);
  g.m_super = g.fused ? g.pm : superblock(g.m_panels, g.pm, mr * g.words * 4, kPackedABytes);
  g.n_super = g.fused ? g.n_panels : superblock(g.n_panels, g.pn, nr * g.words * 4, kPackedBBytes);
  g.acc_ld = g.pn * nr + 16;  // not a power of two, or the rows of a tile would fight for one cache set

  std::size_t at = words_bytes(g.m_super * mr, g.words);
  g.b_offset = at;
  if (!g.fused) at += words_bytes(g.n_super * nr, g.words);
  g.a_scale_offset = at;
  at += words_bytes(g.m_super * mr, g.groups);
  g.b_scale_offset = at;
  if (!g.fused) at += words_bytes(g.n_super * nr, g.groups);
  g.slots_offset = at;

  std::size_t slot = words_bytes(g.pm * mr, g.acc_ld);
  g.slot_total_offset = slot;
  if (g.splits > 1) slot += words_bytes(g.pm * mr, g.acc_ld);
  g.slot_row_offset = slot;
  slot += words_bytes(g.pn * nr, 1);
  g.slot_b_offset = slot;
  if (g.fused && !g.in_place) slot += words_bytes(nr, std::min(g.kc / e, g.words));
  g.slot_b_scale_offset = slot;
  if (g.fused) slot += words_bytes(g.pn * nr, g.groups);
  g.slot_bytes = slot;
  g.problem_bytes = g.slots_offset + g.slot_bytes * static_cast<std::size_t>(g.threads);
  g.bytes = g.problem_bytes * static_cast<std::size_t>(g.instances);
  return g;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
