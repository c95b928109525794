// What a Problem becomes on a Device: stages, and exactly how much workspace they need.
#pragma once

#include <cstdint>

#include <ckgen/device.hpp>
#include <ckgen/instance.hpp>
#include <ckgen/result.hpp>
#include <ckgen/selection.hpp>

namespace ckgen {
inline namespace v1 {

namespace detail {
class DeviceProgram;
}

/// reset_output: C is zeroed, row by row and batch by batch, for kernels that add to it. reset_workspace: so are the
/// workspace's `reset_bytes`. Resets belong to the next kernel, and touch nothing where that one is refused. own: a
/// kernel of the operation's own before, between or behind those of instances, in the same GPU code: Stage::own.
enum class StageKind : std::uint8_t { kernel, reset_output, reset_workspace, own };

/// A `kernel` is one launch of one instance: by `program` where its GPU code was attached and the plan is for a real
/// GPU, else by `launch`. Both are null where the instance has nothing for the plan's device. The other kinds stand in
/// plans of attached GPU code only: host kernels and a user's own launcher need none.
struct Stage {
  const InstanceDesc* instance;
  std::uint32_t k_batch;
  LaunchFn launch;
  std::uint64_t workspace_offset;  // bytes
  const detail::DeviceProgram* program;
  StageKind kind = StageKind::kernel;
  std::uint32_t workgroups = 0;   // Launch::workgroups
  std::uint64_t reset_bytes = 0;  // of a reset_workspace
  // Bytes into the workspace, where the stage's result is another stage's input: the table, sorted tokens, H.
  std::uint64_t output_offset = 0;
  std::uint8_t own = 0;  // of kind `own`: GroupedStage, MoeStage or FmhaStage, as the op of the plan's problem says
};

inline constexpr std::uint32_t kMaxStages = 8;

/// Made by Dispatcher::plan; a value that may be kept, copied, run many times and from several threads at once.
/// It points into the libraries that were registered, and is to be run while a registry or dispatcher that it came from
/// lives. Aggregate, no invariants of its own beyond what plan() fills in.
struct Plan {
  Problem problem{};  // fp8 and bf8 in the device's flavour
  Device device{};
  Selection selection{};
  Stage stages[kMaxStages]{};
  std::uint32_t stage_count = 0;
  std::uint64_t workspace_size = 0;  // bytes, aligned to 64 at run
  Status launchable{};               // ok, or which stage has nothing to launch on this device
};

}  // namespace v1
}  // namespace ckgen
