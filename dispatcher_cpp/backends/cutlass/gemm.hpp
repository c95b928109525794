// Config -> one of CUTLASS 3.x's GEMM kernels for Hopper; grouped.hpp has those over groups, store.hpp what follows
// sums. For device units by nvcc, and for host units behind host_compiler.hpp.
#pragma once

#include <cutlass/cutlass.h>
#include <cstdint>
#include <cute/tensor.hpp>
#include <cutlass/detail/blockwise_scale_layout.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/dispatch_policy.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <cutlass/gemm/kernel/tile_scheduler.hpp>
#include <type_traits>

#include <ckgen/words.hpp>

#include "store.hpp"

namespace ckgen::cutlass_gemm {

/// What products are summed in.
template <class In>
using SumOf = std::conditional_t<std::is_same_v<In, std::int8_t>, std::int32_t, float>;
template <class In>
inline constexpr bool is_float8 = cutlass::sizeof_bits<In>::value == 8 && std::is_same_v<SumOf<In>, float>;

/// How two warpgroups share tiles: each a tile of its own in turns, or both halves of one.
enum class Schedule { pingpong, cooperative };

/// Where block scales lie: those of A [K/128][M], those of B [N/128][K/128].
template <bool is_swapped>
struct BlockScales {
  static constexpr auto kOfA = cute::GMMA::Major::MN, kOfB = cute::GMMA::Major::K;
  using Config = std::conditional_t<is_swapped, cutlass::detail::Sm90BlockwiseScaleConfig<128, 1, 128, kOfB, kOfA>,
                                    cutlass::detail::Sm90BlockwiseScaleConfig<1, 128, 128, kOfA, kOfB>>;
};

/// Where a line of memory of an operand runs along K, or across it.
template <bool is_along_k>
using LinesOfA = std::conditional_t<is_along_k, cutlass::layout::RowMajor, cutlass::layout::ColumnMajor>;
template <bool is_along_k>
using LinesOfB = std::conditional_t<is_along_k, cutlass::layout::ColumnMajor, cutlass::layout::RowMajor>;

/// Of the kernel's own A and B, which are the problem's B^T and A^T where it swaps.
template <Scales scales, bool is_swapped, Layout layout>
struct Layouts {
  static constexpr bool a_along_k = a_is_row_major(layout), b_along_k = !b_is_row_major(layout);
  using A = LinesOfA<is_swapped ? b_along_k : a_along_k>;
  using B = LinesOfB<is_swapped ? a_along_k : b_along_k>;
};
template <bool is_swapped>
struct Layouts<Scales::blocks, is_swapped, Layout::rcr> {
  using Config = typename BlockScales<is_swapped>::Config;
  using A = cute::tuple<cutlass::layout::RowMajor, decltype(Config::deduce_layoutSFA())>;
  using B = cute::tuple<cutlass::layout::ColumnMajor, decltype(Config::deduce_layoutSFB())>;
};

/// The main loop's schedule. Sums of 8-bit floats stay in the matrix unit, which keeps fewer bits of them than fp32
/// has; with block scales they leave it every 128 elements of K.
template <Schedule schedule, bool is_narrow_float, Scales scales>
struct MainSchedule {
  using Type = std::conditional_t<is_narrow_float, cutlass::gemm::KernelTmaWarpSpecializedPingpongFP8FastAccum,
                                  cutlass::gemm::KernelTmaWarpSpecializedPingpong>;
};
template <bool is_narrow_float, Scales scales>
struct MainSchedule<Schedule::cooperative, is_narrow_float, scales> {
  using Type = std::conditional_t<is_narrow_float, cutlass::gemm::KernelTmaWarpSpecializedCooperativeFP8FastAccum,
                                  cutlass::gemm::KernelTmaWarpSpecializedCooperative>;
};
template <bool is_narrow_float>
struct MainSchedule<Schedule::pingpong, is_narrow_float, Scales::blocks> {
  using Type = cutlass::gemm::KernelTmaWarpSpecializedPingpongFP8Blockwise;
};
template <bool is_narrow_float>
struct MainSchedule<Schedule::cooperative, is_narrow_float, Scales::blocks> {
  using Type = cutlass::gemm::KernelTmaWarpSpecializedCooperativeFP8Blockwise;
};

/// C[M][N] = A[M][K] . B[N][K]^T, lines of A and B along K or, as `layout` says, across it; sums of int8 in int32. With
/// `is_swapped` the kernel computes C^T = B . A^T: tile and cluster are of N rows and M columns then. With
/// `is_stream_k` workgroups share the K of tiles where these do not come out even, or in the splits that are asked for.
/// `Following` is what the store does beside scales.
template <class Element, class ElementC, Scales of_scales, int tile_m, int tile_n, int tile_k, int cluster_m,
          int cluster_n, Schedule schedule, bool is_stream_k, bool is_swapped, class Following = Then<false>,
          Layout layout = Layout::rcr>
struct Gemm {
  using In = Element;
  using Out = ElementC;
  using Tile = cute::Shape<cute::Int<tile_m>, cute::Int<tile_n>, cute::Int<tile_k>>;
  using Cluster = cute::Shape<cute::Int<cluster_m>, cute::Int<cluster_n>, cute::_1>;
  static constexpr bool swapped = is_swapped;
  static constexpr bool stream_k = is_stream_k;
  static constexpr Scales scales = of_scales;
  static constexpr bool copies_scales = of_scales == Scales::blocks;  // by the copy engine
  static constexpr unsigned clusters[3] = {cluster_m, cluster_n, 1};
  static constexpr int alignment = 128 / cutlass::sizeof_bits<In>::value;  // elements of one TMA access
  static constexpr int alignment_c = 128 / cutlass::sizeof_bits<Out>::value;

  using Stored = Store<Place<Tile, Out, is_swapped>, of_scales, Following>;
  using Sum = SumOf<In>;
  using Lines = Layouts<of_scales, is_swapped, layout>;
  using EpilogueSchedule =
      std::conditional_t<schedule == Schedule::cooperative, cutlass::epilogue::TmaWarpSpecializedCooperative,
                         cutlass::epilogue::TmaWarpSpecialized>;
  using LayoutC = std::conditional_t<is_swapped, cutlass::layout::ColumnMajor, cutlass::layout::RowMajor>;

  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, Sum, ComputeOf<Out>, void, LayoutC, alignment_c, Out, LayoutC,
      alignment_c, EpilogueSchedule, typename Stored::Visitor>::CollectiveOp;
  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, In, typename Lines::A, alignment, In, typename Lines::B,
      alignment, Sum, Tile, Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,
      typename MainSchedule<schedule, is_float8<In>, of_scales>::Type>::CollectiveOp;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<
      cute::Shape<int, int, int, int>, Mainloop, Epilogue,
      std::conditional_t<is_stream_k, cutlass::gemm::StreamKScheduler, cutlass::gemm::PersistentScheduler>>;
};

}  // namespace ckgen::cutlass_gemm

/// A kernel under a name of its own.
#define CKGEN_CUTLASS_KERNEL(symbol, Kernel)                                                                   \
  extern "C" __global__ void __launch_bounds__(Kernel::MaxThreadsPerBlock, Kernel::MinBlocksPerMultiprocessor) \
      symbol(__grid_constant__ const Kernel::Params params) {                                                  \
    extern __shared__ char shared[];                                                                           \
    Kernel kernel;                                                                                             \
    kernel(params, shared);                                                                                    \
  }
