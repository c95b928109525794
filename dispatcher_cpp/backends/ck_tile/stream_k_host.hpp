// From a ckgen Launch to one launch of a stream-K ck_tile GEMM.
//
// For host units (`-x hip --cuda-host-only`) only. Nothing of HIP is left to be linked.
#pragma once

#include "gemm_host.hpp"
#include "stream_k.hpp"

#include <cstdint>
#include <exception>

namespace ckgen::tile {

/// The kernel of the instance and the archs whose code object has it, see on().
struct BuiltStreamK {
  const char* symbol;
  std::uint32_t archs;
};

/// See PrepareFn. A stage of the plan has zeroed the workspace's flags. The grid is `launch.workgroups`: compute units
/// * block_per_cu.
template <class C, Strategy kStrategy>
Status prepare_stream_k(const BuiltStreamK& built, const Launch& launch, Arch arch, KernelCall& out) noexcept try {
  using Kernel = StreamKGemm<C, kStrategy>;
  const GemmArgs& a = *launch.args;
  const std::int64_t a_rows = a_is_row_major(C::layout) ? a.m : a.k;
  const std::int64_t b_rows = b_is_row_major(C::layout) ? a.k : a.n;
  if (!fits(a_rows, a.lda, C::a) || !fits(b_rows, a.ldb, C::b) || !fits(a.m, a.ldc, C::c))
    return Status::error(StatusCode::unsupported, "an operand of 2 GiB or more: ck_tile addresses with 32 bits");
  if (launch.k_batch > 1)
    return Status::error(StatusCode::unsupported, "stream-K splits K by itself, not in %u", launch.k_batch);
  if ((built.archs & on(arch)) == 0)
    return Status::error(StatusCode::unsupported, "no kernel was built for %s", arch_info(arch).name);

  const StreamKPartition partition =
      stream_k_partition(1, a.m, a.n, a.k, C::tile_m, C::tile_n, C::tile_k, launch.workgroups);
  if (!partition.feasible())
    return Status::error(StatusCode::unsupported, "stream-K: %lld iterations for %lld workgroups",
                         static_cast<long long>(partition.sk_iters()), static_cast<long long>(partition.grid));
  const StreamKWorkspace workspace =
      Kernel::kAtomic ? StreamKWorkspace{0, 0, 0}
                      : stream_k_workspace(partition, C::tile_m, C::tile_n, sizeof(typename Kernel::Acc));
  if (workspace.total() > 0 && launch.workspace == nullptr)
    return Status::error(StatusCode::invalid_argument, "stream-K needs a workspace of %lld bytes",
                         static_cast<long long>(workspace.total()));

  const PlanFor plan{arch};
  StreamKArgs args{AnyKernel<C>::MakeKernelArgs(ck_tile::GemmHostArgs(
                       a.a, a.b, a.c, /*K splits*/ 1, static_cast<index_t>(a.m), static_cast<index_t>(a.n),
                       static_cast<index_t>(a.k), static_cast<index_t>(a.lda), static_cast<index_t>(a.ldb),
                       static_cast<index_t>(a.ldc))),
                   partition, nullptr, nullptr};
  if (!AnyKernel<C>::IsSupportedArgument(args.gemm))
    return Status::error(StatusCode::unsupported, "ck_tile's IsSupportedArgument refuses %lld x %lld x %lld",
                         static_cast<long long>(a.m), static_cast<long long>(a.n), static_cast<long long>(a.k));
  if (workspace.total() > 0) {
    args.slices = launch.workspace;
    args.flags = reinterpret_cast<std::uint32_t*>(static_cast<char*>(launch.workspace) + workspace.flags_offset);
  }
  const device::Extent grid{static_cast<std::uint64_t>(partition.grid), 1, 1};
  const Status status = device::fill(out, built.symbol, grid, {Kernel::kBlockSize, 1, 1}, 0, args);
  if (status.ok() && Kernel::kAtomic && partition.sk_tiles > 0) device::clear_c(out, launch);
  return status;
} catch (const std::exception& error) {
  return Status::error(StatusCode::internal, "ck_tile's host code failed: %s", error.what());
}

}  // namespace ckgen::tile
