// pa: attention of one row of Q in each sequence over pages of 16 keys, by block tables; bf16 or fp16. The heads of Q
// that share a KV head are one workgroup's.
//
// Which problems an instance takes is in FmhaConfig: every sequence has a key, and what pages hold behind the last one
// is multiplied by 0.
#pragma once

#include <cstdint>

#include <ckgen/fmha.hpp>

#include "backends/asm/fmha_limits.hpp"
#include "backends/asm/shipped.hpp"

namespace ckgen::asm_host {

/// One shipped kernel. `type` is that of all operands.
struct PagedKernel {
  const char* instance;
  const char* symbol;
  std::uint32_t block;
  DType type;
};

/// Strides in bytes: of a row of Q, of a page and of a head in it, the same for K and V. O has no gaps.
struct PagedArguments {
  Slot<void*> o;
  Slot<const void*> q, k, v;
  Slot<const std::int32_t*> block_table, lengths;
  Slot<const float*> k_scales, v_scales;  // of 8-bit caches
  Slot<float> scale;                      // of scores in base 2
  Slot<std::uint32_t> pages_of_a_sequence;
  Slot<std::uint32_t> heads_k;
  Slot<std::uint32_t> q_row, page, head;
  Slot<std::uint32_t> group;
  Slot<const std::int32_t*> q_starts;  // of kernels of several rows
};
static_assert(sizeof(PagedArguments) == 16 * 16);

/// Refuses caches that are not laid out alike or that 31 bits do not reach: page numbers and strides are multiplied in
/// 24 bits, and a buffer resource has 2 GiB.
inline Status check_cache(const PagedKernel& kernel, const FmhaShape& x, const FmhaArgs& a) noexcept {
  constexpr std::int64_t kReached = std::int64_t{1} << 31, kFactor = std::int64_t{1} << 24;
  const std::int64_t bytes = bits(kernel.type) / 8;
  const std::int64_t page = a.k_strides.batch * bytes, head = a.k_strides.head * bytes;
  if (a.v_strides.batch != a.k_strides.batch || (x.heads_k > 1 && a.v_strides.head != a.k_strides.head))
    return Status::error(StatusCode::unsupported, "%s: pages or heads of V are not as far apart as those of K",
                         kernel.instance);
  if (page < 0 || head < 0 || page % kRowBytes != 0 || head % kRowBytes != 0)
    return Status::error(StatusCode::unsupported, "%s: strides of pages and heads must be whole pieces of %d bytes",
                         kernel.instance, static_cast<int>(kRowBytes));
  if (x.pages < 1 || x.pages > kFactor || page >= kFactor || x.pages * page > kReached)
    return Status::error(StatusCode::unsupported, "%s: %lld pages, %lld bytes apart: 2 GiB of K and of V are reached",
                         kernel.instance, static_cast<long long>(x.pages), static_cast<long long>(page));
  for (const void* cache : {a.k, a.v}) {
    if (cache == nullptr) return Status::error(StatusCode::invalid_argument, "%s: K or V is null", kernel.instance);
    if (reinterpret_cast<std::uintptr_t>(cache) % kRowBytes != 0)
      return Status::error(StatusCode::unsupported, "%s: K or V is not aligned to %d bytes", kernel.instance,
                           static_cast<int>(kRowBytes));
  }
  return Status::success();
}

/// Refuses what the kernel has no argument for.
inline Status check_pa(const PagedKernel& kernel, const Launch& launch) noexcept {
  const FmhaShape& x = launch.problem->fmha();
  const FmhaArgs& a = *launch.fmha;
  const char* name = kernel.instance;
  if (const Status status = check_fmha_call(name, launch); !status.ok()) return status;
  if (a.block_table == nullptr || a.seqlen_k == nullptr)
    return Status::error(StatusCode::invalid_argument, "%s: block_table or seqlen_k is null", name);
  if (a.block_table_stride < 0 || a.block_table_stride * 4 > kReach / x.batch)
    return Status::error(StatusCode::unsupported, "%s: %lld block numbers of each of %lld sequences are beyond 32 bits",
                         name, static_cast<long long>(a.block_table_stride), static_cast<long long>(x.batch));
  if ((x.heads_q > 1 && (a.q_strides.head != x.hdim_q || a.o_strides.head != x.hdim_v)) ||
      (x.batch > 1 && a.o_strides.batch != std::int64_t{x.heads_q} * x.hdim_v))
    return Status::error(StatusCode::unsupported, "%s: heads of Q, and heads and rows of O, must have no gaps", name);
  const FmhaTensor tensors[] = {{"Q", a.q, a.q_strides, 1, x.hdim_q, x.heads_q, x.batch, kernel.type},
                                {"O", a.o, a.o_strides, 1, x.hdim_v, x.heads_q, x.batch, kernel.type}};
  for (const FmhaTensor& one : tensors) {
    if (const Status status = check_fmha_tensor(name, one); !status.ok()) return status;
  }
  return check_cache(kernel, x, a);
}

/// PrepareFn's work for one kernel.
inline Status prepare_pa(const PagedKernel& kernel, const Launch& launch, KernelCall& out) noexcept {
  if (const Status status = check_pa(kernel, launch); !status.ok()) return status;
  const FmhaShape& x = launch.problem->fmha();
  const FmhaArgs& a = *launch.fmha;
  constexpr double kLog2E = 1.4426950408889634;
  const std::int64_t bytes = bits(kernel.type) / 8;
  PagedArguments to;
  to.o.value = a.o;
  to.q.value = a.q;
  to.k.value = a.k;
  to.v.value = a.v;
  to.block_table.value = a.block_table;
  to.lengths.value = a.seqlen_k;
  to.scale.value = static_cast<float>(static_cast<double>(a.scale) * kLog2E);
  to.pages_of_a_sequence.value = narrow(a.block_table_stride);
  to.heads_k.value = narrow(x.heads_k);
  to.q_row.value = narrow(bytes * a.q_strides.batch);
  to.page.value = narrow(bytes * a.k_strides.batch);
  to.head.value = narrow(bytes * a.k_strides.head);
  to.group.value = narrow(x.heads_q / x.heads_k);
  const auto heads = static_cast<std::uint64_t>(x.heads_k), batches = static_cast<std::uint64_t>(x.batch);
  if (batches > kMostGrid)
    return Status::error(StatusCode::unsupported, "%s: %llu workgroups along an axis that takes %llu", kernel.instance,
                         static_cast<unsigned long long>(batches), static_cast<unsigned long long>(kMostGrid));
  return device::fill(out, kernel.symbol, {heads, batches, 1}, {kernel.block, 1, 1}, 0, to);
}

}  // namespace ckgen::asm_host
