// Few rows of A against a B that stays where it is, in the order of additions of packed operands: the bytes of a row do
// not tell how many others there were.
#pragma once

#include "backends/host/gemm/driver.hpp"

#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

/// The blocking of m rows whose geometry reads B in place. `blocking` itself for: more than kInPlaceRows rows, B
/// row-major, preshuffled or of two tensors, tile instructions, which round their own way, types or levels that have no
/// kernel (isa/in_place.hpp).
Blocking in_place_blocking(const GemmTraits& traits, const Blocking& blocking, std::int64_t m) noexcept;

/// Whether that is faster than the kernels of gemm/small_m.hpp, whose order of additions is their own.
bool is_faster_in_place(const GemmTraits& traits, const Blocking& blocking, std::int64_t m) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
