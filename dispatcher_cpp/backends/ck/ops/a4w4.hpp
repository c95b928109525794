// a4w4_blockscale: fp4 rows times preshuffled fp4 rows, one e8m0 scale per 32 elements along K, four in an int32.
// Config constants -> DeviceGemmMX_Xdl_CShuffleV3. K, AK1 and BK1 count pairs of fp4. gfx950 only.
#pragma once

#include "ck/ops/common.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_gemm_xdl_cshuffle_v3_mx.hpp"

namespace ckgen::ck_ops {

/// `Config` is the struct of constants that a unit generates.
template <class Config>
struct A4w4 {
  using C = Config;
  using Shuffled = ck::tensor_layout::gemm::MFMA;
  static constexpr Index scale_k = 32;

  template <Spec spec>
  using Op = ck::tensor_operation::device::DeviceGemmMX_Xdl_CShuffleV3<
      Row, Shuffled, Row, typename C::Operand, int32_t, typename C::Operand, int32_t, typename C::Out, float,
      typename C::Out, PassThrough, PassThrough, PassThrough, spec, scale_k, C::block, C::m, C::n, C::k, C::ak1, C::bk1,
      C::xdl_m, C::xdl_n, C::per_wave_m, C::per_wave_n, typename C::ACluster, KFirst, KFirst, 2, C::ak1, C::ak1, true,
      typename C::BCluster, KFirst, KFirst, 2, C::bk1, C::bk1, true, C::shuffle_m, C::shuffle_n, typename C::CCluster,
      C::CVector::At(0), C::scheduler, C::version, typename C::Operand, typename C::Operand>;

  template <Spec spec>
  using Gridwise = typename Op<spec>::GridwiseGemm64;

  /// Waves per SIMD that ck's invoker asks for.
  static constexpr Index waves =
      C::scheduler == Scheduler::Intrawave && !(C::version == Version::v3 && C::m * C::n * C::k <= 128 * 128 * 64 * 2)
          ? 1
          : 2;
  static constexpr bool two_lds = C::version == Version::v3;

  /// ck's kernel for `v`: the one that its invoker launches.
  template <Variant v>
  static constexpr auto kernel() {
    return &ck::kernel_gemm_xdl_cshuffle_v3_mx<two_lds, Gridwise<v.spec>, v.hot, v.write, waves, v.tail>;
  }

  template <Spec spec>
  using Argument = typename Gridwise<spec>::Argument;

  /// The same computation as `kernel<v>()`, for an entry of our own; changes `arg` to this split's K.
  template <Variant v>
  __device__ static void run(Argument<v.spec>& arg) {
    using G = Gridwise<v.spec>;
    [[maybe_unused]] constexpr Checked<G, v.write> checked{};
    const auto offset = typename G::SplitKBatchOffset(arg, blockIdx.z);
    const auto* a = arg.p_a_grid + offset.a_k_split_offset;
    const auto* a_scale = arg.p_a_scale_grid + offset.a_scale_k_split_offset;
    const auto* b = arg.p_b_grid + offset.b_k_split_offset;
    const auto* b_scale = arg.p_b_scale_grid + offset.b_scale_k_split_offset;
    auto* c = arg.p_c_grid + offset.c_reduce_offset;
    __shared__ char lds[G::GetSharedMemoryNumberOfByte()];
    if constexpr (two_lds) {
      __shared__ char lds1[G::GetSharedMemoryNumberOfByte()];
      G::template Run_2Lds<v.hot, v.write, v.tail>(a, a_scale, b, b_scale, c, lds, lds1, arg);
    } else {
      G::template Run<v.hot, v.write, v.tail>(a, a_scale, b, b_scale, c, lds, arg);
    }
  }
};

}  // namespace ckgen::ck_ops
