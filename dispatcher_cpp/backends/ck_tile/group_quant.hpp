// ck_tile's GEMM with fp32 scales for groups of A alone or of B alone (QuantGemmKernel, AQuantGrouped and
// BQuantGrouped) as device kernels and as the host side of their launch.
//
// C[m][n] = sum over groups g of K of partial_g[m][n] * scale, with a_scale[m][g] or b_scale[n / group_n][g]. A is
// row-major, B N rows of K elements, in A's type or int4 (see int4_operand.hpp), C row-major; scales are row-major with
// K / group_k to a row. K is whole tiles: the scales of a shorter last one would be those of the next row. Sizes count
// elements. The main loop is our own over ck_tile's windows and block GEMMs: ck_tile's keeps the scales under way in an
// array that a variable indexes, which the compiler puts into scratch memory. C++20, compiled by clang as HIP: device
// units call GroupQuantGemm::run, host units ::prepare.
#pragma once

#include "int4_operand.hpp"
#include "quant.hpp"

#include <ck_tile/ops/gemm_quant/block/block_universal_gemm_as_aquant_bs_cr.hpp>
#include <ck_tile/ops/gemm_quant/block/block_universal_gemm_as_bs_bquant_cr.hpp>
#include <ck_tile/ops/gemm_quant/pipeline/gemm_aquant_pipeline_ag_bg_cr_policy.hpp>
#include <ck_tile/ops/gemm_quant/pipeline/gemm_bquant_pipeline_ag_bg_cr_policy.hpp>

#include <ck_tile/ops/gemm_quant/pipeline/gemm_aquant_pipeline_ag_bg_cr_v3.hpp>
#include <ck_tile/ops/gemm_quant/pipeline/gemm_bquant_pipeline_ag_bg_cr_v3.hpp>

namespace ckgen::tile {

/// How one workgroup computes, as numbers; a field per field of the instance's Config. `of_a`: A has the scales, one
/// for each group_k elements of a row; otherwise B, one for each group_n x group_k. `transpose_c`: each lane holds a
/// row of C, which A's scales need.
struct GroupQuantConfig {
  DType a;
  DType b;
  DType c;
  Tile tile;
  std::int32_t warps[3];
  Tile warp_tile;
  bool of_a;
  bool transpose_c;
  bool pad_m;
  bool pad_n;
  bool pad_k;
  std::int32_t group_n;
  std::int32_t group_k;
  std::int32_t partitioner_group_num;
  std::int32_t partitioner_m01;
  std::int32_t block_per_cu;
};

template <DType D>
struct GroupOperand {
  using type = Element<D>;
};
template <>
struct GroupOperand<DType::int4> {
  using type = ck_tile::pk_int4_t;
};

/// ck_tile's pipeline for scales of groups, with a main loop that takes any number of K tiles. A is row-major, B rows.
template <class Theirs, bool kOfA>
struct GroupPipeline : Theirs {
  using BlockGemm = typename Theirs::BlockGemm;
  using Windows = typename Theirs::PipelineImplBase;

  /// As QuantGemmKernel calls it for scales of A, which also gives M, and for those of B.
  template <class AWindow, class BWindow, class QWindow>
  CK_TILE_DEVICE auto operator()(const AWindow& a, const BWindow& b, const QWindow& q, ck_tile::index_t,
                                 ck_tile::index_t steps, void* lds) const {
    return sum(a, b, q, steps, lds);
  }
  template <class AWindow, class BWindow, class QWindow>
  CK_TILE_DEVICE auto operator()(const AWindow& a, const BWindow& b, const QWindow& q, ck_tile::index_t steps,
                                 void* lds) const {
    return sum(a, b, q, steps, lds);
  }

 private:
  template <class QWindow>
  CK_TILE_DEVICE static auto scales(const Windows& windows, const QWindow& q) {
    if constexpr (kOfA)
      return windows.GetAQDramLoadWindow(q);
    else
      return windows.GetBQDramLoadWindow(q);
  }

  /// What the next step reads of scales lies so far along: in the row of A, or down the transposed view of B's.
  CK_TILE_DEVICE static constexpr auto scale_step() {
    constexpr ck_tile::index_t groups = Theirs::KPerBlock / Theirs::QuantGroupSize::kK;
    if constexpr (kOfA)
      return ck_tile::make_array(0, groups);
    else
      return ck_tile::make_array(groups, 0);
  }

