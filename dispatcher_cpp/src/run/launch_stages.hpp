// A checked plan's stages, launched in order.
#pragma once

#include <ckgen/plan.hpp>
#include <ckgen/run_args.hpp>

namespace ckgen::inline v1::detail {

struct Resets;

/// A stage of kind `kernel`, by its program or its launcher.
Status launch_kernel(const Stage& stage, const Launch& launch, const Device& device, const Resets& resets) noexcept;

/// On the thread's current device, which is the plan's. `workspace`: plan.workspace_size bytes.
Status launch_stages(const Plan& plan, const RunArgs& args, void* workspace, Stream stream) noexcept;

/// The same where every stage works on the plan's own problem and arguments.
Status launch_in_order(const Plan& plan, const RunArgs& args, void* workspace, Stream stream) noexcept;

}  // namespace ckgen::inline v1::detail
