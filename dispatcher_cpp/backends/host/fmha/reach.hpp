// Where a task finds the rows of K and V of a tile, and what it asks memory for while it uses them.
#pragma once

#include "backends/host/fmha/rows.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// Of the KV heads of one task. What comes next is asked for in the order of its addresses, whatever the order of use:
/// only so is memory read at its full speed.
class FmhaReach {
 public:
  static constexpr int kPointers = 4 * kFmhaMaxColumns;

  /// `memory` has room for kPointers; of pages in vectors `gathered` for two tiles.
  FmhaReach(const FmhaGeometry& g, const FmhaArgs& args, const FmhaSequence& sequence, std::int64_t kv_head,
            std::int64_t heads, const unsigned char** memory, unsigned char* gathered) noexcept;

  /// Goes to a tile; `next` has no columns where none follows, else it is the next one to go to.
  void go(const FmhaTileColumns& tile, const FmhaTileColumns& next) noexcept;
  /// Of that tile, columns [first, last) count, in blocks of block().
  void cover(std::int32_t first, std::int32_t last) noexcept;
  std::int32_t block() const noexcept { return block_; }
  std::int32_t blocks() const noexcept { return blocks_; }
  std::int32_t first_of(std::int32_t block) const noexcept { return first_ + block * block_; }
  /// For the head-th KV head of the task. Blocks of keys are used in their order, then those of values. bring: what
  /// follows is asked for.
  FmhaRowsOf keys(std::int64_t head, std::int32_t block, bool bring) const noexcept;
  FmhaRowsOf values(std::int64_t head, std::int32_t block, bool bring) const noexcept;

 private:
  struct Operand {
    const unsigned char **now, **next;
    std::int64_t head_bytes, row_bytes;
    std::int64_t all_bytes;     // of a row of all heads
    std::int64_t page_columns;  // that lie in one page of memory
    bool rows_first;            // the heads of a row lie side by side
  };
  /// A block of keys or values, or none.
  struct Region {
    const Operand* of;
    const unsigned char* const* rows;
    std::int64_t count;
  };
  struct Share {
    const unsigned char* const* rows;
    std::int64_t offset, bytes, count;
  };
  Operand operand(const FmhaStrides& strides, std::int64_t hdim, const unsigned char** memory) const noexcept;
  void gather(const FmhaTileColumns& tile, const unsigned char** k, const unsigned char** v) const noexcept;
  void find(const FmhaTileColumns& tile, const unsigned char** k, const unsigned char** v) const noexcept;
  Region region(std::int64_t index) const noexcept;
  void translate(const Region& region) const noexcept;
  Share share(const Region& region, std::int64_t head) const noexcept;
  FmhaRowsOf rows(const Operand& x, std::int64_t head, std::int64_t index, bool bring) const noexcept;

  const FmhaGeometry& g_;
  const FmhaArgs& args_;
  const FmhaSequence& sequence_;
  const std::int64_t kv_head_, heads_;
  const unsigned char** const memory_;
  unsigned char* const gathered_;  // null: rows are found where they are
  Operand k_, v_;
  const std::int32_t block_;  // columns
  std::int64_t found_ = -1;   // the first column of the tile whose rows are in `next`
  std::int64_t coming_ = 0;   // columns of the next tile
  std::int32_t first_ = 0, last_ = 0, blocks_ = 0;
};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
