// Consecutive elements of any type as fp32, compiled once per ISA.
// Included by isa/pack.hpp only. Everything is in an unnamed namespace for the reason isa/table.hpp gives.
#pragma once

#include "backends/host/isa/code_tables.hpp"
#include "backends/host/isa/elements.hpp"
#include "backends/host/isa/transpose.hpp"

#include <cstdint>

#include <immintrin.h>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

#if CKGEN_HOST_LEVEL >= 4
// 8-bit codes to bf16, 32 or 16 at a time: four two-register permutes hold all 256 values.
class Fp8Lookup {
 public:
  explicit Fp8Lookup(const std::uint16_t* table) {
    for (int i = 0; i < 8; ++i) part_[i] = _mm512_loadu_si512(table + 32 * i);
  }
  __m512i operator()(const unsigned char* codes) const {
    return look_up(_mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(codes))));
  }
  __m256i sixteen(const unsigned char* codes) const {
    const __m256i at = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i_u*>(codes)));
    return _mm512_castsi512_si256(look_up(_mm512_castsi256_si512(at)));
  }

 private:
  __m512i look_up(__m512i at) const {
    const __mmask32 bit6 = _mm512_test_epi16_mask(at, _mm512_set1_epi16(0x40));
    const __mmask32 bit7 = _mm512_test_epi16_mask(at, _mm512_set1_epi16(0x80));
    const __m512i positive = _mm512_mask_blend_epi16(bit6, _mm512_permutex2var_epi16(part_[0], at, part_[1]),
                                                     _mm512_permutex2var_epi16(part_[2], at, part_[3]));
    const __m512i negative = _mm512_mask_blend_epi16(bit6, _mm512_permutex2var_epi16(part_[4], at, part_[5]),
                                                     _mm512_permutex2var_epi16(part_[6], at, part_[7]));
    return _mm512_mask_blend_epi16(bit7, positive, negative);
  }

  __m512i part_[8];
};
#endif

// What decoding runs of a type keeps from one to the next. T = fp8_ocp stands for every 8-bit float, T = fp4 for every
// type of two elements per byte.
template <DType T>
struct Decoder {
  explicit Decoder(const PackSource&) {}
};

template <>
struct Decoder<DType::fp8_ocp> {
#if CKGEN_HOST_LEVEL >= 4
  explicit Decoder(const PackSource& s) : source_(s), lookup_(s.table16) {}
#else
  explicit Decoder(const PackSource& s) : source_(s) {}
#endif

  void to_f32(const unsigned char* in, std::int64_t n, float* __restrict out) const {
    std::int64_t i = 0;
#if CKGEN_HOST_LEVEL >= 4
    for (; i + 32 <= n; i += 32) {
      const __m512i h = lookup_(in + i);
      const __m512i low = _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(h)), 16);
      const __m512i high = _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(h, 1)), 16);
      __builtin_memcpy(out + i, &low, 64);
      __builtin_memcpy(out + i + 16, &high, 64);
    }
    if (i + 16 <= n) {
      const __m512i last = _mm512_slli_epi32(_mm512_cvtepu16_epi32(lookup_.sixteen(in + i)), 16);
      __builtin_memcpy(out + i, &last, 64);
      i += 16;
    }
#endif
    for (; i < n; ++i) out[i] = source_.table[in[i]];
  }

 private:
  const PackSource& source_;
#if CKGEN_HOST_LEVEL >= 4
  Fp8Lookup lookup_;
#endif
};

#if CKGEN_HOST_LEVEL >= 5
template <>
struct Decoder<DType::fp4> {
  explicit Decoder(const PackSource& s) : source_(s), values_(_mm512_castps_si512(nibble_values(s.pairs))) {}

