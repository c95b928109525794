// From a ckgen Launch to one launch of a ck_tile GEMM with a batch, a bias, D tensors or operands of two tensors.
//
// For host units (`-x hip --cuda-host-only`) only. Nothing of HIP is left to be linked.
#pragma once

#include "gemm_host.hpp"
#include "multi_abd.hpp"

#include <array>
#include <cstdint>
#include <exception>

namespace ckgen::tile {

// acceptance, arguments and geometry do not depend on the variant: any one of the Config's kernels answers
template <class C>
using AnyMultiAbd = typename MultiAbd<C>::template Kernel<true, Tail::Full, false>;

/// ck_tile's own verdict on one batch entry; `k_batch` at least 1. GemmKernelMultiABD, which wants a D, is asked where
/// there is one: it takes no K splits.
template <class C>
bool accepts_multi_abd(const decltype(MultiAbd<C>::Args::gemm)& args, Arch arch) {
  const PlanFor plan{arch};
  if constexpr (MultiAbd<C>::kDs > 0) {
    using Kernel = ck_tile::GemmKernelMultiABD<typename MultiAbd<C>::Plain::Partitioner,
                                               typename MultiAbd<C>::template Pipeline<true, Tail::Full>,
                                               typename MultiAbd<C>::template Epilogue<false>>;
    return Kernel::IsSupportedArgument(args);
  } else {
    return AnyMultiAbd<C>::IsSupportedArgument(args);
  }
}

/// The first entry's arguments by ck_tile's own code, and the strides to the others.
template <class C>
typename MultiAbd<C>::Args multi_abd_args(const GemmArgs& a, std::int64_t k_batch) {
  constexpr index_t kA = MultiAbd<C>::kA, kB = MultiAbd<C>::kB, kDs = MultiAbd<C>::kDs, kBias = MultiAbd<C>::kBias;
  std::array<const void*, kA> as{a.a};
  std::array<const void*, kB> bs{a.b};
  if constexpr (kA == 2) as[1] = a.a1;
  if constexpr (kB == 2) bs[1] = a.b1;
  std::array<const void*, kDs> ds{};
  std::array<index_t, kA> lda;
  std::array<index_t, kB> ldb;
  std::array<index_t, kDs> ldd{};
  lda.fill(static_cast<index_t>(a.lda));
  ldb.fill(static_cast<index_t>(a.ldb));
  if constexpr (kBias == 1) ds[0] = a.bias;
  if constexpr (kDs > kBias) {
    for (index_t i = 0; i < kDs - kBias; ++i) {
      ds[kBias + i] = a.d[i];
      ldd[kBias + i] = static_cast<index_t>(a.ldd[i]);
    }
  }
  const auto gemm = AnyMultiAbd<C>::MakeKernelArgs(ck_tile::UniversalGemmHostArgs<kA, kB, kDs>(
      as, bs, ds, a.c, static_cast<index_t>(k_batch), static_cast<index_t>(a.m), static_cast<index_t>(a.n),
      static_cast<index_t>(a.k), lda, ldb, ldd, static_cast<index_t>(a.ldc)));
  return {gemm,   a.batch_stride_a, a.batch_stride_b, a.batch_stride_c, {a.batch_stride_d[0], a.batch_stride_d[1]},
          a.alpha};
}

/// Whether ck_tile can address every matrix of one batch entry.
template <class C>
bool addresses(const GemmArgs& a) noexcept {
  const std::int64_t a_rows = a_is_row_major(C::layout) ? a.m : a.k;
  const std::int64_t b_rows = b_is_row_major(C::layout) ? a.k : a.n;
  bool all = fits(a_rows, a.lda, C::a) && fits(b_rows, a.ldb, C::b) && fits(a.m, a.ldc, C::c);
  for (index_t i = 0; i < MultiAbd<C>::kD; ++i) all = all && fits(a.m, a.ldd[i], C::c);
  return all;
}

/// See PrepareFn. `built` are the variants that the code objects hold.
template <class C, std::size_t N>
Status prepare_multi_abd(const BuiltVariant (&built)[N], const Launch& launch, Arch arch, KernelCall& out) noexcept
    try {
  const GemmArgs& a = *launch.args;
  const std::int64_t k_batch = launch.k_batch == 0 ? 1 : launch.k_batch;
  if (!addresses<C>(a))
    return Status::error(StatusCode::unsupported, "a matrix of 2 GiB or more: ck_tile addresses with 32 bits");

  const char* symbol = nullptr;
  if (const Status status = find_variant<C>(built, a.k, k_batch, arch, symbol); !status.ok()) return status;

  const auto args = multi_abd_args<C>(a, k_batch);
  if (!accepts_multi_abd<C>(args.gemm, arch))
    return Status::error(StatusCode::unsupported, "ck_tile's IsSupportedArgument refuses %lld x %lld x %lld",
                         static_cast<long long>(a.m), static_cast<long long>(a.n), static_cast<long long>(a.k));

  const PlanFor plan{arch};
  const dim3 tiles = AnyMultiAbd<C>::GridSize(args.gemm.M, args.gemm.N, args.gemm.k_batch);
  const std::uint64_t batch = static_cast<std::uint64_t>(a.batch < 1 ? 1 : a.batch);
  const std::uint64_t blocks = tiles.x * batch;
  if (blocks > std::numeric_limits<std::int32_t>::max())
    return Status::error(StatusCode::unsupported, "%llu tiles in %llu batch entries: more than 2^31 workgroups",
                         static_cast<unsigned long long>(tiles.x), static_cast<unsigned long long>(batch));
  const dim3 block = AnyMultiAbd<C>::BlockSize();
  const device::Extent grid{blocks, tiles.y, tiles.z};
  if (const Status status = device::fill(out, symbol, grid, {block.x, block.y, block.z}, 0, args); !status.ok())
    return status;
  if (k_batch > 1) device::clear_c(out, launch);
  return Status::success();
} catch (const std::exception& error) {
  return Status::error(StatusCode::internal, "ck_tile's host code failed: %s", error.what());
}

}  // namespace ckgen::tile
