// One dispatch of a kernel: what it runs on, with what, and what is found while it runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "finding.hpp"
#include "global_order.hpp"
#include "kernel.hpp"
#include "lds.hpp"
#include "memory.hpp"
#include "processor.hpp"
#include "program.hpp"
#include "stats.hpp"
#include "trace.hpp"
#include "wave.hpp"

namespace ckgen::emu {

/// The chip that is simulated.
struct Chip {
  std::string arch;
  std::uint32_t compute_units = 304;
  std::uint32_t xcds = 8;           // dies with an L2 of their own; workgroups go to them in turn
  std::uint32_t lds_bytes = 65536;  // per compute unit
  Processor processor;              // whose code it executes
};

struct Options {
  bool checked = true;
  std::uint64_t seed = 0;  // 0: waves in order, as far as they go; else an adversary's order
  std::uint32_t threads = 1;
  std::uint64_t most_instructions = 0;  // per launch; 0: no limit
  std::size_t most_findings = 20;
  std::string trace;                         // a file for every executed instruction; empty: none
  std::uint64_t watch = 0, watch_bytes = 0;  // memory whose last store is traced; no bytes: none
  std::uint32_t turn = 0;  // with seed 0: all workgroups that fit side by side, a wave so many instructions; 0: not
};

struct Dispatch {
  std::uint32_t grid[3] = {1, 1, 1};  // workgroups
  std::uint32_t block[3] = {64, 1, 1};
  std::uint32_t dynamic_lds = 0;
};

class Origins;

struct Launch {
  const Program& program;
  const Kernel& kernel;
  const Chip& chip;
  const Options& options;
  const Dispatch& dispatch;
  Memory& memory;
  std::uint64_t kernarg = 0;  // address of the kernarg segment, itself an allocation of `memory`
  std::uint64_t image = 0;    // address of the loaded code object: a PC is this plus an Inst's address
  Findings findings;
  GlobalOrder order;
  std::atomic<bool> stop{false};
  std::unique_ptr<Trace> trace = nullptr;
  Origins* origins = nullptr;  // of a run that is repeated to trace a value
};

struct Workgroup {
  Launch* launch = nullptr;
  std::uint32_t id[3] = {0, 0, 0};
  std::uint32_t linear = 0;
  std::uint32_t xcd = 0;
  Lds lds;
  GroupOrder order;
  std::vector<std::unique_ptr<Wave>> waves;
  Stats stats;
};

}  // namespace ckgen::emu
