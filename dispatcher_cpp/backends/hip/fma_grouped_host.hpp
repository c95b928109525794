// The host side of the kernels of fused multiply-adds over groups: a kernel call, and the table that it reads. C++17,
// no HIP.
//
// Functions neither allocate nor follow a pointer but those of groups in host memory; thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ckgen/device_code.hpp>
#include <ckgen/grouped.hpp>

#include "../device/grouped_call.hpp"
#include "../device/kernel_call.hpp"
#include "fma_host.hpp"

namespace ckgen::hip {

/// The kernels of one instance, and their tile of C.
struct FmaGroupedKernels {
  const char* symbol;
  const char* table;  // makes the table of groups on the device
  std::int64_t m;
  std::int64_t n;
};

/// PrepareFn's work.
inline Status prepare_fma_groups(const FmaGroupedKernels& kernels, const Launch& launch, KernelCall& out) noexcept {
  if (launch.k_batch > 1) return Status::error(StatusCode::unsupported, "%s: no splits of K", kernels.symbol);
  const Groups& groups = *launch.problem->groups();
  const GroupedArgs& all = *launch.grouped;
  if (const Status status = device::check_scale_lines(kernels.symbol, all.a_scale_stride); !status.ok()) return status;
  const std::int64_t workgroups = std::clamp(groups.tiles(kernels.m, kernels.n), std::int64_t{1}, kFmaMostWorkgroups);
  const auto* table = static_cast<const char*>(launch.group_table);
  const FmaGroupedArgs args{reinterpret_cast<const GroupOperands*>(table),
                            reinterpret_cast<const GroupSize*>(table + fma_sizes_offset(groups.count())),
                            groups.count(),
                            workgroups,
                            all.alpha,
                            all.a_scale_row_major,
                            all.mx_scale_shuffled};
  return device::fill(out, kernels.symbol, {static_cast<std::uint64_t>(workgroups), 1, 1},
                      {static_cast<std::uint64_t>(kFmaLanes), 1, 1}, 0, args);
}

/// GroupTableCode::bytes.
inline std::uint64_t fma_groups_bytes(const InstanceDesc&, const Problem& problem, std::uint32_t) noexcept {
  return fma_table_bytes(problem.groups()->count());
}

/// FillTableFn's work: the next bytes of the two arrays, one behind the other.
inline Status fill_fma_groups(const Launch& launch, TableCursor& cursor, void* out, std::uint32_t bytes) noexcept {
  const GroupedArgs& all = *launch.grouped;
  const std::uint64_t sizes = fma_sizes_offset(all.count), end = cursor.offset + bytes;
  auto* to = static_cast<unsigned char*>(out);
  while (cursor.offset < end) {
    const bool is_size = cursor.offset >= sizes;
    const auto* from = is_size ? reinterpret_cast<const unsigned char*>(all.sizes) + (cursor.offset - sizes)
                               : reinterpret_cast<const unsigned char*>(all.operands) + cursor.offset;
    const std::uint64_t part = std::min(end, is_size ? end : sizes) - cursor.offset;
    std::memcpy(to, from, part);
    cursor.offset += part;
    to += part;
  }
  return Status::success();
}

/// GroupTableCode::build.
inline Status prepare_fma_table(const FmaGroupedKernels& kernels, const Launch& launch, KernelCall& out) noexcept {
  const std::int64_t count = launch.problem->groups()->count();
  auto* table = static_cast<char*>(launch.group_table);
  const FmaTableArgs args{launch.grouped->operands, launch.grouped->sizes, reinterpret_cast<GroupOperands*>(table),
                          reinterpret_cast<GroupSize*>(table + fma_sizes_offset(count)), count};
  return device::fill(out, kernels.table, {1, 1, 1}, {static_cast<std::uint64_t>(kFmaLanes), 1, 1}, 0, args);
}

}  // namespace ckgen::hip
