// What the environment says: which device is simulated, by which library, with which options.
#pragma once

#include <cstdint>
#include <string>

namespace ckgen::shim {

/// The simulated device, by ckgen's own arch specs.
struct Target {
  std::string arch;  // gfx942
  std::uint32_t compute_units = 0;
  std::uint32_t xcds = 0;
  std::uint32_t lds_bytes = 0;    // of a workgroup
  std::uint32_t max_threads = 0;  // of a workgroup
  std::uint64_t l2_bytes = 0;     // of an XCD
};

struct RunOptions {
  bool checked = true;
  std::uint64_t seed = 0;
  std::uint32_t threads = 1;
  std::uint64_t most_instructions = 0;
  std::uint32_t most_findings = 20;
  bool findings_fail = true;  // a launch of which something was found fails
  std::string trace;
};

/// CKGEN_EMULATOR, CKGEN_EMULATOR_TABLE, CKGEN_EMULATOR_TARGET ("gfx942" or "gfx942:304"), CKGEN_EMULATOR_OPTIONS
/// ("checked=1,seed=3,threads=2,most_instructions=0,most_findings=20,findings_fail=1"), CKGEN_EMULATOR_REPORT (a file;
/// may be empty) and CKGEN_EMULATOR_TRACE (a file to which every executed instruction is appended; may be empty).
struct Settings {
  std::string library;
  std::string table;
  std::string report;
  Target target;
  RunOptions options;
};

/// Throws std::runtime_error that names the variable and says what is wrong with it.
Settings read_settings();

}  // namespace ckgen::shim
