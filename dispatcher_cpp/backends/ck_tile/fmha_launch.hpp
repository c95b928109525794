// From a ckgen Launch of attention to one launch of a kernel of fmha_tile.hpp: what is the same for all of them.
//
// For host units (`-x hip --cuda-host-only`) only. Nothing of HIP is left to be linked. ck_tile's classes judge no
// problem: what their kernels cannot do is refused by fmha_limits.hpp.
#pragma once

#include "fmha_limits.hpp"
#include "fmha_tile.hpp"
#include "fmha_window.hpp"

#include <cstdint>
#include <exception>

#include "scaled.hpp"

namespace ckgen::tile {

/// The instance's one kernel, and the archs whose code object has it, see archs_of().
struct BuiltFmha {
  const char* symbol;
  std::uint32_t archs;
};

/// What fmha_limits.hpp must know of a Config.
constexpr FmhaLimits limits_of(const FmhaTileConfig& config) noexcept {
  const bool gathers = config.pipeline == FmhaPipeline::qr_async_gather;
  const bool passes_registers =
      config.pipeline != FmhaPipeline::qr_async && config.pipeline != FmhaPipeline::qr_async_trload && !gathers;
  // copies of gathered rows go on into the next one
  const bool pad_hdim_q = config.pad_hdim_q && !gathers, pad_hdim_v = config.pad_hdim_v && !gathers;
  return {config.q,
          config.kv,
          config.o,
          config.traits,
          config.m0,
          config.n0,
          config.k0_max,
          config.n1,
          config.pad_q,
          config.pad_k,
          pad_hdim_q,
          pad_hdim_v,
          !passes_registers || !pad_hdim_q,
          !passes_registers || !pad_hdim_v,
          /*combines*/ false,
          gathers};
}

/// Whether a kernel of Of leaves partial results of splits of KV; what it refuses of them says Of::check().
template <class Of>
constexpr bool kSplitsKv = requires { Of::kSplits; };

/// See PrepareFn. Of says kTile and Entry, and args(), grid() and, of kernels that note rows, dynamic_lds() of a launch
/// that was checked.
template <class Of>
Status prepare_fmha(const BuiltFmha& built, const Launch& launch, Arch arch, KernelCall& out) noexcept try {
  const FmhaShape& shape = launch.problem->fmha();
  if ((built.archs & archs_of(arch)) == 0)
    return Status::error(StatusCode::unsupported, "no kernel was built for %s", arch_info(arch).name);
  if (!kSplitsKv<Of> && launch.k_batch > 1)
    return Status::error(StatusCode::unsupported, "the kernel does not split KV, %u splits are asked for",
                         static_cast<unsigned>(launch.k_batch));
  FmhaLimits limits = limits_of(Of::kTile);
  limits.combines = kSplitsKv<Of>;
  if (const Status status = check_fmha(limits, shape, *launch.fmha); !status.ok()) return status;
  if constexpr (kSplitsKv<Of>) {
    if (const Status status = Of::check(launch); !status.ok()) return status;
  }
  const PlanFor plan{arch};
  const dim3 grid = Of::grid(launch);
  if (grid.y > kMostFmhaGrid || grid.z > kMostFmhaGrid)
    return Status::error(StatusCode::unsupported, "a grid of %u x %u x %u: HIP takes %u along y and z", grid.x, grid.y,
                         grid.z, kMostFmhaGrid);
  const dim3 block = Of::Entry::Kernel::BlockSize();
  std::uint32_t lds = 0;
  if constexpr (requires { Of::dynamic_lds(shape); }) lds = Of::dynamic_lds(shape);
  return device::fill(out, built.symbol, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, lds, Of::args(launch));
} catch (const std::exception& error) {
  return Status::error(StatusCode::internal, "ck_tile's host code failed: %s", error.what());
}

}  // namespace ckgen::tile
