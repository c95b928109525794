// Config -> one of CUTLASS 3.x's kernels over groups for Hopper, which reads sizes, addresses and distances from arrays
// in device memory and makes descriptors of each group itself. For device units by nvcc, and for host units behind
// host_compiler.hpp.
#pragma once

#include "gemm.hpp"
#include "grouped_scales.hpp"
#include "groups.hpp"

#include <cutlass/gemm/group_array_problem_shape.hpp>

namespace ckgen::cutlass_gemm {

/// As MainSchedule of one product.
template <Schedule schedule>
struct GroupSchedule {
  using Plain = cutlass::gemm::KernelPtrArrayTmaWarpSpecializedPingpong;
  using NarrowFloats = cutlass::gemm::KernelPtrArrayTmaWarpSpecializedPingpongFP8FastAccum;
  using Blocks = cutlass::gemm::KernelPtrArrayTmaWarpSpecializedPingpongFP8Blockwise;
  using Store = cutlass::epilogue::PtrArrayTmaWarpSpecializedPingpong;
};
template <>
struct GroupSchedule<Schedule::cooperative> {
  using Plain = cutlass::gemm::KernelPtrArrayTmaWarpSpecializedCooperative;
  using NarrowFloats = cutlass::gemm::KernelPtrArrayTmaWarpSpecializedCooperativeFP8FastAccum;
  using Blocks = cutlass::gemm::KernelPtrArrayTmaWarpSpecializedCooperativeFP8Blockwise;
  using Store = cutlass::epilogue::PtrArrayTmaWarpSpecializedCooperative;
};

/// Of the kernel's own A and B, of each group; where scales of blocks lie follows from a group's sizes.
template <Scales scales, bool is_swapped>
struct GroupLayouts {
  using A = cutlass::layout::RowMajor*;
  using B = cutlass::layout::ColumnMajor*;
};
template <bool is_swapped>
struct GroupLayouts<Scales::blocks, is_swapped> {
  using Config = typename BlockScales<is_swapped>::Config;
  using A = cute::tuple<cutlass::layout::RowMajor*, decltype(Config::deduce_layoutSFA())*>;
  using B = cute::tuple<cutlass::layout::ColumnMajor*, decltype(Config::deduce_layoutSFB())*>;
};

/// C[g][M][N] = A[g][M][K] . B[g][N][K]^T of every group g, as Gemm computes one. As many workgroups as there are SMs
/// walk over the tiles of all groups; a group without rows has none.
template <class Element, class ElementC, Scales of_scales, int tile_m, int tile_n, int tile_k, int cluster_m,
          int cluster_n, Schedule schedule, bool is_swapped, class Following = Then<false>>
struct GroupedGemm {
  using In = Element;
  using Out = ElementC;
  using Tile = cute::Shape<cute::Int<tile_m>, cute::Int<tile_n>, cute::Int<tile_k>>;
  using Cluster = cute::Shape<cute::Int<cluster_m>, cute::Int<cluster_n>, cute::_1>;
  using Size = cute::Shape<int, int, int>;
  static constexpr bool swapped = is_swapped;
  static constexpr Scales scales = of_scales;
  static constexpr bool copies_scales = false;  // threads load those of blocks one by one, from any lines
  static constexpr unsigned clusters[3] = {cluster_m, cluster_n, 1};
  static constexpr int alignment = 128 / cutlass::sizeof_bits<In>::value;  // elements of one TMA access
  static constexpr int alignment_c = 128 / cutlass::sizeof_bits<Out>::value;
  static constexpr GroupTable table{is_swapped, Following::has_bias, Following::d_count};

  using Stored = Store<Place<Tile, Out, is_swapped, true>, of_scales, Following>;
  using Sum = SumOf<In>;
  using Schedules = GroupSchedule<schedule>;
  using MainSchedule = std::conditional_t<
      of_scales == Scales::blocks, typename Schedules::Blocks,
      std::conditional_t<is_float8<In>, typename Schedules::NarrowFloats, typename Schedules::Plain>>;
  using Lines = GroupLayouts<of_scales, is_swapped>;
  using LayoutC = std::conditional_t<is_swapped, cutlass::layout::ColumnMajor, cutlass::layout::RowMajor>;
  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, Sum, ComputeOf<Out>, void, LayoutC*, alignment_c, Out, LayoutC*,
      alignment_c, typename Schedules::Store, typename Stored::Visitor>::CollectiveOp;
  using PlainMainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, In, typename Lines::A, alignment, In, typename Lines::B,
      alignment, Sum, Tile, Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,
      MainSchedule>::CollectiveOp;
  using Mainloop =
      std::conditional_t<of_scales == Scales::blocks, LinesOfScales<PlainMainloop, is_swapped>, PlainMainloop>;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<Size>, Mainloop, Epilogue>;
};

}  // namespace ckgen::cutlass_gemm

/// Defines the kernel of UploadGroups as `symbol`: bytes travel as its argument, with nothing to wait for.
#define CKGEN_CUTLASS_UPLOAD(symbol)                                                    \
  extern "C" __global__ void __launch_bounds__(ckgen::cutlass_gemm::kUploadGroupsLanes) \
      symbol(const __grid_constant__ ckgen::cutlass_gemm::UploadGroups args) {          \
    if (threadIdx.x < args.words) args.to[threadIdx.x] = args.payload[threadIdx.x];     \
  }
/// Defines the kernel of DescribeGroups as `symbol`.
#define CKGEN_CUTLASS_DESCRIBE(symbol)                                                                                 \
  extern "C" __global__ void __launch_bounds__(ckgen::cutlass_gemm::kDescribeLanes)                                    \
      symbol(const __grid_constant__ ckgen::cutlass_gemm::DescribeGroups args) {                                       \
    const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * ckgen::cutlass_gemm::kDescribeLanes + threadIdx.x; \
    if (at < ckgen::cutlass_gemm::group_table_words(args.count, args.table))                                           \
      args.to[at] = ckgen::cutlass_gemm::group_word(args.operands, args.sizes, args.count, args.table, at);            \
  }
