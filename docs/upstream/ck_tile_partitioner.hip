// Device-only reproducer: GemmTile1DPartitioner stores N in a variable of the whole device. In the assembly every
// workgroup writes it:
//   clang++ -x hip --cuda-device-only --offload-arch=gfx942 -O3 -std=c++20 -S -I composable_kernel/include …
#include <ck_tile/core.hpp>
#include <ck_tile/ops/gemm/kernel/gemm_tile_partitioner.hpp>
#include <ck_tile/ops/gemm/pipeline/tile_gemm_shape.hpp>

using Shape =
    ck_tile::TileGemmShape<ck_tile::sequence<64, 64, 64>, ck_tile::sequence<1, 4, 1>, ck_tile::sequence<16, 16, 16>>;

extern "C" __global__ void tile_of(int m, int n, int* out) {
  const auto [row, column] = ck_tile::GemmTile1DPartitioner<Shape>{m, n}.GetOutputTileIndex(blockIdx.x);
  out[2 * blockIdx.x] = row;
  out[2 * blockIdx.x + 1] = column;
}
