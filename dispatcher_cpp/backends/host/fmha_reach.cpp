#include "backends/host/fmha_reach.hpp"

#include "backends/host/fmha_pack.hpp"

#include <algorithm>
#include <utility>

namespace ckgen {
inline namespace v1 {
namespace host {

FmhaReach::FmhaReach(const FmhaGeometry& g, const FmhaArgs& args, const FmhaSequence& sequence, std::int64_t kv_head,
                     std::int64_t heads, const unsigned char** memory) noexcept
    : g_(g),
      args_(args),
      sequence_(sequence),
      kv_head_(kv_head),
      heads_(heads),
      k_(operand(args.k_strides, g.shape.hdim_q, memory)),
      v_(operand(args.v_strides, g.shape.hdim_v, memory + 2 * kFmhaMaxColumns)) {}

FmhaReach::Operand FmhaReach::operand(const FmhaStrides& strides, std::int64_t hdim,
                                      const unsigned char** memory) const noexcept {
  const DType type = g_.signature.b;
  return {memory, memory + kFmhaMaxColumns, bytes_of(type, strides.head), bytes_of(type, hdim),
          strides.head < strides.row && heads_ > 1};
}

/// The last row again up to whole panels.
void FmhaReach::find(const FmhaTileColumns& tile, const unsigned char** k, const unsigned char** v) const noexcept {
  find_fmha_rows(g_, args_, sequence_, kv_head_, tile.first, tile.count, k, v);
  const std::int64_t panel = g_.kernels->panel, end = (tile.count + panel - 1) / panel * panel;
  std::fill(k + tile.count, k + end, k[tile.count - 1]);
  std::fill(v + tile.count, v + end, v[tile.count - 1]);
}

void FmhaReach::go(const FmhaTileColumns& tile, const FmhaTileColumns& next) noexcept {
  std::swap(k_.now, k_.next);
  std::swap(v_.now, v_.next);
  if (found_ != tile.first) find(tile, k_.now, v_.now);
  coming_ = next.count;
  found_ = next.count > 0 ? next.first : -1;
  if (next.count > 0) find(next, k_.next, v_.next);
}

void FmhaReach::cover(std::int32_t first, std::int32_t last) noexcept {
  first_ = first / kFmhaBlock * kFmhaBlock;
  last_ = last;
  blocks_ = (last - first_ + kFmhaBlock - 1) / kFmhaBlock;
}

/// In their order of use: the tile's keys, its values, the next tile's keys.
FmhaReach::Region FmhaReach::region(std::int64_t index) const noexcept {
  const auto part = [](const Operand& of, const unsigned char* const* rows, std::int64_t at, std::int64_t end) {
    return Region{&of, rows + at, std::clamp<std::int64_t>(end - at, 0, kFmhaBlock)};
  };
  if (index < blocks_) return part(k_, k_.now, first_ + index * kFmhaBlock, last_);
  if (index < 2 * blocks_) return part(v_, v_.now, first_ + (index - blocks_) * kFmhaBlock, last_);
  return part(k_, k_.next, (index - 2 * blocks_) * kFmhaBlock, coming_);
}

/// What one head brings of a region that all of them need: of heads side by side some rows of all heads.
FmhaReach::Share FmhaReach::share(const Region& x, std::int64_t head) const noexcept {
  const Operand& of = *x.of;
  if (!of.rows_first) return {x.rows, head * of.head_bytes, of.row_bytes, x.count};
  const std::int64_t first = head * x.count / heads_, end = (head + 1) * x.count / heads_;
  return {x.rows + first, 0, (heads_ - 1) * of.head_bytes + of.row_bytes, end - first};
}

FmhaRowsOf FmhaReach::rows(const Operand& x, std::int64_t head, std::int64_t index, bool bring) const noexcept {
  FmhaRowsOf all{x.now, head * x.head_bytes, nullptr, 0, 0, 0};
  if (!bring) return all;
  const Share next = share(region(index + 1), head);
  all.next = next.rows;
  all.next_offset = next.offset;
  all.piece_bytes = static_cast<std::int32_t>(next.bytes);
  all.pieces = static_cast<std::int32_t>(next.count);
  // Addresses that are not translated yet would be left out, or be waited for.
  const Share later = share(region(index + 2), head);
  std::uintptr_t seen = 0;
  for (std::int64_t i = 0; i < later.count; ++i) {
    const std::uintptr_t begin =
        reinterpret_cast<std::uintptr_t>(later.rows[i]) + static_cast<std::uintptr_t>(later.offset);
    for (std::uintptr_t page = begin >> 12; page <= (begin + static_cast<std::uintptr_t>(later.bytes) - 1) >> 12;
         ++page) {
      if (page == seen) continue;
      seen = page;
      __builtin_prefetch(reinterpret_cast<const void*>(std::max(page << 12, begin)), 0, 3);
    }
  }
  return all;
}

FmhaRowsOf FmhaReach::keys(std::int64_t head, std::int32_t block, bool bring) const noexcept {
  return rows(k_, head, block, bring);
}

FmhaRowsOf FmhaReach::values(std::int64_t head, std::int32_t block, bool bring) const noexcept {
  return rows(v_, head, blocks_ + block, bring);
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
