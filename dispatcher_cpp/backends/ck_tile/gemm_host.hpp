// From a ckgen Launch to one launch of a dense ck_tile GEMM: ck_tile's own arguments, acceptance, grid and block.
//
// For host units (`-x hip --cuda-host-only`) only. Nothing of HIP is left to be linked.
#pragma once

#include "gemm.hpp"

#include <cstdint>
#include <exception>
#include <limits>

#include <ckgen/problem.hpp>

#include "../device/kernel_call.hpp"

namespace ckgen::tile {

/// The archs as a set of bits.
template <class... Archs>
constexpr std::uint32_t on(Archs... archs) {
  return ((std::uint32_t{1} << static_cast<unsigned>(archs)) | ... | std::uint32_t{0});
}

/// A kernel of the instance and the archs whose code object has it, see on().
struct BuiltVariant {
  const char* symbol;
  bool hot;
  Tail tail;
  bool atomic;
  std::uint32_t archs;
};

/// How ck_tile's kernels divide K, in elements: whole warp tiles for each split, the rest for the last one.
///
/// Hot loop and tail are compiled in for the first split's K tiles. A shorter last split runs them too, which is right
/// if it is not empty and its tiles beyond whole turns are not more than the first one's: zeros fill what is too much.
template <class C>
struct Splits {
  std::int64_t first;
  std::int64_t last;

  Splits(std::int64_t k, std::int64_t k_batch) noexcept {
    const std::int64_t grain = k_batch * C::warp_tile_k;
    first = k_batch == 1 ? k : (k + grain - 1) / grain * C::warp_tile_k;
    last = k - first * (k_batch - 1);
  }
  static std::int64_t tiles(std::int64_t k) noexcept { return (k + C::tile_k - 1) / C::tile_k; }
  bool fit_one_loop() const noexcept {
    constexpr index_t turn = Gemm<C>::turn;
    constexpr index_t lead = Gemm<C>::lead;
    if (last <= 0 || turn == 0 || tiles(last) <= lead) return last > 0;
    return (tiles(last) - lead - 1) % turn <= (tiles(first) - lead - 1) % turn;
  }

  LoopCase loop() const noexcept { return Gemm<C>::loop_of(static_cast<index_t>(tiles(first))); }
};

// acceptance, arguments and geometry do not depend on the variant: any one of the Config's kernels answers
template <class C>
using AnyKernel = typename Gemm<C>::template Kernel<true, Tail::Full, false>;

/// ck_tile's own verdict; `k_batch` at least 1. Throws where ck_tile's logging switch in the environment is malformed.
template <class C>
bool accepts(const typename Gemm<C>::Args& args, Arch arch) {
  const PlanFor plan{arch};
  return AnyKernel<C>::IsSupportedArgument(args);
}

/// Operands that ck_tile can address: its buffers and element counts are 32 bits wide.
inline bool fits(std::int64_t rows, std::int64_t stride, DType dtype) noexcept {
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
  return rows <= limit && stride <= limit && rows * stride <= limit / (bits(dtype) / 8);
}

/// The symbol of the kernel that was built for K in so many splits; refused where there is none.
template <class C, std::size_t N>
Status find_variant(const BuiltVariant (&built)[N], std::int64_t k, std::int64_t k_batch, Arch arch,
                    const char*& symbol) noexcept {
  const Splits<C> splits{k, k_batch};
  if (!splits.fit_one_loop())
    return Status::error(StatusCode::unsupported, "K = %lld in %lld splits: one main loop does not fit them all",
                         static_cast<long long>(k), static_cast<long long>(k_batch));
  const LoopCase loop = splits.loop();
  symbol = nullptr;
  for (const BuiltVariant& one : built) {
    if (one.hot == loop.hot && one.tail == loop.tail && one.atomic == (k_batch > 1) && (one.archs & on(arch)) != 0)
      symbol = one.symbol;
  }
  if (symbol != nullptr) return Status::success();
  return Status::error(StatusCode::unsupported, "no kernel was built for K = %lld in %lld splits on %s",
                       static_cast<long long>(k), static_cast<long long>(k_batch), arch_info(arch).name);
}

/// See PrepareFn. `built` are the variants that the code objects hold.
template <class C, std::size_t N>
Status prepare(const BuiltVariant (&built)[N], const Launch& launch, Arch arch, std::uint32_t cu_num,
               KernelCall& out) noexcept try {
  const GemmArgs& a = *launch.args;
  const std::int64_t k_batch = launch.k_batch == 0 ? 1 : launch.k_batch;
  const std::int64_t a_rows = a_is_row_major(C::layout) ? a.m : a.k;
  const std::int64_t b_rows = b_is_row_major(C::layout) ? a.k : a.n;
  if (!fits(a_rows, a.lda, C::a) || !fits(b_rows, a.ldb, C::b) || !fits(a.m, a.ldc, C::c))
    return Status::error(StatusCode::unsupported, "an operand of 2 GiB or more: ck_tile addresses with 32 bits");

  const char* symbol = nullptr;
  if (const Status status = find_variant<C>(built, a.k, k_batch, arch, symbol); !status.ok()) return status;

  const PlanFor plan{arch};
  using Kernel = AnyKernel<C>;
  const auto args = Kernel::MakeKernelArgs(
      ck_tile::GemmHostArgs(a.a, a.b, a.c, static_cast<index_t>(k_batch), static_cast<index_t>(a.m),
                            static_cast<index_t>(a.n), static_cast<index_t>(a.k), static_cast<index_t>(a.lda),
                            static_cast<index_t>(a.ldb), static_cast<index_t>(a.ldc)));
  if (!Kernel::IsSupportedArgument(args))
    return Status::error(StatusCode::unsupported, "ck_tile's IsSupportedArgument refuses %lld x %lld x %lld",
                         static_cast<long long>(a.m), static_cast<long long>(a.n), static_cast<long long>(a.k));

  const dim3 tiles = Kernel::GridSize(args.M, args.N, args.k_batch);
  device::Extent grid{tiles.x, tiles.y, tiles.z};
  if constexpr (C::persistent) {
    // the occupancy that the kernel is compiled for, not one asked of a device: block_per_cu on each CU
    const std::uint64_t work = std::uint64_t{tiles.x} * tiles.z;
    const std::uint64_t resident = std::uint64_t{cu_num == 0 ? 1 : cu_num} * C::block_per_cu;
    grid = {work < resident ? work : resident, 1, 1};
  }
  const dim3 block = Kernel::BlockSize();
  if (const Status status = device::fill(out, symbol, grid, {block.x, block.y, block.z}, 0, args); !status.ok())
    return status;
  if (k_batch > 1) device::clear_c(out, launch);
  return Status::success();
} catch (const std::exception& error) {
  return Status::error(StatusCode::internal, "ck_tile's host code failed: %s", error.what());
}

}  // namespace ckgen::tile
