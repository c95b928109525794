// Micro-kernels of prepacked int8: four products at a time. Included by ISA files of CPUs that have the instruction.
//
// It multiplies unsigned with signed bytes, so A has 128 added (PackKind::i8), and 128 times the sum of B is taken off
// again. Sums are exact, as those of int16 are.
#pragma once

#include "backends/host/isa_micro.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

template <int MR, int NV>
void micro_i8(std::int64_t words, const void* a_panel, const void* b_panel, const std::int64_t* b_panels, void* acc,
              std::int64_t ld, unsigned flags, const float*, const float*) {
  const std::int32_t* a = static_cast<const std::int32_t*>(a_panel);
  const Columns<std::int32_t, NV> b(b_panel, b_panels);
  std::int32_t* c = static_cast<std::int32_t*>(acc);
  const __m512i offset = _mm512_set1_epi8(static_cast<char>(0x80));
  VecI sum[MR][NV], excess[NV];
#pragma GCC unroll 8
  for (int j = 0; j < NV; ++j) excess[j] = zero_i();
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) sum[i][j] = (flags & kAccumulate) ? load_i(c + i * ld + j * kLanes) : zero_i();
  for (std::int64_t k = 0; k < words; ++k) {
    VecI bv[NV];
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) {
      bv[j] = load_i(b.at(j, k));
      excess[j] = _mm512_dpbusd_epi32(excess[j], offset, bv[j]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i) {
      const VecI av = broadcast_i(a[i]);
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) sum[i][j] = _mm512_dpbusd_epi32(sum[i][j], av, bv[j]);
    }
    a += MR;
  }
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) store_i(c + i * ld + j * kLanes, _mm512_sub_epi32(sum[i][j], excess[j]));
}

template <int MR, int NV, MicroFn RUN>
constexpr MicroKernel tile() {
  return {MR, NV * kLanes, RUN};
}
// Sums of 14 rows, and what is taken off again, are more than there are registers.
constexpr MicroKernel kI8[] = {tile<8, 2, &micro_i8<8, 2>>(),   tile<1, 2, &micro_i8<1, 2>>(),
                               tile<2, 2, &micro_i8<2, 2>>(),   tile<4, 2, &micro_i8<4, 2>>(),
                               tile<6, 2, &micro_i8<6, 2>>(),   tile<10, 2, &micro_i8<10, 2>>(),
                               tile<12, 2, &micro_i8<12, 2>>(), tile<8, 3, &micro_i8<8, 3>>()};

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
