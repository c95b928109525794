// Groups of a grouped GEMM as CUTLASS's kernels read them: arrays of device memory, one behind the other, with one
// entry a group: addresses of A, B, C and of scales, distances of rows, and sizes. In a swapped kernel A and B change
// places.
//
// The table is so many 32-bit words, each a pure function of the groups: a host fills it by parts, or lanes of a kernel
// make it where the groups lie. C++17, free of CUTLASS and of CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ckgen/grouped.hpp>

#ifdef __CUDACC__
#define CKGEN_CUTLASS_BOTH __host__ __device__
#else
#define CKGEN_CUTLASS_BOTH
#endif

namespace ckgen::cutlass_gemm {

/// Arrays of 64-bit entries in their order; behind them sizes, of three 32-bit numbers each.
enum class GroupArray { a, b, c, a_scale, b_scale, lda, ldb, ldc };
inline constexpr int kGroupArrays = 8;
inline constexpr int kGroupSizes = 3;
inline constexpr int kWordsOfGroup = 2 * kGroupArrays + kGroupSizes;

constexpr std::size_t group_table_words(std::int64_t count) noexcept {
  return static_cast<std::size_t>(count) * kWordsOfGroup;
}
constexpr std::size_t group_array_offset(GroupArray array, std::int64_t count) noexcept {
  return static_cast<std::size_t>(array) * static_cast<std::size_t>(count) * sizeof(std::uint64_t);
}
constexpr std::size_t group_sizes_offset(std::int64_t count) noexcept {
  return kGroupArrays * static_cast<std::size_t>(count) * sizeof(std::uint64_t);
}

CKGEN_CUTLASS_BOTH inline std::uint64_t group_entry(const GroupOperands& of, GroupArray array) noexcept {
  switch (array) {
    case GroupArray::a: return reinterpret_cast<std::uint64_t>(of.a);
    case GroupArray::b: return reinterpret_cast<std::uint64_t>(of.b);
    case GroupArray::c: return reinterpret_cast<std::uint64_t>(of.c);
    case GroupArray::a_scale: return reinterpret_cast<std::uint64_t>(of.a_scale);
    case GroupArray::b_scale: return reinterpret_cast<std::uint64_t>(of.b_scale);
    case GroupArray::lda: return static_cast<std::uint64_t>(of.lda);
    case GroupArray::ldb: return static_cast<std::uint64_t>(of.ldb);
    default: return static_cast<std::uint64_t>(of.ldc);
  }
}

/// Word `at` of the table of `count` groups, `at` below group_table_words(count). A negative size counts as 0.
CKGEN_CUTLASS_BOTH inline std::uint32_t group_word(const GroupOperands* operands, const GroupSize* sizes,
                                                   std::int64_t count, bool swapped, std::int64_t at) noexcept {
  const std::int64_t of_array = 2 * count;
  if (at < kGroupArrays * of_array) {
    const std::uint64_t entry = group_entry(operands[at % of_array / 2], static_cast<GroupArray>(at / of_array));
    return static_cast<std::uint32_t>(entry >> (at % 2 * 32));
  }
  at -= kGroupArrays * of_array;
  const GroupSize& size = sizes[at / kGroupSizes];
  const std::int64_t rows = swapped ? size.n : size.m, columns = swapped ? size.m : size.n;
  const int axis = static_cast<int>(at % kGroupSizes);
  const std::int64_t value = axis == 0 ? rows : axis == 1 ? columns : size.k;
  return static_cast<std::uint32_t>(value < 0 ? 0 : value);
}

/// The argument of the kernel that makes the table where groups are on the device, a lane for each word.
struct DescribeGroups {
  const GroupOperands* operands;
  const GroupSize* sizes;
  std::uint32_t* table;
  std::int64_t count;
  bool swapped;
};
inline constexpr int kDescribeLanes = 256;

/// As ckgen::Upload, repeated so that device code does not depend on what the host side is made of.
struct UploadGroups {
  std::uint32_t* to;
  std::uint32_t words;
  std::uint32_t payload[224];
};
inline constexpr int kUploadGroupsLanes = 256;

}  // namespace ckgen::cutlass_gemm
