// One task of attention: some rows of some KV heads against the columns that they see, or a part of them.
#pragma once

#include "backends/host/fmha_geometry.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// The same rows of FmhaGeometry::heads KV heads, or what is left of them, of a sequence.
struct FmhaTask {
  std::int64_t block, row_tile, split;
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
  /// [hdim_v] of O, most, sum; `row` counts those of the pair.
  float* partial(std::int64_t pair, std::int64_t row, std::int64_t split) const noexcept {
    const std::int64_t rows = g.shape.seqlen_q * g.group;
    return reinterpret_cast<float*>(workspace + g.partial_offset +
                                    static_cast<std::size_t>((pair * rows + row) * g.splits + split) * g.partial_bytes);
  }
};

/// Writes O and lse of the task's rows, or their part of it.
void run_fmha_task(const FmhaRun& run, const FmhaTask& task, int slot) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
