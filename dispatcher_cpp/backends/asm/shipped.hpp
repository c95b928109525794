// What the launchers of AMD's assembly kernels share: one kernel, its argument slots, the checks that its own host code
// leaves to its caller. C++17, no HIP.
#pragma once

#include <cstdint>
#include <limits>

#include <ckgen/device_code.hpp>
#include <ckgen/dtype.hpp>
#include <ckgen/gemm_types.hpp>

#include "backends/device/kernel_call.hpp"

namespace ckgen::asm_host {

/// One shipped kernel. Tiles in elements of C, `block` in work-items; `splits`: whether it can add splits of K to C.
struct Kernel {
  const char* instance;
  const char* symbol;
  std::uint32_t tile_m;
  std::uint32_t tile_n;
  std::uint32_t block;
  bool splits;
};

/// An argument as these kernels take it: at the begin of 16 bytes of its own.
template <class T>
struct alignas(16) Slot {
  T value{};
  unsigned char rest[16 - sizeof(T)]{};
};

/// How the arguments of most GEMMs begin, in the kernels' order. Strides in the kernel's own unit; c, beta, those of D
/// and those with 1 are not read.
struct StridedArguments {
  Slot<void*> d;
  Slot<const void*> c;
  Slot<const void*> a;
  Slot<const void*> b;
  Slot<float> alpha{1.0F};
  Slot<float> beta;
  Slot<std::uint32_t> stride_d0, stride_d1;
  Slot<std::uint32_t> stride_c0, stride_c1;  // of D
  Slot<std::uint32_t> stride_a0, stride_a1;
  Slot<std::uint32_t> stride_b0, stride_b1;
  Slot<std::uint32_t> m, n, k;

  /// D is the caller's C; `ld*` are rows' strides in the kernel's unit, all sizes checked to be below 2^32.
  void set(const GemmArgs& x, std::int64_t ldd, std::int64_t lda, std::int64_t ldb) noexcept {
    d.value = x.c;
    a.value = x.a;
    b.value = x.b;
    stride_c0.value = static_cast<std::uint32_t>(ldd);
    stride_a0.value = static_cast<std::uint32_t>(lda);
    stride_b0.value = static_cast<std::uint32_t>(ldb);
    m.value = static_cast<std::uint32_t>(x.m);
    n.value = static_cast<std::uint32_t>(x.n);
    k.value = static_cast<std::uint32_t>(x.k);
  }
};
static_assert(sizeof(StridedArguments) == 17 * 16);

inline constexpr std::int64_t kRowBytes = 16;  // what a lane loads and stores at once
inline constexpr std::int64_t kReach = std::numeric_limits<std::uint32_t>::max();  // bytes that one buffer resource has

constexpr std::uint64_t ceil_div(std::uint64_t x, std::uint64_t y) noexcept {
  return (x + y - 1) / y;
}

/// Refuses rows of `ld` elements that are not whole pieces of 16 bytes, and a tile's rows that 32 bits cannot reach.
inline Status check_rows(const Kernel& kernel, const char* name, std::int64_t ld, std::int64_t rows,
                         DType dtype) noexcept {
  const std::int64_t in_bits = ld * bits(dtype);
  if (in_bits % (8 * kRowBytes) != 0)
    return Status::error(StatusCode::unsupported, "%s: rows of %s take %lld elements, not whole pieces of %d bytes",
                         kernel.instance, name, static_cast<long long>(ld), static_cast<int>(kRowBytes));
  if (in_bits / 8 > kReach / rows)
    return Status::error(StatusCode::unsupported, "%s: %lld rows of %s take more than the %lld bytes that are reached",
                         kernel.instance, static_cast<long long>(rows), name, static_cast<long long>(kReach));
  return Status::success();
}

/// Refuses sizes beyond 32 bits; sizes of `launch` were checked against its problem.
inline Status check_sizes(const Kernel& kernel, const GemmArgs& args) noexcept {
  const struct {
    const char* name;
    std::int64_t value;
  } sizes[] = {{"M", args.m}, {"N", args.n}, {"K", args.k}, {"lda", args.lda}, {"ldc", args.ldc}};
  for (const auto& size : sizes) {
    if (size.value > std::numeric_limits<std::int32_t>::max())
      return Status::error(StatusCode::unsupported, "%s: %s = %lld is beyond 32 bits", kernel.instance, size.name,
                           static_cast<long long>(size.value));
  }
  return Status::success();
}

/// The number of splits; refuses more than one where the kernel cannot.
inline Status splits_of(const Kernel& kernel, const Launch& launch, std::uint32_t& to) noexcept {
  to = launch.k_batch == 0 ? 1 : launch.k_batch;
  if (to > 1 && !kernel.splits)
    return Status::error(StatusCode::unsupported, "%s: the kernel does not split K, k_batch is %u", kernel.instance,
                         to);
  return Status::success();
}

/// Workgroups by tiles along N, then M, then splits; C is cleared where splits are added to it.
template <class Arguments>
Status call(const Kernel& kernel, const Launch& launch, std::uint32_t splits, const Arguments& arguments,
            KernelCall& out) noexcept {
  const GemmArgs& x = *launch.args;
  const device::Extent grid{ceil_div(static_cast<std::uint64_t>(x.n), kernel.tile_n),
                            ceil_div(static_cast<std::uint64_t>(x.m), kernel.tile_m), splits};
  const Status filled = device::fill(out, kernel.symbol, grid, device::Extent{kernel.block, 1, 1}, 0, arguments);
  if (filled.ok() && splits > 1) device::clear_c(out, launch);
  return filled;
}

}  // namespace ckgen::asm_host
