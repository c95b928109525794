#include "backends/host/fmha/reach.hpp"

#include "backends/host/fmha/gather.hpp"
#include "backends/host/fmha/pack.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr std::int64_t kPageBytes = 4096;  // of memory, at least

// Blocks whose addresses are translated at a time: enough for translations to come side by side, not so many that the
// first ones are lost before they are used.
constexpr std::int64_t kTogether = 2;

// What is used and what is on its way stay in the second-level cache and among its translations. CPUs with tiles have
// the larger one.
constexpr std::int64_t kBlockBytes = std::int64_t{128} << 10, kBlockBytesOfTiles = 2 * kBlockBytes;

std::int32_t block_of(const IsaTable& isa, std::int64_t column_bytes) noexcept {
  const std::int64_t bytes = isa.begin_tiles != nullptr ? kBlockBytesOfTiles : kBlockBytes;
  const std::uint64_t columns = std::bit_floor(static_cast<std::uint64_t>(bytes / column_bytes));
  return static_cast<std::int32_t>(std::clamp<std::uint64_t>(columns, kFmhaBlock, kFmhaMaxColumns));
}

}  // namespace

FmhaReach::FmhaReach(const FmhaGeometry& g, const FmhaArgs& args, const FmhaSequence& sequence, std::int64_t kv_head,
                     std::int64_t heads, const unsigned char** memory, unsigned char* gathered) noexcept
    : g_(g),
      args_(args),
      sequence_(sequence),
      kv_head_(kv_head),
      heads_(heads),
      memory_(memory),
      gathered_(g.signature.fmha.kv_layout == FmhaKvLayout::vectorized ? gathered : nullptr),
      k_(operand(args.k_strides, g.shape.hdim_q, memory)),
      v_(operand(args.v_strides, g.shape.hdim_v, memory + 2 * kFmhaMaxColumns)),
      block_(block_of(*g.isa, bytes_of(g.signature.b, std::max(g.shape.hdim_q, g.shape.hdim_v)) * heads)) {}

FmhaReach::Operand FmhaReach::operand(const FmhaStrides& strides, std::int64_t hdim,
                                      const unsigned char** memory) const noexcept {
  const DType type = g_.signature.b;
  const std::int64_t head = bytes_of(type, strides.head), row = bytes_of(type, hdim);
  const std::int64_t step = std::max<std::int64_t>(bytes_of(type, strides.row), 1);
  const std::int64_t together = sequence_.pages == nullptr ? kFmhaBlock : g_.shape.page_size;
  return {memory,
          memory + kFmhaMaxColumns,
          head,
          row,
          (heads_ - 1) * head + row,
          std::clamp<std::int64_t>(kPageBytes / step, 1, together),
          strides.head < strides.row && heads_ > 1};
}

/// Each half of the room belongs to the pointers of one tile. One KV head.
void FmhaReach::gather(const FmhaTileColumns& tile, const unsigned char** k, const unsigned char** v) const noexcept {
  const std::int64_t k_row = bytes_of(g_.signature.b, g_.shape.hdim_q),
                     v_row = bytes_of(g_.signature.b, g_.shape.hdim_v);
  unsigned char* const keys = gathered_ + (k == memory_ ? 0 : g_.gathered_bytes);
  unsigned char* const values = keys + g_.tile_columns * k_row;
  gather_fmha_keys(g_, args_, sequence_, kv_head_, tile.first, tile.count, keys);
  gather_fmha_values(g_, args_, sequence_, kv_head_, tile.first, tile.count, values);
  for (std::int64_t j = 0; j < tile.count; ++j) {
    k[j] = keys + j * k_row;
    v[j] = values + j * v_row;
  }
}

/// The last row again up to whole panels.
void FmhaReach::find(const FmhaTileColumns& tile, const unsigned char** k, const unsigned char** v) const noexcept {
  if (gathered_ != nullptr)
    gather(tile, k, v);
  else
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
  if (next.count == 0) return;
  find(next, k_.next, v_.next);
}

/// Addresses without a translation would be left out, or waited for one by one.
void FmhaReach::translate(const Region& x) const noexcept {
  for (std::int64_t j = 0; j < x.count; j += x.of->page_columns)
    for (std::int64_t at = 0; at < x.of->all_bytes; at += kPageBytes) __builtin_prefetch(x.rows[j] + at, 0, 3);
}

void FmhaReach::cover(std::int32_t first, std::int32_t last) noexcept {
  first_ = first / kFmhaBlock * kFmhaBlock;
  last_ = last;
  blocks_ = (last - first_ + block_ - 1) / block_;
}

/// In their order of use: the tile's keys, its values, the next tile's keys and values.
FmhaReach::Region FmhaReach::region(std::int64_t index) const noexcept {
  const auto part = [this](const Operand& of, const unsigned char* const* rows, std::int64_t at, std::int64_t end) {
    return at < end ? Region{&of, rows + at, std::min<std::int64_t>(end - at, block_)} : Region{&of, rows, 0};
  };
  if (index < blocks_) return part(k_, k_.now, first_ + index * block_, last_);
  if (index < 2 * blocks_) return part(v_, v_.now, first_ + (index - blocks_) * block_, last_);
  const std::int64_t later = index - 2 * blocks_, keys = (coming_ + block_ - 1) / block_;
  if (later < keys) return part(k_, k_.next, later * block_, coming_);
  return part(v_, v_.next, (later - keys) * block_, coming_);
}

/// What one head brings of a region that all of them need: of heads side by side some rows of all heads. Rows without
/// gaps are one piece.
FmhaReach::Share FmhaReach::share(const Region& x, std::int64_t head) const noexcept {
  const Operand& of = *x.of;
  Share one{x.rows, head * of.head_bytes, of.row_bytes, x.count};
  if (of.rows_first) {
    const std::int64_t first = head * x.count / heads_, end = (head + 1) * x.count / heads_;
    one = {x.rows + first, 0, of.all_bytes, end - first};
  }
  if (one.count > 1 && one.rows[one.count - 1] - one.rows[0] == (one.count - 1) * one.bytes)
    one.bytes *= one.count, one.count = 1;
  return one;
}

FmhaRowsOf FmhaReach::rows(const Operand& x, std::int64_t head, std::int64_t index, bool bring) const noexcept {
  FmhaRowsOf all{x.now, head * x.head_bytes, nullptr, 0, 0, 0};
  if (!bring) return all;
  if (head == 0 && index % kTogether == 0)
    for (std::int64_t i = 0; i < kTogether; ++i) translate(region(index + kTogether + i));
  const Share next = share(region(index + 1), head);
  all.next = next.rows;
  all.next_offset = next.offset;
  all.piece_bytes = static_cast<std::int32_t>(next.bytes);
  all.pieces = static_cast<std::int32_t>(next.count);
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
