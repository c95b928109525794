// Attention's backward on the CPU, entry backward of op fmha: formulas, sizes and arguments are those of
// ckgen/fmha.hpp.
//
// Three steps of one launch. dot_do_o: delta of each row, dQ of rows that see nothing, and dsink. dq_dk_dv: a task is
// n0 keys of one KV head against the rows of all its query heads, m0 at a time; it keeps dK and dV, and adds to dQ when
// the key blocks before it have, in their order. The last one writes dQ in its type: nothing is converted behind it.
// dbias: tiles of the bias are summed over the heads, sequences and rows that share them, and so computed once more.
// Only tiles that a row can see are computed. Products are fp32 FMA; of bf16 at x86_64_v4_bf16 they are bf16 dot
// products into fp32, with P and its gradient rounded to bf16. Every sum has one order: results are the same bits
// whatever the number of threads. They depend on m0, n0 and the ISA.
#pragma once

#include "ckgen/instance.hpp"

#include <cstddef>

namespace ckgen {
inline namespace v1 {
namespace host {

/// Bytes of workspace for any lengths within the shape: delta of each row; sums of dQ where it is not fp32 and there
/// are several key blocks; a few tiles per thread. 0 where the instance cannot run it or there is nothing to do.
std::size_t fmha_backward_workspace(const InstanceDesc& instance, const Problem& problem) noexcept;

/// As fmha(), of an instance whose signature goes backward.
Status fmha_backward(const Launch& launch) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
