// Q, K and V in the order of the kernels of fmha/step.hpp.
#pragma once

#include "backends/host/fmha/geometry.hpp"
#include "backends/host/fmha/sequence.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// Columns [first, first + count), at most n0, of a KV head: K, then V at v_offset. With bf16 words of pages `first` is
/// even.
void pack_fmha_tile(const FmhaGeometry& g, const FmhaArgs& args, const FmhaSequence& sequence, std::int64_t kv_head,
                    std::int64_t first, std::int64_t count, unsigned char* out) noexcept;

/// A row of a tensor, `hdim` elements from `in` on, as words; zeros up to `words` of them.
void pack_fmha_row(const IsaTable& isa, PackKind kind, DType type, const unsigned char* in, std::int64_t hdim,
                   std::int64_t words, std::uint32_t* out) noexcept;

/// Rows [first, first + count) of a KV head's group, count at most kFmhaRows, as one group of rows. `row` has room for
/// one.
void pack_fmha_rows(const FmhaGeometry& g, const FmhaArgs& args, const FmhaSequence& sequence, std::int64_t kv_head,
                    std::int64_t first, std::int64_t count, void* row, void* out) noexcept;

/// Where the rows of K and V of columns [first, first + count) are.
void find_fmha_rows(const FmhaGeometry& g, const FmhaArgs& args, const FmhaSequence& sequence, std::int64_t kv_head,
                    std::int64_t first, std::int64_t count, const unsigned char** k, const unsigned char** v) noexcept;

/// Elements [at, at + count) of a tensor as fp32.
void decode_fmha(const FmhaGeometry& g, DType type, const void* base, std::int64_t at, std::int64_t count,
                 float* out) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
