// The vector part of the epilogue, compiled once per ISA. Included by the files of levels only. Plain loops, that
// compilers vectorise: without contraction every ISA computes the same.
#pragma once

#include "backends/host/isa/encode.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

#if CKGEN_HOST_LEVEL >= 5
void finish(const FinishArgs& f, float* out) {
  kIsaV4.finish(f, out);
}
void fuse(const FuseArgs& f, float* values) {
  kIsaV4.fuse(f, values);
}
#else
template <typename Sum, bool BY_COLUMN, bool HAS_BIAS>
void finish_as(const FinishArgs& f, float* __restrict out) {
  const Sum* const acc = static_cast<const Sum*>(f.acc);
  const float *const b_scale = f.b_scale, *const bias = f.bias;
  const float a_scale = f.a_scale, b_scalar = f.b_scalar;
  for (std::int64_t j = 0, n = f.n; j < n; ++j) {
    const float scaled = static_cast<float>(acc[j]) * a_scale * (BY_COLUMN ? b_scale[j] : b_scalar);
    out[j] = HAS_BIAS ? scaled + bias[j] : scaled;
  }
}
template <typename Sum>
void finish_sums(const FinishArgs& f, float* out) {
  if (f.b_scale != nullptr)
    return f.bias != nullptr ? finish_as<Sum, true, true>(f, out) : finish_as<Sum, true, false>(f, out);
  f.bias != nullptr ? finish_as<Sum, false, true>(f, out) : finish_as<Sum, false, false>(f, out);
}
void finish(const FinishArgs& f, float* out) {
  f.acc_is_int ? finish_sums<std::int32_t>(f, out) : finish_sums<float>(f, out);
}

// e^z for z in [-87, 88], others as the nearest of these: within 2^-22 of it, relatively (docs/epilogues.md).
//
// z = n ln 2 + r with |r| <= ln 2 / 2; ln 2 in two parts, the first short enough for n times it to be exact; Taylor's
// polynomial of degree 7, whose remainder is below 2^-27; 2^n by the exponent field.
inline float exp_within(float z) {
  constexpr float kShift = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  z = z < -87.0F ? -87.0F : z;
  z = z > 88.0F ? 88.0F : z;
  const float shifted = z * 1.44269504F + kShift;
  const float n = shifted - kShift;
  const float r = (z - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.0F / 5040.0F;
  p = p * r + 1.0F / 720.0F;
  p = p * r + 1.0F / 120.0F;
  p = p * r + 1.0F / 24.0F;
  p = p * r + 1.0F / 6.0F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const std::uint32_t exponent = float_to_bits(shifted) + (127U - 0x4b400000U);
  return p * bits_to_float(exponent << 23);
}

inline float silu(float x) {
  return x / (1.0F + exp_within(-x));
}

// 0.5 x (1 + tanh u) = x / (1 + e^-2u) with u = sqrt(2 / pi) (x + 0.044715 x^3)
inline float gelu(float x) {
  return x / (1.0F + exp_within(-1.59576912F * (x + 0.044715F * (x * x * x))));
}

template <DType C, typename F>
void with_d(const void* d, std::int64_t n, float* __restrict values, F&& f) {
  PackSource s{};
  s.base = static_cast<const unsigned char*>(d);
  float other[kRowWords];
  for (std::int64_t i = 0; i < n; i += kRowWords) {
    const std::int64_t take = least(kRowWords, n - i);
    decode_run<C>(s, i, take, other);
    for (std::int64_t j = 0; j < take; ++j) values[i + j] = f(values[i + j], other[j]);
  }
}

template <DType C>
void fuse_as(const FuseArgs& f, float* __restrict values) {
  int d = 0;
  for (const EpilogueOp op : f.ops) {
    switch (op) {
      case EpilogueOp::none: break;
      case EpilogueOp::add: with_d<C>(f.d[d++], f.n, values, [](float x, float y) { return x + y; }); break;
      case EpilogueOp::mul: with_d<C>(f.d[d++], f.n, values, [](float x, float y) { return x * y; }); break;
      case EpilogueOp::relu:
        for (std::int64_t j = 0; j < f.n; ++j) values[j] = values[j] < 0.0F ? 0.0F : values[j];
        break;
      case EpilogueOp::gelu:
        for (std::int64_t j = 0; j < f.n; ++j) values[j] = gelu(values[j]);
        break;
      case EpilogueOp::silu:
        for (std::int64_t j = 0; j < f.n; ++j) values[j] = silu(values[j]);
        break;
      case EpilogueOp::scale:
        for (std::int64_t j = 0; j < f.n; ++j) values[j] *= f.alpha;
        break;
    }
  }
}

void fuse(const FuseArgs& f, float* values) {
  switch (f.c) {
    case DType::fp16: return fuse_as<DType::fp16>(f, values);
    case DType::bf16: return fuse_as<DType::bf16>(f, values);
    default: return fuse_as<DType::fp32>(f, values);
  }
}
#endif

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
