#include "src/fmha/stages.hpp"

#include "src/gpu/device_program.hpp"
#include "src/plan/plan_stages.hpp"

namespace ckgen::inline v1::detail {
namespace {

PrepareFn of(const FmhaStages& stages, FmhaStage which) noexcept {
  switch (which) {
    case FmhaStage::combine: return stages.combine;
    case FmhaStage::dot_do_o: return stages.dot_do_o;
    case FmhaStage::sum_heads: return stages.sum_heads;
    case FmhaStage::convert_dq: return stages.convert_dq;
    case FmhaStage::dq: return stages.dq;
    case FmhaStage::dbias: return stages.dbias;
    case FmhaStage::dsink: return stages.dsink;
  }
  return nullptr;
}

}  // namespace

Status fill_fmha_stages(const RegistryState&, const Problem&, const Stage& kernel, Plan& plan) noexcept {
  const FmhaStages* stages = kernel.program != nullptr ? kernel.program->code().fmha : nullptr;
  if (stages == nullptr || stages->dot_do_o == nullptr) return fill_stages(kernel, plan);
  const FmhaShape& x = plan.problem.fmha();
  plan.launchable = launchable(kernel, plan.device);
  Slices room;
  Stage own = kernel;
  own.workspace_offset = room.take(workspace_of(kernel, plan.problem, plan.device));
  std::uint64_t sums = 0;
  if (stages->sums != nullptr)
    sums = stages->sums(*kernel.instance, plan.problem, kernel.k_batch, plan.device.arch(), plan.device.cu_num());
  const bool has_rows = x.seqlen_q != 0, has_keys = x.seqlen_k != 0;
  if (has_rows) add(plan, own_stage(own, FmhaStage::dot_do_o));
  if (sums != 0) add(plan, workspace_reset(own, 0, sums));
  add(plan, own);
  if (has_keys && stages->sum_heads != nullptr) add(plan, own_stage(own, FmhaStage::sum_heads));
  if (has_rows) add(plan, own_stage(own, stages->dq != nullptr ? FmhaStage::dq : FmhaStage::convert_dq));
  if (has_rows && has_keys && stages->dbias != nullptr) add(plan, own_stage(own, FmhaStage::dbias));
  if (stages->dsink != nullptr) add(plan, own_stage(own, FmhaStage::dsink));
  return with_workspace(room, plan);
}

Status launch_fmha_stage(const Stage& stage, const Device& device, void*, Launch& launch) noexcept {
  const PrepareFn prepare = of(*stage.program->code().fmha, static_cast<FmhaStage>(stage.own));
  return stage.program->launch(prepare, launch, device);
}

}  // namespace ckgen::inline v1::detail
