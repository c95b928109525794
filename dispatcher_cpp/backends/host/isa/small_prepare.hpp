// Rows of A as kernels of gemm/small_m.hpp read them, compiled once per ISA. Included by the headers of these kernels
// only.
#pragma once

#include "backends/host/isa/small_rows.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr int kPiece = 8 * kChunk;

// `put` stores a piece of `n` values (whole chunks, zeros beyond K) that starts at element k.
template <class Put>
void small_values(const PackSource& a, std::int64_t row, std::int64_t k, const float* scale, SmallExtremes* seen,
                  Put&& put) {
  alignas(64) float values[kPiece];
  float least_seen = seen->least, most_seen = seen->most;
  for (std::int64_t k0 = 0; k0 < k; k0 += kPiece) {
    const std::int64_t take = least(kPiece, k - k0), padded = (take + kChunk - 1) / kChunk * kChunk;
    pack(a, row, 1, 1, k0, take, values);
    for (std::int64_t i = take; i < padded; ++i) values[i] = 0.0F;
    if (scale != nullptr) {
      for (std::int64_t i = 0; i < take; ++i) {
        const float v = values[i] * scale[(k0 + i) / 32], size = v < 0.0F ? -v : v;
        most_seen = size <= most_seen ? most_seen : size;  // NaN stays
        least_seen = values[i] != 0.0F && !(size >= least_seen) ? size : least_seen;
        values[i] = v;
      }
    }
    put(k0, values, padded);
  }
  seen->least = least_seen;
  seen->most = most_seen;
}

template <Order ORDER>
void small_prepare_f32(const PackSource& a, std::int64_t row, std::int64_t k, const float* scale, SmallExtremes* seen,
                       void* out) {
  small_values(a, row, k, scale, seen, [out](std::int64_t k0, const float* values, std::int64_t n) {
    float* to = static_cast<float*>(out) + k0;
    for (std::int64_t c = 0; c < n; c += kChunk)
      for (int i = 0; i < kChunk; ++i) to[c + place(ORDER, i)] = values[c + i];
  });
}

#if CKGEN_HOST_LEVEL >= 5
// What comes here is exact as bf16.
template <Order ORDER>
void small_prepare_bf16(const PackSource& a, std::int64_t row, std::int64_t k, const float* scale, SmallExtremes* seen,
                        void* out) {
  small_values(a, row, k, scale, seen, [out](std::int64_t k0, const float* values, std::int64_t n) {
    std::uint16_t* to = static_cast<std::uint16_t*>(out) + k0;
    for (std::int64_t c = 0; c < n; c += kChunk)
      for (int i = 0; i < kChunk; ++i)
        to[c + place(ORDER, i)] = static_cast<std::uint16_t>(float_to_bits(values[c + i]) >> 16);
  });
}
#endif

void small_prepare_int8(const PackSource& a, std::int64_t row, std::int64_t k, const float*, SmallExtremes*,
                        void* out) {
  alignas(64) std::int16_t values[kPiece];
  for (std::int64_t k0 = 0; k0 < k; k0 += kPiece) {
    const std::int64_t take = least(kPiece, k - k0), padded = (take + kChunk - 1) / kChunk * kChunk;
    pack(a, row, 1, 1, k0, take, values);
    for (std::int64_t i = take; i < padded; ++i) values[i] = 0;
#if CKGEN_HOST_LEVEL >= 5
    unsigned char* to = static_cast<unsigned char*>(out) + k0;
    for (std::int64_t i = 0; i < padded; ++i) to[i] = static_cast<unsigned char>(values[i] + 128);
#else
    std::int16_t* to = static_cast<std::int16_t*>(out) + k0;
    for (std::int64_t i = 0; i < padded; ++i) to[i] = values[i];
#endif
  }
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
