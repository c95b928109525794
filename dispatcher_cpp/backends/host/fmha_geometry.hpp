// How a problem of op fmha is cut into tasks, and what goes where in the workspace.
#pragma once

#include "backends/host/isa_table.hpp"
#include "ckgen/instance.hpp"

#include <cstddef>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

/// Pairs are (sequence, KV head). The rows of a pair are (position, query head of its group), heads first.
struct FmhaGeometry {
  Signature signature;
  FmhaShape shape;
  const IsaTable* isa;
  const FmhaKernels* kernels;
  PackKind kind;
  int threads;
  std::int64_t m0, n0, splits;
  std::int64_t group;  // query heads per KV head
  std::int64_t pairs;
  std::int64_t row_tiles;  // of a pair, at most
  std::int64_t tiles;      // of columns, at most
  std::int64_t words;      // of a row of Q
  std::int64_t q_words;    // of a group of rows
  std::int64_t v_words;    // of a tile's columns
  std::int64_t k_panels, v_panels;
  // Few rows, to which K and V are no more than memory that is read once: their rows are used where they are.
  const FmhaRowKernels* in_place;  // null: K and V are packed
  bool shared;                     // a pair's tiles are packed before its rows are computed, else by each task
  std::int64_t chunk;              // pairs that are packed, then computed, at a time
  // Bytes; tiles are K, then V.
  std::size_t v_offset, tile_bytes;
  std::size_t partial_offset, partial_bytes;  // of one row of one split: O, then most and sum
  std::size_t slots_offset, slot_bytes, bytes;
  // Within a slot.
  std::size_t tile, q, out, state, scores, weights, bias, factor, keep, columns, row, pointers;
};

/// The state of a group of rows in a slot.
struct FmhaState {
  float most[kFmhaRows];
  float sum[kFmhaRows * kFmhaLanes];
};

/// Precondition: the instance and the shape are legal (check_fmha.hpp).
FmhaGeometry make_fmha_geometry(const InstanceDesc& instance, const Problem& problem, std::uint32_t k_batch) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
