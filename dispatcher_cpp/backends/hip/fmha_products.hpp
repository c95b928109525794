// The products of our attention kernels without matrix instructions: tiles in LDS, each work-item its own sums in
// registers.
//
// A workgroup is 16 x 16 work-items; one has 4 lines and 4 columns of a tile of 64 x 64. C++20, for the device half of
// a HIP compile, without matrix instructions: for any arch that clang knows.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "element.hpp"
#include "fmha_tile.hpp"

namespace ckgen::hip {

/// `at`, or the last where there are no more.
__device__ inline int inside(int at, int size) {
  return at < size ? at : size - 1;
}

/// Rows of memory, one behind the other: those at and behind `count`, and columns at and behind `columns`, are read as
/// 0.
template <DType kType>
struct FmhaRows {
  const void* memory;
  std::int64_t first, stride;  // elements
  std::int32_t count, columns;

  /// Loads whatever there is to it, so that no mask is kept in registers: of an element that is not there, the last.
  __device__ float value(int row, int column) const {
    const int r = inside(row, count), c = inside(column, columns);
    const float found = MemoryElement<kType>::load(memory, first + r * stride + c);
    return row < count && column < columns ? found : 0.0F;
  }
};

/// kType: of what is stored. kHdim: columns of the second products, at least those of all heads. Operands from memory
/// have `count` rows, `columns` and value(row, column), which is 0 where there is none.
template <DType kType, int kHdim>
struct FmhaProducts {
  using Element = MemoryElement<kType>;
  using Four = float __attribute__((ext_vector_type(4)));
  static constexpr int kTile = kScoreTile, kLine = kTile + 4;  // fours are aligned, columns in banks apart
  static constexpr int kDeep = 32, kFlat = 16;                 // of what is summed, at once
  static constexpr int kWide = kHdim + 4, kParts = kHdim / kTile;
  static constexpr int kSteps = 2 * kDeep * kLine;  // of both
  static_assert(kHdim % kTile == 0 && kFlat * kWide <= kSteps);
  using Scores = Four[4];        // of each line
  using Sums = Four[4][kParts];  // columns 64 p + 4 (lane % 16)
  using Operand = float[kTile * kLine];

  __device__ static int lane() { return static_cast<int>(threadIdx.x); }
  /// The first line and column of this work-item.
  __device__ static int line() { return lane() / 16 * 4; }
  __device__ static int column() { return lane() % 16 * 4; }

  /// sums of [line][column]: a [line][d] b [column][d] over d.
  template <class A, class B>
  __device__ static void multiply(float* steps, const A& a, const B& b, Scores& sums) {
    float* const of_a = steps;
    float* const of_b = steps + kDeep * kLine;
#pragma unroll
    for (int i = 0; i < 4; ++i) sums[i] = 0.0F;
    for (int first = 0; first < a.columns; first += kDeep) {
      for (int n = lane(); n < kTile * kDeep; n += kScoreThreads) {
        const int d = n % kDeep, row = n / kDeep;
        of_a[d * kLine + row] = a.value(row, first + d);
        of_b[d * kLine + row] = b.value(row, first + d);
      }
      __syncthreads();
#pragma unroll 4
      for (int d = 0; d < kDeep; ++d) {
        const Four x = four(of_a + d * kLine + line()), y = four(of_b + d * kLine + column());
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[i] += x[i] * y;
      }
      __syncthreads();
    }
  }

  /// Adds, of [line][column], a [n][line] b [n][column] over the rows n of b.
  template <class B>
  __device__ static void add(float* steps, const Operand& a, const B& b, Sums& sums) {
    for (int first = 0; first < kTile && first < b.count; first += kFlat) {
      for (int n = lane(); n < kFlat * kHdim; n += kScoreThreads)
        steps[n / kHdim * kWide + n % kHdim] = b.value(first + n / kHdim, n % kHdim);
      __syncthreads();
#pragma unroll 4
      for (int n = 0; n < kFlat; ++n) {
        const Four x = four(a + (first + n) * kLine + line());
#pragma unroll
        for (int p = 0; p < kParts; ++p) {
          const Four y = four(steps + n * kWide + p * kTile + column());
#pragma unroll
          for (int i = 0; i < 4; ++i) sums[i][p] += x[i] * y;
        }
      }
      __syncthreads();
    }
  }

  /// Scores as an operand whose lines are summed, or whose columns are.
  __device__ static void put(const Scores& from, Operand& to) {
#pragma unroll
    for (int i = 0; i < 4; ++i) *reinterpret_cast<Four*>(to + (line() + i) * kLine + column()) = from[i];
  }
  __device__ static void put_turned(const Scores& from, Operand& to) {
#pragma unroll
    for (int j = 0; j < 4; ++j)
      *reinterpret_cast<Four*>(to + (column() + j) * kLine + line()) = {from[0][j], from[1][j], from[2][j], from[3][j]};
  }

  /// The sums times a factor, rounded once, of `lines` lines and `columns` columns.
  __device__ static void store(const Sums& sums, float factor, void* to, std::int64_t first, std::int64_t stride,
                               int lines, int columns) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int p = 0; p < kParts; ++p)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int c = p * kTile + column() + j;
          if (line() + i < lines && c < columns)
            Element::store(to, first + (line() + i) * stride + c, factor * sums[i][p][j]);
        }
  }

 private:
  __device__ static Four four(const float* at) { return *reinterpret_cast<const Four*>(at); }
};

}  // namespace ckgen::hip
