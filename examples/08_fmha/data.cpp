#include "data.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <ckgen/codecs.hpp>

namespace {

std::size_t size(std::int64_t count) {
  return static_cast<std::size_t>(count);
}

std::uint32_t code_of(ckgen::DType type, float value) {
  std::uint32_t code = 0;
  if (type != ckgen::DType::fp32) return ckgen::encode(type, value);
  std::memcpy(&code, &value, sizeof code);
  return code;
}

float value_of(ckgen::DType type, std::uint32_t code) {
  float value = 0;
  if (type != ckgen::DType::fp32) return ckgen::decode(type, code);
  std::memcpy(&value, &code, sizeof value);
  return value;
}

std::int64_t rows_k(const Options& options) {
  const ckgen::FmhaShape& shape = options.shape;
  if (shape.page_size != 0) return shape.pages * shape.page_size;
  std::int64_t rows = 0;
  for (const Lengths& one : options.lengths) rows += options.signature.fmha.varlen ? one.k : shape.seqlen_k;
  return rows;
}

}  // namespace

Tensor::Tensor(ckgen::DType type, std::int64_t rows, std::int64_t heads, std::int64_t elements, std::uint64_t seed)
    : type_(type), heads_(heads), elements_(elements) {
  const std::size_t width = ckgen::bits(type) / 8;
  bytes_.resize(std::max<std::size_t>(1, size(rows * heads * elements) * width));
  for (std::size_t at = 0; at + width <= bytes_.size(); at += width) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    const std::uint32_t code = code_of(type, static_cast<float>(static_cast<int>(seed >> 60) - 8) / 8);
    std::memcpy(&bytes_[at], &code, width);  // multiples of 1/8 that every type holds
  }
}

double Tensor::at(std::int64_t row, std::int64_t head, std::int64_t element) const {
  const std::size_t width = ckgen::bits(type_) / 8;
  std::uint32_t code = 0;
  std::memcpy(&code, &bytes_[size((row * heads_ + head) * elements_ + element) * width], width);
  return static_cast<double>(value_of(type_, code));
}

ckgen::FmhaStrides Tensor::strides(std::int64_t rows_of_a_sequence) const {
  return {heads_ * elements_, elements_, rows_of_a_sequence * heads_ * elements_};
}

Data::Data(const Options& options)
    : options_(options),
      q_(options.signature.a, options.shape.total_q, options.shape.heads_q, options.shape.hdim_q, 1),
      k_(options.signature.b, rows_k(options), options.shape.heads_k, options.shape.hdim_q, 2),
      v_(options.signature.b, rows_k(options), options.shape.heads_k, options.shape.hdim_v, 3),
      o_(options.signature.c, options.shape.total_q, options.shape.heads_q, options.shape.hdim_v, 4),
      bias_(options.signature.a, options.shape.total_q, options.shape.heads_q, options.shape.seqlen_k, 5) {
  const ckgen::FmhaShape& x = options.shape;
  const ckgen::FmhaTraits& traits = options.signature.fmha;
  starts_q_ = starts_k_ = {0};
  for (const Lengths& one : options.lengths) {
    starts_q_.push_back(starts_q_.back() + static_cast<std::int32_t>(one.q));
    starts_k_.push_back(starts_k_.back() + static_cast<std::int32_t>(traits.varlen ? one.k : x.seqlen_k));
    lengths_k_.push_back(static_cast<std::int32_t>(one.k));
  }
  for (std::int64_t page = x.pages; page-- > 0;)
    pages_.push_back(static_cast<std::int32_t>(page));  // the last one first
  for (std::int32_t head = 0; head < x.heads_q; ++head) {
    slopes_.push_back(1.0F / static_cast<float>(1 << (head % 8 + 1)));
    sinks_.push_back(0.25F * static_cast<float>(head));
  }
  lse_.resize(size(x.total_q * x.heads_q));

  args.q = q_.data(), args.k = k_.data(), args.v = v_.data(), args.o = o_.data();
  args.q_strides = q_.strides(x.seqlen_q), args.o_strides = o_.strides(x.seqlen_q);
  const std::int64_t rows = x.page_size != 0 ? x.page_size : x.seqlen_k;
  args.k_strides = k_.strides(rows), args.v_strides = v_.strides(rows);
  args.scale = 1.0F / std::sqrt(static_cast<float>(x.hdim_q));
  args.seqlen_k = lengths_k_.data();
  if (traits.varlen) {
    args.seqstart_q = starts_q_.data();
    if (x.page_size == 0) args.seqstart_k = starts_k_.data(), args.seqlen_k = nullptr;
  }
  if (x.page_size != 0) args.block_table = pages_.data(), args.block_table_stride = x.pages / x.batch;
  if (traits.bias == ckgen::FmhaBias::elementwise)
    args.bias = bias_.data(), args.bias_strides = bias_.strides(x.seqlen_q);
  if (traits.bias == ckgen::FmhaBias::alibi) args.bias = slopes_.data(), args.bias_strides = {0, 1, 0};
  if (traits.softcap) args.softcap = 0.5F;
  if (traits.sink) args.sink = sinks_.data();
  if (traits.lse) args.lse = lse_.data(), args.lse_head_stride = x.total_q, args.lse_batch_stride = x.seqlen_q;
}

