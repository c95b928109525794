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

// The same to the first-level cache, where rows follow each other: callers' rows seldom start at a line's begin, and
// vectors that lie across two lines come from the second-level cache at half its rate.
constexpr std::uintptr_t kBytesClose = CKGEN_HOST_LEVEL >= 4 ? 1024 : 0;

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
  // Steps before this one are read from the row.
  std::int64_t whole() const { return whole_; }
  // The bytes of a step and of those behind it that lie where it does.
  const unsigned char* at(std::int64_t step) const { return step < whole_ ? row_ + step * kBytes : tail_; }
  // Whether the next row follows without a gap.
  bool continues() const { return jump_ == reinterpret_cast<std::uintptr_t>(row_); }
  void prefetch(std::int64_t step) const {
    if constexpr (AHEAD > 0) {
      const std::int64_t ahead = step * kBytes + AHEAD;
      const std::uintptr_t base = ahead < bytes_ ? reinterpret_cast<std::uintptr_t>(row_) : jump_;
      for (int i = 0; i < kBytes; i += 64)
        __builtin_prefetch(reinterpret_cast<const void*>(base + static_cast<std::uintptr_t>(ahead + i)), 0, 2);
    }
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
  SmallRows(const SmallCall& s)
      : rows{{s.b[0], s.next[0], s.k}, {s.b[1], s.next[1], s.k}, {s.b[2], s.next[2], s.k}, {s.b[3], s.next[3], s.k}} {}
  Row rows[kColumns];
};

// Sums of lanes, of J rows of B from `first` on and R of A.
template <int J, int R>
[[gnu::always_inline]] inline void store_sums(const SmallCall& s, int first, const F16 (&total)[J][R]) {
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    float sums[4];
    if constexpr (J == 4) {
      _mm_storeu_ps(sums, sums_of(total[0][r], total[1][r], total[2][r], total[3][r]));
    } else {
#pragma GCC unroll 4
      for (int j = 0; j < J; ++j) sums[j] = sum_of(total[j][r]);
    }
#pragma GCC unroll 4
    for (int j = 0; j < J; ++j) static_cast<float*>(s.out[first + j])[r * s.ld] = sums[j];
  }
}

// body(call), `times` times; scales of B are for one time.
template <class Body>
[[gnu::always_inline]] inline void each_time(const SmallCall& call, const Body& body) {
  SmallCall s = call;
  for (std::int64_t i = 1;; ++i) {
    body(s);
    if (i >= call.times) return;
    for (int j = 0; j < kColumns; ++j) {
      s.b[j] += call.b_step;
      s.next[j] += call.b_step;
      s.out[j] = static_cast<unsigned char*>(s.out[j]) + 4;
    }
  }
}

// body(from, i): step + i of J rows is at from[j]; for each of [step, end).
template <int J, class Row, class Body>
[[gnu::always_inline]] inline void each_step(const Row* rows, bool ahead, std::int64_t step, std::int64_t end,
                                             const Body& body) {
  const std::uintptr_t close = rows[0].continues() ? kBytesClose : 0;
  for (std::int64_t until = least(end, rows[0].whole()); step < end; until = end) {  // then what is left of K
    const unsigned char* from[J];
#pragma GCC unroll 4
    for (int j = 0; j < J; ++j) from[j] = rows[j].at(step);
    for (; step < until; ++step) {
      if (ahead) {
#pragma GCC unroll 4
        for (int j = 0; j < J; ++j) rows[j].prefetch(step);
      }
#pragma GCC unroll 4
      for (int j = 0; j < J && kBytesClose > 0 && Row::kBytes >= 64; ++j)
        for (int i = 0; i < Row::kBytes; i += 64)
          __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(from[j]) + close +
                                                           static_cast<std::uintptr_t>(i)));
      body(from, step);
#pragma GCC unroll 4
      for (int j = 0; j < J; ++j) from[j] += Row::kBytes;
    }
  }
}

// The same of few steps, such as those of a group that has a scale.
template <int J, class Row, class Body>
[[gnu::always_inline]] inline void short_steps(const Row* rows, bool ahead, std::int64_t step, std::int64_t end,
                                               const Body& body) {
  for (; step < end; ++step) {
    const unsigned char* from[J];
#pragma GCC unroll 4
    for (int j = 0; j < J; ++j) {
      if (ahead) rows[j].prefetch(step);
      from[j] = rows[j].at(step);
    }
    body(from, step);
  }
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
