// batched_a8w8 (int8 or fp8, scaled by row and column) and batched_bf16 (no scales): a batch of rows times rows.
// Config constants -> DeviceBatchedGemmMultiD_Xdl_CShuffle_V3.
#pragma once

#include <type_traits>

#include "ck/ops/common.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_batched_gemm_multiple_d_xdl_cshuffle_v3.hpp"

namespace ckgen::ck_ops {

/// `Config` is the struct of constants that a unit generates; bf16 operands mean no scales.
template <class Config>
struct Batched {
  using C = Config;
  static constexpr bool scaled = !std::is_same_v<typename C::Operand, ck::bhalf_t>;
  using Acc = std::conditional_t<std::is_same_v<typename C::Operand, int8_t>, int32_t, float>;
  using Scales = std::conditional_t<scaled, ck::Tuple<float, float>, ck::Tuple<>>;
  using ScaleLayouts = std::conditional_t<scaled, ck::Tuple<Row, Col>, ck::Tuple<>>;
  using Finish = std::conditional_t<scaled, RowwiseScale, PassThrough>;

  template <Spec spec>
  using Op = ck::tensor_operation::device::DeviceBatchedGemmMultiD_Xdl_CShuffle_V3<
      Row, Col, ScaleLayouts, Row, typename C::Operand, typename C::Operand, Scales, typename C::Out, Acc, Acc,
      PassThrough, PassThrough, Finish, spec, C::block, C::m, C::n, C::k, C::ak1, C::bk1, C::xdl_m, C::xdl_n,
      C::per_wave_m, C::per_wave_n, typename C::ACluster, KFirst, KFirst, 2, C::ak1, C::ak1, false,
      typename C::BCluster, KFirst, KFirst, 2, C::bk1, C::bk1, false, C::shuffle_m, C::shuffle_n, typename C::CCluster,
      typename C::CVector, C::scheduler, C::version, typename C::Operand>;

  template <Spec spec>
  using Gridwise = typename Op<spec>::GridwiseGemm64;

  /// Waves per SIMD that ck's invoker asks for.
  static constexpr Index waves = C::scheduler == Scheduler::Interwave ? 2
                                 : C::version == Version::v3          ? (C::m * C::n / C::block <= 128 ? 2 : 1)
                                                                      : 1;
  static constexpr bool two_lds = C::version == Version::v4;

  /// ck's kernel for `v`: the one that its invoker launches.
  template <Variant v>
  static constexpr auto kernel() {
    if constexpr (two_lds)
      return &ck::kernel_batched_gemm_xdl_cshuffle_v3_multi_d_2lds<Gridwise<v.spec>, Argument<v.spec>, v.hot, v.write,
                                                                   waves, v.tail>;
    else
      return &ck::kernel_batched_gemm_xdl_cshuffle_v3_multi_d<Gridwise<v.spec>, Argument<v.spec>, v.hot, v.write, waves,
                                                              v.tail>;
  }

  template <Spec spec>
  using Argument = typename Op<spec>::Argument;

  /// The same computation as `kernel<v>()`, for an entry of our own; changes `arg` to this batch's pointers.
  template <Variant v>
  __device__ static void run(Argument<v.spec>& arg) {
    using G = Gridwise<v.spec>;
    [[maybe_unused]] constexpr Checked<G, v.write> checked{};
    const Index batch = static_cast<Index>(blockIdx.z) % arg.Batch;
    const Index split = static_cast<Index>(blockIdx.z) / arg.Batch;
    const auto& strides = arg.compute_ptr_offset_of_batch;
    const auto scale_offset = strides.GetDsPtrOffset(batch);
    const auto offset = typename G::SplitKBatchOffset(arg, split);
    ck::static_for<0, G::NumDTensor, 1>{}([&](auto i) { arg.p_ds_grid(i) = arg.p_ds_grid(i) + scale_offset[i.value]; });
    const auto* a = arg.p_a_grid + strides.GetAPtrOffset(batch) + offset.a_k_split_offset;
    const auto* b = arg.p_b_grid + strides.GetBPtrOffset(batch) + offset.b_k_split_offset;
    auto* c = arg.p_c_grid + strides.GetCPtrOffset(batch);
    __shared__ char lds[G::GetSharedMemoryNumberOfByte()];
    if constexpr (two_lds) {
      __shared__ char lds1[G::GetSharedMemoryNumberOfByte()];
      G::template Run_2Lds<v.hot, v.write, v.tail>(a, b, arg.p_ds_grid, c, lds, lds1, arg, arg.a_element_op,
                                                   arg.b_element_op, arg.c_element_op);
    } else {
      G::template Run<v.hot, v.write, v.tail>(a, b, arg.p_ds_grid, c, lds, arg, arg.a_element_op, arg.b_element_op,
                                              arg.c_element_op);
    }
  }
};

}  // namespace ckgen::ck_ops