std::int64_t Data::row_k(std::size_t b, std::int64_t j) const {
  const ckgen::FmhaShape& x = options_.shape;
  if (x.page_size == 0) return starts_k_[b] + j;
  const auto page = size(x.pages / x.batch) * b + size(j / x.page_size);
  return pages_[page] * std::int64_t{x.page_size} + j % x.page_size;
}

double Data::score(std::size_t b, std::int64_t head, std::int64_t i, std::int64_t j) const {
  const ckgen::FmhaShape& x = options_.shape;
  const ckgen::FmhaTraits& traits = options_.signature.fmha;
  const std::int64_t group = x.heads_q / x.heads_k;
  double sum = 0;
  for (std::int64_t d = 0; d < x.hdim_q; ++d) sum += q_.at(row_q(b, i), head, d) * k_.at(row_k(b, j), head / group, d);
  sum *= static_cast<double>(args.scale);
  if (traits.softcap) sum = args.softcap * std::tanh(sum / args.softcap);
  if (traits.bias == ckgen::FmhaBias::elementwise) sum += bias_.at(row_q(b, i), head, j);
  const Lengths& lengths = options_.lengths[b];
  if (traits.bias == ckgen::FmhaBias::alibi)
    sum -= slopes_[size(head)] * static_cast<double>(std::abs(i + lengths.k - lengths.q - j));
  return sum;
}

bool Data::visible(std::size_t b, std::int64_t i, std::int64_t j) const {
  const ckgen::FmhaShape& x = options_.shape;
  if (!options_.signature.fmha.masked) return true;
  const Lengths& lengths = options_.lengths[b];
  const std::int64_t at = i + (x.corner == ckgen::FmhaCorner::top_left ? 0 : lengths.k - lengths.q);
  return (x.window_left < 0 || j >= at - x.window_left) && (x.window_right < 0 || j <= at + x.window_right);
}

double Data::error_of_row(std::size_t b, std::int64_t head, std::int64_t i) const {
  const ckgen::FmhaShape& x = options_.shape;
  const bool has_sink = options_.signature.fmha.sink;
  const double hidden = -std::numeric_limits<double>::infinity();
  std::vector<double> weights;
  double most = has_sink ? static_cast<double>(sinks_[size(head)]) : hidden;
  for (std::int64_t j = 0; j < options_.lengths[b].k; ++j) {
    weights.push_back(visible(b, i, j) ? score(b, head, i, j) : hidden);
    most = std::max(most, weights.back());
  }
  double sum = has_sink ? std::exp(sinks_[size(head)] - most) : 0;
  for (double& weight : weights) sum += weight = weight == hidden ? 0 : std::exp(weight - most);

  double error = 0;
  for (std::int64_t d = 0; d < x.hdim_v; ++d) {
    double want = 0;
    for (std::size_t j = 0; j < weights.size(); ++j)
      want += weights[j] * v_.at(row_k(b, static_cast<std::int64_t>(j)), head / (x.heads_q / x.heads_k), d);
    error = std::max(error, std::abs(o_.at(row_q(b, i), head, d) - (sum > 0 ? want / sum : 0)));
  }
  if (options_.signature.fmha.lse) {
    const auto found = static_cast<double>(lse_[size(head * x.total_q + row_q(b, i))]);
    const double want = sum > 0 ? most + std::log(sum) : hidden;
    if (found != want) error = std::max(error, std::abs(found - want));
  }
  return error;
}

double Data::error() const {
  double error = 0;
  for (std::size_t b = 0; b < options_.lengths.size(); ++b)
    for (std::int64_t head = 0; head < options_.shape.heads_q; ++head)
      for (std::int64_t i = 0; i < options_.lengths[b].q; ++i) {
        const double found = error_of_row(b, head, i);
        if (!(found <= error)) error = found;  // a NaN stays
      }
  return error;
}
