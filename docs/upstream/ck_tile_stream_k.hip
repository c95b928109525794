// Device-only reproducer: ck_tile's stream-K GEMM that reduces through a workspace, fp16, one tile of 64 x 64 x 64. To
// compile to a code object, and to run it (ck_tile_stream_k.md):
//   clang++ -x hip --cuda-device-only --offload-arch=gfx942 -O3 -std=c++20 -I composable_kernel/include …
#include <ck_tile/core.hpp>

#include <ck_tile/ops/elementwise/unary_element_wise_operation.hpp>
#include <ck_tile/ops/epilogue/cshuffle_epilogue.hpp>
#include <ck_tile/ops/gemm/block/block_gemm_asmem_bsmem_creg_v1_custom_policy.hpp>
#include <ck_tile/ops/gemm/block/block_universal_gemm_as_bs_cr.hpp>
#include <ck_tile/ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v3.hpp>
#include <ck_tile/ops/gemm/pipeline/gemm_pipeline_problem.hpp>
#include <ck_tile/ops/gemm/pipeline/tile_gemm_shape.hpp>
#include <ck_tile/ops/gemm/pipeline/tile_gemm_traits.hpp>
#include <ck_tile/ops/gemm/warp/warp_gemm.hpp>
#include <ck_tile/ops/gemm/warp/warp_gemm_dispatcher.hpp>

// the arguments are made by the host's own constructors, here in the kernel
#pragma clang force_cuda_host_device begin
#undef CK_TILE_HOST
#define CK_TILE_HOST inline __host__ __device__
#include <ck_tile/ops/gemm/kernel/streamk_gemm_kernel.hpp>
#include <ck_tile/ops/gemm/kernel/streamk_gemm_tile_partitioner.hpp>
#pragma clang force_cuda_host_device end

using namespace ck_tile;
using Row = tensor_layout::gemm::RowMajor;
using Column = tensor_layout::gemm::ColumnMajor;
using Pass = element_wise::PassThrough;
using Shape = TileGemmShape<sequence<64, 64, 64>, sequence<2, 2, 1>, sequence<32, 32, 8>>;
using Partitioner = StreamKTilePartitioner_v2<Shape, StreamKReductionStrategy::Reduction, /*persistent*/ false>;
using Traits = TileGemmUniversalTraits</*padded M, N, K*/ true, true, true, false, Row, Column, Row>;
using Problem = UniversalGemmPipelineProblem<half_t, half_t, float, Shape, Traits, GemmPipelineScheduler::Intrawave>;
using Epilogue = CShuffleEpilogue<CShuffleEpilogueProblem<half_t, half_t, tuple<>, float, half_t, tuple<>, Row, Pass,
                                                          64, 64, 2, 2, 32, 32, 8, false, memory_operation_enum::set>>;
using Kernel = reboot::StreamKKernel<Partitioner, GemmPipelineAgBgCrCompV3<Problem>, Epilogue>;

/// C[m][n] = A[m][k] B[n][k]; `grid` is what stream-K shares its tiles among.
extern "C" __global__ void __launch_bounds__(Kernel::kBlockSize, 1)
    stream_k(const half_t* a, const half_t* b, half_t* c, void* workspace, int m, int n, int k, int grid) {
  const reboot::StreamKHostArgs host(a, b, c, m, n, k, k, k, n, StreamKReductionStrategy::Reduction);
  Kernel::KernelArgs args(host, grid);
  args.workspace_ptr = workspace;
  Kernel{}(args);
}
