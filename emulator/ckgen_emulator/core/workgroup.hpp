// A workgroup from its place in the grid: registers, LDS and scratch as the dispatch leaves them.
#pragma once

#include <cstdint>
#include <memory>

#include "launch.hpp"

namespace ckgen::emu {

/// The registers and private segments of one wave, kept from workgroup to workgroup.
struct WaveStorage {
  std::unique_ptr<LaneValues[]> registers;
  std::unique_ptr<std::uint8_t[]> scratch;
};

/// A workgroup's memory, which the next one uses again.
struct GroupStorage {
  std::uint32_t slot = 0;  // its own among those of the launch
  Workgroup group;
  std::vector<WaveStorage> waves;
};

/// Makes `storage.group` workgroup `linear` of the launch. Initial state: "Initial Kernel Execution State" in LLVM's
/// AMDGPU usage guide.
void start_group(GroupStorage& storage, Launch& launch, std::uint32_t linear);

}  // namespace ckgen::emu
