// Where everything goes: items, superblocks and the exact workspace.
#include "backends/host/gemm/driver.hpp"
#include "backends/host/gemm/pack_source.hpp"
#include "backends/host/workspace.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// Packed A should stay near a core's part of the last-level cache, an item's accumulators in the second-level one, and
// its packed B there twice: what is multiplied, and what is asked for meanwhile.
constexpr std::int64_t kPackedABytes = std::int64_t{8} << 20;
constexpr std::int64_t kPackedBBytes = std::int64_t{256} << 10;
// CPUs with tiles have 2 MB of that cache.
constexpr std::int64_t kPackedBBytesOfTiles = std::int64_t{512} << 10;
// All of B that finds room there beside a block of A is used for all rows at once, each of which is then read once.
constexpr std::int64_t kWholeBBytesOfTiles = std::int64_t{1} << 20;
constexpr std::int64_t kAccumulatorBytes = std::int64_t{2} << 20;
// Runs of B's rows that are read at a time.
constexpr std::int64_t kDepthWords = 512;

// What an item of one row of tiles reads of A at a time while it reads prepacked panels of B.
constexpr std::int64_t kPanelsABytes = std::int64_t{256} << 10;

// Whether the words that a kernel multiplies are those of prepacked panels.
bool has_prepacked_words(PackKind kind, DType b) noexcept {
  return (kind == PackKind::f32 && b == DType::fp32) || (kind == PackKind::bf16 && b == DType::bf16) ||
         kind == PackKind::i8;
}

const MicroKernel* tallest_micro(const IsaTable::Menu& menu, std::int32_t mr, std::int32_t nr) noexcept {
  const MicroKernel* tallest = nullptr;
  for (int i = 0; i < menu.count; ++i) {
    const MicroKernel& x = menu.kernels[i];
    if (x.nr == nr && x.mr <= mr && (tallest == nullptr || x.mr > tallest->mr)) tallest = &x;
  }
  return tallest;
}

// Whether an item has twice the columns for panels of A that go by one at a time: a core with tiles has the room, and
// so many rows of A come from the last-level cache again for every item.
bool streams_a(const Geometry& g, const Blocking& blocking) noexcept {
  return blocking.whole_b && blocking.isa->begin_tiles != nullptr && blocking.block_m < 2 * blocking.mr &&
         g.size.m > kPackedBBytesOfTiles / (g.depth_words * 4);
}

// Bytes of packed B of an item, at most; fewer rows than a block take as long as B is packed.
std::int64_t most_of_b(const Geometry& g, const Blocking& blocking, bool has_tiles) noexcept {
  if (!has_tiles) return streams_a(g, blocking) ? kPackedBBytesOfTiles : kPackedBBytes;
  if (g.size.m <= blocking.block_m) return kPackedBBytes;
  const bool is_whole = blocking.whole_b && g.depth >= g.split && g.size.n <= kWholeBBytesOfTiles / (g.depth_words * 4);
  return is_whole ? kWholeBBytesOfTiles : kPackedBBytesOfTiles;
}

// Columns and depth of B that an item packs at once.
void cut_columns(Geometry& g, const Blocking& blocking, bool has_tiles) noexcept {
  const std::int64_t e = elements_per_word(g.kind), nr = blocking.nr, kc_words = g.kc / e;
  g.depth_words = std::min(g.split_words, ceil_div(kDepthWords, kc_words) * kc_words);
  g.depth = std::min(g.depth_words * e, g.split);
  const std::int64_t most = std::min(ceil_div(blocking.block_n, nr), g.n_panels);
  const std::int64_t widest =
      std::clamp<std::int64_t>(most_of_b(g, blocking, has_tiles) / (nr * 4 * g.depth_words), 1, most);
  g.across = ceil_div(g.n_panels, widest);
  g.item_n = ceil_div(g.n_panels, g.across);
}

}  // namespace

const MicroKernel* pick_micro(const IsaTable::Menu& menu, std::int32_t mr, std::int32_t nr, std::int64_t m) noexcept {
  const MicroKernel* const tallest = tallest_micro(menu, mr, nr);
  if (tallest == nullptr) return nullptr;
  const MicroKernel* best = tallest;
  const std::int64_t panels = std::max<std::int64_t>(1, ceil_div(m, tallest->mr));
  for (int i = 0; i < menu.count; ++i) {
    const MicroKernel& x = menu.kernels[i];
    if (x.nr == nr && x.grain == best->grain && x.mr < best->mr && x.mr * panels >= m) best = &x;
  }
  return best;
}

bool has_tiles(const Blocking& b) noexcept {
  const MicroKernel* const micro = pick_micro(b.isa->menu[static_cast<int>(b.kind)], b.mr, b.nr, 1);
  return micro != nullptr && micro->grain > 1;
}

