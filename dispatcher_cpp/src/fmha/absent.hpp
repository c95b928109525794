// What to say where no instance has an attention problem's signature.
#pragma once

#include <string>

#include "src/operation/request.hpp"

namespace ckgen::inline v1::detail {

/// As in "fmha_bf16_masked_softcap on gfx942: the nearest, fmha_bf16_lse, is without masked, softcap and with lse"; the
/// nearest has the same types, runs on the device, and differs in the fewest traits.
std::string fmha_absent(const Request& request);

}  // namespace ckgen::inline v1::detail
