// C = A * B of fp8 with fp32 scales for blocks of both: 1 x 128 of A, 128 x 128 of B. B is N rows of K elements, plain
// or preshuffled (ckgen/preshuffle.hpp).
//
// A workgroup computes a tile of kConfig.m x n of C, its waves in a grid of waves_m x waves_n, in 16x16 matrix
// instructions. Of each tile of K both operands are read once from memory, 16 bytes per lane, the next tile's while the
// one in LDS is multiplied. The products of each group of 128 are summed from zero, scaled, and added in fp32. Rows and
// columns outside of C are read as 0 and not stored; K is a multiple of 128. The same operands give the same bits.
// C++20, compiled as HIP for any arch; code for gfx942 (fnuz) and gfx950 (OCP).
#pragma once

#include <cstdint>
#include <type_traits>

#include <hip/hip_runtime.h>

#include "blockscale_args.hpp"
#include "raw_buffer.hpp"

namespace ckgen::hip {

/// One kernel. `warp_k`: elements of k that one step of a wave takes, 128 (one matrix instruction, gfx950 only) or less
/// (instructions of 32). `waves_per_simd`: so many are to fit into the registers, or as many as can without spills.
struct BlockScaleConfig {
  int m, n, k;
  int waves_m, waves_n;
  int warp_k;
  int waves_per_simd;
  bool preshuffled_b;
  bool fp16_c;  // else bf16
};

template <BlockScaleConfig kConfig>
struct BlockScale {
  static constexpr int kEdge = 16;  // of a matrix instruction
  static constexpr int kWaves = kConfig.waves_m * kConfig.waves_n;
  static constexpr int kThreads = kWaves * kWave;
  static constexpr int kRowTiles = kConfig.m / kConfig.waves_m / kEdge;
  static constexpr int kColumnTiles = kConfig.n / kConfig.waves_n / kEdge;
  static constexpr int kChunksPerRow = kConfig.k / kLoadBytes;
  static constexpr int kLoadsOfA = kConfig.m * kChunksPerRow / kThreads;
  static constexpr int kLoadsOfB = kConfig.n * kChunksPerRow / kThreads;
  static constexpr int kPitch = kConfig.k + kLoadBytes;  // of a row in LDS: neighbouring rows start in other banks
  static constexpr int kMostWaves = kRowTiles * kColumnTiles > 8 ? 2 : 8;  // beyond, sums and chunks do not fit
  static constexpr int kWavesPerSimd = kConfig.waves_per_simd < kMostWaves ? kConfig.waves_per_simd : kMostWaves;
  static constexpr int kFragmentBytes = kScaleGroup;

  static_assert(kRowTiles * kEdge * kConfig.waves_m == kConfig.m, "waves take whole rows of matrix instructions");
  static_assert(kColumnTiles * kEdge * kConfig.waves_n == kConfig.n, "waves take whole columns of them");
  static_assert(kLoadsOfA * kThreads == kConfig.m * kChunksPerRow, "every lane reads as many chunks of A");
  static_assert(kLoadsOfB * kThreads == kConfig.n * kChunksPerRow, "every lane reads as many chunks of B");
  static_assert(kConfig.k % kScaleGroup == 0, "tiles of K are whole groups");

#if CKGEN_HAS_FLOAT8_PRODUCTS
  using Sums = Floats4[kRowTiles][kColumnTiles];

  /// A lane's chunks of one operand's tile: `kCount` of them, kThreads apart.
  template <int kCount>
  struct Loader {
    Buffer rows;
    std::uint32_t offset[kCount];  // of the chunk in the first tile of K
    std::uint32_t k[kCount];       // its first element of k
    std::uint32_t step;            // bytes to the same chunk of the next tile

