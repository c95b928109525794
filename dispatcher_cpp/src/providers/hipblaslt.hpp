// AMD's hipBLASLt: libhipblaslt.so.1 or .0, or the file that CKGEN_HIPBLASLT names when it is first asked.
#pragma once

#include "src/providers/provider.hpp"

namespace ckgen::inline v1::detail {

inline constexpr const char* kHipblasLtName = "hipblaslt";  // as tables have it

/// Opens it.
const Provider& hipblaslt() noexcept;

}  // namespace ckgen::inline v1::detail
