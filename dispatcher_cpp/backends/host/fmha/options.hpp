// What a signature's options do to scores and weights, tile by tile: softcap, biases, descales, dropout.
#pragma once

#include "backends/host/fmha/sequence.hpp"
#include "backends/host/fmha/task.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

struct FmhaRowIds {
  std::int64_t position, head;
};

/// `memory` is the slot's.
class FmhaOptions {
 public:
  FmhaOptions(const FmhaRun& run, const FmhaSequence& sequence, std::int64_t batch, unsigned char* memory) noexcept;

  /// Whether adjust() has anything to do.
  bool any() const noexcept { return scales_ || factors_; }
  /// FmhaStep::exponent: what adjust() leaves of the scores.
  float exponent() const noexcept { return scales_ ? 1.0F : scale_ * kFmhaLog2E; }

  void start_tile(std::int64_t kv_head, std::int64_t column, std::int64_t count) noexcept;
  /// Of the tile that was started: scores, and the step's `factor`.
  void adjust(FmhaStep& step, const FmhaRowIds* rows) const noexcept;

 private:
  void adjust_scores(const FmhaStep& step, const FmhaRowIds* rows) const noexcept;
  void make_factors(FmhaStep& step, const FmhaRowIds* rows) const noexcept;
  void draw(const FmhaRowIds& row, unsigned char* bytes) const noexcept;
  void drop(const FmhaStep& step, const FmhaRowIds* rows, float* factor) const noexcept;

  const FmhaRun& run_;
  const FmhaTraits& traits_;
  const FmhaSequence& sequence_;
  const std::int64_t batch_;
  unsigned char* const memory_;
  float scale_;   // of all scores
  bool scales_;   // scores need more than it
  bool factors_;  // weights have factors
  int kept_;      // bytes up to this one are kept
  std::int64_t column_ = 0, count_ = 0;
};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
