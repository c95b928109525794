// The library's own version; `version()` answers for the binary, the macros for the headers.
#pragma once

#define CKGEN_VERSION_MAJOR 0
#define CKGEN_VERSION_MINOR 1
#define CKGEN_VERSION_PATCH 0
#define CKGEN_VERSION_TEXT "0.1.0"

#include <ckgen/export.h>

namespace ckgen {
inline namespace v1 {

/// The version of the library that is linked, e.g. "0.1.0".
CKGEN_API const char* version() noexcept;

}  // namespace v1
}  // namespace ckgen
