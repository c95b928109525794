// How the kernels of backends/hip/moe_sort.hpp, quantize.hpp and add_slots.hpp are launched: what the MoeStages of a
// part's host unit call. C++17, no HIP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <ckgen/device_code.hpp>
#include <ckgen/dtype.hpp>

#include "moe_stage_args.hpp"

#include "kernel_call.hpp"

namespace ckgen::device {

/// MoeStages::sort of a kernel named `symbol`: one workgroup.
inline Status prepare_sort(const char* symbol, const Launch& launch, KernelCall& out) noexcept {
  const MoeArgs& x = *launch.moe;
  const Routing routing = launch.problem->routing();
  const std::int64_t block_m = launch.problem->block_m(), capacity = sorted_capacity(x.tokens, routing, block_m);
  if (routing.experts > kMostSortedExperts)
    return Status::error(StatusCode::unsupported, "%u experts are more than the %d that are sorted on the device",
                         static_cast<unsigned>(routing.experts), static_cast<int>(kMostSortedExperts));
  if (capacity < 0 || x.tokens * routing.top_k > std::numeric_limits<std::int32_t>::max())
    return Status::error(StatusCode::unsupported, "%lld tokens for %u experts each are beyond 32 bits",
                         static_cast<long long>(x.tokens), static_cast<unsigned>(routing.top_k));
  const SortArgs args{x.topk_ids,
                      x.topk_weights,
                      x.sorted,
                      static_cast<std::int32_t>(x.tokens),
                      routing.experts,
                      routing.top_k,
                      static_cast<std::int32_t>(block_m),
                      static_cast<std::int32_t>(capacity)};
  return fill(out, symbol, Extent{1, 1, 1}, Extent{kSortLanes, 1, 1}, 0, args);
}

/// MoeStages::quantize of a kernel named `symbol` that gives every `part` elements of a row a scale, 0: the whole row.
/// A scale per tensor is that of one row which is all of it.
inline Status prepare_quantize(const char* symbol, std::int32_t part, const Quantize& work, KernelCall& out) noexcept {
  const bool whole = work.problem->signature().quant == Quant::per_tensor;
  const std::int64_t rows = whole ? 1 : work.rows, columns = whole ? work.rows * work.columns : work.columns;
  if (columns % kQuantizeChunk != 0 || (part != 0 && columns % part != 0))
    return Status::error(StatusCode::unsupported, "rows of %lld elements cannot be quantised %d at once",
                         static_cast<long long>(columns), part == 0 ? kQuantizeChunk : static_cast<int>(part));
  const QuantizeArgs args{work.from, work.to, work.scales, columns};
  return fill(out, symbol, Extent{static_cast<std::uint64_t>(rows), 1, 1}, Extent{kQuantizeLanes, 1, 1}, 0, args);
}

/// MoeStages::quantize of a kernel named `symbol` to fp4, for kernels that read scales by sorted rows, shuffled.
inline Status prepare_quantize_sorted(const char* symbol, const Quantize& work, KernelCall& out) noexcept {
  const Routing routing = work.problem->routing();
  const std::int64_t sorted = sorted_capacity(work.rows / routing.top_k, routing, work.problem->block_m());
  if (work.columns % 256 != 0 || sorted < 0)
    return Status::error(StatusCode::unsupported, "rows of %lld elements have no whole blocks of shuffled scales",
                         static_cast<long long>(work.columns));
  const QuantizeSortedArgs args{
      work.from,    work.to,      static_cast<unsigned char*>(work.scales), work.sorted.token_ids, work.sorted.valid,
      work.columns, routing.top_k};
  return fill(out, symbol, Extent{static_cast<std::uint64_t>(sorted), 1, 1}, Extent{kQuantizeLanes, 1, 1}, 0, args);
}

/// MoeStages::slots of a down that writes fp32.
inline std::size_t slot_bytes(const InstanceDesc&, const Problem& problem, std::uint32_t, Arch,
                              std::uint32_t) noexcept {
  return static_cast<std::size_t>(problem.m()) * problem.routing().top_k * static_cast<std::size_t>(problem.n()) *
         sizeof(float);
}

/// MoeStages::add_slots of a kernel named `symbol`.
inline Status prepare_add_slots(const char* symbol, const Launch& launch, KernelCall& out) noexcept {
  const Problem& x = *launch.problem;
  const AddSlotsArgs args{static_cast<const float*>(launch.workspace), launch.moe->c, x.n(), launch.moe->ldc,
                          x.routing().top_k};
  const Extent grid{(static_cast<std::uint64_t>(x.n()) + kAddSlotsLanes - 1) / kAddSlotsLanes,
                    static_cast<std::uint64_t>(x.m()), 1};
  return fill(out, symbol, grid, Extent{kAddSlotsLanes, 1, 1}, 0, args);
}

}  // namespace ckgen::device
