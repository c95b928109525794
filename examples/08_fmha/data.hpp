// Operands of an attention problem, and its result by the formulas of ckgen/fmha.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include <ckgen/ckgen.hpp>

#include "options.hpp"

/// A tensor of one type, rows of all heads.
class Tensor {
 public:
  Tensor(ckgen::DType type, std::int64_t rows, std::int64_t heads, std::int64_t elements, std::uint64_t seed);

  double at(std::int64_t row, std::int64_t head, std::int64_t element) const;
  void* data() { return bytes_.data(); }
  ckgen::FmhaStrides strides(std::int64_t rows_of_a_sequence) const;

 private:
  ckgen::DType type_;
  std::int64_t heads_, elements_;
  std::vector<unsigned char> bytes_;
};

/// All that a run is given. `args` points into it: neither copied nor moved.
class Data {
 public:
  explicit Data(const Options& options);
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;

  ckgen::FmhaArgs args{};

  /// The largest error of O and, where it is written, of lse.
  double error() const;

 private:
  /// Where the rows of sequence b are, and key j of it: in its page, if there are pages.
  std::int64_t row_q(std::size_t b, std::int64_t i) const { return starts_q_[b] + i; }
  std::int64_t row_k(std::size_t b, std::int64_t j) const;
  double score(std::size_t b, std::int64_t head, std::int64_t i, std::int64_t j) const;
  bool visible(std::size_t b, std::int64_t i, std::int64_t j) const;
  double error_of_row(std::size_t b, std::int64_t head, std::int64_t i) const;

  const Options& options_;
  std::vector<std::int32_t> starts_q_, starts_k_, lengths_k_, pages_;
  Tensor q_, k_, v_, o_, bias_;
  std::vector<float> slopes_, sinks_, lse_;
};
