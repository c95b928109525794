// Register-tile micro-kernels, compiled once per ISA (see isa/table.hpp for what they compute).
// Included by the files of levels only; CKGEN_HOST_LEVEL is 3, 4 or 5 (5: v4 with bf16 and VNNI).
// FMA is explicit because these files are compiled with -ffp-contract=off: every ISA must round the epilogue alike.
#pragma once

#include "backends/host/isa/table.hpp"

#include <immintrin.h>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

#if CKGEN_HOST_LEVEL >= 4
constexpr int kLanes = 16;
using VecF = __m512;
using VecI = __m512i;
inline VecF zero_f() {
  return _mm512_setzero_ps();
}
inline VecI zero_i() {
  return _mm512_setzero_si512();
}
inline VecF load_f(const float* p) {
  return _mm512_loadu_ps(p);
}
inline VecI load_i(const std::int32_t* p) {
  return _mm512_loadu_si512(p);
}
inline void store_f(float* p, VecF v) {
  _mm512_storeu_ps(p, v);
}
inline void store_i(std::int32_t* p, VecI v) {
  _mm512_storeu_si512(p, v);
}
inline VecF broadcast_f(float x) {
  return _mm512_set1_ps(x);
}
inline VecI broadcast_i(std::int32_t x) {
  return _mm512_set1_epi32(x);
}
inline VecF fma_f(VecF a, VecF b, VecF c) {
  return _mm512_fmadd_ps(a, b, c);
}
inline VecF mul_f(VecF a, VecF b) {
  return _mm512_mul_ps(a, b);
}
inline VecF add_f(VecF a, VecF b) {
  return _mm512_add_ps(a, b);
}
inline VecI dot_i16(VecI c, VecI a, VecI b) {
  return _mm512_add_epi32(c, _mm512_madd_epi16(a, b));
}
#else
constexpr int kLanes = 8;
using VecF = __m256;
using VecI = __m256i;
inline VecF zero_f() {
  return _mm256_setzero_ps();
}
inline VecI zero_i() {
  return _mm256_setzero_si256();
}
inline VecF load_f(const float* p) {
  return _mm256_loadu_ps(p);
}
inline VecI load_i(const std::int32_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(p));
}
inline void store_f(float* p, VecF v) {
  _mm256_storeu_ps(p, v);
}
inline void store_i(std::int32_t* p, VecI v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(p), v);
}
inline VecF broadcast_f(float x) {
  return _mm256_set1_ps(x);
}
inline VecI broadcast_i(std::int32_t x) {
  return _mm256_set1_epi32(x);
}
inline VecF fma_f(VecF a, VecF b, VecF c) {
  return _mm256_fmadd_ps(a, b, c);
}
inline VecF mul_f(VecF a, VecF b) {
  return _mm256_mul_ps(a, b);
}
inline VecF add_f(VecF a, VecF b) {
  return _mm256_add_ps(a, b);
}
inline VecI dot_i16(VecI c, VecI a, VecI b) {
  return _mm256_add_epi32(c, _mm256_madd_epi16(a, b));
}
#endif

// A comes from the last-level cache when the first columns meet it, and the hardware looks no further than a page.
inline void prefetch_ahead(const void* a) {
  constexpr std::uintptr_t kAheadOfA = 1024;
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(a) + kAheadOfA));
}

// body(k) for each step of a call, and a line asked for that is needed later, no nearer than the second-level cache.
template <class Body>
[[gnu::always_inline]] inline void each_step(const MicroCall& call, const Body& body) {
  constexpr std::int64_t kLineBytes = 64;
  const unsigned char* const* ahead = call.ahead;
  for (std::int64_t k = 0; k < call.words;) {
    const std::int64_t end = call.words - k < kAheadWords ? call.words : k + kAheadWords;
    const unsigned char* line = ahead == nullptr ? static_cast<const unsigned char*>(call.b) : *ahead++;
    for (; k < end; ++k, line += kLineBytes) {
      __builtin_prefetch(line, 0, 2);
      body(k);
    }
  }
}

