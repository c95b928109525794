// How a problem of op fmha is cut into tasks, and what goes where in the workspace.
#pragma once

#include "backends/host/isa/table.hpp"
#include "ckgen/instance.hpp"

#include <cstddef>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

inline constexpr int kFmhaGroups = 4;  // of rows in place, at most
inline constexpr int kFmhaMaxHdim = 256;
inline constexpr int kFmhaVectorBytes = 16;  // of vectorized pages
inline constexpr int kFmhaUnits = 16;        // groups of rows of all heads of a task in place, at most

/// Where splits of KV that a plan made equal begin: those of the CPU's own at tiles of what a task's rows see, those of
/// twins where the kernels of their backend have them (fmha/cut.hpp).
enum class FmhaCut : std::uint8_t { tiles, blocks, columns };

/// Pairs are (sequence, KV head). The rows of a pair are (position, query head of its group), heads first.
struct FmhaGeometry {
  Signature signature;
  FmhaShape shape;
  const IsaTable* isa;
  const FmhaKernels* kernels;
  PackKind kind;
  int threads;
  std::int64_t m0, n0, splits;
  // n0; as many times it as there is room for in place, where memory is then read in longer runs, and of groups of rows
  // where no split cuts shared tiles.
  std::int64_t tile_columns;
  FmhaCut cut;
  bool merges_heads;   // a schedule's tiles are rows of a pair, not of a query head
  std::int64_t items;  // of a schedule, whose tiles are m0 rows of a pair each; 0: there is none
  std::int64_t group;  // query heads per KV head
  std::int64_t pairs;
  std::int64_t row_tiles;  // of a pair, at most
  std::int64_t tiles;      // of columns, at most
  std::int64_t words;      // of a row of Q
  std::int64_t q_words;    // of a group of rows
  std::int64_t v_words;    // of a tile's columns
  std::int64_t k_panels, v_panels;
  // Few rows, to which K and V are no more than memory that is read once: their rows are used where they are. A task
  // then takes several KV heads of a sequence, whose rows lie side by side.
  const FmhaRowKernels* in_place;  // null: K and V are packed
  const std::uint16_t* table16;    // of 8-bit rows in place
  std::int64_t heads;              // KV heads of a task, at most
  std::int64_t blocks;             // of so many heads, in all sequences
  bool shared;                     // a pair's tiles are packed before its rows are computed, else by each task
  std::int64_t chunk;              // blocks that are packed, then computed, at a time
  // Bytes; tiles are K, then V.
  std::size_t v_offset, tile_bytes;
  std::size_t progress_offset;             // FmhaProgress of each pair of a chunk
  std::size_t partial_offset, lse_offset;  // fp32 rows of O of each split, their lse
  std::size_t slots_offset, slot_bytes, bytes;
  // Within a slot.
  std::size_t tile, own, scores, weights, bias, factor, keep, columns, row, pointers, gathered;
  std::size_t gathered_bytes;  // rows of a tile that no row of memory is: K, then V
  // Of each KV head of a task, from `own` on.
  std::size_t q, out, state, own_bytes;
  std::int64_t score_places;  // groups of rows whose scores are there at a time

  /// At most as many as there is memory for.
  void take_heads(std::int64_t count) noexcept {
    heads = count;
    blocks = shape.batch * head_blocks();
  }
  std::int64_t head_blocks() const noexcept { return (shape.heads_k + heads - 1) / heads; }
};

/// The state of a group of rows in a slot.
struct FmhaState {
  float most[kFmhaRows];
  float sum[kFmhaRows * kFmhaLanes];
};

/// Precondition: the instance and the shape are legal (fmha/check.hpp).
FmhaGeometry make_fmha_geometry(const InstanceDesc& instance, const Problem& problem, std::uint32_t k_batch) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
