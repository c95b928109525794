// A GEMM of any signature whose sums are fp32 or int32, without matrix instructions: for problems that no faster kernel
// takes, on any arch that clang knows. GemmArgs in gemm_types.hpp has the formulas.
//
// C++20, for the device half of a HIP compile. Work-items load one element at a time, so any size, leading dimension
// and alignment will do; operands become fp32 (of int8 with int8 int32) in LDS, whatever they are in memory.
#pragma once

#include <cstdint>
#include <type_traits>

#include <hip/hip_runtime.h>

#include <ckgen/codecs.hpp>
#include <ckgen/gemm_types.hpp>
#include <ckgen/preshuffle.hpp>
#include <ckgen/scales.hpp>

#include "../device/epilogue_step.hpp"
#include "fma_args.hpp"

namespace ckgen::hip {

/// Element `index` of memory of type `kType`; two of a 4-bit type to a byte, the first in the low half.
template <class Value, DType kType>
__device__ inline Value fma_value(const void* memory, std::int64_t index) {
  if constexpr (kType == DType::fp32) {
    return static_cast<const float*>(memory)[index];
  } else if constexpr (kType == DType::int8) {
    return static_cast<const std::int8_t*>(memory)[index];
  } else if constexpr (kType == DType::fp16) {
    return static_cast<float>(static_cast<const _Float16*>(memory)[index]);
  } else if constexpr (bits(kType) == 4) {
    const std::uint32_t both = static_cast<const std::uint8_t*>(memory)[index / 2];
    const std::uint32_t code = index % 2 == 0 ? both & 0xfU : both >> 4;
    if constexpr (kType == DType::int4) return static_cast<Value>(static_cast<std::int32_t>(code ^ 8U) - 8);
    return decode(kType, code);
  } else if constexpr (bits(kType) == 16) {
    return decode(kType, static_cast<const std::uint16_t*>(memory)[index]);
  } else {
    static_assert(bits(kType) == 8, "no such operand");
    return decode(kType, static_cast<const std::uint8_t*>(memory)[index]);
  }
}

/// Rounds to the nearest of a type of 16 or 32 bits, ties to even.
template <DType kType>
__device__ inline void fma_store(void* memory, std::int64_t index, float value) {
  if constexpr (kType == DType::fp32)
    static_cast<float*>(memory)[index] = value;
  else if constexpr (kType == DType::fp16)
    static_cast<_Float16*>(memory)[index] = static_cast<_Float16>(value);
  else
    static_cast<std::uint16_t*>(memory)[index] = static_cast<std::uint16_t>(encode(kType, value, Overflow::standard));
}

/// Two operands' elements, rounded to their type.
template <OperandOp kOp, DType kType>
__device__ inline float fma_combined(float first, float second) {
  const float both = kOp == OperandOp::add ? first + second : first * second;
  if constexpr (kType == DType::fp32) return both;
  return decode(kType, encode(kType, both, Overflow::standard));
}

/// A tile of kM x kN of C per workgroup of kFmaLanes, kK of K at a time.
template <GemmTraits kT, int kM, int kN, int kK>
struct FmaGemm {
  static constexpr int kEdge = 16;  // work-items along M and along N
  static constexpr int kRows = kM / kEdge, kColumns = kN / kEdge;
  static_assert(kEdge * kEdge == kFmaLanes && kM % kEdge == 0 && kN % kEdge == 0);
  static_assert(kM * kK % kFmaLanes == 0 && kN * kK % kFmaLanes == 0);
  static constexpr bool kIntegers = kT.acc == DType::int32;
  using Sum = std::conditional_t<kIntegers, std::int32_t, float>;
  using Result = std::conditional_t<kT.c == DType::int32, std::int32_t, float>;
  static constexpr bool kRowsOfA = kT.layout == Layout::rcr || kT.layout == Layout::rrr;
  static constexpr bool kRowsOfB = kT.layout == Layout::rrr || kT.layout == Layout::crr;
  static constexpr bool kMx = kT.quant == Quant::mx;
  static constexpr bool kGroups = kMx || kT.quant == Quant::blockscale;
  static constexpr int kGroupK = kMx ? 32 : kT.scale_block.k;
  static constexpr int kGroupN = kT.quant == Quant::blockscale ? kT.scale_block.n : 1;
  static_assert(!kGroups || kGroupK % kK == 0, "a step of K has one scale");
  static constexpr bool kOfA = scales_a(kT.quant, kT.scale_block), kOfB = scales_b(kT.quant, kT.scale_block);

