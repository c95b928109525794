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

/// One launch of one instance: by `program` where its GPU code was attached and the plan is for a real GPU, else by
/// `launch`. Both are null where the instance has nothing for the plan's device.
struct Stage {
  const InstanceDesc* instance;
  std::uint32_t k_batch;
  LaunchFn launch;
  std::uint64_t workspace_offset;  // bytes
  const detail::DeviceProgram* program;
};

inline constexpr std::uint32_t kMaxStages = 4;

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
