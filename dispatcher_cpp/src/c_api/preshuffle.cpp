// The C API's view of the order of a preshuffled B.
#include <ckgen/preshuffle.hpp>

#include "src/c_api/support.hpp"

using ckgen::v1::detail::given;
using ckgen::v1::detail::invalid;
using ckgen::v1::detail::ok;

namespace {

/// CKGEN_OK where both functions below can do their work.
ckgen_status check(const ckgen_message& message, const void* rows, const void* shuffled, int64_t stride, int64_t n,
                   int64_t row_bytes, int32_t layout) noexcept {
  if (!given(message, rows, shuffled)) return CKGEN_INVALID_ARGUMENT;
  if (layout != ckgen::kPreshuffleLayout) return invalid(message, "this library shuffles B in layout 1 only");
  if (!ckgen::can_preshuffle(n, row_bytes))
    return invalid(message, "n must be a multiple of 16 and row_bytes one of 32, none of them negative");
  if (stride < row_bytes) return invalid(message, "the stride is less than row_bytes");
  return ok(message);
}

}  // namespace

extern "C" {

int32_t ckgen_preshuffle_layout(void) {
  return ckgen::kPreshuffleLayout;
}

ckgen_status ckgen_preshuffle_b(const void* rows, int64_t stride, void* shuffled, int64_t n, int64_t row_bytes,
                                int32_t layout, ckgen_message message) {
  const ckgen_status status = check(message, rows, shuffled, stride, n, row_bytes, layout);
  if (status == CKGEN_OK) ckgen::preshuffle_b(rows, stride, shuffled, n, row_bytes);
  return status;
}

ckgen_status ckgen_unpreshuffle_b(const void* shuffled, void* rows, int64_t stride, int64_t n, int64_t row_bytes,
                                  int32_t layout, ckgen_message message) {
  const ckgen_status status = check(message, rows, shuffled, stride, n, row_bytes, layout);
  if (status == CKGEN_OK) ckgen::unpreshuffle_b(shuffled, rows, stride, n, row_bytes);
  return status;
}

}  // extern "C"