  // `n` consecutive elements from element index `at`; bf16 is the upper half of fp32.
  void to_bf16(std::int64_t at, std::int64_t n, std::uint16_t* __restrict out) const {
    std::int64_t i = 0;
    for (; at % 2 == 0 && i + 32 <= n; i += 32) {
      const auto* from = reinterpret_cast<const __m128i_u*>(source_.base + (at + i) / 2);
      const __m512i codes = _mm512_cvtepu8_epi32(_mm_loadu_si128(from));
      const __m512i first = _mm512_permutexvar_epi32(codes, values_);  // looks at four bits
      const __m512i last = _mm512_permutexvar_epi32(_mm512_srli_epi32(codes, 4), values_);
      _mm512_storeu_si512(out + i, _mm512_or_si512(_mm512_srli_epi32(first, 16), last));
    }
    for (; i < n; ++i, one_by_one()) {
      const float value = source_.pairs[source_.base[(at + i) / 2]][(at + i) % 2];
      out[i] = static_cast<std::uint16_t>(float_to_bits(value) >> 16);
    }
  }

 private:
  const PackSource& source_;
  __m512i values_;
};
#endif

// `n` consecutive elements from linear element index `at` as fp32.
template <DType T>
inline void decode_run([[maybe_unused]] const Decoder<T>& decoder, const PackSource& s, std::int64_t at, std::int64_t n,
                       float* __restrict out) {
  std::int64_t i = 0;
  if constexpr (T == DType::fp32) {
    copy_run(out, s.base + at * 4, n * 4);
  } else if constexpr (T == DType::bf16) {
    const unsigned char* in = s.base + at * 2;
    for (; i + 8 <= n; i += 8) {
      __m128i h;
      __builtin_memcpy(&h, in + i * 2, 16);
      const __m256i w = _mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16);
      __builtin_memcpy(out + i, &w, 32);
    }
    for (; i < n; ++i, one_by_one()) out[i] = bits_to_float(static_cast<std::uint32_t>(load_u16(in + i * 2)) << 16);
  } else if constexpr (T == DType::fp16) {
    const unsigned char* in = s.base + at * 2;
    for (; i + 8 <= n; i += 8) {
      __m128i h;
      __builtin_memcpy(&h, in + i * 2, 16);
      const __m256 w = _mm256_cvtph_ps(h);
      __builtin_memcpy(out + i, &w, 32);
    }
    for (; i < n; ++i, one_by_one()) out[i] = _cvtsh_ss(load_u16(in + i * 2));
  } else if constexpr (T == DType::fp4) {
    if ((at & 1) != 0 && n > 0) {
      out[0] = s.pairs[s.base[at >> 1]][1];
      i = 1;
    }
    for (; i + 2 <= n; i += 2, one_by_one()) __builtin_memcpy(out + i, s.pairs[s.base[(at + i) >> 1]], 8);
    if (i < n) out[i] = s.pairs[s.base[(at + i) >> 1]][0];
  } else {
    decoder.to_f32(s.base + at, n, out);
  }
}
template <DType T>
inline void decode_run(const PackSource& s, std::int64_t at, std::int64_t n, float* __restrict out) {
  decode_run<T>(Decoder<T>(s), s, at, n, out);
}

inline void round_to(DType c, float* values, std::int64_t n);  // isa/encode.hpp

// The same of an operand that may come from two tensors; n is at most kRowWords then.
template <DType T>
inline void decode_operand(const Decoder<T>& decoder, const PackSource& s, std::int64_t at, std::int64_t n,
                           float* __restrict out) {
  decode_run<T>(decoder, s, at, n, out);
  if constexpr (has_second(T)) {
    if (s.op == OperandOp::none) return;
    PackSource second{};
    second.base = s.second;
    float other[kRowWords];
    decode_run<T>(second, at, n, other);
    if (s.op == OperandOp::add)
      for (std::int64_t i = 0; i < n; ++i) out[i] += other[i];
    else
      for (std::int64_t i = 0; i < n; ++i) out[i] *= other[i];
    round_to(T, out, n);
  }
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
