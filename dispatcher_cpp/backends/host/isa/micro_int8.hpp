// Micro-kernels of int8, four products at a time. Included by ISA files whose level has them.
//
// The instruction for that multiplies unsigned with signed bytes, so A has 128 added (PackKind::i8), and 128 times the
// sum of B is taken off again, which the first tile of rows finds for all. CPUs without it have kernels for prepacked
// panels alone, which widen bytes to int16 in registers: their instruction for unsigned with signed bytes saturates.
// Sums are exact, as those of int16 are: where one wraps on the way, it wraps back.
#pragma once

#include "backends/host/isa/micro.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

#if CKGEN_HOST_LEVEL >= 5
template <int MR, int NV, bool FINDS_EXCESS>
[[gnu::always_inline]] inline void add_bytes(const MicroCall& call) {
  const std::int32_t* a = static_cast<const std::int32_t*>(call.a);
  const Columns<std::int32_t, NV> b(call.b, call.panels);
  std::int32_t* c = static_cast<std::int32_t*>(call.acc);
  const __m512i offset = _mm512_set1_epi8(static_cast<char>(0x80));
  VecI sum[MR][NV], found[NV];
#pragma GCC unroll 8
  for (int j = 0; j < NV; ++j) found[j] = zero_i();
  load_sums(c, call.ld, call.flags, sum);
  each_step(call, [&](std::int64_t k) __attribute__((always_inline)) {
    prefetch_ahead(a);
    VecI bv[NV];
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) {
      bv[j] = load_i(b.at(j, k));
      if constexpr (FINDS_EXCESS) found[j] = _mm512_dpbusd_epi32(found[j], offset, bv[j]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i) {
      const VecI av = broadcast_i(a[i]);
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) sum[i][j] = _mm512_dpbusd_epi32(sum[i][j], av, bv[j]);
    }
    a += MR;
  });
#pragma GCC unroll 8
  for (int j = 0; j < NV; ++j) {
    if constexpr (FINDS_EXCESS)
      store_i(call.excess + j * kLanes, found[j]);
    else
      found[j] = load_i(call.excess + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i) sum[i][j] = _mm512_sub_epi32(sum[i][j], found[j]);
  }
  store_sums(c, call.ld, sum);
}

template <int MR, int NV>
void micro_i8(const MicroCall& call) {
  if (call.flags & kFindExcess)
    add_bytes<MR, NV, true>(call);
  else
    add_bytes<MR, NV, false>(call);
}
#else
// Even and odd bytes of words, as int16.
inline VecI even_bytes(VecI v) {
  return _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8);
}
inline VecI odd_bytes(VecI v) {
  return _mm256_srai_epi16(v, 8);
}

// Steps of all rows that are widened at a time, and what they become: even bytes, then odd ones.
constexpr std::int64_t kWidened = 128;
template <int MR>
struct Widened {
  alignas(32) std::int32_t bytes[2][kWidened * MR];

  void fill(const std::int32_t* a, std::int64_t count) {
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) put(i, load_i(a + i));
    for (; i < count; ++i) {
      const VecI v = broadcast_i(a[i]);
      bytes[0][i] = _mm256_cvtsi256_si32(even_bytes(v));
      bytes[1][i] = _mm256_cvtsi256_si32(odd_bytes(v));
    }
  }

 private:
  void put(std::int64_t i, VecI v) {
    store_i(bytes[0] + i, even_bytes(v));
    store_i(bytes[1] + i, odd_bytes(v));
  }
};

template <int MR, int NV>
void micro_i8(const MicroCall& call) {
  const std::int32_t* a = static_cast<const std::int32_t*>(call.a);
  const Columns<std::int32_t, NV> b(call.b, call.panels);
  std::int32_t* c = static_cast<std::int32_t*>(call.acc);
  VecI sum[MR][NV];
  load_sums(c, call.ld, call.flags, sum);
  Widened<MR> wide;
  for (std::int64_t k = 0; k < call.words;) {
    const std::int64_t end = call.words - k < kWidened ? call.words : k + kWidened;
    wide.fill(a + k * MR, (end - k) * MR);
    for (const std::int32_t *even = wide.bytes[0], *odd = wide.bytes[1]; k < end; ++k, even += MR, odd += MR) {
      VecI bv[NV];
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) bv[j] = even_bytes(load_i(b.at(j, k)));
      add_dots(even, bv, sum);
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) bv[j] = odd_bytes(load_i(b.at(j, k)));
      add_dots(odd, bv, sum);
    }
  }
  store_sums(c, call.ld, sum);
}
#endif

template <int MR, int NV, MicroFn RUN>
constexpr MicroKernel tile() {
  return {MR, NV * kLanes, RUN};
}
#if CKGEN_HOST_LEVEL >= 5
constexpr MicroKernel kI8[] = {
    tile<8, 2, &micro_i8<8, 2>>(),   tile<1, 2, &micro_i8<1, 2>>(),   tile<2, 2, &micro_i8<2, 2>>(),
    tile<4, 2, &micro_i8<4, 2>>(),   tile<6, 2, &micro_i8<6, 2>>(),   tile<10, 2, &micro_i8<10, 2>>(),
    tile<12, 2, &micro_i8<12, 2>>(), tile<14, 2, &micro_i8<14, 2>>(), tile<8, 3, &micro_i8<8, 3>>()};
#else
constexpr MicroKernel kI8[] = {tile<6, 2, &micro_i8<6, 2>>(), tile<1, 2, &micro_i8<1, 2>>(),
                               tile<2, 2, &micro_i8<2, 2>>(), tile<4, 2, &micro_i8<4, 2>>()};
#endif

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
