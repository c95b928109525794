#define CKGEN_HOST_LEVEL 5
#include "backends/host/isa/epilogue.hpp"
#include "backends/host/isa/fmha_backward.hpp"
#include "backends/host/isa/fmha_rows.hpp"
#include "backends/host/isa/in_place.hpp"
#include "backends/host/isa/micro_int8.hpp"
#include "backends/host/isa/small.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

static_assert(begin_with(x86_64_v4_bf16_f32, x86_64_v4_f32, 0) && are(kI8, x86_64_v4_bf16_int8) &&
              are(kBf16, x86_64_v4_bf16_bf16));

static constexpr FmhaKernels kFmhaBf16 = with_backward<WordBf16>(with_narrow_rows(fmha_kernels<WordBf16>()));

constinit const IsaTable kIsaV4Bf16 = {{menu_of(kFp32OfV4.micro), {nullptr, 0}, menu_of(kBf16), menu_of(kI8)},
                                       &pack,
                                       &finish,
                                       &fuse,
                                       &encode,
                                       &round_to,
                                       &small_kernels,
                                       &small_e8m0,
                                       &small_most,
                                       &in_place_kernel,
                                       {&kFp32OfV4.fmha, nullptr, &kFmhaBf16}};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
