// Register-tile micro-kernels, compiled once per ISA (see isa_table.hpp for what they compute).
// Included by the isa_*.cpp files only; CKGEN_HOST_LEVEL is 3, 4 or 5 (5: v4 with bf16 and VNNI).
// FMA is explicit because these files are compiled with -ffp-contract=off: every ISA must round the epilogue alike.
#pragma once

#include "backends/host/isa_table.hpp"

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
#if CKGEN_HOST_LEVEL >= 5
inline VecI dot_i16(VecI c, VecI a, VecI b) {
  return _mm512_dpwssd_epi32(c, a, b);
}
#else
inline VecI dot_i16(VecI c, VecI a, VecI b) {
  return _mm512_add_epi32(c, _mm512_madd_epi16(a, b));
}
#endif
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

// Where vector j of a step over K lies in B, and how long a step is, in words.
enum class Panels { own, prepacked };
template <Panels B, int NV>
class Vectors {
 public:
  explicit Vectors(const std::int64_t* panels) {
    if constexpr (B == Panels::prepacked)
      for (int i = 0; i < kPanels; ++i) panel_[i] = panels[i];
  }
  std::int64_t operator()(int j) const {
    return B == Panels::own ? j * kLanes : panel_[j * kLanes / 16] + j * kLanes % 16;
  }

 private:
  static constexpr int kPanels = (NV * kLanes + 15) / 16;
  std::int64_t panel_[kPanels];
};
template <Panels B, int NV>
constexpr int step_words() {
  return B == Panels::own ? NV * kLanes : 16;
}

template <int MR, int NV, Panels B>
void micro_f32(std::int64_t words, const void* a_panel, const void* b_panel, const std::int64_t* b_panels, void* acc,
               std::int64_t ld, unsigned flags, const float* a_scale, const float* b_scale) {
  const float* a = static_cast<const float*>(a_panel);
  const float* b = static_cast<const float*>(b_panel);
  const Vectors<B, NV> at(b_panels);
  float* c = static_cast<float*>(acc);
  VecF sum[MR][NV];
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) sum[i][j] = flags == kAccumulate ? load_f(c + i * ld + j * kLanes) : zero_f();
  for (std::int64_t k = 0; k < words; ++k) {
    VecF bv[NV];
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) bv[j] = load_f(b + at(j));
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i) {
      const VecF av = broadcast_f(a[i]);
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) sum[i][j] = fma_f(av, bv[j], sum[i][j]);
    }
    a += MR;
    b += step_words<B, NV>();
  }
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) {
      VecF v = sum[i][j];
      if (flags & kScaled) {
        v = mul_f(mul_f(v, broadcast_f(a_scale[i])), load_f(b_scale + j * kLanes));
        if (flags & kAccumulate) v = add_f(v, load_f(c + i * ld + j * kLanes));
      }
      store_f(c + i * ld + j * kLanes, v);
    }
}

template <int MR, int NV, Panels B>
void micro_i16(std::int64_t words, const void* a_panel, const void* b_panel, const std::int64_t* b_panels, void* acc,
               std::int64_t ld, unsigned flags, const float*, const float*) {
  const std::int32_t* a = static_cast<const std::int32_t*>(a_panel);
  const std::int32_t* b = static_cast<const std::int32_t*>(b_panel);
  const Vectors<B, NV> at(b_panels);
  std::int32_t* c = static_cast<std::int32_t*>(acc);
  VecI sum[MR][NV];
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) sum[i][j] = (flags & kAccumulate) ? load_i(c + i * ld + j * kLanes) : zero_i();
  for (std::int64_t k = 0; k < words; ++k) {
    VecI bv[NV];
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) bv[j] = load_i(b + at(j));
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i) {
      const VecI av = broadcast_i(a[i]);
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j)
        sum[i][j] = dot_i16(sum[i][j], bv[j], av);  // last: the broadcast folds into the load
    }
    a += MR;
    b += step_words<B, NV>();
  }
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) store_i(c + i * ld + j * kLanes, sum[i][j]);
}

#if CKGEN_HOST_LEVEL >= 5
template <int MR, int NV, Panels B>
void micro_bf16(std::int64_t words, const void* a_panel, const void* b_panel, const std::int64_t* b_panels, void* acc,
                std::int64_t ld, unsigned flags, const float*, const float*) {
  const std::int32_t* a = static_cast<const std::int32_t*>(a_panel);
  const std::int32_t* b = static_cast<const std::int32_t*>(b_panel);
  const Vectors<B, NV> at(b_panels);
  float* c = static_cast<float*>(acc);
  VecF sum[MR][NV];
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) sum[i][j] = (flags & kAccumulate) ? load_f(c + i * ld + j * kLanes) : zero_f();
  for (std::int64_t k = 0; k < words; ++k) {
    VecI bv[NV];
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) bv[j] = load_i(b + at(j));
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i) {
      const VecI av = broadcast_i(a[i]);
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) sum[i][j] = _mm512_dpbf16_ps(sum[i][j], (__m512bh)bv[j], (__m512bh)av);
    }
    a += MR;
    b += step_words<B, NV>();
  }
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) store_f(c + i * ld + j * kLanes, sum[i][j]);
}
#endif

template <int NV>
constexpr bool whole_panels() {
  return NV * kLanes % 16 == 0;
}
template <int MR, int NV>
constexpr MicroKernel tile_f32() {
  if constexpr (whole_panels<NV>())
    return {MR, NV * kLanes, &micro_f32<MR, NV, Panels::own>, &micro_f32<MR, NV, Panels::prepacked>};
  else
    return {MR, NV * kLanes, &micro_f32<MR, NV, Panels::own>, nullptr};
}
template <int MR, int NV>
constexpr MicroKernel tile_i16() {  // the words of prepacked int8 hold four values
  return {MR, NV * kLanes, &micro_i16<MR, NV, Panels::own>, nullptr};
}

#if CKGEN_HOST_LEVEL >= 4
constexpr MicroKernel kF32[] = {tile_f32<8, 2>(),  tile_f32<1, 2>(),  tile_f32<2, 2>(), tile_f32<4, 2>(),
                                tile_f32<12, 2>(), tile_f32<14, 2>(), tile_f32<8, 3>(), tile_f32<6, 4>()};
constexpr MicroKernel kI16[] = {tile_i16<8, 2>(), tile_i16<1, 2>(),  tile_i16<2, 2>(),
                                tile_i16<4, 2>(), tile_i16<14, 2>(), tile_i16<8, 3>()};
#else
constexpr MicroKernel kF32[] = {tile_f32<6, 2>(), tile_f32<1, 2>(), tile_f32<2, 2>(), tile_f32<4, 2>(),
                                tile_f32<4, 3>()};
constexpr MicroKernel kI16[] = {tile_i16<6, 2>(), tile_i16<1, 2>(), tile_i16<2, 2>(), tile_i16<4, 2>()};
#endif
#if CKGEN_HOST_LEVEL >= 5
template <int MR, int NV>
constexpr MicroKernel tile_bf16() {
  return {MR, NV * kLanes, &micro_bf16<MR, NV, Panels::own>, &micro_bf16<MR, NV, Panels::prepacked>};
}
constexpr MicroKernel kBf16[] = {tile_bf16<8, 2>(), tile_bf16<1, 2>(),  tile_bf16<2, 2>(),
                                 tile_bf16<4, 2>(), tile_bf16<14, 2>(), tile_bf16<8, 3>()};
#endif

template <int N>
constexpr IsaTable::Menu menu_of(const MicroKernel (&kernels)[N]) {
  return {kernels, N};
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
