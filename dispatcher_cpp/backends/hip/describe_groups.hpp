// The table of device/group_table.hpp, made on the device from GroupOperands and GroupSize that lie there.
//
// For groups whose sizes the host does not know. One workgroup of kDescribeLanes goes through all groups. C++20, for
// either half of a HIP compile; nothing here launches a kernel.
#pragma once

#include <cstdint>

#include <hip/hip_runtime.h>

#include <ckgen/grouped.hpp>

#include "../device/group_table.hpp"

namespace ckgen::hip {

inline constexpr int kDescribeLanes = 256;

/// `splits` work items for each tile of tile_m x tile_n. `first` and `entries` are the table's parts.
struct DescribeArgs {
  const GroupOperands* operands;
  const GroupSize* sizes;
  std::int32_t* first;
  device::GroupEntry* entries;
  std::int32_t count;
  std::int32_t tile_m;
  std::int32_t tile_n;
  std::int32_t splits;
};

/// Inclusive sums over the workgroup's lanes; `sums` is LDS of kDescribeLanes, and holds them afterwards.
__device__ inline std::int32_t sum_up_to_lane(std::int32_t value, std::int32_t* sums) {
  const int lane = static_cast<int>(threadIdx.x);
  sums[lane] = value;
  __syncthreads();
  for (int away = 1; away < kDescribeLanes; away *= 2) {
    const std::int32_t before = lane >= away ? sums[lane - away] : 0;
    __syncthreads();
    value += before;
    sums[lane] = value;
    __syncthreads();
  }
  return value;
}

__device__ inline void describe_groups(const DescribeArgs& args) {
  __shared__ std::int32_t sums[kDescribeLanes];
  std::int32_t before = 0;
  for (std::int32_t at = 0; at < args.count; at += kDescribeLanes) {
    const std::int32_t group = at + static_cast<std::int32_t>(threadIdx.x);
    std::int32_t items = 0;
    if (group < args.count) {
      const GroupSize size = args.sizes[group];
      items = static_cast<std::int32_t>(device::tiles_of(size, args.tile_m, args.tile_n)) * args.splits;
      args.entries[group] = device::group_entry(args.operands[group], size);
    }
    const std::int32_t up_to = sum_up_to_lane(items, sums);
    if (group < args.count) args.first[group] = before + up_to - items;
    before += sums[kDescribeLanes - 1];
    __syncthreads();  // before the next round overwrites the sums
  }
  if (threadIdx.x == 0) args.first[args.count] = before;
}

}  // namespace ckgen::hip

/// Defines the kernel as `symbol`.
#define CKGEN_DESCRIBE_GROUPS_KERNEL(symbol)                                                                       \
  extern "C" __global__ void __launch_bounds__(ckgen::hip::kDescribeLanes) symbol(ckgen::hip::DescribeArgs args) { \
    ckgen::hip::describe_groups(args);                                                                             \
  }
