// How stream-K shares the K iterations of a GEMM's tiles among a fixed number of workgroups.
//
// Host and device code (kernel arguments hold a StreamKPartition), so: only <cstdint>, no errors, no state. 64-bit.
// An iteration is tile_k of one tile's K. Tiles are numbered batch by batch, row of tiles by row of tiles:
// tile = (batch * tiles_m + tile_row) * tiles_n + tile_column. The first `dp_tiles` are data-parallel: workgroup g
// computes tiles g, g + grid, g + 2 * grid, ... whole, and each workgroup has as many. The iterations of the `sk_tiles`
// behind them are numbered from 0, tile by tile, and workgroup g gets the contiguous range [begin(g), end(g)); ranges
// differ by one in length at most, the longer ones come first.
//
// The workgroups of a stream-K tile are consecutive and its parts of K are in their order. The tile's first workgroup
// finishes it. Each other one stores one partial tile, in the slice of its own number: the tile in question is always
// the first of its range. A workgroup waits only for higher ones, so all of `grid` must be resident, or be started in
// descending order. How the parts meet:
//   linear  the first workgroup adds the slices of first + 1, ..., last to its accumulator, in that order
//   tree    part i of n: for (s = 1; s < n && (i & s) == 0; s *= 2) if (i + s < n) add slice first + i + s;
//           then i > 0 stores its sum (to slice first + i), and 0 finishes
//   atomic  every workgroup adds its part, through the epilogue, to C; no workspace
// Formulas: Osama et al., "Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix Multiplication on the
// GPU" (PPoPP 2023), its two-tile stream-K + data-parallel hybrid.
#pragma once

#include <cstdint>

