// Stream-K on the CPU: workgroups of ckgen/stream_k.hpp, each run by one thread, then the meeting of split tiles.
//
// A part of a tile is a sum over k in ascending order from zero. Parts meet in order of K (linear), pairwise,
// neighbours first (tree), or rounded to C's type one by one and added in that type in order of K (atomic). Results
// depend on the cut, not on the number of threads.
#pragma once

#include "backends/host/gemm/driver.hpp"
#include "ckgen/stream_k.hpp"

#include <cstddef>

namespace ckgen {
inline namespace v1 {
namespace host {

struct StreamKGeometry {
  const IsaTable* isa;
  const MicroKernel* micro;
  PackKind kind;
  Sizes size;
  StreamKCut cut;
  StreamKPartition partition;
  std::int64_t tiles_m, tiles_n;
  std::int64_t kc;                  // elements of K that are packed at once
  std::int64_t m_panels, n_panels;  // of one tile
  std::int64_t acc_ld;
  int threads;
  // Bytes. Two slices per workgroup: the part of a tile that it begins, and the part of one that it does not.
  std::size_t slice_bytes, slots_offset;
  std::size_t slot_a_offset, slot_b_offset, slot_row_offset, slot_bytes, bytes;
};

// Precondition: positive sizes, all at most 2^40, and a feasible partition.
StreamKGeometry make_stream_k_geometry(const Blocking& blocking, const StreamKCut& cut, const Sizes& sizes) noexcept;

void execute_stream_k(const StreamKGeometry& geometry, const GemmTraits& traits, const GemmArgs& args,
                      void* workspace) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
