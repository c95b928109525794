// Code objects as GPU runtimes read them, from the bytes that libraries hold.
#pragma once

#include <memory>

#include <ckgen/device_code.hpp>

namespace ckgen::inline v1::detail {

/// Whether this build can unpack at all: it needs zlib.
bool unpacks() noexcept;

/// The ELF file in `object`. Refused: bytes that do not unpack to exactly `unpacked_size`, and what is no ELF file of
/// a GPU of its arch's vendor (runtimes are given no size and believe the header). Allocates.
Status unpack(const CodeObject& object, std::unique_ptr<unsigned char[]>& out) noexcept;

}  // namespace ckgen::inline v1::detail
