// A value in double, and how far what fp32 makes of it may be off: the bounds of docs/epilogues.md.
#pragma once

#include <algorithm>
#include <cmath>

#include <ckgen/epilogue.hpp>

struct Near {
  double value, error;
};

/// `x` plus a number that fp32 holds.
inline Near plus(const Near& x, double other) {
  const double value = x.value + other;
  return {value, x.error + std::ldexp(std::fabs(value) + x.error, -23)};
}
inline Near times(const Near& x, double factor) {
  const double value = x.value * factor, error = x.error * std::fabs(factor);
  return {value, error + std::ldexp(std::fabs(value) + error, -23)};
}
/// x / (1 + e^-v), whose slope in x is at most 1.13.
inline Near gated(const Near& x, double v) {
  return {x.value / (1 + std::exp(-v)), 1.13 * x.error + std::ldexp(std::fabs(x.value) + x.error, -21)};
}

/// One step of an epilogue; `factor` is an element of its D tensor, or alpha.
inline Near after(ckgen::EpilogueOp op, const Near& x, double factor) {
  switch (op) {
    case ckgen::EpilogueOp::add: return plus(x, factor);
    case ckgen::EpilogueOp::mul:
    case ckgen::EpilogueOp::scale: return times(x, factor);
    case ckgen::EpilogueOp::relu: return {std::max(x.value, 0.0), x.error};
    case ckgen::EpilogueOp::silu: return gated(x, x.value);
    case ckgen::EpilogueOp::gelu:
      return gated(x, 2 * std::sqrt(2 / std::acos(-1.0)) * (x.value + 0.044715 * x.value * x.value * x.value));
    default: return x;
  }
}
