// The C API's texts, plans and runs.
#include <string>

#include "src/c_api/support.hpp"

using ckgen::v1::detail::answer;
using ckgen::v1::detail::bench_of;
using ckgen::v1::detail::fill;
using ckgen::v1::detail::given;
using ckgen::v1::detail::guarded;
using ckgen::v1::detail::invalid;
using ckgen::v1::detail::ok;
using ckgen::v1::detail::problem_of;
using ckgen::v1::detail::run_in;
using ckgen::v1::detail::run_pooled;
using ckgen::v1::detail::selection_of;
using ckgen::v1::detail::sized;
using ckgen::v1::detail::write;

namespace {

/// Every field in its order: what is left to a default has the whole struct cleared first.
ckgen::GemmArgs gemm_args_of(const ckgen_gemm_args& x) noexcept {
  static_assert(ckgen::kMaxD == 2);
  return {x.a,
          x.b,
          x.c,
          x.a_scale,
          x.b_scale,
          x.bias,
          x.a_scale_row_major != 0,
          x.m,
          x.n,
          x.k,
          x.batch,
          x.lda,
          x.ldb,
          x.ldc,
          x.batch_stride_a,
          x.batch_stride_b,
          x.batch_stride_c,
          x.mx_scale_shuffled != 0,
          {x.d[0], x.d[1]},
          {x.ldd[0], x.ldd[1]},
          {x.batch_stride_d[0], x.batch_stride_d[1]},
          x.alpha,
          x.a1,
          x.b1,
          x.b_prepacked != 0,
          0};
}

struct Listing {
  ckgen_selection* out;
  size_t capacity;
  size_t count;
};

}  // namespace

extern "C" {

ckgen_status ckgen_enumerate(const ckgen_dispatcher* dispatcher, const ckgen_device* device,
                             const ckgen_problem* problem, ckgen_selection* out, size_t capacity, size_t* count,
                             ckgen_message message) {
  if (!given(message, dispatcher, device, count) || !sized(message, problem)) return CKGEN_INVALID_ARGUMENT;
  for (size_t i = 0; i < capacity; ++i) {
    if (!given(message, out)) return CKGEN_INVALID_ARGUMENT;
    if (out[i].size != sizeof *out) return invalid(message, "the structs of an array must have this version's size");
  }
  Listing listing{out, capacity, 0};
  dispatcher->value.enumerate(
      problem_of(*problem), device->value,
      [](void* context, const ckgen::Selection& selection) {
        Listing& list = *static_cast<Listing*>(context);
        if (list.count < list.capacity) fill(selection, list.out[list.count]);
        ++list.count;
        return true;
      },
      &listing);
  *count = listing.count;
  return ok(message);
}

ckgen_status ckgen_reason(const ckgen_selection* selection, ckgen_message text) {
  if (!sized(text, selection)) return CKGEN_INVALID_ARGUMENT;
  return guarded(text, [&] {
    write(text, ckgen::reason(selection_of(*selection)));
    return CKGEN_OK;
  });
}

ckgen_status ckgen_explain(const ckgen_dispatcher* dispatcher, const ckgen_device* device, const ckgen_problem* problem,
                           ckgen_message text, size_t* needed) {
  if (!given(text, dispatcher, device) || !sized(text, problem)) return CKGEN_INVALID_ARGUMENT;
  return guarded(text, [&] {
    const std::string trail = dispatcher->value.explain(problem_of(*problem), device->value);
    if (needed != nullptr) *needed = trail.size() + 1;
    write(text, trail);
    return CKGEN_OK;
  });
}

ckgen_status ckgen_plan_create(const ckgen_dispatcher* dispatcher, const ckgen_device* device,
                               const ckgen_problem* problem, const ckgen_selection* selection, ckgen_plan** out,
                               ckgen_message message) {
  if (!given(message, dispatcher, device, out) || !sized(message, problem)) return CKGEN_INVALID_ARGUMENT;
  if (selection != nullptr && !sized(message, selection)) return CKGEN_INVALID_ARGUMENT;
  const ckgen::Problem& wanted = problem_of(*problem);
  const ckgen::Result<ckgen::Plan> plan = selection == nullptr
                                              ? dispatcher->value.plan(wanted, device->value)
                                              : dispatcher->value.plan(wanted, device->value, selection_of(*selection));
  if (!plan) return answer(plan.status(), message);
  return guarded(message, [&] {
    *out = new ckgen_plan{*plan};
    return ok(message);
  });
}

void ckgen_plan_destroy(ckgen_plan* plan) {
  delete plan;
}

ckgen_status ckgen_plan_selection(const ckgen_plan* plan, ckgen_selection* out, ckgen_message message) {
  if (!given(message, plan) || !sized(message, out)) return CKGEN_INVALID_ARGUMENT;
  fill(plan->value.selection, *out);
  return ok(message);
}

ckgen_status ckgen_plan_workspace(const ckgen_plan* plan, uint64_t* bytes, ckgen_message message) {
  if (!given(message, plan, bytes)) return CKGEN_INVALID_ARGUMENT;
  *bytes = plan->value.workspace_size;
  return ok(message);
}

ckgen_status ckgen_plan_launchable(const ckgen_plan* plan, ckgen_message message) {
  if (!given(message, plan)) return CKGEN_INVALID_ARGUMENT;
  return answer(plan->value.launchable, message);
}

ckgen_status ckgen_preload(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan, ckgen_message message) {
  if (!given(message, dispatcher, plan)) return CKGEN_INVALID_ARGUMENT;
  return answer(dispatcher->value.preload(plan->value), message);
}

ckgen_status ckgen_run(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan, const ckgen_gemm_args* args,
                       void* workspace, void* stream, ckgen_message message) {
  return run_in<gemm_args_of>(dispatcher, plan, args, workspace, stream, message);
}

ckgen_status ckgen_run_pooled(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan, const ckgen_gemm_args* args,
                              void* stream, ckgen_message message) {
  return run_pooled<gemm_args_of>(dispatcher, plan, args, stream, message);
}

ckgen_status ckgen_bench(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan, const ckgen_gemm_args* args,
                         int32_t warmup, int32_t runs, ckgen_bench_result* out, ckgen_message message) {
  return bench_of<gemm_args_of>(dispatcher, plan, args, warmup, runs, out, message);
}

}  // extern "C"
