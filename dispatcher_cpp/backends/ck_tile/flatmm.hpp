// ck_tile's GEMM over a preshuffled B (FlatmmKernel) as device kernels and as the host side of their launch.
//
// The only file that knows flatmm's API. C[m][n] = (sum_k A B) * a_scale[m] * b_scale[n] in fp32, or without scales the
// sum alone; A row-major, B as ckgen/preshuffle.hpp lays it out, C row-major. Sizes count elements. C++20, compiled by
// clang as HIP: device units call Flatmm::run, host units Flatmm::prepare; nothing here launches or registers a kernel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "host_device.hpp"

// flatmm's umbrella header also brings kernels of other families and host tools that launch theirs
#include <ck_tile/core.hpp>
#include <ck_tile/host/kernel_launch.hpp>
#include <ck_tile/ops/elementwise/unary_element_wise_operation.hpp>
#include <ck_tile/ops/epilogue/cshuffle_epilogue.hpp>
#include <ck_tile/ops/gemm/kernel/gemm_tile_partitioner.hpp>
#include <ck_tile/ops/gemm/pipeline/gemm_pipeline_problem.hpp>
#include <ck_tile/ops/gemm/pipeline/tile_gemm_shape.hpp>
#include <ck_tile/ops/gemm/pipeline/tile_gemm_traits.hpp>
#include <iostream>

namespace std {
/// Takes whatever a stream takes.
struct ckgen_silent {
  template <class T>
  const ckgen_silent& operator<<(const T&) const {
    return *this;
  }
  const ckgen_silent& operator<<(ostream& (*)(ostream&)) const { return *this; }
};
inline constexpr ckgen_silent ckgen_silence{};
}  // namespace std

// FlatmmKernel prints why it refuses a problem; a launch must not print
#define cerr ckgen_silence
#include <ck_tile/ops/flatmm/kernel/flatmm_kernel.hpp>
#undef cerr
#include <ck_tile/ops/flatmm/pipeline/flatmm_pipeline_agmem_bgmem_creg_v1.hpp>

#include "checked_rows.hpp"
#include "scaled.hpp"
#include "types.hpp"

namespace ckgen::tile {

/// How one workgroup computes, as numbers; a field per field of the instance's Config. `operand` is A's and B's type.
struct FlatmmConfig {
  DType operand;
  DType c;
  bool scaled;
  Tile tile;
  std::int32_t warps[3];
  Tile warp_tile;
  bool pad_m;
  bool pad_n;
  bool pad_k;
  bool transpose_c;
  bool structured_sparsity;
  bool double_smem;
  std::int32_t partitioner_group_num;
  std::int32_t partitioner_m01;
  std::int32_t num_wave_groups;
  std::int32_t block_per_cu;
};

/// The kernel that a problem reaches: the parity of its K steps, and whether splits of K are added to C or C is set.
struct FlatmmVariant {
  bool odd;
  bool add;
  constexpr bool operator==(const FlatmmVariant&) const = default;
};

template <FlatmmConfig kConfig>
struct Flatmm {
  static_assert(has_flavour(kConfig.operand), "fp8 of the other flavour than the arch's");
  static_assert(kConfig.operand != DType::int8, "the epilogue cuts scaled int32 sums to whole numbers");

  using Operand = Element<kConfig.operand>;
  using C = Element<kConfig.c>;
  using RowMajor = ck_tile::tensor_layout::gemm::RowMajor;
  using ColumnMajor = ck_tile::tensor_layout::gemm::ColumnMajor;
  using Scale = ck_tile::FlatmmScalePointer<kConfig.scaled ? 1 : -1>;

  using Shape =
      ck_tile::TileGemmShape<ck_tile::sequence<kConfig.tile.m, kConfig.tile.n, kConfig.tile.k>,
                             ck_tile::sequence<kConfig.warps[0], kConfig.warps[1], kConfig.warps[2]>,
                             ck_tile::sequence<kConfig.warp_tile.m, kConfig.warp_tile.n, kConfig.warp_tile.k>>;
  using Partitioner =
      ck_tile::GemmSpatiallyLocalTilePartitioner<Shape, kConfig.partitioner_group_num, kConfig.partitioner_m01>;
  using Traits =
      ck_tile::TileGemmUniversalTraits<kConfig.pad_m, kConfig.pad_n, kConfig.pad_k, kConfig.double_smem, RowMajor,
                                       ColumnMajor, RowMajor, kConfig.transpose_c, kConfig.structured_sparsity,
                                       /*persistent*/ false, kConfig.num_wave_groups, /*preshuffled B*/ true>;

  // The loop is the same for every number of K steps; the pipeline's hot-loop flag is read by nobody and stays true.
  template <ck_tile::TailNumber kTail>
  using Problem = ck_tile::FlatmmPipelineProblem<Operand, Operand, /*accumulator*/ float, Shape, Traits,
                                                 ck_tile::GemmPipelineScheduler::Default, /*hot loop*/ true, kTail>;
  using BasePipeline = ck_tile::BaseFlatmmPipelineAGmemBGmemCRegV1<Problem<ck_tile::TailNumber::Even>>;

