// Rows of K and V copied out of pages, where nothing finds them by strides.
#pragma once

#include "backends/host/fmha/geometry.hpp"
#include "backends/host/fmha/sequence.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// Columns [first, first + count) of a KV head in pages of either layout as rows of hdim_q, or hdim_v, elements, one
/// after the other.
void gather_fmha_keys(const FmhaGeometry& g, const FmhaArgs& args, const FmhaSequence& sequence, std::int64_t kv_head,
                      std::int64_t first, std::int64_t count, unsigned char* out) noexcept;
void gather_fmha_values(const FmhaGeometry& g, const FmhaArgs& args, const FmhaSequence& sequence, std::int64_t kv_head,
                        std::int64_t first, std::int64_t count, unsigned char* out) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
