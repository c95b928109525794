#include "backends/host/gemm/in_place.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {

Blocking in_place_blocking(const GemmTraits& t, const Blocking& blocking, std::int64_t m) noexcept {
  Blocking b = blocking;
  if (m > kInPlaceRows || b_is_row_major(t.layout) || t.preshuffle_b || t.b_op != OperandOp::none) return b;
  if (has_tiles(b)) return b;
  b.in_place = b.isa->in_place(b.kind, t.b);
  if (b.in_place == nullptr) return b;
  // One block of all rows, in panels of as many as the kernels take at a time.
  b.block_m = std::max<std::int64_t>(b.block_m, kInPlaceRows);
  const MicroKernel* micro = pick_micro(b.isa->menu[static_cast<int>(b.kind)], kInPlaceRows / 2, b.nr, m);
  if (micro != nullptr) b.mr = micro->mr;
  return b;
}

// Those read B again for each four rows. Twins keep to them: not every level has kernels that read in place, and a twin
// has the same bits on all. With scales of K groups those are faster: lanes share a group, and nothing waits for the
// sum of the group before.
bool is_faster_in_place(const GemmTraits& t, const Blocking& blocking, std::int64_t m) noexcept {
  const bool by_group = t.quant == Quant::blockscale || t.quant == Quant::mx;
  return blocking.dots && m > 4 && !by_group && in_place_blocking(t, blocking, m).in_place != nullptr;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
