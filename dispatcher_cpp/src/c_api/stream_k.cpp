// The C API's view of the stream-K partition.
#include <ckgen/stream_k.hpp>

#include "src/c_api/support.hpp"

using ckgen::v1::detail::given;
using ckgen::v1::detail::invalid;
using ckgen::v1::detail::ok;
using ckgen::v1::detail::sized;

namespace {

constexpr std::int64_t kMostSize = std::int64_t{1} << 31;
constexpr std::int64_t kMostExtent = std::int64_t{1} << 16;
constexpr std::int64_t kMostGrid = std::int64_t{1} << 20;
constexpr std::int64_t kMostIters = std::int64_t{1} << 62;

/// Whether num_tiles * iters_per_tile can be counted; with no more workgroups than kMostGrid, so can all of the rest.
bool are_counted(std::int64_t num_tiles, std::int64_t iters_per_tile) noexcept {
  return num_tiles >= 0 && iters_per_tile >= 0 && num_tiles <= kMostIters / (iters_per_tile > 0 ? iters_per_tile : 1);
}

ckgen::StreamKPartition partition_of(const ckgen_stream_k& x) noexcept {
  return {x.num_tiles, x.iters_per_tile, x.grid, x.dp_tiles, x.sk_tiles};
}

/// Whether the struct is what ckgen_stream_k_partition fills in, and feasible.
bool feasible(const ckgen_message& message, const ckgen_stream_k* x) noexcept {
  if (!sized(message, x)) return false;
  if (are_counted(x->num_tiles, x->iters_per_tile) && x->grid >= 0 && x->grid <= kMostGrid) {
    const ckgen::StreamKPartition own = ckgen::stream_k_partition(x->num_tiles, x->iters_per_tile, x->grid);
    if (own.feasible() && own.dp_tiles == x->dp_tiles && own.sk_tiles == x->sk_tiles) return true;
  }
  invalid(message, "not a feasible partition");
  return false;
}

}  // namespace

extern "C" {

ckgen_status ckgen_stream_k_partition(const int64_t sizes[4], const int64_t tile[3], int64_t grid, int64_t acc_bytes,
                                      ckgen_stream_k* out, ckgen_message message) {
  if (!given(message, sizes, tile) || !sized(message, out)) return CKGEN_INVALID_ARGUMENT;
  for (int i = 0; i < 4; ++i)
    if (sizes[i] < 0 || sizes[i] > kMostSize) return invalid(message, "a size is outside [0, 2^31]");
  for (int i = 0; i < 3; ++i)
    if (tile[i] < 1 || tile[i] > kMostExtent) return invalid(message, "an extent of the tile is outside [1, 2^16]");
  if (grid < 0 || grid > kMostGrid || acc_bytes < 1 || acc_bytes > 8)
    return invalid(message, "the grid is outside [0, 2^20] or an accumulator outside [1, 8] bytes");
  const auto count = [&](int i) { return (sizes[i + 1] + tile[i] - 1) / tile[i]; };
  const std::int64_t tiles = count(0) * count(1);
  if (sizes[0] != 0 && (tiles > kMostIters / sizes[0] || !are_counted(sizes[0] * tiles, count(2))))
    return invalid(message, "more than 2^62 iterations of the main loop");
  const ckgen::StreamKPartition p =
      ckgen::stream_k_partition(sizes[0], sizes[1], sizes[2], sizes[3], tile[0], tile[1], tile[2], grid);
  const uint64_t size = out->size;
  *out = {};
  out->size = size;
  out->num_tiles = p.num_tiles;
  out->iters_per_tile = p.iters_per_tile;
  out->grid = p.grid;
  out->dp_tiles = p.dp_tiles;
  out->sk_tiles = p.sk_tiles;
  const ckgen::StreamKFeasibility feasibility = p.feasibility();
  out->feasible = feasibility == ckgen::StreamKFeasibility::ok              ? 1
                  : feasibility == ckgen::StreamKFeasibility::too_few_tiles ? 0
                                                                            : -1;
  if (out->feasible != 1) return ok(message);
  const ckgen::StreamKWorkspace room = ckgen::stream_k_workspace(p, tile[0], tile[1], acc_bytes);
  out->max_iters_per_workgroup = p.max_iters_per_workgroup();
  out->max_splits = p.max_splits();
  out->slice_bytes = room.slice_bytes;
  out->flags_offset = room.flags_offset;
  out->workspace = room.total();
  return ok(message);
}

ckgen_status ckgen_stream_k_workgroup(const ckgen_stream_k* partition, int64_t workgroup, int64_t* begin, int64_t* end,
                                      ckgen_message message) {
  if (!given(message, begin, end) || !feasible(message, partition)) return CKGEN_INVALID_ARGUMENT;
  if (workgroup < 0 || workgroup >= partition->grid) return invalid(message, "no workgroup has this number");
  const ckgen::StreamKPartition p = partition_of(*partition);
  *begin = p.begin(workgroup);
  *end = p.end(workgroup);
  return ok(message);
}

ckgen_status ckgen_stream_k_tile(const ckgen_stream_k* partition, int64_t tile, int64_t* first, int64_t* last,
                                 ckgen_message message) {
  if (!given(message, first, last) || !feasible(message, partition)) return CKGEN_INVALID_ARGUMENT;
  if (tile < 0 || tile >= partition->num_tiles) return invalid(message, "no tile has this number");
  const ckgen::StreamKPartition p = partition_of(*partition);
  *first = p.first_workgroup(tile);
  *last = p.last_workgroup(tile);
  return ok(message);
}

}  // extern "C"
