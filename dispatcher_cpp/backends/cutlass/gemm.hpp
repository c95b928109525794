// Config -> one of CUTLASS 3.x's GEMM kernels for Hopper: the only place that knows its API of kernels. For device
// units by nvcc, and for host units behind host_compiler.hpp.
#pragma once

#include <cutlass/cutlass.h>
#include <cute/tensor.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/dispatch_policy.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <cutlass/gemm/kernel/tile_scheduler.hpp>
#include <type_traits>

namespace ckgen::cutlass_gemm {

/// How two warpgroups share tiles: each a tile of its own in turns, or both halves of one.
enum class Schedule { pingpong, cooperative };

/// C[M][N] = A[M][K] . B[N][K]^T, all of whole rows. With `is_swapped` the kernel computes C^T = B . A^T: tile and
/// cluster are of N rows and M columns then.
template <class Element, int tile_m, int tile_n, int tile_k, int cluster_m, int cluster_n, Schedule schedule,
          bool is_swapped>
struct Gemm {
  using In = Element;
  using Out = Element;
  using Tile = cute::Shape<cute::Int<tile_m>, cute::Int<tile_n>, cute::Int<tile_k>>;
  using Cluster = cute::Shape<cute::Int<cluster_m>, cute::Int<cluster_n>, cute::_1>;
  static constexpr bool swapped = is_swapped;
  static constexpr unsigned clusters[3] = {cluster_m, cluster_n, 1};
  static constexpr int alignment = 128 / cutlass::sizeof_bits<Element>::value;  // elements of one TMA access

  static constexpr bool is_cooperative = schedule == Schedule::cooperative;
  using MainSchedule = std::conditional_t<is_cooperative, cutlass::gemm::KernelTmaWarpSpecializedCooperative,
                                          cutlass::gemm::KernelTmaWarpSpecializedPingpong>;
  using EpilogueSchedule = std::conditional_t<is_cooperative, cutlass::epilogue::TmaWarpSpecializedCooperative,
                                              cutlass::epilogue::TmaWarpSpecialized>;
  using LayoutC = std::conditional_t<is_swapped, cutlass::layout::ColumnMajor, cutlass::layout::RowMajor>;

  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, LayoutC, alignment, Out, LayoutC, alignment,
      EpilogueSchedule, cutlass::epilogue::fusion::LinearCombination<Out, float, void, float>>::CollectiveOp;
  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, In, cutlass::layout::RowMajor, alignment, In,
      cutlass::layout::ColumnMajor, alignment, float, Tile, Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,
      MainSchedule>::CollectiveOp;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop, Epilogue,
                                                      cutlass::gemm::PersistentScheduler>;
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
