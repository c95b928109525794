// Groups of a grouped GEMM as kernels of ours read them: a table in device memory, with the work before each group.
//
// A table of `count` groups is `first[count + 1]`, the work items before each group and, last, of all; then, from
// entries_offset(count) on, `count` GroupEntry. It is aligned to 16 bytes. A work item is one tile of C times one of
// the K splits: within its group, item i is tile i % tiles of split i / tiles. Constants and pure functions, for the
// host and for device code; C++17.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ckgen/grouped.hpp>

namespace ckgen::device {

/// One group's operands and sizes, as 32-bit kernels take them. Leading dimensions count elements.
struct GroupEntry {
  const void* a;
  const void* b;
  void* c;
  const void* a_scale;
  const void* b_scale;
  const void* d[kMaxD];
  std::int32_t m, n, k;
  std::int32_t lda, ldb, ldc;
  std::int32_t ldd[kMaxD];
};
static_assert(sizeof(GroupEntry) == 88);

/// The entry of a group whose sizes and leading dimensions are below 2^31. Negative sizes count as 0.
constexpr GroupEntry group_entry(const GroupOperands& of, const GroupSize& size) noexcept {
  const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value < 0 ? 0 : value); };
  return {of.a,
          of.b,
          of.c,
          of.a_scale,
          of.b_scale,
          {of.d[0], of.d[1]},
          narrow(size.m),
          narrow(size.n),
          narrow(size.k),
          narrow(of.lda),
          narrow(of.ldb),
          narrow(of.ldc),
          {narrow(of.ldd[0]), narrow(of.ldd[1])}};
}

/// Tiles of tile_m x tile_n that cover a group's C.
constexpr std::int64_t tiles_of(const GroupSize& size, std::int64_t tile_m, std::int64_t tile_n) noexcept {
  if (size.m <= 0 || size.n <= 0) return 0;
  return ((size.m + tile_m - 1) / tile_m) * ((size.n + tile_n - 1) / tile_n);
}

constexpr std::size_t entries_offset(std::int64_t count) noexcept {
  return (static_cast<std::size_t>(count) * sizeof(std::int32_t) + sizeof(std::int32_t) + 15) / 16 * 16;
}

constexpr std::size_t group_table_bytes(std::int64_t count) noexcept {
  return entries_offset(count) + static_cast<std::size_t>(count) * sizeof(GroupEntry);
}

}  // namespace ckgen::device
