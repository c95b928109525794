// Groups of a grouped GEMM as CUTLASS's kernels read them: arrays of device memory, one behind the other, with one
// entry a group: addresses of A, B, C and of scales, distances of rows, of kernels with a bias or D tensors addresses
// of that and addresses and distances of rows of these, and sizes. In a swapped kernel A and B change places.
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

/// Arrays of 64-bit entries in their order; behind them sizes, of three 32-bit numbers each. D tensors stand behind the
/// bias's place.
enum class GroupArray { a, b, c, a_scale, b_scale, lda, ldb, ldc, bias, d0, ldd0, d1, ldd1 };
inline constexpr int kGroupSizes = 3;

/// What a kernel wants of the table. swapped: rows and columns change places.
struct GroupTable {
  bool swapped, has_bias;
  int d_count;
};

CKGEN_CUTLASS_BOTH constexpr int group_arrays(GroupTable table) noexcept {
  const bool has_place_of_bias = table.has_bias || table.d_count != 0;
  return static_cast<int>(GroupArray::bias) + (has_place_of_bias ? 1 : 0) + 2 * table.d_count;
}
CKGEN_CUTLASS_BOTH constexpr std::int64_t group_table_words(std::int64_t count, GroupTable table) noexcept {
  return count * (2 * group_arrays(table) + kGroupSizes);
}
constexpr std::size_t group_array_offset(GroupArray array, std::int64_t count) noexcept {
  return static_cast<std::size_t>(array) * static_cast<std::size_t>(count) * sizeof(std::uint64_t);
}
constexpr std::size_t group_sizes_offset(std::int64_t count, GroupTable table) noexcept {
  return static_cast<std::size_t>(group_arrays(table)) * static_cast<std::size_t>(count) * sizeof(std::uint64_t);
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
    case GroupArray::ldc: return static_cast<std::uint64_t>(of.ldc);
    case GroupArray::bias: return reinterpret_cast<std::uint64_t>(of.bias);
    case GroupArray::d0: return reinterpret_cast<std::uint64_t>(of.d[0]);
    case GroupArray::ldd0: return static_cast<std::uint64_t>(of.ldd[0]);
    case GroupArray::d1: return reinterpret_cast<std::uint64_t>(of.d[1]);
    default: return static_cast<std::uint64_t>(of.ldd[1]);
  }
}

/// Word `at` of the table of `count` groups, `at` below group_table_words(count). A negative size counts as 0.
CKGEN_CUTLASS_BOTH inline std::uint32_t group_word(const GroupOperands* operands, const GroupSize* sizes,
                                                   std::int64_t count, GroupTable table, std::int64_t at) noexcept {
  const std::int64_t of_array = 2 * count, of_arrays = group_arrays(table) * of_array;
  if (at < of_arrays) {
    const std::uint64_t entry = group_entry(operands[at % of_array / 2], static_cast<GroupArray>(at / of_array));
    return static_cast<std::uint32_t>(entry >> (at % 2 * 32));
  }
  at -= of_arrays;
  const GroupSize& size = sizes[at / kGroupSizes];
  const std::int64_t rows = table.swapped ? size.n : size.m, columns = table.swapped ? size.m : size.n;
  const int axis = static_cast<int>(at % kGroupSizes);
  const std::int64_t value = axis == 0 ? rows : axis == 1 ? columns : size.k;
  return static_cast<std::uint32_t>(value < 0 ? 0 : value);
}

/// The argument of the kernel that makes the table where groups are on the device, a lane for each word.
struct DescribeGroups {
  const GroupOperands* operands;
  const GroupSize* sizes;
  std::uint32_t* to;
  std::int64_t count;
  GroupTable table;
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
