// A MoE layer on a GPU in parts: sort, gate_up, quantize, down, each with a slice of the workspace.
#include "src/gpu/device_program.hpp"
#include "src/moe/rules.hpp"
#include "src/moe/stages.hpp"
#include "src/plan/plan_stages.hpp"
#include "src/registry/registry_state.hpp"
#include "src/select/reason.hpp"

namespace ckgen::inline v1::detail {
namespace {

struct Part {
  Stage kernel;
  Problem problem;
  Status status;  // whether it can be launched
};

/// Ok, or the demand of a part's instance that its problem fails.
Status supported(const Part& part) noexcept {
  const Problem& p = part.problem;
  const Verdict verdict = supports_routing(*part.kernel.instance, {p.m(), p.n(), p.k(), 1}, p, 1);
  if (verdict.ok()) return Status::success();
  try {
    return Status::error(StatusCode::unsupported, "%s: %s", part.kernel.instance->name,
                         reason_text(verdict.rule, verdict.measured, verdict.limit).c_str());
  } catch (...) {
    return Status::error(StatusCode::internal, "out of memory");
  }
}

/// The registered instance that is that part of the layer; no_index where there is none.
std::uint32_t find_part(const RegistryState& state, const InstanceDesc& layer, MoePart which) noexcept {
  const auto found = state.by_id.find(layer.parts[which == MoePart::gate_up ? 0 : 1]);
  if (found == state.by_id.end()) return no_index;
  const InstanceDesc& part = *state.instances[found->second];
  const bool fits = part.signature.op == layer.signature.op && part.signature.moe.part == which &&
                    part.macro_tile.m == layer.macro_tile.m;
  return fits ? found->second : no_index;
}

Part part_of(const RegistryState& state, const Plan& plan, std::uint32_t index) noexcept {
  const InstanceDesc& instance = *state.instances[index];
  Part part{kernel_stage(instance, state.program(index), 1, plan.device), part_problem(plan.problem, instance), {}};
  part.status = launchable(part.kernel, plan.device);
  if (part.status.ok()) part.status = supported(part);
  return part;
}

const MoeStages* stages_of(const Stage& kernel) noexcept {
  return kernel.program != nullptr ? kernel.program->code().moe : nullptr;
}

/// Adds stages and keeps the first reason why one has nothing to launch.
class Builder {
 public:
  /// `parts`: whether the parts themselves can be launched.
  Builder(Plan& plan, const Status& parts) noexcept : plan_(plan) { plan_.launchable = parts; }

  void add(const Stage& stage, const Status& status = Status::success()) noexcept {
    plan_.stages[plan_.stage_count++] = stage;
    if (plan_.launchable.ok()) plan_.launchable = status;
  }
  void sort(const Part& gate_up) noexcept {
    const MoeStages* code = stages_of(gate_up.kernel);
    Stage stage = own_stage(gate_up.kernel, MoeStage::sort);
    Status status = Status::success();
    if (code == nullptr || code->sort == nullptr)
      status = Status::error(StatusCode::unsupported,
                             "%s has no kernel that sorts tokens: sort them in blocks of %d "
                             "rows and ask for block_m %d",
                             gate_up.kernel.instance->name, plan_.problem.block_m(), plan_.problem.block_m());
    else if (code->sort_workspace != nullptr)
      stage.workspace_offset = room.take(
          code->sort_workspace(*stage.instance, gate_up.problem, 1, plan_.device.arch(), plan_.device.cu_num()));
    stage.output_offset = room.take(SortedLayout::of(plan_.problem).bytes);
    add(stage, status);
  }
  void gate_up(const Part& part) noexcept {
    Stage stage = part.kernel;
    stage.workspace_offset = room.take(workspace_of(part.kernel, part.problem, plan_.device));
    const std::int64_t rows = part.problem.m() * part.problem.routing().top_k;
    stage.output_offset = room.take(matrix_bytes(rows, part.problem.n(), part.problem.signature().c));
    add(stage);
  }
  void quantize(const Part& down) noexcept {
    const MoeStages* code = stages_of(down.kernel);
    Stage stage = own_stage(down.kernel, MoeStage::quantize);
    const QuantisedLayout layout = QuantisedLayout::of(down.problem);
    stage.output_offset = room.take(layout.fits ? layout.bytes : ~std::uint64_t{0});
    add(stage, code != nullptr && code->quantize != nullptr
                   ? Status::success()
                   : Status::error(StatusCode::unsupported, "%s has no kernel that quantises what gate_up writes",
                                   down.kernel.instance->name));
  }
  void down(const Part& part) noexcept { add_kernel(part.kernel, part.problem, room, plan_); }

  Slices room;

 private:
  Plan& plan_;
};

/// Whether a MoE layer is to run as its parts: on a GPU, where it has no code of its own.
bool runs_in_parts(const Stage& kernel, const Device& device) noexcept {
  return device.kind() == DeviceKind::gpu && kernel.program == nullptr && kernel.launch == nullptr &&
         kernel.instance->parts[0] != 0;
}

/// `sorts`: the caller has not sorted the tokens.
Status fill_parts(const RegistryState& state, const InstanceDesc& layer, bool sorts, Plan& plan) noexcept {
  const std::uint32_t indices[] = {find_part(state, layer, MoePart::gate_up), find_part(state, layer, MoePart::down)};
  for (const std::uint32_t index : indices) {
    if (index != no_index) continue;
    plan.launchable = Status::error(StatusCode::unsupported, "%s: no registered instance is its %s", layer.name,
                                    indices[0] == no_index ? "gate_up" : "down");
    plan.stages[plan.stage_count++] = kernel_stage(layer, nullptr, 1, plan.device);
    return Status::success();
  }
  const Part gate_up = part_of(state, plan, indices[0]);
  const Part down = part_of(state, plan, indices[1]);
  Builder builder(plan, gate_up.status.ok() ? down.status : gate_up.status);
  if (sorts) builder.sort(gate_up);
  builder.gate_up(gate_up);
  if (gate_up.problem.signature().c != down.problem.signature().a) builder.quantize(down);
  builder.down(down);
  return with_workspace(builder.room, plan);
}

}  // namespace

Status fill_moe_stages(const RegistryState& state, const Problem& asked, const Stage& kernel, Plan& plan) noexcept {
  if (!runs_in_parts(kernel, plan.device)) return fill_stages(kernel, plan);
  return fill_parts(state, *kernel.instance, asked.block_m() == 0, plan);
}

}  // namespace ckgen::inline v1::detail
