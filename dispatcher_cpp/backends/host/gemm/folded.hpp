// Scales of mx put into values: they are powers of two, so that values of 8 and 4 bits times them are exact in bf16,
// and tiles add up all of K at once.
#pragma once

#include "backends/host/gemm/driver.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// Whether there are such kernels, if the scales allow it.
bool can_fold(const GemmTraits& traits, const Blocking& blocking) noexcept;
/// Whether all scales of the product, or of its batch, are so near to 1 that no product and no sum of products leaves
/// fp32's normal numbers. Scales that are shuffled are not looked at: their padding may be anything.
bool can_fold(const GemmTraits& traits, const Blocking& blocking, const GemmArgs& args) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
