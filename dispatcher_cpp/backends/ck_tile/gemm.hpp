// ck_tile's dense GEMM for one Config: the only place that knows its templates and their argument orders.
//
// A Config is a struct of constants, in the words of ckgen's CkTileConfig (see the device unit's template). C++20, for
// a HIP compile of either half. CKGEN_CK_EPILOGUE_ORDER is the argument order that the CK tree was found to have:
//   2  CShuffleEpilogueProblem<As, Bs, Ds, Acc, C, DsLayout, CLayout, Op, M, N, waves, XDL, transposed, memory op, …>
//   1  the same with the block size before M
#pragma once

#include "host_device.hpp"

#include <ck_tile/core.hpp>
#include <ck_tile/ops/elementwise/unary_element_wise_operation.hpp>
#include <ck_tile/ops/epilogue/cshuffle_epilogue.hpp>
#include <ck_tile/ops/epilogue/default_2d_epilogue.hpp>
#include <ck_tile/ops/gemm/block/block_gemm_areg_breg_creg_v1.hpp>
#include <ck_tile/ops/gemm/block/block_gemm_areg_breg_creg_v1_custom_policy.hpp>
#include <ck_tile/ops/gemm/block/block_gemm_asmem_bsmem_creg_v1_custom_policy.hpp>
#include <ck_tile/ops/gemm/block/block_universal_gemm_as_bs_cr.hpp>
#include <ck_tile/ops/gemm/kernel/gemm_kernel.hpp>
#include <ck_tile/ops/gemm/kernel/gemm_tile_partitioner.hpp>
#include <ck_tile/ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_async.hpp>
#include <ck_tile/ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v3.hpp>
#include <ck_tile/ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v4.hpp>
#include <ck_tile/ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v5.hpp>
#include <ck_tile/ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v6.hpp>
#include <ck_tile/ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_mem.hpp>
#include <ck_tile/ops/gemm/pipeline/gemm_pipeline_problem.hpp>
#include <ck_tile/ops/gemm/pipeline/tile_gemm_shape.hpp>
#include <ck_tile/ops/gemm/pipeline/tile_gemm_traits.hpp>
#include <ck_tile/ops/gemm/warp/warp_gemm.hpp>
#include <ck_tile/ops/gemm/warp/warp_gemm_dispatcher.hpp>

#include "checked_rows.hpp"
#include "types.hpp"

#if !defined(CKGEN_CK_EPILOGUE_ORDER)
#define CKGEN_CK_EPILOGUE_ORDER 2
#endif
#if CKGEN_CK_EPILOGUE_ORDER != 1 && CKGEN_CK_EPILOGUE_ORDER != 2
#error "this CK tree's CShuffleEpilogueProblem takes its arguments in an order that ckgen does not know"
#endif

namespace ckgen::tile {

using ck_tile::index_t;
using Tail = ck_tile::TailNumber;

enum class Loop { mem, compv3, compv4, compv5, compv6, comp_async };
enum class Store { cshuffle, direct };

/// A pipeline's policy with A and B in global accesses of `V` elements; the pipelines ask the policy, not the Problem,
/// what they load.
template <class Policy, index_t V>
struct NarrowLoads : Policy {
  template <class Problem, bool Wave32Host = false>
  CK_TILE_HOST_DEVICE static constexpr auto GetVectorSizeA() {
    return V;
  }
  template <class Problem, bool Wave32Host = false>
  CK_TILE_HOST_DEVICE static constexpr auto GetVectorSizeB() {
    return V;
  }
  template <class Problem>
  CK_TILE_HOST_DEVICE static constexpr auto MakeShuffledARegTileDistribution() {
    return shuffled<Problem, Problem::BlockGemmShape::kM>();
  }
  template <class Problem>
  CK_TILE_HOST_DEVICE static constexpr auto MakeShuffledBRegTileDistribution() {
    return shuffled<Problem, Problem::BlockGemmShape::kN>();
  }

