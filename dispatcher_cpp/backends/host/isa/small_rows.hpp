// Rows of B as kernels of gemm/small_m.hpp read them, compiled once per ISA. Included by the headers of these kernels
// only.
//
// K goes in chunks of 64 elements. A decoder turns a chunk of B into two vectors whose order of K is its own; prepare()
// brings A into that order. Lane l of an accumulator has its share of K for good, so that 16 lanes of one vector or of
// two give the same sums.
#pragma once

#include "backends/host/isa/decode.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr int kChunk = 64;
// How many bytes of a row are on their way, to the second-level cache: the first has too few misses in flight. Where
// several rows are read at a time, the hardware of CPUs without 512 bits sees better what comes.
constexpr int bytes_ahead(int rows_at_once) {
  return CKGEN_HOST_LEVEL >= 4 || rows_at_once == 1 ? 4096 : 0;
}

// The last `left` elements of a row. Not in line: kernels of all rows share it.
[[gnu::noinline]] void copy_tail(unsigned char* tail, const unsigned char* from, int bits, std::int64_t left) {
  copy_run(tail, from, (left * bits + 7) / 8);
  if (bits == 4 && left % 2 != 0) tail[left / 2] &= 0x0f;
}

// A row in steps of STEP elements: what is left at its end is read from a copy filled up with zeros.
template <int BITS, int STEP, int AHEAD = bytes_ahead(1)>
class SmallRow {
 public:
  static constexpr int kBytes = STEP * BITS / 8;
  SmallRow(const unsigned char* row, const unsigned char* next, std::int64_t k)
      : row_(row), whole_(k / STEP), bytes_((k * BITS + 7) / 8) {
    jump_ = reinterpret_cast<std::uintptr_t>(next) - static_cast<std::uintptr_t>(bytes_);
    if (k % STEP == 0) return;
    __builtin_memset(tail_, 0, sizeof tail_);
    copy_tail(tail_, row + whole_ * kBytes, BITS, k % STEP);
  }
  const unsigned char* at(std::int64_t step) const {
    if (step >= whole_) return tail_;
    const std::int64_t offset = step * kBytes;
    if constexpr (AHEAD > 0) {
      const std::int64_t ahead = offset + AHEAD;
      const std::uintptr_t base = ahead < bytes_ ? reinterpret_cast<std::uintptr_t>(row_) : jump_;
      for (int i = 0; i < kBytes; i += 64)
        __builtin_prefetch(reinterpret_cast<const void*>(base + static_cast<std::uintptr_t>(ahead + i)), 0, 2);
    }
    return row_ + offset;
  }

 private:
  const unsigned char* row_;
  std::int64_t whole_, bytes_;
  std::uintptr_t jump_;  // to what follows the row
  alignas(64) unsigned char tail_[kBytes];
};

template <int BITS, int STEP, int AHEAD = bytes_ahead(1)>
struct SmallRows {
  using Row = SmallRow<BITS, STEP, AHEAD>;
#if CKGEN_HOST_LEVEL >= 4
  SmallRows(const SmallCall& s) : rows{{s.b[0], s.next[0], s.k}, {s.b[1], s.next[1], s.k}} {}
#else
  SmallRows(const SmallCall& s)
      : rows{{s.b[0], s.next[0], s.k}, {s.b[1], s.next[1], s.k}, {s.b[2], s.next[2], s.k}, {s.b[3], s.next[3], s.k}} {}
#endif
  Row rows[kColumns];
};

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
