#include "src/grouped_gemm/stages.hpp"

#include "src/gpu/device_program.hpp"
#include "src/plan/plan_stages.hpp"

namespace ckgen::inline v1::detail {
namespace {

/// Ok, or why the table of groups cannot get to where a kernel of attached GPU code reads it.
Status table_status(const Stage& kernel, const Groups& groups) noexcept {
  const GroupTableCode& table = *kernel.program->code().groups;
  const char* name = kernel.instance->name;
  if (!groups.are_on_device() && table.fill == nullptr)
    return Status::error(StatusCode::unsupported, "%s reads sizes of groups from the device only", name);
  if (groups.are_on_device() && table.build == nullptr)
    return Status::error(StatusCode::unsupported, "%s takes sizes of groups from the host only", name);
  if (groups.are_on_device() && resets_output(kernel))
    return Status::error(StatusCode::unsupported, "%s adds to C, and sizes on the device do not say what to reset",
                         name);
  return Status::success();
}

}  // namespace

Status fill_grouped_stages(const RegistryState&, const Problem&, const Stage& kernel, Plan& plan) noexcept {
  if (kernel.program == nullptr) return fill_stages(kernel, plan);
  plan.launchable = launchable(kernel, plan.device);
  if (plan.launchable.ok()) plan.launchable = table_status(kernel, *plan.problem.groups());
  Slices room;
  Stage upload = stage_of(kernel, StageKind::upload);
  upload.output_offset =
      room.take(kernel.program->code().groups->bytes(*kernel.instance, plan.problem, kernel.k_batch));
  add(plan, upload);
  add_kernel(kernel, plan.problem, room, plan);
  return with_workspace(room, plan);
}

}  // namespace ckgen::inline v1::detail
