// What host units of kernels over groups share: one group as a single GEMM, and the bytes of the table of all.
//
// Pure functions over the arrays of GroupedArgs, which are in host memory unless said otherwise. C++17, no HIP, no
// kernel library.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ckgen/device_code.hpp>
#include <ckgen/group_args.hpp>

#include "group_table.hpp"

namespace ckgen::device {

/// Of groups on the device, the largest that one can be, with rows without gaps and no operands.
inline GemmArgs largest_group(const GroupedArgs& all, const Groups& groups, Layout layout) noexcept {
  const GroupSize& size = groups.largest();
  const GroupOperands packed{nullptr,
                             nullptr,
                             nullptr,
                             nullptr,
                             nullptr,
                             nullptr,
                             {},
                             a_is_row_major(layout) ? size.k : size.m,
                             b_is_row_major(layout) ? size.n : size.k,
                             size.n,
                             {size.n, size.n}};
  return args_of_group(all, packed, size);
}

/// The first refusal of `check`, which takes what each group with rows and columns is alone; one without K as one of
/// `tile_k`. Of groups on the device it is asked once.
template <class Check>
Status check_each_group(const Launch& launch, std::int64_t tile_k, const Check& check) noexcept {
  const GroupedArgs& all = *launch.grouped;
  const Groups& groups = *launch.problem->groups();
  if (groups.are_on_device()) return check(largest_group(all, groups, launch.problem->signature().layout));
  for (std::int64_t i = 0; i < groups.count(); ++i) {
    const GroupSize& size = groups.sizes()[i];
    if (size.m <= 0 || size.n <= 0) continue;
    const Status status = check(args_of_group(all, all.operands[i], {size.m, size.n, size.k == 0 ? tile_k : size.k}));
    if (!status.ok())
      return Status::error(status.code, "group %lld: %.200s", static_cast<long long>(i), status.message);
  }
  return Status::success();
}

/// Of kernels that read lines of A's block scales one behind the other.
inline Status check_scale_lines(const char* kernel, std::int64_t a_scale_stride) noexcept {
  if (a_scale_stride == 0) return Status::success();
  return Status::error(StatusCode::unsupported, "%s reads a_scale without gaps (no a_scale_stride)", kernel);
}

/// The next `bytes` of the table, as FillTableFn says: `cursor.group` is the next number of `first`, and `cursor.work`
/// that number. The groups are such as check_each_group() passed.
inline void fill_group_table(const GroupedArgs& args, std::int64_t tile_m, std::int64_t tile_n, std::int64_t splits,
                             TableCursor& cursor, void* out, std::uint32_t bytes) noexcept {
  const std::uint64_t entries = entries_offset(args.count), end = cursor.offset + bytes;
  auto* to = static_cast<unsigned char*>(out);
  while (cursor.offset < std::min(end, entries)) {
    const auto work = static_cast<std::int32_t>(cursor.group <= args.count ? cursor.work : 0);
    std::memcpy(to, &work, sizeof work);
    if (cursor.group < args.count) cursor.work += tiles_of(args.sizes[cursor.group], tile_m, tile_n) * splits;
    ++cursor.group;
    cursor.offset += sizeof work;
    to += sizeof work;
  }
  while (cursor.offset < end) {
    const std::uint64_t group = (cursor.offset - entries) / sizeof(GroupEntry);
    const std::uint64_t within = (cursor.offset - entries) % sizeof(GroupEntry);
    const GroupEntry entry = group_entry(args.operands[group], args.sizes[group]);
    const std::uint64_t size = std::min<std::uint64_t>(sizeof entry - within, end - cursor.offset);
    std::memcpy(to, reinterpret_cast<const unsigned char*>(&entry) + within, size);
    cursor.offset += size;
    to += size;
  }
}

}  // namespace ckgen::device
