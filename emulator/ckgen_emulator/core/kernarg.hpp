// The kernel-argument segment of a launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "launch.hpp"

namespace ckgen::emu {

/// The segment's bytes, and the ranges of them that something was written to; the rest counts as uninitialised.
struct KernargSegment {
  struct Range {
    std::size_t offset = 0, bytes = 0;
  };
  std::vector<std::uint8_t> bytes;
  std::vector<Range> written;  // none is empty; they may overlap
};

/// The caller's arguments, then what the launch itself fills in: LLVM's AMDGPU usage guide, "Code Object V5 Metadata",
/// `.value_kind` "hidden_…". Grids hold whole workgroups, so remainders are 0.
KernargSegment kernarg_segment(const Kernel& kernel, const Dispatch& dispatch, std::span<const std::uint8_t> args);

}  // namespace ckgen::emu
