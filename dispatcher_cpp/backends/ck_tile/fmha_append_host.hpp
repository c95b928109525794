// From a ckgen Launch of append to one launch of a kernel of FmhaAppend. For host units alone, see fmha_launch.hpp.
#pragma once

#include "fmha_append.hpp"
#include "fmha_append_limits.hpp"

#include <cstdint>
#include <exception>

#include "scaled.hpp"

namespace ckgen::tile {

/// The instance's one kernel, and the archs whose code object has it, see archs_of().
struct BuiltFmhaAppend {
  const char* symbol;
  std::uint32_t archs;
};

/// ck_tile's arguments of a launch that check_fmha_append() passed.
template <FmhaAppendTile kConfig>
auto fmha_append_kargs(const FmhaShape& shape, const FmhaArgs& a, std::int64_t rows) {
  using Kernel = typename FmhaAppend<kConfig>::Kernel;
  const auto narrow = [](std::int64_t size) { return static_cast<index_t>(size); };
  return Kernel::MakeKargs(
      a.o, a.k_cache, a.k_new, a.v_cache, a.v_new, narrow(rows), a.seqlen_k, narrow(shape.seqlen_new), shape.hdim_q,
      shape.hdim_v, shape.heads_q, shape.heads_q / shape.heads_k, a.rotary_cos, a.rotary_sin, shape.rotary_dim,
      /*rows of Q follow one another*/ true, a.block_table, narrow(a.block_table_stride), shape.page_size, nullptr,
      narrow(a.q_strides.row), narrow(a.k_strides.row), narrow(a.k_new_strides.row), narrow(a.v_strides.row),
      narrow(a.v_new_strides.row), narrow(a.q_strides.head), narrow(a.k_strides.head), narrow(a.k_new_strides.head),
      narrow(a.v_strides.head), narrow(a.v_new_strides.head), narrow(a.q_strides.batch), narrow(a.k_strides.batch),
      narrow(a.k_new_strides.batch), narrow(a.v_strides.batch), narrow(a.v_new_strides.batch));
}

/// See PrepareFn.
template <FmhaAppendTile kConfig>
Status prepare_fmha_append(const BuiltFmhaAppend& built, const Launch& launch, Arch arch, KernelCall& out) noexcept
    try {
  using Kernel = typename FmhaAppend<kConfig>::Kernel;
  const FmhaShape& shape = launch.problem->fmha();
  if ((built.archs & archs_of(arch)) == 0)
    return Status::error(StatusCode::unsupported, "no kernel was built for %s", arch_info(arch).name);
  const FmhaAppendLimits limits{kConfig.type, kConfig.traits, kConfig.m0,         kConfig.n0,
                                kConfig.hdim, kConfig.pad_q,  kConfig.pad_hdim_q, kConfig.pad_hdim_v};
  if (const Status status = check_fmha_append(limits, shape, *launch.fmha); !status.ok()) return status;
  const PlanFor plan{arch};
  const std::int64_t rows = kConfig.traits.rope == FmhaRope::none ? 0 : shape.seqlen_q;
  const dim3 grid = Kernel::GridSize(static_cast<index_t>(shape.batch), shape.heads_q, static_cast<index_t>(rows),
                                     static_cast<index_t>(shape.seqlen_new));
  if (grid.y > kMostFmhaGrid || grid.z > kMostFmhaGrid)
    return Status::error(StatusCode::unsupported, "a grid of %u x %u x %u: HIP takes %u along y and z", grid.x, grid.y,
                         grid.z, kMostFmhaGrid);
  const dim3 block = Kernel::BlockSize();
  return device::fill(out, built.symbol, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, 0,
                      fmha_append_kargs<kConfig>(shape, *launch.fmha, rows));
} catch (const std::exception& error) {
  return Status::error(StatusCode::internal, "ck_tile's host code failed: %s", error.what());
}

}  // namespace ckgen::tile
