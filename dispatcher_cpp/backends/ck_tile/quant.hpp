// ck_tile's GEMM with fp32 scales of A and B (QuantGemmKernel) as device kernels and as the host side of their launch.
//
// The only file that knows that kernel's API. C[m][n] = (sum_k A B) * a_scale[m] * b_scale[n] in fp32, or with one
// scale for all of A and one for all of B; A row-major, B N rows of K elements, C row-major. Scales of blocks of both A
// and B are not in the tree that this is written for. Sizes count elements. C++20, compiled by clang as HIP: device
// units call QuantGemm::run, host units QuantGemm::prepare; nothing here launches or registers a kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>

#include "host_device.hpp"

// the umbrella headers also bring kernels of other families and host tools that launch theirs
#include <ck_tile/core.hpp>
#include <ck_tile/host/kernel_launch.hpp>
#include <ck_tile/ops/elementwise/unary_element_wise_operation.hpp>
#include <ck_tile/ops/epilogue/cshuffle_epilogue.hpp>
#include <ck_tile/ops/gemm/block/block_gemm_asmem_bsmem_creg_v1_custom_policy.hpp>
#include <ck_tile/ops/gemm/block/block_universal_gemm_as_bs_cr.hpp>
#include <ck_tile/ops/gemm/kernel/gemm_tile_partitioner.hpp>
#include <ck_tile/ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v3.hpp>
#include <ck_tile/ops/gemm/pipeline/gemm_pipeline_problem.hpp>
#include <ck_tile/ops/gemm/pipeline/tile_gemm_shape.hpp>
#include <ck_tile/ops/gemm/warp/warp_gemm.hpp>
#include <ck_tile/ops/gemm/warp/warp_gemm_dispatcher.hpp>

#include <ck_tile/ops/gemm_quant/kernel/gemm_quant_kernel.hpp>
#include <ck_tile/ops/gemm_quant/pipeline/gemm_group_quant_utils.hpp>
#include <ck_tile/ops/gemm_quant/pipeline/gemm_quant_pipeline_problem.hpp>
#include <ck_tile/ops/gemm_quant/pipeline/tile_gemm_quant_traits.hpp>

#include "scaled.hpp"
#include "types.hpp"

namespace ckgen::tile {

/// How one workgroup computes, as numbers; a field per field of the instance's Config. `operand` is A's and B's type;
/// `per_tensor`: one scale each for A and B instead of one per row of A and column of C.
struct QuantConfig {
  DType operand;
  DType c;
  Tile tile;
  std::int32_t warps[3];
  Tile warp_tile;
  bool per_tensor;
  bool pad_m;
  bool pad_n;
  bool pad_k;
  std::int32_t partitioner_group_num;
  std::int32_t partitioner_m01;
  std::int32_t block_per_cu;
};

/// How many K steps a problem has, as far as the main loop asks.
enum class QuantLoop : std::uint8_t { one, two, many };

template <QuantConfig kConfig>
struct QuantGemm {
  static_assert(has_flavour(kConfig.operand), "fp8 of the other flavour than the arch's");
  static_assert(kConfig.operand != DType::int8, "the epilogue cuts scaled int32 sums to whole numbers");

  using Operand = Element<kConfig.operand>;
  using C = Element<kConfig.c>;
  using RowMajor = ck_tile::tensor_layout::gemm::RowMajor;
  using ColumnMajor = ck_tile::tensor_layout::gemm::ColumnMajor;
  static constexpr auto kQuant = kConfig.per_tensor ? ck_tile::QuantType::TensorQuant : ck_tile::QuantType::RowColQuant;

  using Shape =
      ck_tile::TileGemmShape<ck_tile::sequence<kConfig.tile.m, kConfig.tile.n, kConfig.tile.k>,
                             ck_tile::sequence<kConfig.warps[0], kConfig.warps[1], kConfig.warps[2]>,
                             ck_tile::sequence<kConfig.warp_tile.m, kConfig.warp_tile.n, kConfig.warp_tile.k>>;
  // not GemmTile1DPartitioner, which keeps N in a variable that all launches on a device share
  using Partitioner =
      ck_tile::GemmSpatiallyLocalTilePartitioner<Shape, kConfig.partitioner_group_num, kConfig.partitioner_m01>;
  using Traits = ck_tile::TileGemmQuantTraits<kConfig.pad_m, kConfig.pad_n, kConfig.pad_k, /*preshuffled scales*/ false,
                                              /*preshuffled B*/ false, RowMajor, ColumnMajor, RowMajor, kQuant>;