 private:
  template <class Problem, index_t Extent>
  CK_TILE_HOST_DEVICE static constexpr auto shuffled() {
    using Pattern =
        ck_tile::tile_distribution_encoding_pattern_2d<Problem::kBlockSize, Problem::BlockGemmShape::kK, Extent, V,
                                                       Policy::getATileAccessPattern(), Problem::NumWaveGroups>;
    return Pattern::make_shuffled_2d_static_tile_distribution();
  }
};

template <class Policy, index_t V>
using Loads = std::conditional_t<V == 0, Policy, NarrowLoads<Policy, V>>;

template <Loop>
struct LoopOf;

#define CKGEN_TILE_LOOP(loop, Name, Policy)                                                 \
  template <>                                                                               \
  struct LoopOf<Loop::loop> {                                                               \
    template <class Problem>                                                                \
    using Base = ck_tile::BaseGemmPipelineAgBgCr##Name<Problem>;                            \
    template <class Problem, index_t V>                                                     \
    using Pipeline = ck_tile::GemmPipelineAgBgCr##Name<Problem, Loads<ck_tile::Policy, V>>; \
  }
CKGEN_TILE_LOOP(mem, Mem, UniversalGemmPipelineAgBgCrPolicy);
CKGEN_TILE_LOOP(compv3, CompV3, UniversalGemmPipelineAgBgCrPolicy);
CKGEN_TILE_LOOP(compv4, CompV4, GemmPipelineAgBgCrCompV4DefaultPolicy);
CKGEN_TILE_LOOP(compv5, CompV5, GemmPipelineAgBgCrCompV5DefaultPolicy);
CKGEN_TILE_LOOP(compv6, CompV6, GemmPipelineAgBgCrCompV6DefaultPolicy);
CKGEN_TILE_LOOP(comp_async, CompAsync, GemmPipelineAgBgCrCompAsyncDefaultPolicy);
#undef CKGEN_TILE_LOOP

/// The main loop of a kernel: whether it turns at all, and what is left after it.
struct LoopCase {
  bool hot;
  Tail tail;
};

/// The kernels of one Config.
template <class C>
struct Gemm {
  using A = Element<C::a>;
  using B = Element<C::b>;
  using Acc = Element<C::acc>;
  using Out = Element<C::c>;
  static_assert(has_flavour(C::a) && has_flavour(C::b), "this arch's 8-bit floats are of the other flavour");
  static_assert(C::block_per_cu >= 1, "a workgroup needs a place on a CU");

  using Shape = ck_tile::TileGemmShape<ck_tile::sequence<C::tile_m, C::tile_n, C::tile_k>,
                                       ck_tile::sequence<C::warps_m, C::warps_n, C::warps_k>,
                                       ck_tile::sequence<C::warp_tile_m, C::warp_tile_n, C::warp_tile_k>>;
  using Partitioner = ck_tile::GemmSpatiallyLocalTilePartitioner<Shape, C::partitioner_group_num, C::partitioner_m01>;

  // two LDS buffers are the pipeline's, not a choice
  static constexpr bool two_buffers = C::loop == Loop::compv4 || C::loop == Loop::comp_async;
  using Traits = ck_tile::TileGemmUniversalTraits<C::pad_m, C::pad_n, C::pad_k, two_buffers, LayoutA<C::layout>,
                                                  LayoutB<C::layout>, LayoutC, C::transpose_c, C::structured_sparsity,
                                                  C::persistent, C::num_wave_groups>;
  static constexpr auto scheduler =
      C::interwave ? ck_tile::GemmPipelineScheduler::Interwave : ck_tile::GemmPipelineScheduler::Intrawave;

  template <bool Hot, Tail T>
  using Problem = ck_tile::UniversalGemmPipelineProblem<A, B, Acc, Shape, Traits, scheduler, Hot, T,
                                                        ck_tile::element_wise::PassThrough,
                                                        ck_tile::element_wise::PassThrough, A, C::vector != 0,
                                                        C::vector != 0 ? C::vector : 1, C::vector != 0 ? C::vector : 1>;
  using Loops = typename LoopOf<C::loop>::template Base<Problem<true, Tail::Full>>;
  template <bool Hot, Tail T>
  using Pipeline = typename LoopOf<C::loop>::template Pipeline<Problem<Hot, T>, C::vector>;

  /// K tiles per turn of the main loop, and those around it that are fewer than a turn more; 0 of each where one kernel
  /// takes any number of tiles.
  static constexpr index_t turn = C::loop == Loop::compv3 || C::loop == Loop::compv5 ? 0
                                  : C::loop == Loop::mem                             ? Loops::PrefetchStages
                                                                                     : 2;
  static constexpr index_t lead = turn == 0 ? 0 : C::loop == Loop::mem ? Loops::PrefetchStages : 3;

