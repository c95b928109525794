// From a ckgen Launch of attention to one launch of a kernel of FmhaForward: ck_tile's own arguments, grid and block.
//
// For host units (`-x hip --cuda-host-only`) only. Nothing of HIP is left to be linked. ck_tile's class judges no
// problem: what its kernel cannot do is refused by fmha_limits.hpp.
#pragma once

#include "fmha.hpp"
#include "fmha_limits.hpp"

#include <cstdint>
#include <exception>
#include <utility>

#include "scaled.hpp"

namespace ckgen::tile {

/// The instance's one kernel, and the archs whose code object has it, see archs_of().
struct BuiltFmha {
  const char* symbol;
  std::uint32_t archs;
};

/// A mask as ck_tile's kernel takes it.
struct FmhaWindow {
  index_t left = -1;
  index_t right = -1;
  ck_tile::GenericAttentionMaskEnum type = ck_tile::GenericAttentionMaskEnum::NO_MASK;
};

/// A limit that no key can be beyond is none, so that ck_tile's sums of limits and lengths do not wrap. With slopes, a
/// causal mask has a left limit all the same: without, ck_tile counts distances from the first key, which shifts lse.
inline FmhaWindow window_of(const FmhaTraits& traits, const FmhaShape& shape) noexcept {
  if (!traits.masked) return {};
  const std::int64_t most = shape.seqlen_q + shape.seqlen_k;
  const auto limit = [&](std::int32_t of) { return of < 0 || of >= most ? index_t{-1} : index_t{of}; };
  FmhaWindow found{limit(shape.window_left), limit(shape.window_right),
                   shape.corner == FmhaCorner::top_left ? ck_tile::GenericAttentionMaskEnum::MASK_FROM_TOP_LEFT
                                                        : ck_tile::GenericAttentionMaskEnum::MASK_FROM_BOTTOM_RIGHT};
  if (traits.bias == FmhaBias::alibi && found.left < 0) found.left = static_cast<index_t>(most);
  return found;
}

/// ck_tile's arguments of a launch that check_fmha() passed.
template <FmhaTileConfig kConfig>
auto fmha_kargs(const FmhaShape& shape, const FmhaArgs& a) {
  using Kernel = typename FmhaForward<kConfig>::Kernel;
  const auto narrow = [](std::int64_t size) { return static_cast<index_t>(size); };
  const FmhaWindow window = window_of(kConfig.traits, shape);
  const bool alibi = kConfig.traits.bias == FmhaBias::alibi;
  const index_t stride_bias = narrow(alibi ? a.bias_strides.batch : a.bias_strides.row);
  constexpr float kOnDevice = 1.0F;  // scales that the kernel is given by FmhaForward::run
  const auto seeds = std::pair<std::uint64_t, std::uint64_t>(a.seed, a.offset);
  if constexpr (kConfig.traits.varlen) {
    return Kernel::MakeKargsImpl(
        a.q, a.k, a.v, a.bias, nullptr, a.lse, a.o, a.seqstart_q, a.seqstart_k, a.seqlen_q, a.seqlen_k, shape.hdim_q,
        shape.hdim_v, shape.heads_q, shape.heads_q / shape.heads_k, a.scale, kOnDevice, kOnDevice, a.softcap,
        narrow(a.q_strides.row), narrow(a.k_strides.row), narrow(a.v_strides.row), stride_bias, 0,
        narrow(a.o_strides.row), narrow(a.q_strides.head), narrow(a.k_strides.head), narrow(a.v_strides.head),
        narrow(a.bias_strides.head), 0, narrow(a.lse_head_stride), narrow(a.o_strides.head), window.left, window.right,
        static_cast<index_t>(window.type), 0, a.p_drop, false, seeds);
  } else {
    return Kernel::MakeKargsImpl(
        a.q, a.k, a.v, a.bias, nullptr, a.lse, a.o, narrow(shape.seqlen_q), narrow(shape.seqlen_k), shape.hdim_q,
        shape.hdim_v, shape.heads_q, shape.heads_q / shape.heads_k, a.scale, kOnDevice, kOnDevice, a.softcap,
        narrow(a.q_strides.row), narrow(a.k_strides.row), narrow(a.v_strides.row), stride_bias, 0,
        narrow(a.o_strides.row), narrow(a.q_strides.head), narrow(a.k_strides.head), narrow(a.v_strides.head),
        narrow(a.bias_strides.head), 0, narrow(a.lse_head_stride), narrow(a.o_strides.head), narrow(a.q_strides.batch),
        narrow(a.k_strides.batch), narrow(a.v_strides.batch), narrow(a.bias_strides.batch), 0,
        narrow(a.lse_batch_stride), narrow(a.o_strides.batch), window.left, window.right,
        static_cast<index_t>(window.type), a.p_drop, false, seeds);
  }
}

/// What fmha_limits.hpp must know of a Config.
constexpr FmhaLimits limits_of(const FmhaTileConfig& config) noexcept {
  const bool loads_vectors = config.pipeline != FmhaPipeline::qr;
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
          config.pad_hdim_q,
          config.pad_hdim_v,
          loads_vectors || !config.pad_hdim_q,
          loads_vectors || !config.pad_hdim_v};
}

/// See PrepareFn.
template <FmhaTileConfig kConfig>
Status prepare_fmha(const BuiltFmha& built, const Launch& launch, Arch arch, KernelCall& out) noexcept try {
  using Forward = FmhaForward<kConfig>;
  using Kernel = typename Forward::Kernel;
  const FmhaShape& shape = launch.problem->fmha();
  const FmhaArgs& args = *launch.fmha;
  if ((built.archs & archs_of(arch)) == 0)
    return Status::error(StatusCode::unsupported, "no kernel was built for %s", arch_info(arch).name);
  if (launch.k_batch > 1)
    return Status::error(StatusCode::unsupported, "the kernel does not split KV, %u splits are asked for",
                         static_cast<unsigned>(launch.k_batch));
  if (const Status status = check_fmha(limits_of(kConfig), shape, args); !status.ok()) return status;

  const PlanFor plan{arch};
  typename Forward::Args kernel_args{fmha_kargs<kConfig>(shape, args), nullptr, args.q_descale, args.k_descale,
                                     args.v_descale};
  // ck_tile's kernels over sequences read their lengths themselves, and then expect other axes of the grid
  const bool swapped = kConfig.traits.varlen && args.seqlen_k != nullptr;
  if (!kConfig.traits.varlen) kernel_args.seqlen_k = args.seqlen_k;
  const dim3 grid = Kernel::GridSize(static_cast<index_t>(shape.batch), shape.heads_q,
                                     static_cast<index_t>(shape.seqlen_q), shape.hdim_v, swapped);
  if (grid.y > kMostFmhaGrid || grid.z > kMostFmhaGrid)
    return Status::error(StatusCode::unsupported, "a grid of %u x %u x %u: HIP takes %u along y and z", grid.x, grid.y,
                         grid.z, kMostFmhaGrid);
  const dim3 block = Kernel::BlockSize();
  return device::fill(out, built.symbol, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, 0, kernel_args);
} catch (const std::exception& error) {
  return Status::error(StatusCode::internal, "ck_tile's host code failed: %s", error.what());
}

}  // namespace ckgen::tile
