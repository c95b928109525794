// Runs all workgroups of a launch.
#pragma once

#include <cstdint>

#include "launch.hpp"

namespace ckgen::emu {

struct RunResult {
  std::uint64_t instructions = 0;
  Stats stats;
};

/// Workgroups go to the XCDs, and to the threads, in turn; the threads run them in rounds, and between two rounds the
/// instructions that other workgroups may see happen one by one. So a seed means one execution, whatever the thread
/// count's timing. Findings are in the launch.
RunResult run(Launch& launch);

}  // namespace ckgen::emu
