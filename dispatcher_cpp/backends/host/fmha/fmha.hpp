// Attention forward on the CPU, of op fmha: formulas, sizes and arguments are those of ckgen/fmha.hpp.
//
// Flash tiling: n0 columns at a time with a running maximum and sum in fp32, m0 rows per task; without splits, fp32 at
// x86_64_v4 takes as many times n0 columns as 256 hold, tiles of AMX as 512 hold, and both up to 128 rows. The query
// heads of a KV head are rows of the same tasks, position by position, and K and V are unpacked once for all of a KV
// head's rows, by the threads that use them. Up to 32 rows of a KV head read K and V where they are, pages included, as
// many times n0 columns at a time as 256 hold; out of pages in vectors these are copied first. Only tiles that a row of
// a task can see are read. Products are fp32 FMA; of bf16 and 8-bit operands at x86_64_v4_bf16 they are bf16 dot
// products into fp32, with weights rounded to bf16. Exponentials are within 2 ulp. Results depend on n0, on the splits
// and on the ISA; not on the number of threads nor, without splits, on m0.
#pragma once

#include "ckgen/instance.hpp"

#include <cstddef>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

/// Bytes of workspace for any lengths within the shape; 0 where the instance cannot run it or there is nothing to do.
/// fmha() needs them aligned to 16 bytes; 64 is faster. k_batch: splits of KV; 0 is 1.
std::size_t fmha_workspace(const InstanceDesc& instance, const Problem& problem, std::uint32_t k_batch) noexcept;

/// An instance of the CPU's own (its ISA and threads), or a GPU instance's twin (the best ISA, all threads); m0 and n0
/// are FmhaConfig's. unsupported: types, options, ISA, tile; invalid_argument: arguments that are missing or do not fit
/// the shape. Nothing is written then. Thread-safe; nothing is allocated.
Status fmha(const Launch& launch) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
