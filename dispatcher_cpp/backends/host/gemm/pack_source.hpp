// An operand as the packing code reads it: where it is, how it is laid out, and what its narrow codes mean.
#pragma once

#include "backends/host/isa/table.hpp"
#include "ckgen/gemm_types.hpp"

#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

/// Where element `at` of a tensor is.
inline const unsigned char* element(const void* base, DType type, std::int64_t at) noexcept {
  return static_cast<const unsigned char*>(base) + bytes_of(type, at);
}

/// `base` is the operand's first element; `ld` of a preshuffled one is K.
PackSource make_pack_source(PackKind kind, DType type, const void* base, std::int64_t ld, bool k_contiguous,
                            bool preshuffled) noexcept;

/// Columns [n0, n0 + count) of B x k [k0, k0 + length) as panels of kPanelColumns columns, `stride` words from one to
/// the next: `width` columns, of which those beyond `count` are zero. `width` is a multiple of kPanelColumns.
void pack_columns(const IsaTable& isa, const PackSource& b, std::int64_t n0, std::int64_t count, std::int64_t width,
                  std::int64_t k0, std::int64_t length, std::int64_t stride, void* panels) noexcept;

/// Words of a row in a panel of A of so many words of K.
constexpr std::int64_t panel_words(const MicroKernel& micro, std::int64_t words) noexcept {
  return (words + micro.grain - 1) / micro.grain * micro.grain;
}

/// Rows [m0, m0 + count) of A x k [k0, k0 + length) as the kernel's panel; rows beyond `count` are zero.
void pack_panel(const IsaTable& isa, const MicroKernel& micro, const PackSource& a, std::int64_t m0, std::int64_t count,
                std::int64_t k0, std::int64_t length, void* panel) noexcept;

/// A of entry `batch` of a product.
PackSource a_source(PackKind kind, const GemmTraits& traits, const GemmArgs& args, std::int64_t batch) noexcept;
/// B of entry `batch` of a product, as its layout or GemmArgs::b_prepacked says.
PackSource b_source(PackKind kind, const GemmTraits& traits, const GemmArgs& args, std::int64_t batch) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
