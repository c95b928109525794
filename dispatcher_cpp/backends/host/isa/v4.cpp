#define CKGEN_HOST_LEVEL 4
#include "backends/host/isa/epilogue.hpp"
#include "backends/host/isa/fmha_backward.hpp"
#include "backends/host/isa/fmha_rows.hpp"
#include "backends/host/isa/in_place.hpp"
#include "backends/host/isa/micro.hpp"
#include "backends/host/isa/small.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

static_assert(are(kF32, x86_64_v4_f32) && are(kI16, x86_64_v4_int8));

static consteval Fp32Kernels fp32_kernels() {
  Fp32Kernels made{{}, with_backward<WordF32>(with_rows(fmha_kernels<WordF32>()))};
  for (int i = 0; i < menu_of(kF32).count; ++i) made.micro[i] = kF32[i];
  return made;
}

constinit const Fp32Kernels kFp32OfV4 = fp32_kernels();

constinit const IsaTable kIsaV4 = {{menu_of(kFp32OfV4.micro), menu_of(kI16), {nullptr, 0}},
                                   &pack,
                                   &finish,
                                   &fuse,
                                   &encode,
                                   &round_to,
                                   &small_kernels,
                                   &small_e8m0,
                                   &small_most,
                                   &in_place_kernel,
                                   {&kFp32OfV4.fmha}};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
