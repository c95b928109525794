// ck_tile's verdict on one group where operands have scales or B is preshuffled; see grouped_host.hpp.
//
// For host units (`-x hip --cuda-host-only`) only.
#pragma once

#include "grouped_host.hpp"
#include "grouped_scaled.hpp"

namespace ckgen::tile {

inline Status refuses_group(const GemmArgs& group, const char* kernel) noexcept {
  return Status::error(StatusCode::unsupported, "%s::IsSupportedArgument refuses M=%lld N=%lld K=%lld", kernel,
                       static_cast<long long>(group.m), static_cast<long long>(group.n),
                       static_cast<long long>(group.k));
}

template <QuantConfig kConfig>
struct GroupCheck<GroupedQuant<kConfig>> {
  static Status of(const GemmArgs& group, std::int64_t, Arch arch) {
    using Single = QuantGemm<kConfig>;
    if (const Status status = check_extents(group, group.ldb, kConfig.operand, kConfig.c); !status.ok()) return status;
    const PlanFor plan_for(arch);
    return Single::accepts(Single::arguments(group, 1)) ? Status::success() : refuses_group(group, "QuantGemmKernel");
  }
};

template <GroupQuantConfig kConfig>
struct GroupCheck<GroupedBlockQuant<kConfig>> {
  static Status of(const GemmArgs& group, std::int64_t, Arch arch) {
    using Single = GroupQuantGemm<kConfig>;
    if (kConfig.of_a && !group.a_scale_row_major)
      return Status::error(StatusCode::unsupported, "ck_tile's kernel reads a_scale as [M][K/%d]", kConfig.group_k);
    if (const Status status = device::check_scale_lines("QuantGemmKernel", group.a_scale_stride); !status.ok())
      return status;
    if (const Status status = check_extents(group, group.ldb, kConfig.a, kConfig.c); !status.ok()) return status;
    const PlanFor plan_for(arch);
    return Single::accepts(Single::arguments(group, 1)) ? Status::success() : refuses_group(group, "QuantGemmKernel");
  }
};

template <FlatmmConfig kConfig>
struct GroupCheck<GroupedFlatmm<kConfig>> {
  static Status of(const GemmArgs& group, std::int64_t k_batch, Arch) {
    using Single = Flatmm<kConfig>;
    if (const Status status = check_extents(group, group.k, kConfig.operand, kConfig.c); !status.ok()) return status;
    if (k_batch > 1 && group.k % (k_batch * kConfig.tile.k) != 0)
      return Status::error(StatusCode::unsupported, "K=%lld in %lld splits is not of whole K tiles of %d",
                           static_cast<long long>(group.k), static_cast<long long>(k_batch), kConfig.tile.k);
    const auto args = Single::arguments(group, static_cast<index_t>(k_batch));
    return Single::accepts(args) ? Status::success() : refuses_group(group, "FlatmmKernel");
  }
};

}  // namespace ckgen::tile
