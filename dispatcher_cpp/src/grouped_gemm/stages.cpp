#include "src/grouped_gemm/stages.hpp"

#include <algorithm>
#include <new>

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
  Stage upload = own_stage(kernel, GroupedStage::upload);
  upload.output_offset =
      room.take(kernel.program->code().groups->bytes(*kernel.instance, plan.problem, kernel.k_batch));
  add(plan, upload);
  add_kernel(kernel, plan.problem, room, plan);
  return with_workspace(room, plan);
}

Status clear_groups(const GpuRuntime& runtime, const KernelCall& call, const Launch& launch) noexcept {
  if (const Status status = clear_output(runtime, call, launch); !status.ok() || !call.clear_groups) return status;
  const GroupedArgs& args = *launch.grouped;
  if (launch.problem->groups()->are_on_device())
    return Status::error(StatusCode::unsupported, "C of groups whose sizes are on the device cannot be reset");
  const auto bytes = static_cast<std::size_t>(bits(launch.problem->signature().c)) / 8;
  for (std::int64_t i = 0; i < args.count; ++i) {
    const GroupOperands& x = args.operands[i];
    const GroupSize& size = args.sizes[i];
    if (size.m == 0 || size.n == 0) continue;
    const Clear clear{x.c, static_cast<std::size_t>(x.ldc) * bytes, static_cast<std::size_t>(size.n) * bytes,
                      static_cast<std::size_t>(size.m)};
    if (const Status status = runtime.zero(clear, launch.stream); !status.ok()) return status;
  }
  return Status::success();
}

Status upload_groups(const Stage& stage, const Device& device, void* memory, Launch& launch) noexcept {
  const DeviceProgram& program = *stage.program;
  const GroupTableCode& table = *program.code().groups;
  launch.group_table = memory;
  if (launch.problem->groups()->are_on_device()) return program.launch(table.build, launch, device);
  const std::uint64_t bytes = table.bytes(*launch.instance, *launch.problem, launch.k_batch);
  KernelCall call;
  call.reset();
  call.symbol = table.upload;
  call.block[0] = kUploadLanes;
  call.args_size = sizeof(Upload);
  Upload& upload = *new (call.args) Upload;
  for (TableCursor cursor; cursor.offset < bytes;) {
    const std::uint64_t begin = cursor.offset;
    const auto now = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes - begin, kUploadBytes));
    if (const Status status = table.fill(launch, device.arch(), device.cu_num(), cursor, upload.payload, now);
        !status.ok())
      return status;
    if (cursor.offset != begin + now)
      return Status::error(StatusCode::internal, "%s leaves a gap in its table of groups", launch.instance->name);
    upload.to = reinterpret_cast<std::uint32_t*>(static_cast<unsigned char*>(memory) + begin);
    upload.words = now / static_cast<std::uint32_t>(sizeof(std::uint32_t));
    if (const Status status = program.submit(call, *launch.instance, device, launch.stream); !status.ok())
      return status;
  }
  return Status::success();
}

}  // namespace ckgen::inline v1::detail
