// The C API's view of weights that are packed once.
#include <ckgen/prepack.hpp>

#include "src/c_api/support.hpp"
#include "src/signature/key.hpp"

using ckgen::v1::detail::answer;
using ckgen::v1::detail::given;
using ckgen::v1::detail::unpack;

extern "C" {

ckgen_status ckgen_packed_b_bytes(uint64_t signature, int64_t n, int64_t k, int64_t batch, uint64_t* bytes,
                                  ckgen_message message) {
  if (!given(message, bytes)) return CKGEN_INVALID_ARGUMENT;
  const ckgen::Result<std::uint64_t> found = ckgen::packed_b_bytes(unpack(signature), n, k, batch);
  if (found) *bytes = *found;
  return answer(found.status(), message);
}

ckgen_status ckgen_pack_b(uint64_t signature, const void* b, int64_t n, int64_t k, int64_t ldb, int64_t batch,
                          int64_t batch_stride, void* packed, uint64_t bytes, ckgen_message message) {
  return answer(ckgen::pack_b(unpack(signature), {b, n, k, ldb, batch, batch_stride}, packed, bytes), message);
}

ckgen_status ckgen_check_packed_b(uint64_t signature, int64_t n, int64_t k, int64_t batch, const void* packed,
                                  ckgen_message message) {
  return answer(ckgen::check_packed_b(unpack(signature).b, n, k, batch, packed), message);
}

}  // extern "C"
