#pragma once

#include <cstdint>
#include <string>

namespace ckgen::inline v1::detail {

/// "K = 2050 is not a multiple of 128 (rule gemm.blockscale.k-group)"; empty for rule 0.
std::string reason_text(std::uint16_t rule, std::int64_t measured, std::int64_t limit);

}  // namespace ckgen::inline v1::detail