  // The C-shuffle takes as many of a wave's tiles along M at once as make a store of 16 bytes, and writes wrong rows
  // where that leaves tiles over (docs/upstream/ck_tile_cshuffle_odd.md). There it takes one: a store is of what a
  // thread holds of it.
  static constexpr ck_tile::index_t kHeld = kConfig.warp_tile.m * kConfig.warp_tile.n / ck_tile::get_warp_size();
  static constexpr ck_tile::index_t kWidest =
      std::min<ck_tile::index_t>(kConfig.warps[1] * kConfig.warp_tile.n, 16 / sizeof(C));
  static constexpr ck_tile::index_t kTilesAlongM = kConfig.tile.m / (kConfig.warps[0] * kConfig.warp_tile.m);
  static constexpr ck_tile::index_t kTilesAtOnce = std::clamp<ck_tile::index_t>(kWidest / kHeld, 1, kTilesAlongM);
  static constexpr bool kOneTileAtOnce = kTilesAlongM % kTilesAtOnce != 0;

  template <ck_tile::memory_operation_enum kStore>
  using Shuffle = ck_tile::CShuffleEpilogue<ck_tile::CShuffleEpilogueProblem<
      Operand, Operand, ck_tile::tuple<>, /*accumulator*/ float, C, ck_tile::tuple<>, RowMajor,
      ck_tile::element_wise::PassThrough, Partitioner::MPerBlock, Partitioner::NPerBlock, kConfig.warps[0],
      kConfig.warps[1], kConfig.warp_tile.m, kConfig.warp_tile.n, kConfig.warp_tile.k, kConfig.transpose_c, kStore,
      kConfig.num_wave_groups, kOneTileAtOnce, kOneTileAtOnce ? kHeld : 1>>;
  template <bool kAdd>
  using Epilogue = std::conditional_t<kAdd, CheckedRows<Shuffle<ck_tile::memory_operation_enum::atomic_add>>,
                                      Shuffle<ck_tile::memory_operation_enum::set>>;

  template <FlatmmVariant kVariant>
  using Kernel =
      ck_tile::FlatmmKernel<Partitioner,
                            ck_tile::FlatmmPipelineAGmemBGmemCRegV1<
                                Problem<kVariant.odd ? ck_tile::TailNumber::Odd : ck_tile::TailNumber::Even>>,
                            Epilogue<kVariant.add>>;
  using AnyKernel = Kernel<FlatmmVariant{false, false}>;

  using Args = ck_tile::FlatmmKernelArgs<Scale, Scale>;
  using HostArgs = ck_tile::ScaleFlatmmHostArgs<Scale, Scale>;
  static constexpr int kBlockSize = Shape::NumWarps * ck_tile::get_warp_size();
  static constexpr int kBlocksPerCu = kConfig.block_per_cu;

  template <FlatmmVariant kVariant>
  CK_TILE_DEVICE static void run(const Args& args) {
    Kernel<kVariant>{}(args);
  }

  /// The kernel that a problem of K = `k` in `k_batch` equal splits reaches.
  static FlatmmVariant variant_of(ck_tile::index_t k, ck_tile::index_t k_batch) noexcept {
    const ck_tile::index_t steps = Partitioner::GetLoopNum(ck_tile::integer_divide_ceil(k, k_batch));
    return {BasePipeline::GetBlockLoopTailNum(steps) == ck_tile::TailNumber::Odd, k_batch > 1};
  }

  /// What FlatmmKernel itself says of a problem of legal sizes.
  static bool accepts(const Args& args) noexcept {
    return args.k_batch > 1 ? Kernel<FlatmmVariant{false, true}>::IsSupportedArgument(args)
                            : AnyKernel::IsSupportedArgument(args);
  }

  static Args arguments(const GemmArgs& args, ck_tile::index_t k_batch) noexcept {
    using ck_tile::index_t;
    const auto m = static_cast<index_t>(args.m);
    const auto n = static_cast<index_t>(args.n);
    const auto k = static_cast<index_t>(args.k);
    const Scale of_a(static_cast<const float*>(args.a_scale), m);
    const Scale of_b(static_cast<const float*>(args.b_scale), n);
    const HostArgs host(args.a, args.b, {}, args.c, k_batch, m, n, k, static_cast<index_t>(args.lda),
                        /*stride of B, read by nobody*/ k, {}, static_cast<index_t>(args.ldc), of_a, of_b);
    return AnyKernel::MakeKernelArgs(host);
  }

  /// See PrepareFn; `built` are the kernels of all archs. Splits of K must be equal and of whole K tiles: the kernel
  /// rounds them to warp tiles and reads whole tiles from there, which counts products twice.
  template <std::size_t N>
  static Status prepare(const Built<FlatmmVariant> (&built)[N], const Launch& launch, Arch arch,
                        KernelCall& out) noexcept {
    const GemmArgs& args = *launch.args;
    const std::int64_t k_batch = launch.k_batch == 0 ? 1 : launch.k_batch;
    if (const Status status = check_extents(args, args.k, kConfig.operand, kConfig.c); !status.ok()) return status;
    if (k_batch > 1 && args.k % (k_batch * kConfig.tile.k) != 0)
      return Status::error(StatusCode::unsupported, "K=%lld in %lld splits is not of whole K tiles of %d",
                           static_cast<long long>(args.k), static_cast<long long>(k_batch), kConfig.tile.k);
    const Args kernel_args = arguments(args, static_cast<ck_tile::index_t>(k_batch));
    if (!accepts(kernel_args)) return refused(launch, "FlatmmKernel");
    const FlatmmVariant variant = variant_of(kernel_args.K, kernel_args.k_batch);
    const char* symbol = symbol_of(built, variant, arch);
    if (symbol == nullptr) return not_built(launch, arch);
    const dim3 grid = AnyKernel::GridSize(kernel_args);
    const Status status = device::fill(out, symbol, {grid.x, grid.y, grid.z}, {kBlockSize, 1, 1}, 0, kernel_args);
    if (status.ok() && variant.add) device::clear_c(out, launch);
    return status;
  }
};

}  // namespace ckgen::tile
