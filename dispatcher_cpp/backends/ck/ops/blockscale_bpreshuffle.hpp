// a8w8_blockscale_bpreshuffle: fp8 rows times preshuffled rows, one fp32 scale per block of A and of B.
// Config constants -> DeviceGemmMultiD_BlockScale_Xdl_CShuffle_V3_BPreshuffle.
#pragma once

#include "ck/ops/common.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_gemm_multiple_d_xdl_cshuffle_v3_blockscale_bpreshuffle.hpp"

namespace ckgen::ck_ops {

/// `Config` is the struct of constants that a unit generates.
template <class Config>
struct A8w8BlockScaleBPreshuffle {
  using C = Config;

  template <Spec spec>
  using Op = ck::tensor_operation::device::DeviceGemmMultiD_BlockScale_Xdl_CShuffle_V3_BPreshuffle<
      Row, Col, ck::Tuple<>, Row, typename C::Operand, float, typename C::Operand, float, ck::Tuple<>, typename C::Out,
      float, float, PassThrough, PassThrough, PassThrough, spec, C::block, C::scale_m, C::scale_n, C::scale_k, C::m,
      C::n, C::k, C::ak1, C::bk1, C::xdl_m, C::xdl_n, C::per_wave_m, C::per_wave_n, typename C::ACluster, KFirst,
      KFirst, 2, C::ak1, C::ak1, false, typename C::BCluster, KFirst, KFirst, 2, C::bk1, C::bk1, false, C::shuffle_m,
      C::shuffle_n, typename C::CCluster, typename C::CVector, C::scheduler, C::version, typename C::Operand>;

  template <Spec spec>
  using Gridwise = typename Op<spec>::GridwiseGemm64;

  /// Waves per SIMD that ck's invoker asks for.
  static constexpr Index waves = 2;
  static constexpr bool two_lds = C::version == Version::v3;

  /// ck's kernel for `v`: the one that its invoker launches.
  template <Variant v>
  static constexpr auto kernel() {
    if constexpr (two_lds)
      return &ck::kernel_gemm_xdl_cshuffle_v3_multi_d_blockscale_b_preshuffle_2lds<Gridwise<v.spec>, v.hot, v.write,
                                                                                   waves, v.tail>;
    else
      return &ck::kernel_gemm_xdl_cshuffle_v3_multi_d_blockscale_b_preshuffle<Gridwise<v.spec>, v.hot, v.write, waves,
                                                                              v.tail>;
  }

  template <Spec spec>
  using Argument = typename Gridwise<spec>::Argument;

  /// The same computation as `kernel<v>()`, for an entry of our own.
  template <Variant v>
  __device__ static void run(Argument<v.spec>& arg) {
    using G = Gridwise<v.spec>;
    [[maybe_unused]] constexpr Checked<G, v.write> checked{};
    static_assert(v.write == Write::Set, "this kernel knows no K split");
    __shared__ char lds[G::GetSharedMemoryNumberOfByte()];
    if constexpr (two_lds) {
      __shared__ char lds1[G::GetSharedMemoryNumberOfByte()];
      G::template Run_2Lds<v.hot, v.write, v.tail>(arg.p_a_grid, arg.p_b_grid, arg.p_ds_grid, arg.p_c_grid,
                                                   arg.p_a_scale_grid, arg.p_b_scale_grid, lds, lds1, arg,
                                                   arg.a_element_op, arg.b_element_op, arg.c_element_op);
    } else {
      G::template Run<v.hot, v.write, v.tail>(arg.p_a_grid, arg.p_b_grid, arg.p_ds_grid, arg.p_c_grid,
                                              arg.p_a_scale_grid, arg.p_b_scale_grid, lds, arg, arg.a_element_op,
                                              arg.b_element_op, arg.c_element_op);
    }
  }
};

}  // namespace ckgen::ck_ops
