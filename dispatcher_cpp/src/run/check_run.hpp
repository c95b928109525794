// What is looked at ahead of a launch.
#pragma once

#include <ckgen/plan.hpp>
#include <ckgen/run_args.hpp>

namespace ckgen::inline v1::detail {

/// Whether the plan can be launched on this thread's device.
Status check_plan(const Plan& plan) noexcept;

/// The same, and whether the arguments are those of the plan's problem.
Status check_run(const Plan& plan, const RunArgs& args) noexcept;

}  // namespace ckgen::inline v1::detail
