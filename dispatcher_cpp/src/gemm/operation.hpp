#pragma once

#include "src/operation/operation.hpp"

namespace ckgen::inline v1::detail {

extern const Operation gemm_operation;

}  // namespace ckgen::inline v1::detail