Geometry make_geometry(const GemmTraits& traits, const Blocking& blocking, const Sizes& sizes) noexcept {
  Geometry g{};
  g.isa = blocking.isa;
  g.kind = blocking.kind;
  g.in_place = blocking.in_place;
  g.size = sizes;
  const IsaTable::Menu& menu = blocking.isa->menu[static_cast<int>(g.kind)];
  const std::int64_t nr = blocking.nr, e = elements_per_word(g.kind);
  g.split = std::max<std::int64_t>(1, std::min(blocking.split, sizes.k));
  g.splits = ceil_div(sizes.k, g.split);
  g.split_mode = blocking.split_mode;
  const MicroKernel& tallest_of = *tallest_micro(menu, blocking.mr, blocking.nr);
  const std::int64_t group = traits.quant == Quant::blockscale ? traits.scale_block.k
                             : traits.quant == Quant::mx       ? 32
                                                               : 0;
  g.folds = blocking.folds;
  g.group = g.folds ? 0 : group;
  const bool has_tiles = tallest_of.grain > 1;
  // Slices of K end where groups do; those of tiles are whole grains (gemm/blocking.cpp).
  const std::int64_t grain = std::max<std::int64_t>(tallest_of.grain * e, g.group);
  g.kc = ceil_div(std::max<std::int64_t>(1, blocking.kc), grain) * grain;
  g.split_words = panel_words(tallest_of, ceil_div(g.split, e));
  g.words = std::max<std::int64_t>(1, g.split_words * g.splits);
  g.groups = group == 0 ? 0 : ceil_div(sizes.k, group);
  g.n_panels = ceil_div(sizes.n, nr);
  g.reads_prepacked = blocking.prepacked && has_prepacked_words(g.kind, traits.b) && g.splits <= 1 && g.groups == 0;
  // Tiles sum up a product that is no deeper than kc in one go, and others in slices as deep as B is packed.
  if (has_tiles && g.groups == 0 && g.split > g.kc) g.kc = std::min(g.kc, ceil_div(kDepthWords * e, grain) * grain);
  // B is read once by one row of tiles, and in longer runs where A stays in a core's cache nevertheless.
  const std::int64_t tallest = tallest_of.mr;
  if (g.reads_prepacked && sizes.m <= tallest)
    g.kc = std::max(g.kc, ceil_div(kPanelsABytes / 4 / tallest * e, grain) * grain);
  cut_columns(g, blocking, has_tiles);
  g.one_pass = g.splits <= 1 && g.depth >= g.split;
  g.acc_ld = g.item_n * nr + 16;  // not a power of two, or the rows of a tile would fight for one cache set

  const bool is_kept = g.across > 1 || g.splits > 1 || g.in_place != nullptr;
  g.a_words = is_kept ? g.words : std::max<std::int64_t>(1, g.depth_words);
  std::int64_t rows = kPackedABytes / (g.a_words * 4);
  if (!g.one_pass) rows = std::min(rows, kAccumulatorBytes / (g.acc_ld * 4));
  rows = std::min(sizes.m, std::max<std::int64_t>(1, rows / tallest) * tallest);
  g.micro = pick_micro(menu, blocking.mr, blocking.nr, rows);
  const std::int64_t mr = g.micro->mr;
  g.m_panels = ceil_div(sizes.m, mr);
  g.tail = pick_micro(menu, g.micro->mr, blocking.nr, sizes.m - (g.m_panels - 1) * mr);
  g.m_super = ceil_div(rows, mr);
  g.pm = std::min(g.m_super, std::max<std::int64_t>(1, blocking.block_m / mr));
  if (g.m_super < g.m_panels) g.in_place = nullptr;
  if (g.in_place != nullptr) {  // all rows at once, of panels alike
    g.tail = g.micro;
    g.pm = g.m_super;
  }

  // Of a block the most that its rows can be, so that fewer rows never need more.
  const std::int64_t block_rows =
      std::min(g.m_super * mr, std::max({blocking.block_m, tallest, g.in_place != nullptr ? g.m_super * mr : 0}));
  const std::int64_t scaled_groups = g.folds ? 0 : g.groups;
  g.a_panels = is_kept ? g.m_super : g.pm;
  std::size_t at = words_bytes(is_kept ? g.m_super * mr : block_rows, g.a_words);
  g.a_scale_offset = at;
  at += words_bytes(g.m_super * mr, scaled_groups);
  g.slot_offset = at;

  const std::int64_t acc_rows = g.one_pass ? block_rows : g.m_super * mr;
  std::size_t slot = words_bytes(acc_rows, g.acc_ld);
  g.slot_total_offset = slot;
  if (g.splits > 1) slot += words_bytes(acc_rows, g.acc_ld);
  g.slot_row_offset = slot;
  slot += words_bytes(g.item_n * nr, 1);
  g.slot_b_offset = slot;
  if (!g.reads_prepacked && g.in_place == nullptr) slot += words_bytes(g.item_n * nr, g.depth_words);
  g.slot_b_scale_offset = slot;
  slot += words_bytes(g.item_n * nr, scaled_groups);
  g.bytes = g.slot_offset + slot;
  return g;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
