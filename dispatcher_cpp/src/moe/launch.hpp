#pragma once

#include <ckgen/plan.hpp>
#include <ckgen/run_args.hpp>

namespace ckgen::inline v1::detail {

/// Whether a MoE layer's plan has the stages of its parts: the last one is then down's.
inline bool is_in_parts(const Plan& plan) noexcept {
  return plan.stages[plan.stage_count - 1].instance->signature.moe.part != plan.problem.signature().moe.part;
}

/// launch_stages() of a MoE layer or a part of one.
Status launch_moe(const Plan& plan, const RunArgs& args, void* workspace, Stream stream) noexcept;

}  // namespace ckgen::inline v1::detail
