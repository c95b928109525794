// GEMMs of a mixture of experts over preshuffled fp8 weights, one fp32 scale per block of A's row and of the weights.
// Config constants -> DeviceMoeGemmBlockScale.
#pragma once

#include "ck/ops/moe_parts.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_moe_gemm_blockscale.hpp"

namespace ckgen::ck_ops {

/// `Config` is the struct of constants that a unit generates.
template <class Config>
struct MoeBlockScale {
  using C = Config;
  static constexpr Index scale_k = C::scale_k;

  template <Spec spec>
  using Op = ck::tensor_operation::device::DeviceMoeGemmBlockScale<
      Row, Col, ck::Tuple<Row>, Row, typename C::Operand, float, typename C::Weight, float, ck::Tuple<float>,
      typename C::Out, float, float, PassThrough, PassThrough, MoeCast, spec, C::block, C::scale_m, C::scale_n,
      C::scale_k, C::m, C::n, C::k, C::ak1, C::bk1, C::xdl_m, C::xdl_n, C::per_wave_m, C::per_wave_n,
      typename C::ACluster, KFirst, KFirst, 2, C::ak1, C::ak1, false, typename C::BCluster, KFirst, KFirst, 2, C::bk1,
      C::bk1, false, C::shuffle_m, C::shuffle_n, typename C::CCluster, typename C::CVector, C::scheduler, C::version,
      C::silu, C::n_swizzle != 0, C::gate_up != 0, C::weighted != 0, Index, typename C::Operand>;

  template <Spec spec>
  using Gridwise = typename Op<spec>::GridwiseGemm64;

  /// Waves per SIMD that ck's invoker asks for.
  static constexpr Index waves = moe_registers<C> >= 256 ? 1 : 2;
  static constexpr bool two_lds = C::version != Version::v1;

  /// ck's kernel for `v`: the one that its invoker launches.
  template <Variant v>
  static constexpr auto kernel() {
    if constexpr (two_lds)
      return &ck::kernel_moe_gemm_2lds<Gridwise<v.spec>, v.hot, v.write, waves, v.tail>;
    else
      return &ck::kernel_moe_gemm<Gridwise<v.spec>, v.hot, v.write, waves, v.tail>;
  }

  template <Spec spec>
  using Argument = typename Gridwise<spec>::Argument;

  /// The same computation as `kernel<v>()`, for an entry of our own.
  template <Variant v>
  __device__ static void run(Argument<v.spec>& arg) {
    using G = Gridwise<v.spec>;
    [[maybe_unused]] constexpr Checked<G, v.write> checked{};
    static_assert(v.write == moe_write<C>);
    __shared__ char lds[G::GetSharedMemoryNumberOfByte()];
    if constexpr (two_lds) {
      __shared__ char lds1[G::GetSharedMemoryNumberOfByte()];
      G::template Run_2Lds<v.hot, v.write, v.tail>(arg.p_sorted_token_ids, arg.p_sorted_expert_ids, arg.p_max_token_id,
                                                   arg.p_a_grid, arg.p_b_grid, arg.p_ds_grid, arg.p_c_grid,
                                                   arg.p_a_scale_grid, arg.p_b_scale_grid, lds, lds1, arg,
                                                   arg.a_element_op, arg.b_element_op, arg.c_element_op);
    } else {
      G::template Run<v.hot, v.write, v.tail>(arg.p_sorted_token_ids, arg.p_sorted_expert_ids, arg.p_max_token_id,
                                              arg.p_a_grid, arg.p_b_grid, arg.p_ds_grid, arg.p_c_grid,
                                              arg.p_a_scale_grid, arg.p_b_scale_grid, lds, arg, arg.a_element_op,
                                              arg.b_element_op, arg.c_element_op);
    }
  }
};

}  // namespace ckgen::ck_ops
