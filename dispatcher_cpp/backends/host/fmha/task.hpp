// One task of attention: some rows of some KV heads against the columns that they see, or a part of them.
#pragma once

#include "backends/host/fmha/geometry.hpp"
#include "ckgen/fmha_split.hpp"

#include <atomic>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

/// The same rows of FmhaGeometry::heads KV heads, or what is left of them, of a sequence.
struct FmhaTask {
  std::int64_t batch, head_block;
  std::int64_t row_tile, split;
  const FmhaSplitItem* item;  // null: the split is one of FmhaGeometry::splits
};

/// A row of O that a split has, and its lse.
struct FmhaPartial {
  float* o;  // [hdim_v]
  float* lse;
};

/// How many tiles of a pair are being packed or are, and how many are.
struct FmhaProgress {
  std::atomic<std::int64_t> taken{0}, packed{0};
};

/// A run's arguments and memory.
struct FmhaRun {
  const FmhaGeometry& g;
  const FmhaArgs& args;
  unsigned char* workspace;
  std::int64_t first_block;  // of those whose tiles are packed

  unsigned char* slot(int index) const noexcept {
    return workspace + g.slots_offset + static_cast<std::size_t>(index) * g.slot_bytes;
  }
  /// Of packed pairs, each of which is a block.
  unsigned char* tile(std::int64_t pair, std::int64_t tile) const noexcept {
    return workspace + static_cast<std::size_t>((pair - first_block) * g.tiles + tile) * g.tile_bytes;
  }
  FmhaProgress& progress(std::int64_t pair) const noexcept {
    return reinterpret_cast<FmhaProgress*>(workspace + g.progress_offset)[pair - first_block];
  }
  FmhaPartial partial(std::int64_t index) const noexcept {
    return {reinterpret_cast<float*>(workspace + g.partial_offset) + index * g.shape.hdim_v,
            reinterpret_cast<float*>(workspace + g.lse_offset) + index};
  }
  /// Of equal splits; `row` counts those of the pair.
  std::int64_t partial_index(std::int64_t pair, std::int64_t row, std::int64_t split) const noexcept {
    return (split * g.pairs + pair) * g.shape.seqlen_q * g.group + row;
  }
};

/// Writes O and lse of the task's rows, or their part of it.
void run_fmha_task(const FmhaRun& run, const FmhaTask& task, int slot) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
