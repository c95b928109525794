// Device-only reproducer: adding to a bf16 C, with a checked buffer atomic on gfx950 and through a plain pointer on
// gfx942. Compile to assembly for each and look for atomics:
//   clang++ -x hip --cuda-device-only --offload-arch=gfx942 -O3 -std=c++20 -S -I composable_kernel/include …
#include <ck_tile/core.hpp>

extern "C" __global__ void add_rows(ck_tile::bf16_t* c, int rows, int columns) {
  using namespace ck_tile;
  // as FlatmmKernel makes C's view: row-major, not padded along M
  auto view = make_naive_tensor_view<address_space_enum::global, memory_operation_enum::atomic_add>(
      c, make_tuple(rows, columns), make_tuple(columns, 1), number<8>{}, number<1>{});
  constexpr auto distribution = make_static_tile_distribution(
      tile_distribution_encoding<sequence<>, tuple<sequence<64>, sequence<1, 8>>, tuple<sequence<1>>,
                                 tuple<sequence<0>>, sequence<2, 2>, sequence<0, 1>>{});
  auto window = make_tile_window(view, make_tuple(number<64>{}, number<8>{}),
                                 {static_cast<index_t>(blockIdx.x * 64), 0}, distribution);
  auto tile = make_static_distributed_tensor<bf16_t>(distribution);
  set_tile(tile, type_convert<bf16_t>(1.f));
  update_tile(window, tile);
}
