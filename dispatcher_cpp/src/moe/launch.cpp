#include "src/moe/launch.hpp"

#include "src/gpu/device_program.hpp"
#include "src/moe/stages.hpp"
#include "src/run/launch_stages.hpp"

namespace ckgen::inline v1::detail {
namespace {

/// Launches the parts of a MoE layer: each one's problem, and arguments that pass the results of one to the next.
class MoeLayer {
 public:
  MoeLayer(const Plan& plan, const MoeArgs& args, char* workspace, Stream stream) noexcept
      : plan_(plan), layer_(args), now_(args), room_(workspace), stream_(stream) {}

  Status run(const Stage& stage) noexcept {
    switch (stage.kind) {
      case StageKind::reset_output: resets_.output = clear_output; return Status::success();
      case StageKind::reset_workspace:
        resets_.workspace = room_ + stage.workspace_offset;
        resets_.workspace_bytes = stage.reset_bytes;
        return Status::success();
      case StageKind::own: return own(stage);
      case StageKind::kernel: break;
    }
    return stage.instance->signature.moe.part == MoePart::down ? down(stage) : gate_up(stage);
  }

 private:
  Status own(const Stage& stage) noexcept {
    switch (static_cast<MoeStage>(stage.own)) {
      case MoeStage::sort: return sort(stage);
      case MoeStage::quantize: return quantize(stage);
      case MoeStage::add_slots: break;
    }
    return prepared(stage, stage.program->code().moe->add_slots);
  }
  /// Another kernel of a part's code, on the part's problem.
  Status prepared(const Stage& stage, PrepareFn prepare) noexcept {
    const Problem problem = part_problem(plan_.problem, *stage.instance);
    return stage.program->launch(prepare, launch_of(stage, problem), plan_.device);
  }
  Status sort(const Stage& stage) noexcept {
    if (layer_.topk_ids == nullptr) return Status::success();
    now_.sorted = SortedLayout::of(plan_.problem).at(room_ + stage.output_offset);
    return prepared(stage, stage.program->code().moe->sort);
  }
  Status gate_up(const Stage& stage) noexcept {
    now_.c = room_ + stage.output_offset;
    now_.ldc = plan_.problem.n();
    const Problem problem = part_problem(plan_.problem, *stage.instance);
    const Status status = launch_kernel(stage, launch_of(stage, problem), plan_.device, {});
    now_.a = now_.c;
    now_.lda = now_.ldc;
    now_.a_scale = nullptr;
    type_of_a_ = problem.signature().c;
    return status;
  }
  Status quantize(const Stage& stage) noexcept {
    const Problem problem = part_problem(plan_.problem, *plan_.stages[plan_.stage_count - 1].instance);
    char* to = room_ + stage.output_offset;
    const std::int64_t rows = problem.m() * problem.routing().top_k;
    const Quantize work{&problem,
                        now_.a,
                        type_of_a_,
                        to,
                        to + QuantisedLayout::of(problem).scales,
                        rows,
                        problem.k(),
                        layer_.mx_scale_shuffled,
                        now_.sorted};
    now_.a = to;
    now_.a_scale = work.scales;
    // Of mx it tells whether kernels read scales in the order of A's rows or in that of the sorted ones.
    now_.a_scale_row_major = problem.signature().quant != Quant::mx || layer_.a_scale_row_major;
    const DeviceProgram& program = *stage.program;
    KernelCall call;
    call.reset();
    const Status status = program.code().moe->quantize(work, plan_.device.arch(), plan_.device.cu_num(), call);
    return status.ok() ? program.submit(call, *stage.instance, plan_.device, stream_) : status;
  }
  Status down(const Stage& stage) noexcept {
    now_.c = layer_.c;
    now_.ldc = layer_.ldc;
    const Problem problem = part_problem(plan_.problem, *stage.instance);
    return launch_kernel(stage, launch_of(stage, problem), plan_.device, resets_);
  }
  Launch launch_of(const Stage& stage, const Problem& problem) const noexcept {
    Launch launch{stage.instance, &problem, 1, nullptr, room_ + stage.workspace_offset, stream_};
    launch.moe = &now_;
    return launch;
  }

  const Plan& plan_;
  const MoeArgs& layer_;
  MoeArgs now_;
  char* room_;
  Stream stream_;
  DType type_of_a_ = DType::none;
  Resets resets_;
};

Status launch_layer(const Plan& plan, const MoeArgs& args, void* workspace, Stream stream) noexcept {
  MoeLayer layer(plan, args, static_cast<char*>(workspace), stream);
  for (std::uint32_t i = 0; i < plan.stage_count; ++i) {
    if (const Status status = layer.run(plan.stages[i]); !status.ok()) return status;
  }
  return Status::success();
}

}  // namespace

Status launch_moe(const Plan& plan, const RunArgs& args, void* workspace, Stream stream) noexcept {
  if (is_in_parts(plan)) return launch_layer(plan, args.as<MoeArgs>(), workspace, stream);
  return launch_in_order(plan, args, workspace, stream);
}

}  // namespace ckgen::inline v1::detail