  struct Tile {
    std::int64_t batch, row, column;
  };

  __device__ static Sum a_at(const FmaArgs& x, std::int64_t batch, std::int64_t m, std::int64_t k) {
    if (m >= x.m || k >= x.k) return 0;
    const std::int64_t at = batch * x.batch_a + (kRowsOfA ? m * x.lda + k : k * x.lda + m);
    const Sum first = fma_value<Sum, kT.a>(x.a, at);
    if constexpr (kT.a_op == OperandOp::none)
      return first;
    else
      return fma_combined<kT.a_op, kT.a>(first, fma_value<Sum, kT.a>(x.a1, at));
  }

  __device__ static Sum b_at(const FmaArgs& x, std::int64_t batch, std::int64_t n, std::int64_t k) {
    if (n >= x.n || k >= x.k) return 0;
    constexpr std::int64_t kBits = bits(kT.b);
    std::int64_t at = kRowsOfB ? k * x.ldb + n : n * x.ldb + k;
    if constexpr (kT.preshuffle_b) {
      constexpr std::int64_t kChunkBits = 8 * kPreshuffleChunkBytes;
      const std::int64_t chunk = k * kBits / kChunkBits * kPreshuffleChunkBytes;
      at = (8 * preshuffled_chunk(n, chunk, x.k * kBits / 8) + k * kBits % kChunkBits) / kBits;
    }
    at += batch * x.batch_b;
    const Sum first = fma_value<Sum, kT.b>(x.b, at);
    if constexpr (kT.b_op == OperandOp::none)
      return first;
    else
      return fma_combined<kT.b_op, kT.b>(first, fma_value<Sum, kT.b>(x.b1, at));
  }

  /// The scale of a row of A, or of B, and a group of K.
  __device__ static float scale_at(const FmaArgs& x, bool of_b, std::int64_t batch, std::int64_t row,
                                   std::int64_t group) {
    const void* scales = of_b ? x.b_scale : x.a_scale;
    const std::int64_t begin = batch * (of_b ? x.b_scale_batch : x.a_scale_batch);
    const std::int64_t plain =
        of_b ? row / kGroupN * x.b_scale_row + group : row * x.a_scale_row + group * x.a_scale_group;
    if constexpr (!kMx) return static_cast<const float*>(scales)[begin + plain];
    const std::int64_t at = x.mx_scale_shuffled ? shuffled_mx_scale(row, group, x.k / kGroupK) : plain;
    const std::uint32_t code = static_cast<const std::uint8_t*>(scales)[begin + at];
    // 2^(code - 127); 0 is the subnormal 2^-127, 255 is NaN
    return __builtin_bit_cast(float, code == 0 ? 0x00400000U : code == 255 ? 0x7fc00000U : code << 23);
  }

  /// The last of `size` where `at` is beyond: what is read there is not stored, and no mask is kept in registers.
  __device__ static std::int64_t inside(std::int64_t at, std::int64_t size) { return at < size ? at : size - 1; }

  /// Adds kK products to each sum.
  __device__ static void multiply(const FmaArgs& x, const Tile& tile, std::int64_t k, Sum (&a)[kK][kM],
                                  Sum (&b)[kK][kN], Sum (&sums)[kRows][kColumns]) {
    const int lane = static_cast<int>(threadIdx.x);
    for (int i = lane; i < kM * kK; i += kFmaLanes) {
      const int row = kRowsOfA ? i / kK : i % kM, step = kRowsOfA ? i % kK : i / kM;
      a[step][row] = a_at(x, tile.batch, tile.row + row, k + step);
    }
    for (int i = lane; i < kN * kK; i += kFmaLanes) {
      const int column = kRowsOfB ? i % kN : i / kK, step = kRowsOfB ? i / kN : i % kK;
      b[step][column] = b_at(x, tile.batch, tile.column + column, k + step);
    }
    __syncthreads();
    const int row = lane / kEdge * kRows, column = lane % kEdge * kColumns;
#pragma unroll
    for (int step = 0; step < kK; ++step)
#pragma unroll
      for (int i = 0; i < kRows; ++i)
#pragma unroll
        for (int j = 0; j < kColumns; ++j) sums[i][j] += a[step][row + i] * b[step][column + j];
    __syncthreads();
  }