  /// While a step's products are computed from registers, the next tile goes to LDS and the one after is loaded; loads
  /// beyond K's end read the rows' gaps or next rows, and nobody reads what they bring.
  template <class AWindow, class BWindow, class QWindow>
  CK_TILE_DEVICE static auto sum(const AWindow& a, const BWindow& b, const QWindow& q, ck_tile::index_t steps,
                                 void* lds) {
    const Windows windows{};
    const auto as_it_is = [](const auto& x) { return x; };
    constexpr auto a_read_as = ck_tile::make_static_tile_distribution(BlockGemm::MakeABlockDistributionEncode());
    constexpr auto b_read_as = ck_tile::make_static_tile_distribution(BlockGemm::MakeBBlockDistributionEncode());
    auto&& [a_lds, b_lds] = windows.GetABLdsTensorViews(lds);
    auto&& [a_from, a_to, a_read] = windows.GetAWindows(a, a_lds, a_read_as);
    auto&& [b_from, b_to, b_read] = windows.GetBWindows(b, b_lds, b_read_as);
    auto q_from = scales(windows, q);
    constexpr auto k_step = ck_tile::make_array(0, Theirs::KPerBlock);

    auto a_tile = ck_tile::load_tile(a_from);
    auto b_tile = ck_tile::load_tile(b_from);
    auto q_now = ck_tile::load_tile(q_from);
    ck_tile::move_tile_window(a_from, k_step);
    ck_tile::move_tile_window(b_from, k_step);
    ck_tile::move_tile_window(q_from, scale_step());

    BlockGemm block_gemm;
    auto c = block_gemm.MakeCBlockTile();
    ck_tile::tile_elementwise_inout([](auto& x) { x = 0; }, c);
    windows.LocalPrefill(a_to, a_tile, as_it_is);
    windows.LocalPrefill(b_to, b_tile, as_it_is);
    windows.GlobalPrefetch(a_tile, a_from, k_step);
    windows.GlobalPrefetch(b_tile, b_from, k_step);
    ck_tile::block_sync_lds();
    block_gemm.LocalPrefetch(a_read, b_read);
    __builtin_amdgcn_sched_barrier(0);

    for (ck_tile::index_t i = 1; i < steps; ++i) {
      ck_tile::block_sync_lds();
      windows.LocalPrefill(a_to, a_tile, as_it_is);
      windows.LocalPrefill(b_to, b_tile, as_it_is);
      windows.GlobalPrefetch(a_tile, a_from, k_step);
      windows.GlobalPrefetch(b_tile, b_from, k_step);
      const auto q_next = ck_tile::load_tile(q_from);
      ck_tile::move_tile_window(q_from, scale_step());
      block_gemm(c, q_now, a_read, b_read);
      q_now = q_next;
      ck_tile::block_sync_lds();
      block_gemm.LocalPrefetch(a_read, b_read);
      __builtin_amdgcn_sched_barrier(0);
    }
    block_gemm(c, q_now, a_read, b_read);
    return c;
  }
};

/// The only kernel that an instance has.
enum class GroupVariant : std::uint8_t { any };

template <GroupQuantConfig kConfig>
struct GroupQuantGemm {
  static_assert(has_flavour(kConfig.a), "fp8 of the other flavour than the arch's");
  static_assert(kConfig.b == kConfig.a || (kConfig.b == DType::int4 && !kConfig.of_a), "B is like A, or int4 scaled");
  static_assert(kConfig.of_a == kConfig.transpose_c, "a lane needs one scale of A, and has it if it holds a row of C");
  static_assert(!kConfig.pad_k, "K is whole tiles");

  using A = Element<kConfig.a>;
  using B = typename GroupOperand<kConfig.b>::type;
  using C = Element<kConfig.c>;
  using RowMajor = ck_tile::tensor_layout::gemm::RowMajor;
  using ColumnMajor = ck_tile::tensor_layout::gemm::ColumnMajor;
  static constexpr auto kQuant = kConfig.of_a ? ck_tile::QuantType::AQuantGrouped : ck_tile::QuantType::BQuantGrouped;

  using Shape =
      ck_tile::TileGemmShape<ck_tile::sequence<kConfig.tile.m, kConfig.tile.n, kConfig.tile.k>,
                             ck_tile::sequence<kConfig.warps[0], kConfig.warps[1], kConfig.warps[2]>,
                             ck_tile::sequence<kConfig.warp_tile.m, kConfig.warp_tile.n, kConfig.warp_tile.k>>;
  using Partitioner =
      ck_tile::GemmSpatiallyLocalTilePartitioner<Shape, kConfig.partitioner_group_num, kConfig.partitioner_m01>;
  using Traits = ck_tile::TileGemmQuantTraits<kConfig.pad_m, kConfig.pad_n, kConfig.pad_k, /*preshuffled scales*/ false,
                                              /*preshuffled B*/ false, RowMajor, ColumnMajor, RowMajor, kQuant,
                                              RowMajor, ColumnMajor, kConfig.transpose_c>;
  using Group = ck_tile::QuantGroupShape<ck_tile::sequence<1, kConfig.of_a ? 1 : kConfig.group_n, kConfig.group_k>>;

