// A checked plan's stages, launched in order.
#pragma once

#include <ckgen/plan.hpp>

namespace ckgen::inline v1::detail {

/// The arguments of the plan's op; the other pointers are null.
struct RunArgs {
  const GemmArgs* gemm = nullptr;
  const GroupedArgs* grouped = nullptr;
  const MoeArgs* moe = nullptr;
  const FmhaArgs* fmha = nullptr;
};

/// Whether a MoE layer's plan has the stages of its parts: the last one is then down's.
inline bool is_in_parts(const Plan& plan) noexcept {
  return plan.stages[plan.stage_count - 1].instance->signature.moe.part != plan.problem.signature().moe.part;
}

/// On the thread's current device, which is the plan's. `workspace`: plan.workspace_size bytes.
Status launch_stages(const Plan& plan, const RunArgs& args, void* workspace, Stream stream) noexcept;

}  // namespace ckgen::inline v1::detail
