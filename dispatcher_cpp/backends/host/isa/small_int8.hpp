// Kernels of gemm/small_m.hpp of int8, compiled once per ISA. Included by isa/small.hpp only.
#pragma once

#include "backends/host/isa/small_prepare.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

#if CKGEN_HOST_LEVEL >= 5
// A has 128 added, for the instruction multiplies unsigned with signed; 128 times the sum of B is taken off again.
template <int R>
[[gnu::always_inline]] inline void small_int8_once(const SmallCall& s) {
  constexpr int kAtOnce = kColumns;
  const SmallRows<8, kChunk> b(s);
  const unsigned char* a = static_cast<const unsigned char*>(s.a);
  const std::int64_t chunks = (s.k + kChunk - 1) / kChunk;
  const __m512i offset = _mm512_set1_epi8(static_cast<char>(0x80));
  __m512i sum[kAtOnce][R], excess[kAtOnce];
#pragma GCC unroll 4
  for (int j = 0; j < kAtOnce; ++j) {
    excess[j] = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sum[j][r] = _mm512_setzero_si512();
  }
  each_step<kAtOnce>(b.rows, s.ahead, 0, chunks, [&](const unsigned char* const(&from)[kAtOnce], std::int64_t chunk) {
    __m512i x[kAtOnce];
#pragma GCC unroll 4
    for (int j = 0; j < kAtOnce; ++j) {
      x[j] = _mm512_loadu_si512(from[j]);
      excess[j] = _mm512_dpbusd_epi32(excess[j], offset, x[j]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const __m512i from_a = _mm512_loadu_si512(a + r * s.a_stride + chunk * kChunk);
#pragma GCC unroll 4
      for (int j = 0; j < kAtOnce; ++j) sum[j][r] = _mm512_dpbusd_epi32(sum[j][r], from_a, x[j]);
    }
  });
#pragma GCC unroll 4
  for (int j = 0; j < kAtOnce; ++j)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const __m512i v = _mm512_sub_epi32(sum[j][r], excess[j]);
      static_cast<std::int32_t*>(s.out[j])[r * s.ld] =
          sum_of(_mm256_add_epi32(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1)));
    }
}
#else
// The sums of two rows of A and all rows of B are in registers, or of more rows of A and two of B.
template <int R>
[[gnu::always_inline]] inline void small_int8_once(const SmallCall& s) {
  constexpr int kBytes = 16, kAtOnce = R <= 2 ? kColumns : 2;
  const SmallRows<8, kBytes, bytes_ahead(kAtOnce)> b(s);
  const std::int16_t* a = static_cast<const std::int16_t*>(s.a);
  const std::int64_t steps = (s.k + kBytes - 1) / kBytes;
  for (int first = 0; first < kColumns; first += kAtOnce) {
    const auto* rows = b.rows + first;
    __m256i sum[kAtOnce][R];
#pragma GCC unroll 4
    for (int j = 0; j < kAtOnce; ++j)
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sum[j][r] = _mm256_setzero_si256();
    each_step<kAtOnce>(rows, s.ahead, 0, steps, [&](const unsigned char* const(&from)[kAtOnce], std::int64_t step) {
#pragma GCC unroll 4
      for (int j = 0; j < kAtOnce; ++j) {
        const __m256i x = _mm256_cvtepi8_epi16(load_128(from[j]));
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
          const __m256i from_a = load_256(reinterpret_cast<const unsigned char*>(a + r * s.a_stride + step * kBytes));
          sum[j][r] = _mm256_add_epi32(sum[j][r], _mm256_madd_epi16(from_a, x));
        }
      }
    });
#pragma GCC unroll 4
    for (int j = 0; j < kAtOnce; ++j)
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) static_cast<std::int32_t*>(s.out[first + j])[r * s.ld] = sum_of(sum[j][r]);
  }
}
#endif

template <int R>
void small_int8(const SmallCall& call) {
  each_time(call, [](const SmallCall& s) { small_int8_once<R>(s); });
}

constexpr SmallKernels kSmallInt8 = {{&small_int8<1>, &small_int8<2>, &small_int8<3>, &small_int8<4>},
                                     {},
                                     nullptr,
                                     &small_prepare_int8,
                                     CKGEN_HOST_LEVEL >= 5 ? 1 : 2,
                                     8};

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
