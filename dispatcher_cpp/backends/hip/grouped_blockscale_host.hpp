// What our grouped block-scale kernels take of one group; see ck_tile/grouped_host.hpp.
//
// For host units (`-x hip --cuda-host-only`) only.
#pragma once

#include "../ck_tile/grouped_host.hpp"
#include "blockscale_host.hpp"
#include "grouped_blockscale.hpp"

namespace ckgen::tile {

template <hip::BlockScaleConfig kConfig>
struct GroupCheck<hip::GroupedBlockScale<kConfig>> {
  static Status of(const GemmArgs& group, std::int64_t, Arch) {
    constexpr const char* kName = "grouped block scales";
    if (!group.a_scale_row_major)
      return Status::error(StatusCode::unsupported, "the kernel reads a_scale as [M][K/%d]", hip::kScaleGroup);
    if (const Status status = device::check_scale_lines(kName, group.a_scale_stride); !status.ok()) return status;
    if (!fits(group.m, group.lda, DType::fp8_ocp) || !fits(group.m, group.ldc, DType::bf16))
      return Status::error(StatusCode::unsupported, "a matrix of 2 GiB or more: groups are addressed with 32 bits");
    if (group.k % hip::kScaleGroup != 0)
      return Status::error(StatusCode::unsupported, "K = %lld is not a multiple of %d", static_cast<long long>(group.k),
                           hip::kScaleGroup);
    const std::int64_t ldb = kConfig.preshuffled_b ? group.k : group.ldb;
    if (const Status status = hip::check_rows(kName, "A", group.a, group.lda, kConfig.m); !status.ok()) return status;
    return hip::check_rows(kName, "B", group.b, ldb, kConfig.n);
  }
};

}  // namespace ckgen::tile
