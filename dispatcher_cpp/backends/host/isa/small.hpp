// Which kernel of gemm/small_m.hpp is for which types, and their scales; compiled once per ISA. Included by the files
// of levels only.
#pragma once

#if CKGEN_HOST_LEVEL >= 5
#include "backends/host/isa/small_dot.hpp"
#else
#include "backends/host/isa/small_fma.hpp"
#endif
#include "backends/host/isa/small_int8.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

float small_e8m0(const unsigned char* __restrict codes, std::int64_t n, float* __restrict out) {
  std::uint32_t most = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t code = codes[i], nan = code == 0xff ? 0x00400000U : 0;
    std::uint32_t value = code << 23 | nan;
    value = value > 0x00400000U ? value : 0x00400000U;  // code 0 is 2^-127
    most = value > most ? value : most;
    __builtin_memcpy(out + i, &value, 4);
  }
  return bits_to_float(most);
}

float small_most(const float* values, std::int64_t n) {
  std::uint32_t most = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t size = float_to_bits(values[i]) & 0x7fffffffU;  // NaN is beyond infinity
    most = size > most ? size : most;
  }
  return bits_to_float(most);
}

const SmallKernels* small_kernels(DType a, DType b, bool dots) {
  if (a == DType::int8) return b == DType::int8 ? &kSmallInt8 : nullptr;
#if CKGEN_HOST_LEVEL >= 5
  if (dots && a != DType::fp32 && a != DType::fp16) {
    switch (b) {
      case DType::bf16: return &kSmallDot<Bf16ToBf16>;
      case DType::fp4:
      case DType::int4: return &kSmallDot<NibbleToBf16, true>;
      case DType::fp8_ocp:
      case DType::bf8_ocp: return &kSmallDot<Fp8ToBf16<DType::fp8_ocp>, true>;
      case DType::fp8_fnuz:
      case DType::bf8_fnuz: return &kSmallDot<Fp8ToBf16<DType::fp8_fnuz>>;
      default: break;
    }
  }
  return kIsaV4.small(a, b, false);
#else
  (void)dots;
  switch (b) {
    case DType::fp32: return &kSmallFma<Fp32ToF32>;
    case DType::fp16: return &kSmallFma<Fp16ToF32>;
    case DType::bf16: return &kSmallFma<Bf16ToF32>;
    case DType::fp4:
    case DType::int4: return &kSmallFma<NibbleToF32>;
    case DType::fp8_ocp:
    case DType::fp8_fnuz: return &kSmallFma<Fp8ToF32>;
    case DType::bf8_ocp: return &kSmallFma<Bf8ToF32>;
    case DType::bf8_fnuz: return &kSmallFma<CodeToF32>;
    default: return nullptr;
  }
#endif
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