// NV vectors of B, in panels of kPanelColumns columns.
template <typename T, int NV>
class Columns {
 public:
  Columns(const void* b, const std::int64_t* panels) {
#pragma GCC unroll 8
    for (int p = 0; p < kPanels; ++p) panel_[p] = static_cast<const T*>(b) + panels[p];
  }
  const T* at(int vector, std::int64_t k) const {
    const int column = vector * kLanes;
    return panel_[column / kPanelColumns] + k * kPanelColumns + column % kPanelColumns;
  }

 private:
  static_assert(NV * kLanes % kPanelColumns == 0);
  static constexpr int kPanels = NV * kLanes / kPanelColumns;
  const T* panel_[kPanels];
};

// Sums of a tile in fp32, as they go on from C; with scales they begin at zero.
template <int MR, int NV>
[[gnu::always_inline]] inline void load_sums(const MicroCall& call, VecF (&sum)[MR][NV]) {
  const float* c = static_cast<const float*>(call.acc);
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j)
      sum[i][j] = call.flags == kAccumulate ? load_f(c + i * call.ld + j * kLanes) : zero_f();
}
template <int MR, int NV>
[[gnu::always_inline]] inline void store_sums(const MicroCall& call, const VecF (&sum)[MR][NV]) {
  float* c = static_cast<float*>(call.acc);
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) {
      float* at = c + i * call.ld + j * kLanes;
      VecF v = sum[i][j];
      if (call.flags & kScaled) {
        v = mul_f(mul_f(v, broadcast_f(call.a_scale[i])), load_f(call.b_scale + j * kLanes));
        if (call.flags & kAccumulate) v = add_f(v, load_f(at));
      }
      store_f(at, v);
    }
}

// sum[j] + a * b[j] for a row of a tile. The even rows of tiles two vectors wide spread `a` in each FMA: fewer
// instructions a step are faster where another thread shares the core, and in all rows there would be too many loads.
template <int NV>
[[gnu::always_inline]] inline void add_row([[maybe_unused]] int row, const float& a, const VecF (&b)[NV],
                                           VecF (&sum)[NV]) {
#if CKGEN_HOST_LEVEL >= 4
  if (NV == 2 && row % 2 == 0) {
#pragma GCC unroll 2
    for (int j = 0; j < NV; ++j) asm("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(sum[j]) : "v"(b[j]), "m"(a));
    return;
  }
#endif
  const VecF spread = broadcast_f(a);
#pragma GCC unroll 8
  for (int j = 0; j < NV; ++j) sum[j] = fma_f(spread, b[j], sum[j]);
}

template <int MR, int NV>
void micro_f32(const MicroCall& call) {
  const float* a = static_cast<const float*>(call.a);
  const Columns<float, NV> b(call.b, call.panels);
  VecF sum[MR][NV];
  load_sums(call, sum);
  each_step(call, [&](std::int64_t k) __attribute__((always_inline)) {
    prefetch_ahead(a);
    VecF bv[NV];
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) bv[j] = load_f(b.at(j, k));
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i) add_row(i, a[i], bv, sum[i]);
    a += MR;
  });
  store_sums(call, sum);
}

// Integer sums of a tile, as they are in C where it has some already.
template <int MR, int NV>
[[gnu::always_inline]] inline void load_sums(const std::int32_t* c, std::int64_t ld, unsigned flags,
                                             VecI (&sum)[MR][NV]) {
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) sum[i][j] = (flags & kAccumulate) ? load_i(c + i * ld + j * kLanes) : zero_i();
}
template <int MR, int NV>
[[gnu::always_inline]] inline void store_sums(std::int32_t* c, std::int64_t ld, const VecI (&sum)[MR][NV]) {
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) store_i(c + i * ld + j * kLanes, sum[i][j]);
}

#if CKGEN_HOST_LEVEL < 5
// Adds the products of two int16 of each row with those of the columns.
template <int MR, int NV>
[[gnu::always_inline]] inline void add_dots(const std::int32_t* a, const VecI (&b)[NV], VecI (&sum)[MR][NV]) {
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i) {
    const VecI av = broadcast_i(a[i]);
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) sum[i][j] = dot_i16(sum[i][j], b[j], av);  // last: the broadcast folds into the load
  }
}