  /// Adds the sums of a group of K times its scales, and clears them.
  __device__ static void add_group(const FmaArgs& x, const Tile& tile, std::int64_t group, Sum (&sums)[kRows][kColumns],
                                   float (&results)[kRows][kColumns]) {
    const int lane = static_cast<int>(threadIdx.x), row = lane / kEdge * kRows, column = lane % kEdge * kColumns;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const std::int64_t m = inside(tile.row + row + i, x.m);
      const float of_a = kOfA ? scale_at(x, false, tile.batch, m, group) : 1.0F;
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        const std::int64_t n = inside(tile.column + column + j, x.n);
        const float of_b = kOfB ? scale_at(x, true, tile.batch, n, group) : 1.0F;
        results[i][j] += static_cast<float>(sums[i][j]) * of_a * of_b;
        sums[i][j] = 0;
      }
    }
  }

  template <int kStep = 0, int kD = 0>
  __device__ static float finished(const FmaArgs& x, const Tile& tile, std::int64_t m, std::int64_t n, float value) {
    if constexpr (kStep == kMaxEpilogueOps) {
      return value;
    } else {
      constexpr EpilogueOp kOp = kT.epilogue.ops[kStep];
      float d = 0.0F;
      if constexpr (takes_d(kOp)) {
        const std::int64_t at = tile.batch * x.batch_d[kD] + m * x.ldd[kD] + n;
        d = fma_value<float, kT.c>(x.d[kD], at);
      }
      return finished<kStep + 1, kD + (takes_d(kOp) ? 1 : 0)>(x, tile, m, n, device::step<kOp>(value, x.alpha, d));
    }
  }

  __device__ static void store(const FmaArgs& x, const Tile& tile, std::int64_t m, std::int64_t n, Result value) {
    const std::int64_t at = tile.batch * x.batch_c + m * x.ldc + n;
    if constexpr (kT.c == DType::int32) {
      static_cast<std::int32_t*>(x.c)[at] = value;
    } else {
      if constexpr (kT.quant == Quant::per_tensor)
        value = value * static_cast<const float*>(x.a_scale)[0] * static_cast<const float*>(x.b_scale)[0];
      if constexpr (kT.quant == Quant::rowwise)
        value = value * scale_at(x, false, tile.batch, m, 0) * scale_at(x, true, tile.batch, n, 0);
      if constexpr (kT.bias) value += static_cast<const float*>(x.bias)[n];
      fma_store<kT.c>(x.c, at, finished(x, tile, m, n, value));
    }
  }

  __device__ static void compute(const FmaArgs& x, const Tile& tile, Sum (&a)[kK][kM], Sum (&b)[kK][kN]) {
    Sum sums[kRows][kColumns] = {};
    float results[kRows][kColumns] = {};
    for (std::int64_t k = 0; k < x.k; k += kK) {
      multiply(x, tile, k, a, b, sums);
      if constexpr (kGroups) {
        if ((k + kK) % kGroupK == 0 || k + kK >= x.k) add_group(x, tile, k / kGroupK, sums, results);
      }
    }
    const int lane = static_cast<int>(threadIdx.x), row = lane / kEdge * kRows, column = lane % kEdge * kColumns;
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        const std::int64_t m = tile.row + row + i, n = tile.column + column + j;
        if (m < x.m && n < x.n) store(x, tile, m, n, kGroups ? results[i][j] : static_cast<Result>(sums[i][j]));
      }
  }

  /// Tiles `first`, first + workgroups, … of the GEMM.
  __device__ static void run(const FmaArgs& x, std::int64_t first) {
    __shared__ Sum a[kK][kM];
    __shared__ Sum b[kK][kN];
    for (std::int64_t i = first; i < x.tiles; i += x.workgroups) {
      const std::int64_t of_batch = x.tiles_m * x.tiles_n, at = i % of_batch;
      compute(x, {i / of_batch, at / x.tiles_n * kM, at % x.tiles_n * kN}, a, b);
    }
  }
};

}  // namespace ckgen::hip

/// Defines the kernel as `symbol`. It takes FmaArgs; `traits` is a GemmTraits, the tile m x n x k.
#define CKGEN_FMA_KERNEL(symbol, traits, m, n, k)                                                        \
  extern "C" __global__ void __launch_bounds__(ckgen::hip::kFmaLanes) symbol(ckgen::hip::FmaArgs args) { \
    ckgen::hip::FmaGemm<traits, m, n, k>::run(args, blockIdx.x);                                         \
  }
