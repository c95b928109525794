// sort_tokens of ckgen/moe.hpp as a kernel of one workgroup: the same order, the same padding.
//
// Every wave has a part of the rows token * top_k + slot and its own counters of the experts in LDS, so that nothing
// depends on the order in which waves run. An id that is no expert is left out. C++20, for either half of a HIP
// compile; nothing here launches a kernel.
#pragma once

#include <cstdint>

#include <hip/hip_runtime.h>

#include "../device/moe_stage_args.hpp"

namespace ckgen::hip {

using device::kMostSortedExperts;
using device::kSortLanes;
using device::SortArgs;

inline constexpr int kSortWaves = kSortLanes / 64;

/// `rows`: of each wave and expert, then where the wave's next row of the expert goes. `before`: blocks up to and with
/// the expert.
struct SortSpace {
  std::int32_t rows[kSortWaves][kMostSortedExperts];
  std::int32_t before[kMostSortedExperts];
};

__device__ inline bool is_sorted_expert(const SortArgs& args, std::int32_t id) {
  return id >= 0 && id < args.experts;
}

__device__ inline void pad_row(const SortArgs& args, std::int32_t row) {
  args.out.token_ids[row] =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(args.top_k) << 24 | static_cast<std::uint32_t>(args.tokens));
  args.out.weights[row] = 0.0F;
}

/// Lanes of the wave among `active` with the same `id`, which is below kMostSortedExperts.
__device__ inline std::uint64_t lanes_alike(std::int32_t id, std::uint64_t active) {
  std::uint64_t alike = active;
  for (std::int32_t bit = 1; bit < kMostSortedExperts; bit *= 2) {
    const std::uint64_t set = __builtin_amdgcn_ballot_w64((id & bit) != 0);
    alike &= (id & bit) != 0 ? set : ~set;
  }
  return alike;
}

/// Sums of `space.before` up to each expert, by all lanes.
__device__ inline void sum_blocks(SortSpace& space, std::int32_t experts) {
  const auto lane = static_cast<std::int32_t>(threadIdx.x);
  for (std::int32_t away = 1; away < experts; away *= 2) {
    std::int32_t sums[kMostSortedExperts / kSortLanes];
    for (int i = 0; i < kMostSortedExperts / kSortLanes; ++i) {
      const std::int32_t e = lane + i * kSortLanes;
      sums[i] = e < experts ? space.before[e] + (e >= away ? space.before[e - away] : 0) : 0;
    }
    __syncthreads();
    for (int i = 0; i < kMostSortedExperts / kSortLanes; ++i) {
      const std::int32_t e = lane + i * kSortLanes;
      if (e < experts) space.before[e] = sums[i];
    }
    __syncthreads();
  }
}

__device__ inline void moe_sort(const SortArgs& args) {
  __shared__ SortSpace space;
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  const std::int32_t wave = __builtin_amdgcn_readfirstlane(thread / 64), lane = thread % 64;
  const std::int32_t rows = args.tokens * args.top_k;
  const std::int32_t part = ((rows + kSortWaves - 1) / kSortWaves + 63) / 64 * 64;
  const std::int32_t begin = wave * part, end = begin + part < rows ? begin + part : rows;

  for (std::int32_t e = lane; e < args.experts; e += 64) space.rows[wave][e] = 0;
  __syncthreads();
  for (std::int32_t row = begin + lane; row < end; row += 64) {
    const std::int32_t id = args.topk_ids[row];
    if (is_sorted_expert(args, id))
      __hip_atomic_fetch_add(&space.rows[wave][id], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  }
  __syncthreads();
  for (std::int32_t e = thread; e < args.experts; e += kSortLanes) {
    std::int32_t all = 0;
    for (int w = 0; w < kSortWaves; ++w) all += space.rows[w][e];
    space.before[e] = (all + args.block_m - 1) / args.block_m;
  }
  __syncthreads();
  sum_blocks(space, args.experts);
  for (std::int32_t e = thread; e < args.experts; e += kSortLanes) {
    const std::int32_t first = e == 0 ? 0 : space.before[e - 1];
    for (std::int32_t b = first; b < space.before[e]; ++b) args.out.expert_ids[b] = e;
    std::int32_t next = first * args.block_m;
    for (int w = 0; w < kSortWaves; ++w) {
      const std::int32_t count = space.rows[w][e];
      space.rows[w][e] = next;
      next += count;
    }
    for (; next < space.before[e] * args.block_m; ++next) pad_row(args, next);
  }
  const std::int32_t blocks = space.before[args.experts - 1];
  for (std::int32_t i = blocks * args.block_m + thread; i < args.capacity; i += kSortLanes) pad_row(args, i);
  for (std::int32_t b = blocks + thread; b < args.capacity / args.block_m; b += kSortLanes) args.out.expert_ids[b] = -1;
  if (thread == 0) {
    args.out.valid[0] = blocks * args.block_m;
    args.out.valid[1] = args.tokens;
  }
  __syncthreads();
  for (std::int32_t first = begin; first < end; first += 64) {
    const std::int32_t row = first + lane;
    const std::int32_t id = row < end ? args.topk_ids[row] : -1;
    const bool active = is_sorted_expert(args, id);
    const std::uint64_t alike = lanes_alike(id, __builtin_amdgcn_ballot_w64(active));
    if (active) {
      const std::uint64_t lower = alike & ((std::uint64_t{1} << lane) - 1);
      const std::int32_t to = space.rows[wave][id] + __builtin_popcountll(lower);
      args.out.token_ids[to] = static_cast<std::int32_t>(static_cast<std::uint32_t>(row % args.top_k) << 24 |
                                                         static_cast<std::uint32_t>(row / args.top_k));
      args.out.weights[to] = args.topk_weights[row];
      if (alike >> lane == 1) space.rows[wave][id] = to + 1;  // the last of its kind, behind all their reads
    }
  }
}

}  // namespace ckgen::hip

/// Defines the kernel as `symbol`. It takes SortArgs; one workgroup of kSortLanes.
#define CKGEN_MOE_SORT_KERNEL(symbol)                                                                      \
  extern "C" __global__ void __launch_bounds__(ckgen::hip::kSortLanes) symbol(ckgen::hip::SortArgs args) { \
    ckgen::hip::moe_sort(args);                                                                            \
  }