template <int MR, int NV>
void micro_i16(const MicroCall& call) {
  const std::int32_t* a = static_cast<const std::int32_t*>(call.a);
  const Columns<std::int32_t, NV> b(call.b, call.panels);
  std::int32_t* c = static_cast<std::int32_t*>(call.acc);
  VecI sum[MR][NV];
  load_sums(c, call.ld, call.flags, sum);
  each_step(call, [&](std::int64_t k) __attribute__((always_inline)) {
    prefetch_ahead(a);
    VecI bv[NV];
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) bv[j] = load_i(b.at(j, k));
    add_dots(a, bv, sum);
    a += MR;
  });
  store_sums(c, call.ld, sum);
}
#else
template <int MR, int NV>
void micro_bf16(const MicroCall& call) {
  const std::int32_t* a = static_cast<const std::int32_t*>(call.a);
  const Columns<std::int32_t, NV> b(call.b, call.panels);
  VecF sum[MR][NV];
  load_sums(call, sum);
  each_step(call, [&](std::int64_t k) __attribute__((always_inline)) {
    prefetch_ahead(a);
    VecI bv[NV];
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) bv[j] = load_i(b.at(j, k));
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i) {
      const VecI av = broadcast_i(a[i]);
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) sum[i][j] = _mm512_dpbf16_ps(sum[i][j], (__m512bh)bv[j], (__m512bh)av);
    }
    a += MR;
  });
  store_sums(call, sum);
}
#endif

#define CKGEN_TILE(kind, mr, nv) {mr, nv * kLanes, &micro_##kind<mr, nv>}

#if CKGEN_HOST_LEVEL == 4
constexpr MicroKernel kF32[] = {CKGEN_TILE(f32, 8, 2),  CKGEN_TILE(f32, 1, 2),  CKGEN_TILE(f32, 2, 2),
                                CKGEN_TILE(f32, 4, 2),  CKGEN_TILE(f32, 6, 2),  CKGEN_TILE(f32, 10, 2),
                                CKGEN_TILE(f32, 12, 2), CKGEN_TILE(f32, 13, 2), CKGEN_TILE(f32, 14, 2),
                                CKGEN_TILE(f32, 8, 3),  CKGEN_TILE(f32, 6, 4)};
constexpr MicroKernel kI16[] = {CKGEN_TILE(i16, 8, 2),  CKGEN_TILE(i16, 1, 2),  CKGEN_TILE(i16, 2, 2),
                                CKGEN_TILE(i16, 4, 2),  CKGEN_TILE(i16, 6, 2),  CKGEN_TILE(i16, 10, 2),
                                CKGEN_TILE(i16, 12, 2), CKGEN_TILE(i16, 14, 2), CKGEN_TILE(i16, 8, 3)};
#elif CKGEN_HOST_LEVEL < 4
constexpr MicroKernel kF32[] = {CKGEN_TILE(f32, 6, 2), CKGEN_TILE(f32, 1, 2), CKGEN_TILE(f32, 2, 2),
                                CKGEN_TILE(f32, 4, 2)};
constexpr MicroKernel kI16[] = {CKGEN_TILE(i16, 6, 2), CKGEN_TILE(i16, 1, 2), CKGEN_TILE(i16, 2, 2),
                                CKGEN_TILE(i16, 4, 2)};
#endif
#if CKGEN_HOST_LEVEL >= 5
constexpr MicroKernel kBf16[] = {CKGEN_TILE(bf16, 8, 2),  CKGEN_TILE(bf16, 1, 2),  CKGEN_TILE(bf16, 2, 2),
                                 CKGEN_TILE(bf16, 4, 2),  CKGEN_TILE(bf16, 6, 2),  CKGEN_TILE(bf16, 10, 2),
                                 CKGEN_TILE(bf16, 12, 2), CKGEN_TILE(bf16, 13, 2), CKGEN_TILE(bf16, 14, 2),
                                 CKGEN_TILE(bf16, 8, 3)};
#endif

#undef CKGEN_TILE

template <int N>
constexpr IsaTable::Menu menu_of(const MicroKernel (&kernels)[N]) {
  return {kernels, N};
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
