#define CKGEN_HOST_LEVEL 3
#include "backends/host/isa/epilogue.hpp"
#include "backends/host/isa/fmha_backward.hpp"
#include "backends/host/isa/fmha_rows.hpp"
#include "backends/host/isa/in_place.hpp"
#include "backends/host/isa/micro_int8.hpp"
#include "backends/host/isa/small.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

static_assert(are(kF32, x86_64_v3_f32) && are(kI16, x86_64_v3_int8));

static constexpr FmhaKernels kFmhaF32 = with_backward<WordF32>(with_rows(fmha_kernels<WordF32>()));

constinit const IsaTable kIsaV3 = {{menu_of(kF32), menu_of(kI16), {nullptr, 0}, menu_of(kI8)},
                                   &pack,
                                   &finish,
                                   &fuse,
                                   &encode,
                                   &round_to,
                                   &small_kernels,
                                   &small_e8m0,
                                   &small_most,
                                   &in_place_kernel,
                                   {&kFmhaF32},
                                   nullptr,
                                   16};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
