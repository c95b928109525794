// The C API's grouped GEMMs.
#include <cstddef>
#include <limits>

#include "src/c_api/support.hpp"

using ckgen::v1::detail::bench_of;
using ckgen::v1::detail::given;
using ckgen::v1::detail::guarded;
using ckgen::v1::detail::invalid;
using ckgen::v1::detail::ok;
using ckgen::v1::detail::run_in;
using ckgen::v1::detail::run_pooled;

namespace {

// Arrays of a caller are read as they are.
static_assert(sizeof(ckgen_group_size) == sizeof(ckgen::GroupSize));
static_assert(offsetof(ckgen_group_size, k) == offsetof(ckgen::GroupSize, k));
static_assert(sizeof(ckgen_group_operands) == sizeof(ckgen::GroupOperands));
static_assert(offsetof(ckgen_group_operands, bias) == offsetof(ckgen::GroupOperands, bias));
static_assert(offsetof(ckgen_group_operands, d) == offsetof(ckgen::GroupOperands, d));
static_assert(offsetof(ckgen_group_operands, ldc) == offsetof(ckgen::GroupOperands, ldc));
static_assert(offsetof(ckgen_group_operands, ldd) == offsetof(ckgen::GroupOperands, ldd));

const ckgen::GroupSize* sizes_of(const ckgen_group_size* sizes) noexcept {
  return reinterpret_cast<const ckgen::GroupSize*>(sizes);
}

ckgen::GroupedArgs grouped_args_of(const ckgen_grouped_args& x) noexcept {
  return {reinterpret_cast<const ckgen::GroupOperands*>(x.operands),
          sizes_of(x.sizes),
          x.count,
          x.a_scale_row_major != 0,
          x.mx_scale_shuffled != 0,
          x.alpha,
          x.size >= sizeof x ? x.a_scale_stride : 0};
}

}  // namespace

extern "C" {

ckgen_status ckgen_groups_create(const ckgen_group_size* sizes, int64_t count, ckgen_groups** out,
                                 ckgen_message message) {
  if (!given(message, out) || (count != 0 && !given(message, sizes))) return CKGEN_INVALID_ARGUMENT;
  if (count < 0 || count > std::numeric_limits<int32_t>::max()) return invalid(message, "the count is out of range");
  return guarded(message, [&] {
    std::vector<ckgen::GroupSize> own(sizes_of(sizes), sizes_of(sizes) + count);
    const ckgen::Groups groups(own.data(), count);
    *out = new ckgen_groups{std::move(own), groups};
    return ok(message);
  });
}

ckgen_status ckgen_groups_on_device(int64_t count, int64_t m_max, int64_t n, int64_t k, ckgen_groups** out,
                                    ckgen_message message) {
  if (!given(message, out)) return CKGEN_INVALID_ARGUMENT;
  return guarded(message, [&] {
    *out = new ckgen_groups{{}, ckgen::Groups::on_device(count, m_max, n, k)};
    return ok(message);
  });
}

void ckgen_groups_destroy(ckgen_groups* groups) {
  delete groups;
}

ckgen_status ckgen_run_grouped(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan,
                               const ckgen_grouped_args* args, void* workspace, void* stream, ckgen_message message) {
  return run_in<grouped_args_of>(dispatcher, plan, args, workspace, stream, message);
}

ckgen_status ckgen_run_grouped_pooled(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan,
                                      const ckgen_grouped_args* args, void* stream, ckgen_message message) {
  return run_pooled<grouped_args_of>(dispatcher, plan, args, stream, message);
}

ckgen_status ckgen_bench_grouped(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan,
                                 const ckgen_grouped_args* args, int32_t warmup, int32_t runs, ckgen_bench_result* out,
                                 ckgen_message message) {
  return bench_of<grouped_args_of>(dispatcher, plan, args, warmup, runs, out, message);
}

}  // extern "C"
