// Host-only reproducer: what FlatmmKernel accepts, and what its own code then computes. Needs ck_tile's headers only:
//   clang++ -x hip --cuda-host-only -std=c++20 -I composable_kernel/include ck_tile_flatmm.cpp && ./a.out
#include <ck_tile/core.hpp>
#include <ck_tile/host/kernel_launch.hpp>
#include <ck_tile/ops/elementwise/unary_element_wise_operation.hpp>
#include <ck_tile/ops/epilogue/cshuffle_epilogue.hpp>
#include <ck_tile/ops/flatmm/kernel/flatmm_kernel.hpp>
#include <ck_tile/ops/flatmm/pipeline/flatmm_pipeline_agmem_bgmem_creg_v1.hpp>
#include <ck_tile/ops/gemm/kernel/gemm_tile_partitioner.hpp>
#include <ck_tile/ops/gemm/pipeline/gemm_pipeline_problem.hpp>
#include <ck_tile/ops/gemm/pipeline/tile_gemm_shape.hpp>
#include <ck_tile/ops/gemm/pipeline/tile_gemm_traits.hpp>
#include <cstdio>

namespace {
using namespace ck_tile;
using Row = tensor_layout::gemm::RowMajor;
using Col = tensor_layout::gemm::ColumnMajor;
using Shape = TileGemmShape<sequence<64, 256, 128>, sequence<1, 4, 1>, sequence<16, 16, 64>>;
using Partitioner = GemmSpatiallyLocalTilePartitioner<Shape, 8, 4>;
using Scale = FlatmmScalePointer<1>;

template <bool kPadK, memory_operation_enum kStore>
using Kernel = FlatmmKernel<
    Partitioner,
    FlatmmPipelineAGmemBGmemCRegV1<FlatmmPipelineProblem<
        fp8_t, fp8_t, float, Shape,
        TileGemmUniversalTraits<false, false, kPadK, false, Row, Col, Row, false, false, false, 1, true>,
        GemmPipelineScheduler::Default, true, TailNumber::Even>>,
    CShuffleEpilogue<CShuffleEpilogueProblem<fp8_t, fp8_t, tuple<>, float, bf16_t, tuple<>, Row,
                                             element_wise::PassThrough, 64, 256, 1, 4, 16, 16, 64, false, kStore>>>;

template <class K>
bool accepts(index_t m, index_t n, index_t k, index_t k_batch) {
  const ScaleFlatmmHostArgs<Scale, Scale> args(nullptr, nullptr, {}, nullptr, k_batch, m, n, k, k, k, {}, n,
                                               Scale(nullptr, m), Scale(nullptr, n));
  return K::IsSupportedArgument(K::MakeKernelArgs(args));
}
}  // namespace

int main() {
  // 1. K splits below the K tile. SplitKBatchOffset: KRead = ceil(K / (k_batch * warp K)) * warp K.
  const index_t k = 4096, k_batch = 64, k_read = (k + k_batch * 64 - 1) / (k_batch * 64) * 64;
  std::printf("split: accepted %d, K %d, read %d\n",
              accepts<Kernel<false, memory_operation_enum::atomic_add>>(64, 256, k, k_batch), k,
              k_batch * Partitioner::GetLoopNum(k_read) * Partitioner::KPerBlock);

  // 2. Splits that are added, through a kernel that sets.
  std::printf("store: accepted %d\n", accepts<Kernel<false, memory_operation_enum::set>>(64, 256, k, 2));

  // 3. Padded K. MakeGemmTensorViews: kFlatK = flatKPerWarp * (K / warp K), the distance of B's groups of 16 rows.
  const index_t odd_k = 160;
  std::printf("padded K: accepted %d, B's rows %d apart, taken as %d\n",
              accepts<Kernel<true, memory_operation_enum::set>>(64, 256, odd_k, 1), 16 * odd_k,
              Shape::WarpTile::at(number<1>{}) * Shape::WarpTile::at(number<2>{}) * (odd_k / 64));

  // 4. Sizes. The number of elements of A, as its own descriptor counts them.
  const index_t m = 1 << 22, long_k = 1024;
  std::printf("sizes: accepted %d, A has 4294967296 elements, counted %d\n",
              accepts<Kernel<false, memory_operation_enum::set>>(m, 256, long_k, 1),
              static_cast<int>(make_naive_tensor_descriptor(make_tuple(m, long_k), make_tuple(long_k, 1), number<16>{},
                                                            number<1>{})
                                   .get_element_space_size()));

  // 5. int32 sums under scales: CShuffleEpilogue::scale_tile applies this to a tile of the accumulator's type.
  index_t scaled = 7;
  element_wise::MultiDMultiply{}(scaled, scaled, 0.5f, 0.5f);
  std::printf("int8: 7 * 0.5 * 0.5 = %d\n", static_cast<int>(scaled));
}
