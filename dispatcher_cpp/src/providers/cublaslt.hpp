// NVIDIA's cuBLASLt: libcublasLt.so.13 or .12, or the file that CKGEN_CUBLASLT names when it is first asked.
#pragma once

#include "src/providers/provider.hpp"

namespace ckgen::inline v1::detail {

inline constexpr const char* kCublasLtName = "cublaslt";  // as tables have it

/// Opens it.
const Provider& cublaslt() noexcept;

}  // namespace ckgen::inline v1::detail
