// ckgen/preshuffle.hpp's copies of B as device functions and kernels: rows to the shuffled order, and back.
//
// A lane moves 16 bytes at a time; any grid of any number of workgroups along x does all of it. Source and target must
// be aligned to 16 bytes and not overlap, the stride of the rows a multiple of 16; n is a multiple of 16, row_bytes one
// of 32, as can_preshuffle demands of the host. C++20, compiled as HIP; nothing here launches a kernel.
#pragma once

#include <cstdint>

#include <hip/hip_runtime.h>

#include <ckgen/preshuffle.hpp>

namespace ckgen::hip {

struct PreshuffleArgs {
  const void* from;
  void* to;
  std::int64_t stride;  // bytes from one of the plain rows to the next
  std::int64_t n;
  std::int64_t row_bytes;
};

/// Moves the chunks `first`, `first` + `step`, … of the n x row_bytes / 16 that there are. A workgroup's neighbouring
/// lanes write side by side: in the shuffled order going there, along a row coming back.
template <bool kInverse>
__device__ void move_chunks(const PreshuffleArgs& args, std::int64_t first, std::int64_t step) {
  using Chunk = std::uint32_t __attribute__((ext_vector_type(4)));
  const std::int64_t per_row = args.row_bytes / kPreshuffleChunkBytes;
  const auto* from = static_cast<const char*>(args.from);
  auto* to = static_cast<char*>(args.to);
  for (std::int64_t i = first; i < args.n * per_row; i += step) {
    const std::int64_t within = i % (kPreshuffleRows * per_row), block = i / (kPreshuffleRows * per_row);
    const std::int64_t row = kInverse ? i / per_row : block * kPreshuffleRows + within % kPreshuffleRows;
    const std::int64_t byte = (kInverse ? i % per_row : within / kPreshuffleRows) * kPreshuffleChunkBytes;
    const std::int64_t plain = row * args.stride + byte;
    const std::int64_t shuffled = preshuffled_chunk(row, byte, args.row_bytes);
    *reinterpret_cast<Chunk*>(to + (kInverse ? plain : shuffled)) =
        *reinterpret_cast<const Chunk*>(from + (kInverse ? shuffled : plain));
  }
}

inline constexpr int kPreshuffleLanes = 256;

}  // namespace ckgen::hip

/// Defines one of the two kernels as `symbol`. It takes PreshuffleArgs and the number of workgroups of kPreshuffleLanes
/// that are launched along x.
#define CKGEN_PRESHUFFLE_KERNEL(symbol, inverse)                                              \
  extern "C" __global__ void __launch_bounds__(ckgen::hip::kPreshuffleLanes)                  \
      symbol(ckgen::hip::PreshuffleArgs args, std::int64_t groups) {                          \
    constexpr std::int64_t lanes = ckgen::hip::kPreshuffleLanes;                              \
    ckgen::hip::move_chunks<inverse>(args, blockIdx.x * lanes + threadIdx.x, groups * lanes); \
  }
