// A few instructions for one wave, with registers that the caller sets and sees.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "launch.hpp"
#include "run.hpp"

namespace ckgen::emu {

struct Single {
  std::span<const std::uint8_t> code;
  const OpTable& table;
  const Chip& chip;
  const Options& options;
  Memory& memory;
};

/// In and out. `scalars`: 128, `vectors`: kVectorRegisters rows of kLanes, `lds`: may be null if lds_bytes is 0.
struct SingleState {
  std::uint32_t* scalars;
  std::uint32_t* vectors;
  std::uint8_t* lds;
  std::uint32_t lds_bytes;
  std::uint32_t mode;
  bool scc;
  bool all_written;
};

/// Runs until the code's end, an s_endpgm or a barrier; reaching the end is no finding. Throws std::bad_alloc.
RunResult run_single(const Single& single, SingleState& state, std::vector<Finding>& findings);

}  // namespace ckgen::emu
