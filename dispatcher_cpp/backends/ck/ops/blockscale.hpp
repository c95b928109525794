// a8w8_blockscale: fp8 rows times rows, one fp32 scale per block of A and of B.
// Config constants -> DeviceGemmMultiD_ABScale_Xdl_CShuffle_V3.
#pragma once

#include "ck/ops/common.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_gemm_multiple_d_xdl_cshuffle_v3_ab_scale.hpp"

namespace ckgen::ck_ops {

/// `Config` is the struct of constants that a unit generates.
template <class Config>
struct A8w8BlockScale {
  using C = Config;

  template <Spec spec>
  using Op = ck::tensor_operation::device::DeviceGemmMultiD_ABScale_Xdl_CShuffle_V3<
      Row, Col, ck::Tuple<>, Row, typename C::Operand, float, typename C::Operand, float, ck::Tuple<>, typename C::Out,
      float, float, PassThrough, PassThrough, PassThrough, spec, C::block, C::scale_m, C::scale_n, C::scale_k, C::m,
      C::n, C::k, C::ak1, C::bk1, C::xdl_m, C::xdl_n, C::per_wave_m, C::per_wave_n, typename C::ACluster, KFirst,
      KFirst, 2, C::ak1, C::ak1, false, typename C::BCluster, KFirst, KFirst, 2, C::bk1, C::bk1, false, C::shuffle_m,
      C::shuffle_n, typename C::CCluster, typename C::CVector, C::scheduler, C::version, typename C::Operand>;

  template <Spec spec>
  using Gridwise = typename Op<spec>::GridwiseGemm64;

  /// Waves per SIMD that ck's invoker asks for.
  static constexpr Index waves = C::scheduler == Scheduler::Intrawave && C::m * C::n / C::block > 64 ? 1 : 2;

  /// ck's kernel for `v`: the one that its invoker launches.
  template <Variant v>
  static constexpr auto kernel() {
    return &ck::kernel_gemm_xdl_cshuffle_v3<Gridwise<v.spec>, v.hot, v.write, waves, v.tail>;
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
    G::template Run<v.hot, v.write, v.tail>(arg.p_a_grid, arg.p_b_grid, arg.p_ds_grid, arg.p_c_grid, arg.p_a_scale_grid,
                                            arg.p_b_scale_grid, lds, arg, arg.a_element_op, arg.b_element_op,
                                            arg.c_element_op);
  }
};

}  // namespace ckgen::ck_ops
