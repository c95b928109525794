#define CKGEN_HOST_LEVEL 5
#include "backends/host/isa_epilogue.hpp"
#include "backends/host/isa_fmha_backward.hpp"
#include "backends/host/isa_fmha_rows.hpp"
#include "backends/host/isa_in_place.hpp"
#include "backends/host/isa_micro_int8.hpp"
#include "backends/host/isa_small.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

static_assert(are(kF32, x86_64_v4_bf16_f32) && are(kI8, x86_64_v4_bf16_int8) && are(kBf16, x86_64_v4_bf16_bf16));

constinit const IsaTable kIsaV4Bf16 = {{menu_of(kF32), {nullptr, 0}, menu_of(kBf16), menu_of(kI8)},
                                       &pack,
                                       &finish,
                                       &fuse,
                                       &encode,
                                       &round_to,
                                       &small_kernels,
                                       &small_e8m0,
                                       &small_most,
                                       &in_place_kernel,
                                       {with_backward<WordF32>(with_rows(fmha_kernels<WordF32>())),
                                        {},
                                        with_backward<WordBf16>(with_narrow_rows(fmha_kernels<WordBf16>()))}};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
