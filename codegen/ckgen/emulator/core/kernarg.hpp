// The kernel-argument segment of a launch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "launch.hpp"

namespace ckgen::emu {

/// The segment's bytes, and which of them something was written to; the rest counts as uninitialised.
struct KernargSegment {
  std::vector<std::uint8_t> bytes;
  std::vector<bool> written;
};

/// The caller's arguments, then what the launch itself fills in: LLVM's AMDGPU usage guide, "Code Object V5 Metadata",
/// `.value_kind` "hidden_…". Grids hold whole workgroups, so remainders are 0.
KernargSegment kernarg_segment(const Kernel& kernel, const Dispatch& dispatch, std::span<const std::uint8_t> args);

}  // namespace ckgen::emu