  template <QuantLoop kLoop>
  using Problem =
      ck_tile::GemmRowColTensorQuantPipelineProblem<Operand, Operand, /*accumulator*/ float, /*scales*/ float, Shape,
                                                    Traits, /*transposed C*/ false, Operand,
                                                    ck_tile::GemmPipelineScheduler::Intrawave, kLoop == QuantLoop::many,
                                                    kLoop == QuantLoop::many  ? ck_tile::TailNumber::Full
                                                    : kLoop == QuantLoop::two ? ck_tile::TailNumber::Even
                                                                              : ck_tile::TailNumber::Odd>;
  using BasePipeline = ck_tile::BaseGemmPipelineAgBgCrCompV3<Problem<QuantLoop::many>>;

  using Epilogue = ck_tile::CShuffleEpilogue<ck_tile::CShuffleEpilogueProblem<
      Operand, Operand, ck_tile::tuple<>, /*accumulator*/ float, C, ck_tile::tuple<>, RowMajor,
      ck_tile::element_wise::PassThrough, Partitioner::MPerBlock, Partitioner::NPerBlock, kConfig.warps[0],
      kConfig.warps[1], kConfig.warp_tile.m, kConfig.warp_tile.n, kConfig.warp_tile.k, /*transposed C*/ false,
      ck_tile::memory_operation_enum::set>>;

  template <QuantLoop kLoop>
  using Kernel =
      ck_tile::QuantGemmKernel<Partitioner, ck_tile::GemmPipelineAgBgCrCompV3<Problem<kLoop>>, Epilogue, kQuant>;
  using AnyKernel = Kernel<QuantLoop::many>;

  using Args = ck_tile::QuantGemmKernelArgs;
  static constexpr int kBlockSize = Shape::NumWarps * ck_tile::get_warp_size();
  static constexpr int kBlocksPerCu = kConfig.block_per_cu;

  template <QuantLoop kLoop>
  CK_TILE_DEVICE static void run(const Args& args) {
    Kernel<kLoop>{}(args);
  }

  /// The kernel that a problem of K = `k` reaches.
  static QuantLoop loop_of(ck_tile::index_t k) noexcept {
    const ck_tile::index_t steps = Partitioner::GetLoopNum(k);
    switch (BasePipeline::GetBlockLoopTailNum(steps)) {
      case ck_tile::TailNumber::Odd: return QuantLoop::one;
      case ck_tile::TailNumber::Even: return QuantLoop::two;
      default: return QuantLoop::many;
    }
  }

  /// What QuantGemmKernel itself says of a problem of legal sizes. Throws where ck_tile's logging switch in the
  /// environment is malformed.
  static bool accepts(const Args& args) { return AnyKernel::IsSupportedArgument(args); }

  static Args arguments(const GemmArgs& args, ck_tile::index_t k_batch) noexcept {
    using ck_tile::index_t;
    // strides of scales: none of these kernels reads them
    const ck_tile::QuantGemmHostArgs host(args.a, args.b, args.c, args.a_scale, args.b_scale, k_batch,
                                          static_cast<index_t>(args.m), static_cast<index_t>(args.n),
                                          static_cast<index_t>(args.k), /*QK of A*/ 1,
                                          /*QK of B*/ 1, static_cast<index_t>(args.lda), static_cast<index_t>(args.ldb),
                                          static_cast<index_t>(args.ldc), 1, 1);
    return AnyKernel::MakeKernelArgs(host);
  }

  /// See PrepareFn; `built` are the kernels of all archs.
  template <std::size_t N>
  static Status prepare(const Built<QuantLoop> (&built)[N], const Launch& launch, Arch arch, KernelCall& out) noexcept
      try {
    const GemmArgs& args = *launch.args;
    const std::uint32_t k_batch = launch.k_batch == 0 ? 1 : launch.k_batch;
    if (const Status status = check_extents(args, args.ldb, kConfig.operand, kConfig.c); !status.ok()) return status;
    const PlanFor plan_for(arch);
    const Args kernel_args = arguments(args, static_cast<ck_tile::index_t>(k_batch));
    if (!accepts(kernel_args)) return refused(launch, "QuantGemmKernel");
    const char* symbol = symbol_of(built, loop_of(kernel_args.K), arch);
    if (symbol == nullptr) return not_built(launch, arch);
    const dim3 grid = AnyKernel::GridSize(kernel_args.M, kernel_args.N, kernel_args.k_batch);
    return device::fill(out, symbol, {grid.x, grid.y, grid.z}, {kBlockSize, 1, 1}, 0, kernel_args);
  } catch (const std::exception& error) {
    return Status::error(StatusCode::internal, "ck_tile's host code failed: %s", error.what());
  }
};

}  // namespace ckgen::tile
