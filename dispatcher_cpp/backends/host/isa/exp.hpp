// 2^x and tanh of vectors, compiled once per ISA. Included by the files of levels only.
#pragma once

#include "backends/host/isa/micro.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

#if CKGEN_HOST_LEVEL >= 4
inline VecF sub_f(VecF a, VecF b) {
  return _mm512_sub_ps(a, b);
}
inline VecF div_f(VecF a, VecF b) {
  return _mm512_div_ps(a, b);
}
inline VecF max_f(VecF a, VecF b) {
  return _mm512_max_ps(a, b);
}
inline VecF min_f(VecF a, VecF b) {
  return _mm512_min_ps(a, b);
}
inline VecF magnitude_f(VecF a) {
  return _mm512_abs_ps(a);
}
inline float most_of(VecF v) {
  return _mm512_reduce_max_ps(v);
}
// value * 2^n, where n is in the last bits of `shifted`; 0 where x is below -126.
inline VecF scale_by_power(VecF value, VecF shifted, VecF x) {
  const __mmask16 normal = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-126.0F), _CMP_NLT_UQ);
  const __m512i power = _mm512_slli_epi32(_mm512_castps_si512(shifted), 23);
  return _mm512_castsi512_ps(_mm512_maskz_add_epi32(normal, _mm512_castps_si512(value), power));
}
#else
inline VecF sub_f(VecF a, VecF b) {
  return _mm256_sub_ps(a, b);
}
inline VecF div_f(VecF a, VecF b) {
  return _mm256_div_ps(a, b);
}
inline VecF max_f(VecF a, VecF b) {
  return _mm256_max_ps(a, b);
}
inline VecF min_f(VecF a, VecF b) {
  return _mm256_min_ps(a, b);
}
inline VecF magnitude_f(VecF a) {
  return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), a);
}
inline float most_of(VecF v) {
  __m128 x = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  x = _mm_max_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}
inline VecF scale_by_power(VecF value, VecF shifted, VecF x) {
  const __m256 normal = _mm256_cmp_ps(x, _mm256_set1_ps(-126.0F), _CMP_NLT_UQ);
  const __m256i power = _mm256_slli_epi32(_mm256_castps_si256(shifted), 23);
  return _mm256_and_ps(_mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(value), power)), normal);
}
#endif

// 2^x for x up to 127: at most 2 ulp off, 0 below -126, exact at whole x, NaN of NaN.
inline VecF exp2_f(VecF x) {
  // Adding it leaves the nearest integer in the last bits.
  const VecF magic = broadcast_f(12582912.0F);
  const VecF shifted = add_f(x, magic);
  const VecF f = sub_f(x, sub_f(shifted, magic));
  VecF p = broadcast_f(0x1.5bba14p-10F);
  p = fma_f(p, f, broadcast_f(0x1.3cea88p-7F));
  p = fma_f(p, f, broadcast_f(0x1.c6b752p-5F));
  p = fma_f(p, f, broadcast_f(0x1.ebf9bcp-3F));
  p = fma_f(p, f, broadcast_f(0x1.62e42ap-1F));
  p = fma_f(p, f, broadcast_f(1.0F));
  return scale_by_power(p, shifted, x);
}

// At most 2^-22 off.
inline VecF tanh_f(VecF x) {
  // Beyond, tanh is 1 in fp32. The constant first: a NaN comes through.
  const VecF bound = broadcast_f(10.0F), low = broadcast_f(-10.0F);
  const VecF clamped = max_f(low, min_f(bound, x));
  const VecF e = exp2_f(mul_f(clamped, broadcast_f(2.88539008177792681472F)));
  const VecF one = broadcast_f(1.0F);
  return div_f(sub_f(e, one), add_f(e, one));
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