  // its main loop's form is the tree's own, which GroupPipeline does not use
  using AProblem = ck_tile::GemmAQuantPipelineProblem<A, /*scales*/ float, B, /*accumulator*/ float, Shape, Traits,
                                                      Group, kConfig.transpose_c, A>;
  using BProblem =
      ck_tile::GemmBQuantPipelineProblem<A, B, /*scales*/ float, /*accumulator*/ float, Shape, Traits, Group, A>;
  template <bool kOfA>
  struct TheirsOf {
    using type = ck_tile::AQuantGemmPipelineAgBgCrCompV3<AProblem>;
  };
  template <>
  struct TheirsOf<false> {
    using type = ck_tile::BQuantGemmPipelineAgBgCrCompV3<BProblem>;
  };
  using Pipeline = GroupPipeline<typename TheirsOf<kConfig.of_a>::type, kConfig.of_a>;

  using Epilogue = ck_tile::CShuffleEpilogue<ck_tile::CShuffleEpilogueProblem<
      A, A, ck_tile::tuple<>, /*accumulator*/ float, C, ck_tile::tuple<>, RowMajor, ck_tile::element_wise::PassThrough,
      Partitioner::MPerBlock, Partitioner::NPerBlock, kConfig.warps[0], kConfig.warps[1], kConfig.warp_tile.m,
      kConfig.warp_tile.n, kConfig.warp_tile.k, kConfig.transpose_c, ck_tile::memory_operation_enum::set>>;

  using Kernel = ck_tile::QuantGemmKernel<Partitioner, Pipeline, Epilogue, kQuant>;

  using Args = ck_tile::QuantGemmKernelArgs;
  static constexpr int kBlockSize = Shape::NumWarps * ck_tile::get_warp_size();
  static constexpr int kBlocksPerCu = kConfig.block_per_cu;

  CK_TILE_DEVICE static void run(const Args& args) { Kernel{}(args); }

  /// What QuantGemmKernel itself says of a problem of legal sizes. Throws where ck_tile's logging switch in the
  /// environment is malformed.
  static bool accepts(const Args& args) { return Kernel::IsSupportedArgument(args); }

  static Args arguments(const GemmArgs& args, ck_tile::index_t k_batch) noexcept {
    using ck_tile::index_t;
    const auto groups = static_cast<index_t>(args.k / kConfig.group_k);
    const ck_tile::QuantGemmHostArgs host(
        args.a, args.b, args.c, args.a_scale, args.b_scale, k_batch, static_cast<index_t>(args.m),
        static_cast<index_t>(args.n), static_cast<index_t>(args.k), groups, groups, static_cast<index_t>(args.lda),
        static_cast<index_t>(args.ldb), static_cast<index_t>(args.ldc), groups, groups);
    return Kernel::MakeKernelArgs(host);
  }

  /// See PrepareFn; `built` is the kernel of all archs.
  template <std::size_t N>
  static Status prepare(const Built<GroupVariant> (&built)[N], const Launch& launch, Arch arch,
                        KernelCall& out) noexcept try {
    const GemmArgs& args = *launch.args;
    const std::uint32_t k_batch = launch.k_batch == 0 ? 1 : launch.k_batch;
    if (kConfig.of_a && !args.a_scale_row_major)
      return Status::error(StatusCode::unsupported, "ck_tile's kernel reads a_scale as [M][K/%d]", kConfig.group_k);
    // B's elements are no wider than A's
    if (const Status status = check_extents(args, args.ldb, kConfig.a, kConfig.c); !status.ok()) return status;
    const PlanFor plan_for(arch);
    const Args kernel_args = arguments(args, static_cast<ck_tile::index_t>(k_batch));
    if (!accepts(kernel_args)) return refused(launch, "QuantGemmKernel");
    const char* symbol = symbol_of(built, GroupVariant::any, arch);
    if (symbol == nullptr) return not_built(launch, arch);
    const dim3 grid = Kernel::GridSize(kernel_args.M, kernel_args.N, kernel_args.k_batch);
    return device::fill(out, symbol, {grid.x, grid.y, grid.z}, {kBlockSize, 1, 1}, 0, kernel_args);
  } catch (const std::exception& error) {
    return Status::error(StatusCode::internal, "ck_tile's host code failed: %s", error.what());
  }
};

}  // namespace ckgen::tile
