// H of a MoE layer in A's type, with scales of A's scheme.
//
//   rowwise     scale of a row = its largest magnitude / the type's largest value
//   per_tensor  one scale of all rows in that way
//   blockscale  one per row and scale_block.k columns in that way
//   mx          e8m0, per row and 32 columns: 2^(floor(log2(largest magnitude)) - the type's largest exponent), as the
//               OCP MX specification says; the least scale where all are zero
// A scale other than of mx is 1 where all are zero. An element becomes element / scale, rounded to nearest even, at
// most the type's largest value.
#pragma once

#include "backends/host/gemm/driver.hpp"

#include <cstddef>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

/// Rows of H: `values` in traits.c, `columns` long without gaps.
struct QuantizeTask {
  const IsaTable* isa;
  const GemmTraits* traits;
  std::int64_t rows, columns;
  const unsigned char* values;
  unsigned char* codes;  // traits.a, without gaps
  void* scales;          // as GemmArgs::a_scale has them, row-major; those of mx shuffled where `shuffled`
  bool shuffled;
  int threads;
};

/// Whether H of these traits has to be brought to another type, or to have scales.
bool quantizes(const GemmTraits& traits) noexcept;
/// Bytes of the scales.
std::size_t scale_bytes(const GemmTraits& traits, std::int64_t rows, std::int64_t columns) noexcept;
/// Bytes of scratch for one thread.
std::size_t quantize_slot_bytes(std::int64_t columns) noexcept;

/// `slots`: threads times quantize_slot_bytes(), aligned to 4 bytes; `largest`: a float per row, of per_tensor only.
void quantize(const QuantizeTask& task, unsigned char* slots, float* largest) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
