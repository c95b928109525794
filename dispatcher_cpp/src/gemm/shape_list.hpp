// Which of the peer's untuned lists a signature's missed shapes belong to, and what a line of it says.
#pragma once

#include <ckgen/arch_data.hpp>
#include <ckgen/signature.hpp>

#include "src/operation/shape_list.hpp"
#include "src/operation/verdict.hpp"

namespace ckgen::inline v1::detail {

/// Of op gemm.
ShapeList shape_list(const Signature& signature, Arch arch, std::uint32_t cu_num, const Sizes& sizes);

}  // namespace ckgen::inline v1::detail
