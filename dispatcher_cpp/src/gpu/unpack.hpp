// Code objects as HIP reads them, from the bytes that libraries hold.
#pragma once

#include <memory>

#include <ckgen/device_code.hpp>

namespace ckgen::inline v1::detail {

/// Whether this build can unpack at all: it needs zlib.
bool unpacks() noexcept;

/// The ELF file in `object`. Refused: bytes that do not unpack to exactly `unpacked_size`, and what is no ELF file of
/// an AMD GPU (HIP is given no size and believes the header). Allocates.
Status unpack(const CodeObject& object, std::unique_ptr<unsigned char[]>& out) noexcept;

}  // namespace ckgen::inline v1::detail