    __device__ void load(std::uint32_t tile, std::int64_t all_k, Dwords4 (&to)[kCount]) const {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const bool inside = tile * kConfig.k + k[i] < all_k;
        to[i] = load_16(rows, inside ? offset[i] : kOutside, tile * step);
      }
    }
    __device__ static void keep(const Dwords4 (&from)[kCount], unsigned char* lds) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const int chunk = static_cast<int>(threadIdx.x) + i * kThreads;
        *reinterpret_cast<Dwords4*>(lds + chunk / kChunksPerRow * kPitch + chunk % kChunksPerRow * kLoadBytes) =
            from[i];
      }
    }
  };

  template <int kCount>
  __device__ static Loader<kCount> loader(const void* matrix, std::int64_t first, int held, std::int64_t rows,
                                          std::int64_t stride, std::int64_t k, bool preshuffled) {
    Loader<kCount> of;
    // a block of 16 preshuffled rows holds them whole, so a tile's rows are in one piece too
    of.rows = rows_of(matrix, first, held, rows, stride, preshuffled ? stride : k);
    of.step = preshuffled ? kConfig.k * kEdge : kConfig.k;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const std::uint32_t chunk = threadIdx.x + i * kThreads;
      const std::uint32_t row = chunk / kChunksPerRow, column = chunk % kChunksPerRow;
      const auto pitch = static_cast<std::uint32_t>(stride);
      of.k[i] = column * kLoadBytes;
      of.offset[i] = preshuffled ? row / kEdge * kEdge * pitch + column * kEdge * kLoadBytes + row % kEdge * kLoadBytes
                                 : row * pitch + column * kLoadBytes;
      if (first + row >= rows) of.offset[i] = kOutside;
    }
    return of;
  }

  /// A lane's part of 128 of k of one row: chunks of 16 at 16 * (lane / 16) of each 64. Any order does that both
  /// operands share; this is the one of the instruction for 128.
  __device__ static Dwords8 fragment(const unsigned char* row) {
    const Dwords4 low = *reinterpret_cast<const Dwords4*>(row);
    const Dwords4 high = *reinterpret_cast<const Dwords4*>(row + kFragmentBytes / 2);
    return __builtin_bit_cast(Dwords8, __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7));
  }

  /// The transposed product of a tile: lane l holds columns 4 * (l / 16) and on of row l % 16 of C, so it has one scale
  /// of A and stores what lies together.
  __device__ static Floats4 multiply(const Dwords8& b, const Dwords8& a) {
    Floats4 sum = {};
#if CKGEN_HAS_SCALED_PRODUCTS
    if constexpr (kConfig.warp_k == kScaleGroup) {
      constexpr int kE4m3 = 0, kNone = 0;
      return __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(b, a, sum, kE4m3, kE4m3, kNone, kNone, kNone, kNone);
    }
#endif
    struct Steps {
      std::int64_t of[4];
    };
    const Steps rows = __builtin_bit_cast(Steps, a), columns = __builtin_bit_cast(Steps, b);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sum = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(columns.of[i], rows.of[i], sum, 0, 0, 0);
    return sum;
  }

  /// Four neighbours in a row of C.
  __device__ static void store(const BlockScaleArgs& args, bool whole, std::int64_t m, std::int64_t n,
                               const Floats4& sums) {
    using Element = std::conditional_t<kConfig.fp16_c, _Float16, __bf16>;
    using Elements4 = Element __attribute__((ext_vector_type(4)));
    if (m >= args.m) return;
    Element* to = static_cast<Element*>(args.c) + m * args.ldc + n;
    if (whole && n + 4 <= args.n) {
      *reinterpret_cast<Elements4*>(to) = __builtin_convertvector(sums, Elements4);
      return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (n + i < args.n) to[i] = static_cast<Element>(sums[i]);
    }
  }

  __device__ static void run(const BlockScaleArgs& args) {
    const std::int64_t m_tiles = (args.m + kConfig.m - 1) / kConfig.m;
    compute(args, blockIdx.x % m_tiles * kConfig.m, blockIdx.x / m_tiles * kConfig.n);
  }

  /// The tile of C that begins at row m0 and column n0; zeros where k is 0.
  __device__ static void compute(const BlockScaleArgs& args, std::int64_t m0, std::int64_t n0) {
    __shared__ alignas(16) unsigned char lds_a[kConfig.m * kPitch];
    __shared__ alignas(16) unsigned char lds_b[kConfig.n * kPitch];
    const auto of_a = loader<kLoadsOfA>(args.a, m0, kConfig.m, args.m, args.lda, args.k, false);
    const auto of_b = loader<kLoadsOfB>(args.b, n0, kConfig.n, args.n, kConfig.preshuffled_b ? args.k : args.ldb,
                                        args.k, kConfig.preshuffled_b);
    const std::uint32_t wave = wave_of_workgroup(), lane = threadIdx.x % kWave;
    const int row0 = static_cast<int>(wave) / kConfig.waves_n * (kRowTiles * kEdge);
    const int column0 = static_cast<int>(wave) % kConfig.waves_n * (kColumnTiles * kEdge);
    const unsigned char* a_rows = lds_a + (row0 + lane % kEdge) * kPitch + lane / kEdge * kLoadBytes;
    const unsigned char* b_rows = lds_b + (column0 + lane % kEdge) * kPitch + lane / kEdge * kLoadBytes;
    const std::int64_t lane_m = m0 + row0 + lane % kEdge, wave_n = n0 + column0;
    const std::int64_t groups = args.k / kScaleGroup;

    Sums sums = {};
    Dwords4 next_a[kLoadsOfA], next_b[kLoadsOfB];
    of_a.load(0, args.k, next_a);
    of_b.load(0, args.k, next_b);
    const auto tiles = static_cast<std::uint32_t>((args.k + kConfig.k - 1) / kConfig.k);
    for (std::uint32_t tile = 0; tile < tiles; ++tile) {
      of_a.keep(next_a, lds_a);
      of_b.keep(next_b, lds_b);
      __syncthreads();
      if (tile + 1 < tiles) {
        of_a.load(tile + 1, args.k, next_a);
        of_b.load(tile + 1, args.k, next_b);
      }
#pragma unroll
      for (int part = 0; part < kConfig.k / kScaleGroup; ++part) {
        const std::int64_t group = std::int64_t{tile} * (kConfig.k / kScaleGroup) + part;
        if (group >= groups) break;
        Dwords8 a[kRowTiles];
        float a_scale[kRowTiles];
#pragma unroll
        for (int i = 0; i < kRowTiles; ++i) {
          a[i] = fragment(a_rows + i * kEdge * kPitch + part * kScaleGroup);
          const std::int64_t m = lane_m + i * kEdge < args.m ? lane_m + i * kEdge : args.m - 1;
          a_scale[i] = args.a_scale[m * args.a_scale_row + group * args.a_scale_group];
        }
#pragma unroll
        for (int j = 0; j < kColumnTiles; ++j) {
          const Dwords8 b = fragment(b_rows + j * kEdge * kPitch + part * kScaleGroup);
          const std::int64_t n = wave_n + j * kEdge < args.n ? wave_n + j * kEdge : args.n - 1;
          const float b_scale = args.b_scale[n / kScaleGroup * groups + group];
#pragma unroll
          for (int i = 0; i < kRowTiles; ++i) sums[i][j] += multiply(b, a[i]) * a_scale[i] * b_scale;
        }
      }
      __syncthreads();
    }
    const bool whole = args.ldc % 4 == 0 && reinterpret_cast<std::uintptr_t>(args.c) % 8 == 0;
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i) {
#pragma unroll
      for (int j = 0; j < kColumnTiles; ++j)
        store(args, whole, lane_m + i * kEdge, wave_n + j * kEdge + lane / kEdge * 4, sums[i][j]);
    }
  }
#else
  __device__ static void run(const BlockScaleArgs&) {}
  __device__ static void compute(const BlockScaleArgs&, std::int64_t, std::int64_t) {}
#endif
};

}  // namespace ckgen::hip

/// Defines the kernel as `symbol`; it takes BlockScaleArgs. Grid: ceil(m / tile m) * ceil(n / tile n) workgroups.
#define CKGEN_BLOCKSCALE_KERNEL(symbol, ...)                                              \
  extern "C" __global__ void __launch_bounds__(                                           \
      (ckgen::hip::BlockScale<ckgen::hip::BlockScaleConfig{__VA_ARGS__}>::kThreads),      \
      (ckgen::hip::BlockScale<ckgen::hip::BlockScaleConfig{__VA_ARGS__}>::kWavesPerSimd)) \
      symbol(ckgen::hip::BlockScaleArgs args) {                                           \
    ckgen::hip::BlockScale<ckgen::hip::BlockScaleConfig{__VA_ARGS__}>::run(args);         \
  }
