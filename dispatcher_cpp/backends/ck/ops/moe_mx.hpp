// GEMMs of a mixture of experts over preshuffled fp4 weights, one e8m0 scale per 32 elements along K, four in an int32.
// Config constants -> DeviceMoeGemmMXBPreShuffle. K, AK1 and BK1 count pairs of fp4. gfx950 only.
//
// Scales of A stand in the order of the sorted token ids, padding included, and are shuffled as for a plain GEMM.
#pragma once

#include "ck/ops/moe_parts.hpp"
#include "ck/utility/common_header.hpp"

namespace ck {
/// block_sync_lds() behind all loads of the wave, those that write LDS among them.
__device__ inline void block_sync_loads() {
  constexpr int all_loads = 0x0F70;  // vmcnt 0, the other counters as they are
  __builtin_amdgcn_s_waitcnt(all_loads);
  block_sync_lds();
}
}  // namespace ck

// A goes straight to LDS. Version 3 waits for it by counting the loads behind it in its own order, which the compiler
// does not keep: a scale's load moves before A's, and the count is one too many. Version 1 does not wait in its main
// loop. Here both wait for all loads wherever they synchronise.
#define block_sync_lds block_sync_loads
#include "ck/tensor_operation/gpu/device/impl/device_moe_mx_gemm_bpreshuffle.hpp"
#undef block_sync_lds

namespace ckgen::ck_ops {

/// `Config` is the struct of constants that a unit generates.
template <class Config>
struct MoeMx {
  using C = Config;
  static constexpr Index scale_k = 32;
  using Scale = ck::e8m0_bexp_t;

  template <Spec spec>
  using Op = ck::tensor_operation::device::DeviceMoeGemmMXBPreShuffle<
      Row, Col, ck::Tuple<Row, Col, Row>, Row, typename C::Operand, Scale, typename C::Weight, Scale,
      ck::Tuple<float, float, float>, typename C::Out, float, float, PassThrough, PassThrough, MoeCast, spec, scale_k,
      C::block, C::m, C::n, C::k, C::ak1, C::bk1, C::xdl_m, C::xdl_n, C::per_wave_m, C::per_wave_n,
      typename C::ACluster, KFirst, KFirst, 2, C::ak1, C::ak1, true, typename C::BCluster, KFirst, KFirst, 2, C::bk1,
      C::bk1, true, C::shuffle_m, C::shuffle_n, typename C::CCluster, typename C::CVector, C::scheduler, C::version,
      C::silu, C::n_swizzle != 0, C::gate_up != 0, C::weighted != 0, Index, typename C::Operand>;

  template <Spec spec>
  using Gridwise = typename Op<spec>::GridwiseGemm64;

  /// Waves per SIMD that ck's invoker asks for.
  static constexpr Index waves =
      C::scheduler == Scheduler::Intrawave &&
              !(C::version == Version::v3 &&
                C::m * C::n * C::k * sizeof(typename C::Operand) <= std::size_t{128} * 128 * 64 * 2)
          ? 1
          : 2;
  static constexpr bool two_lds = C::version != Version::v1;

  /// ck's kernel for `v`: the one that its invoker launches.
  template <Variant v>
  static constexpr auto kernel() {
    if constexpr (two_lds)
      return &ck::kernel_moe_mxgemm_2lds<Gridwise<v.spec>, v.hot, v.write, waves, v.tail>;
    else
      return &ck::kernel_moe_mxgemm<Gridwise<v.spec>, v.hot, v.write, waves, v.tail>;
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
                                                   arg.p_a_grid, arg.p_a_scale_grid, arg.p_b_grid, arg.p_b_scale_grid,
                                                   arg.p_ds_grid, arg.p_c_grid, lds, lds1, arg, arg.a_element_op,
                                                   arg.b_element_op, arg.c_element_op);
    } else {
      G::template Run<v.hot, v.write, v.tail>(arg.p_sorted_token_ids, arg.p_sorted_expert_ids, arg.p_max_token_id,
                                              arg.p_a_grid, arg.p_a_scale_grid, arg.p_b_grid, arg.p_b_scale_grid,
                                              arg.p_ds_grid, arg.p_c_grid, lds, arg, arg.a_element_op, arg.b_element_op,
                                              arg.c_element_op);
    }
  }
};

}  // namespace ckgen::ck_ops