namespace ckgen {
inline namespace v1 {

/// Whether each workgroup gets at least one iteration of the stream-K tiles.
enum class StreamKFeasibility : std::uint8_t {
  ok,
  no_work,       // no tile, no iteration or no workgroup
  too_few_tiles  // fewer iterations in all stream-K tiles than workgroups
};

struct StreamKPartition {
  std::int64_t num_tiles;
  std::int64_t iters_per_tile;
  std::int64_t grid;      // workgroups
  std::int64_t dp_tiles;  // a multiple of grid
  std::int64_t sk_tiles;  // 0, or less than 2 * grid

  constexpr StreamKFeasibility feasibility() const noexcept {
    if (num_tiles <= 0 || iters_per_tile <= 0 || grid <= 0) return StreamKFeasibility::no_work;
    if (sk_tiles > 0 && sk_iters() < grid) return StreamKFeasibility::too_few_tiles;
    return StreamKFeasibility::ok;
  }
  constexpr bool feasible() const noexcept { return feasibility() == StreamKFeasibility::ok; }

  /// Iterations of all stream-K tiles. What follows needs feasible(), and 0 <= workgroup < grid.
  constexpr std::int64_t sk_iters() const noexcept { return sk_tiles * iters_per_tile; }
  /// The length of the shorter ranges; the first `longer_ranges()` workgroups have one iteration more.
  constexpr std::int64_t sk_iters_per_workgroup() const noexcept { return sk_iters() / grid; }
  constexpr std::int64_t longer_ranges() const noexcept { return sk_iters() % grid; }
  /// Data-parallel tiles of each workgroup: workgroup + i * grid for i below this.
  constexpr std::int64_t dp_tiles_per_workgroup() const noexcept { return dp_tiles / grid; }
  /// All iterations of the workgroup with the most.
  constexpr std::int64_t max_iters_per_workgroup() const noexcept {
    return dp_tiles_per_workgroup() * iters_per_tile + sk_iters_per_workgroup() + (longer_ranges() > 0 ? 1 : 0);
  }

  constexpr std::int64_t begin(std::int64_t workgroup) const noexcept {
    const std::int64_t longer = longer_ranges();
    return workgroup * sk_iters_per_workgroup() + (workgroup < longer ? workgroup : longer);
  }
  constexpr std::int64_t end(std::int64_t workgroup) const noexcept { return begin(workgroup + 1); }
  /// The workgroup that has a stream-K iteration, 0 <= iteration < sk_iters().
  constexpr std::int64_t workgroup_of(std::int64_t iteration) const noexcept {
    const std::int64_t length = sk_iters_per_workgroup();
    const std::int64_t in_longer = longer_ranges() * (length + 1);
    const bool longer = iteration < in_longer;  // one division, which costs a GPU as much as dozens of multiplications
    return (longer ? 0 : longer_ranges()) +
           (longer ? iteration : iteration - in_longer) / (longer ? length + 1 : length);
  }

  /// The tile of a stream-K iteration, dp_tiles <= tile < num_tiles.
  constexpr std::int64_t tile_of(std::int64_t iteration) const noexcept {
    return dp_tiles + iteration / iters_per_tile;
  }
  /// The first stream-K iteration of a stream-K tile; it covers k from 0.
  constexpr std::int64_t tile_begin(std::int64_t tile) const noexcept { return (tile - dp_tiles) * iters_per_tile; }
  constexpr std::int64_t tile_end(std::int64_t tile) const noexcept { return tile_begin(tile + 1); }
  /// The workgroup that has the first iterations of a tile and finishes it.
  constexpr std::int64_t first_workgroup(std::int64_t tile) const noexcept {
    return tile < dp_tiles ? tile % grid : workgroup_of(tile_begin(tile));
  }
  constexpr std::int64_t last_workgroup(std::int64_t tile) const noexcept {
    return tile < dp_tiles ? tile % grid : workgroup_of(tile_end(tile) - 1);
  }
  /// Parts that a tile's K is summed in; 1 for a data-parallel tile.
  constexpr std::int64_t splits(std::int64_t tile) const noexcept {
    return last_workgroup(tile) - first_workgroup(tile) + 1;
  }
  /// Of the tile with the most parts; looks at every stream-K tile.
  constexpr std::int64_t max_splits() const noexcept {
    std::int64_t most = 1;
    for (std::int64_t tile = dp_tiles; tile < num_tiles; ++tile)
      if (splits(tile) > most) most = splits(tile);
    return most;
  }
};

/// `grid`: workgroups that are resident at once, of a device: compute units * workgroups that each holds.
constexpr StreamKPartition stream_k_partition(std::int64_t num_tiles, std::int64_t iters_per_tile,
                                              std::int64_t grid) noexcept {
  const std::int64_t rest = grid > 0 ? num_tiles % grid : 0;
  const std::int64_t sk_tiles = rest == 0 ? 0 : num_tiles > grid ? grid + rest : num_tiles;
  return {num_tiles, iters_per_tile, grid, num_tiles - sk_tiles, sk_tiles};
}

/// The same for a problem; tile_m, tile_n, tile_k > 0.
constexpr StreamKPartition stream_k_partition(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
                                              std::int64_t tile_m, std::int64_t tile_n, std::int64_t tile_k,
                                              std::int64_t grid) noexcept {
  const std::int64_t tiles_m = m / tile_m + (m % tile_m != 0 ? 1 : 0);
  const std::int64_t tiles_n = n / tile_n + (n % tile_n != 0 ? 1 : 0);
  return stream_k_partition(batch * tiles_m * tiles_n, k / tile_k + (k % tile_k != 0 ? 1 : 0), grid);
}

/// Workspace of linear and tree: a slice per workgroup at slice_bytes * workgroup, tile_m x tile_n sums in an order of
/// the kernel's own, then a 32-bit flag per workgroup at flags_offset + 4 * workgroup, zero before the kernel starts.
/// Bytes; all 0 for atomic and where nothing is split.
struct StreamKWorkspace {
  std::int64_t slice_bytes;
  std::int64_t flags_offset;  // a multiple of 128
  std::int64_t flags_bytes;   // a multiple of 128
  constexpr std::int64_t total() const noexcept { return flags_offset + flags_bytes; }
};

/// `acc_bytes`: size of an accumulator, 4 for fp32 and int32.
constexpr StreamKWorkspace stream_k_workspace(const StreamKPartition& partition, std::int64_t tile_m,
                                              std::int64_t tile_n, std::int64_t acc_bytes) noexcept {
  if (partition.sk_tiles == 0) return {0, 0, 0};
  const std::int64_t slice = tile_m * tile_n * acc_bytes;
  const std::int64_t slices = (slice * partition.grid + 127) / 128 * 128;
  return {slice, slices, (4 * partition.grid + 127) / 128 * 128};
}

}  // namespace v1
}  // namespace ckgen
