// Attention's backward, tile by tile: keys of a block, then rows of a query head against them.
#pragma once

#include "backends/host/fmha/backward_geometry.hpp"
#include "backends/host/fmha/columns.hpp"
#include "backends/host/fmha/sequence.hpp"
#include "backends/host/fmha/turn.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// One run.
struct FmhaBackwardRun {
  const FmhaBackwardGeometry& g;
  const FmhaArgs& args;
  unsigned char* workspace;

  unsigned char* slot(int i) const noexcept { return workspace + g.slots + static_cast<std::size_t>(i) * g.slot_bytes; }
  /// Row `row` of all rows of a query head.
  float* delta(std::int64_t head, std::int64_t row) const noexcept {
    return reinterpret_cast<float*>(workspace + g.delta) + head * g.rows + row;
  }
  float* dq(std::int64_t head, std::int64_t row) const noexcept {
    return reinterpret_cast<float*>(workspace + g.dq) + (head * g.rows + row) * g.shape.hdim_q;
  }
  FmhaSequence sequence(std::int64_t b) const noexcept { return sequence_of(g.signature, g.shape, args, b); }
  /// Of a sequence's first row among all.
  std::int64_t first_row(std::int64_t b) const noexcept {
    return g.signature.fmha.varlen ? args.seqstart_q[b] : b * g.shape.seqlen_q;
  }
  FmhaSequenceMask mask(const FmhaSequence& x) const noexcept {
    return {g.shape, g.signature.fmha.masked, x.length_q, x.length_k};
  }
  /// Row tiles of a sequence; the key blocks that rows of one see, in the order in which they add to dQ.
  std::int64_t row_tiles(const FmhaSequence& x) const noexcept { return (x.length_q + g.m0 - 1) / g.m0; }
  FmhaTiles blocks_of(const FmhaSequence& x, std::int64_t tile) const noexcept {
    const std::int64_t first = tile * g.m0;
    return {mask(x).rows(first, std::min(first + g.m0, x.length_q)), g.n0};
  }
};

/// `memory` is the slot's. After keys(), rows() as often as wanted, by the thread that made it.
class FmhaBackwardTile {
 public:
  /// Rows as A of products; of fp32 as B too.
  struct Operand {
    const void* first;
    std::int64_t ld;
  };
  FmhaBackwardTile(const FmhaBackwardRun& run, unsigned char* memory) noexcept
      : run_(run), g_(run.g), memory_(memory), turn_(run.g.kernels->backward.turn) {}

  /// Key block `block` of a KV head of sequence b.
  void keys(const FmhaSequence& x, std::int64_t b, std::int64_t kv_head, std::int64_t block) noexcept;
  /// Row tile `tile` of a query head: P and the gradients of scores. `soon` is read thereafter.
  void rows(std::int64_t head, std::int64_t tile, const FmhaComing& soon) noexcept;

  /// Of rows(): [live_count()][g.ld], `column_count()` of them counting.
  const float* gradients() const noexcept { return at<float>(g_.dp); }
  std::int64_t live_count() const noexcept { return live_; }
  std::int64_t column_count() const noexcept { return seen_; }

  /// dK and dV of the block, as sums: += those of rows().
  void add_keys() noexcept;
  /// dS K of rows(), not times `scale`: written to rows that are `ld` apart, or added to them.
  void dq(float* sums, std::int64_t ld, bool adds) noexcept;
  void clear_keys() noexcept;
  const float* dk() const noexcept { return at<float>(g_.dk); }
  const float* dv() const noexcept { return at<float>(g_.dv); }

 private:
  template <class T>
  T* at(std::size_t offset) const noexcept {
    return reinterpret_cast<T*>(memory_ + offset);
  }
  void load_rows(std::int64_t head) noexcept;
  void see() noexcept;
  void load_bias(std::int64_t head) noexcept;
  void draw(std::int64_t head) noexcept;
  void narrow() noexcept;

  const FmhaBackwardRun& run_;
  const FmhaBackwardGeometry& g_;
  unsigned char* const memory_;
  const FmhaTurnHeld turn_;
  FmhaSequence x_{};
  std::int64_t b_ = 0, column_ = 0, columns_ = 0;  // of the keys
  std::int64_t row_ = 0, rows_ = 0, live_ = 0;     // rows_: whole words of them
  std::int64_t seen_ = 0;                          // columns up to the last one that a row sees
  Operand q_{}, dout_{};
  FmhaComing next_q_{}, next_dout_{};  // of the next tile
  const FmhaSpan* spans_ = nullptr;
};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
