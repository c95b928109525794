// Host-only reproducer: what UniversalGemmKernel accepts and its pipelines then run. Needs ck_tile's headers, and HIP
// or two functions in its place, hipGetDevice and hipGetDeviceProperties, that return an error:
//   clang++ -x hip --cuda-host-only -std=c++20 -I composable_kernel/include ck_tile_gemm.cpp -lamdhip64 && ./a.out
#include <ck_tile/core.hpp>
#include <ck_tile/ops/elementwise/unary_element_wise_operation.hpp>
#include <ck_tile/ops/epilogue/cshuffle_epilogue.hpp>
#include <ck_tile/ops/gemm/block/block_gemm_areg_breg_creg_v1.hpp>
#include <ck_tile/ops/gemm/block/block_gemm_areg_breg_creg_v1_custom_policy.hpp>
#include <ck_tile/ops/gemm/block/block_gemm_asmem_bsmem_creg_v1_custom_policy.hpp>
#include <ck_tile/ops/gemm/block/block_universal_gemm_as_bs_cr.hpp>
#include <ck_tile/ops/gemm/kernel/gemm_kernel.hpp>
#include <ck_tile/ops/gemm/kernel/gemm_tile_partitioner.hpp>
#include <ck_tile/ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v4.hpp>
#include <ck_tile/ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v6.hpp>
#include <ck_tile/ops/gemm/pipeline/gemm_pipeline_problem.hpp>
#include <ck_tile/ops/gemm/pipeline/tile_gemm_shape.hpp>
#include <ck_tile/ops/gemm/pipeline/tile_gemm_traits.hpp>
#include <ck_tile/ops/gemm/warp/warp_gemm.hpp>
#include <ck_tile/ops/gemm/warp/warp_gemm_dispatcher.hpp>
#include <cstdio>

namespace {
using namespace ck_tile;
using Row = tensor_layout::gemm::RowMajor;
using Col = tensor_layout::gemm::ColumnMajor;
using Shape = TileGemmShape<sequence<128, 128, 64>, sequence<2, 2, 1>, sequence<32, 32, 16>>;
using Partitioner = GemmSpatiallyLocalTilePartitioner<Shape, 8, 4>;

template <bool kPad, bool kDouble>
using Problem = UniversalGemmPipelineProblem<half_t, half_t, float, Shape,
                                             TileGemmUniversalTraits<kPad, kPad, kPad, kDouble, Row, Col, Row>>;
template <class Pipeline>
using Kernel = GemmKernel<Partitioner, Pipeline,
                          CShuffleEpilogue<CShuffleEpilogueProblem<half_t, half_t, tuple<>, float, half_t, tuple<>, Row,
                                                                   element_wise::PassThrough, 128, 128, 2, 2, 32, 32,
                                                                   16, false, memory_operation_enum::set>>>;

template <bool kPad>
using V4 = GemmPipelineAgBgCrCompV4<Problem<kPad, true>>;
using V6 = GemmPipelineAgBgCrCompV6<Problem<false, false>>;

template <class K>
bool accepts(index_t m, index_t n, index_t k, index_t k_batch) {
  return K::IsSupportedArgument(K::MakeKernelArgs(GemmHostArgs(nullptr, nullptr, nullptr, k_batch, m, n, k, k, k, n)));
}

// The main loop of compv4, as its operator() counts: two tiles per turn, at least one turn; then the tail. Both are
// compiled in for `planned` tiles.
int run_by_v4(index_t loops, index_t planned) {
  int done = 0;
  if (V4<false>::BlockHasHotloop(planned)) {
    index_t counter = loops - 2;
    do {
      done += 2;
      counter -= 2;
    } while (counter > 1);
  }
  const TailNumber tail = V4<false>::GetBlockLoopTailNum(planned);
  return done + (tail == TailNumber::One ? 1 : tail == TailNumber::Two ? 2 : 3);
}
}  // namespace

int main() {
  // 1. Three K tiles. BlockHasHotloop(3) holds, so that a hot loop of two tiles goes before a tail of three.
  std::printf("compv4: accepted %d, of 2, 3, 4, 5 tiles run %d, %d, %d, %d\n",
              accepts<Kernel<V4<false>>>(128, 128, 192, 1), run_by_v4(2, 2), run_by_v4(3, 3), run_by_v4(4, 4),
              run_by_v4(5, 5));

  // 2. One K tile. compv6 has tails of three (odd) and of two (even) tiles only.
  std::printf("compv6: accepted %d, hot %d, tail odd %d\n", accepts<Kernel<V6>>(128, 128, 64, 1),
              V6::BlockHasHotloop(1), V6::GetBlockLoopTailNum(1) == TailNumber::Odd);

  // 3. Splits of K. SplitKBatchOffset: KRead = ceil(K / (k_batch * warp K)) * warp K; the last one takes the rest.
  const index_t k = 256, k_batch = 12, k_read = (k + k_batch * 16 - 1) / (k_batch * 16) * 16;
  std::printf("splits: accepted %d, the last has %d of K = %d\n", accepts<Kernel<V4<true>>>(128, 128, k, k_batch),
              k - k_read * (k_batch - 1), k);

  // 4. Splits of unequal tiles: one tail number is compiled in for all.
  const index_t long_k = 648, first = (long_k + 2 * 16 - 1) / (2 * 16) * 16;
  const index_t tiles = Partitioner::GetLoopNum(first), last = Partitioner::GetLoopNum(long_k - first);
  std::printf("tails: accepted %d, splits of %d and %d tiles, the last runs %d\n",
              accepts<Kernel<V4<true>>>(128, 128, long_k, 2), tiles, last, run_by_v4(last, tiles));

  // 5. Sizes. The number of elements of A, as its own descriptor counts them.
  std::printf("sizes: accepted %d, A has 4294967296 elements, counted %d\n",
              accepts<Kernel<V4<false>>>(1 << 22, 128, 1024, 1),
              static_cast<int>(
                  make_naive_tensor_descriptor(make_tuple(1 << 22, 1024), make_tuple(1024, 1), number<8>{}, number<1>{})
                      .get_element_space_size()));
}