  /// The main loop that so many K tiles take, as ck_tile's TailHandler would choose it.
  ///
  /// But for three tiles: the double-buffered loops call that hot, and a hot loop turns at least once, which makes
  /// five.
  static constexpr LoopCase loop_of(index_t tiles) {
    if (two_buffers && tiles == 3) return {false, Tail::Three};
    return {Loops::BlockHasHotloop(tiles), Loops::GetBlockLoopTailNum(tiles)};
  }

  static constexpr auto memory(bool atomic) {
    return atomic ? ck_tile::memory_operation_enum::atomic_add : ck_tile::memory_operation_enum::set;
  }
  // of several wave groups only the first comes to the epilogue
  static constexpr index_t kStoringGroups = 1;
  using NoDs = ck_tile::tuple<>;
  using Pass = ck_tile::element_wise::PassThrough;
#if CKGEN_CK_EPILOGUE_ORDER == 2
  template <bool Atomic>
  using Shuffle = ck_tile::CShuffleEpilogue<
      ck_tile::CShuffleEpilogueProblem<A, B, NoDs, Acc, Out, NoDs, LayoutC, Pass, C::tile_m, C::tile_n, C::warps_m,
                                       C::warps_n, C::warp_tile_m, C::warp_tile_n, C::warp_tile_k, C::transpose_c,
                                       memory(Atomic), kStoringGroups, C::vector != 0, C::vector != 0 ? C::vector : 1>>;
#else
  template <bool Atomic>
  using Shuffle = ck_tile::CShuffleEpilogue<ck_tile::CShuffleEpilogueProblem<
      A, B, NoDs, Acc, Out, NoDs, LayoutC, Pass, Pipeline<true, Tail::Full>::BlockSize, C::tile_m, C::tile_n,
      C::warps_m, C::warps_n, C::warp_tile_m, C::warp_tile_n, C::warp_tile_k, C::transpose_c, memory(Atomic),
      kStoringGroups, C::vector != 0, C::vector != 0 ? C::vector : 1>>;
#endif
  // raw stores have no adding form
  template <bool Atomic>
  using Direct = ck_tile::DefaultGemm2DEpilogue<ck_tile::DefaultGemm2DEpilogueProblem<
      A, B, NoDs, Acc, Out, NoDs, LayoutC, Pass, C::tile_m, C::tile_n, C::pad_m, C::pad_n, C::warp_tile_m,
      C::warp_tile_n, C::warp_tile_k, C::transpose_c, !Atomic, memory(Atomic)>>;
  template <bool Atomic>
  using Unchecked = typename std::conditional_t<C::store == Store::cshuffle, std::type_identity<Shuffle<Atomic>>,
                                                std::type_identity<Direct<Atomic>>>::type;
  template <bool Atomic>
  using Epilogue = std::conditional_t<Atomic, CheckedRows<Unchecked<Atomic>>, Unchecked<Atomic>>;

  /// The kernel of one variant: `Hot` and `T` are the main loop's, `Atomic` adds into C instead of writing it.
  template <bool Hot, Tail T, bool Atomic>
  using Kernel = ck_tile::GemmKernel<Partitioner, Pipeline<Hot, T>, Epilogue<Atomic>>;
  using Args = ck_tile::UniversalGemmKernelArgs<1, 1, 0>;
};

}  // namespace ckgen::tile

/// Defines the device entry `symbol` of the variant (hot, tail, atomic) of `Config`.
#define CKGEN_TILE_GEMM_KERNEL(symbol, Config, hot, tail, atomic)                                                  \
  extern "C" __global__ void __launch_bounds__(                                                                    \
      (ckgen::tile::Gemm<Config>::Kernel<hot, ckgen::tile::Tail::tail, atomic>::kBlockSize), Config::block_per_cu) \
      symbol(ckgen::tile::Gemm<Config>::Args args) {                                                               \
    ckgen::tile::Gemm<Config>::Kernel<hot, ckgen::tile::Tail::tail, atomic>{}(args);                               \
  }
