// Signatures of their keys.
#pragma once

#include <cstdint>

#include <ckgen/signature.hpp>

namespace ckgen::inline v1::detail {

/// The inverse of Signature::pack(). Fields outside their enum make an illegal signature, which no unit has.
Signature unpack(std::uint64_t key) noexcept;

}  // namespace ckgen::inline v1::detail
