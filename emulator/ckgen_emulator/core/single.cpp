#include "single.hpp"

#include <algorithm>
#include <cstring>

#include "float_mode.hpp"
#include "step.hpp"
#include "workgroup.hpp"

namespace ckgen::emu {
namespace {

constexpr std::uint64_t kMostInstructions = 1 << 20;
constexpr std::uint8_t kEndOfProgram[] = {0, 0, 0x81, 0xbf};  // s_endpgm

void put(Wave& wave, const SingleState& state) {
  std::copy_n(state.scalars, wave.s.size(), wave.s.begin());
  std::memcpy(wave.v, state.vectors, kVectorRegisters * sizeof(LaneValues));
  wave.mode = mode_of(state.mode);
  wave.scc = state.scc;
  if (state.lds_bytes != 0) std::memcpy(wave.group->lds.bytes.data(), state.lds, state.lds_bytes);
  wave.shadow.scalar_written.fill(true);
  wave.shadow.written.fill(state.all_written ? ~LaneMask{0} : LaneMask{0});
  if (state.all_written) mark_lds_written(wave.group->lds);
}

void get(const Wave& wave, SingleState& state) {
  std::copy(wave.s.begin(), wave.s.end(), state.scalars);
  std::memcpy(state.vectors, wave.v, kVectorRegisters * sizeof(LaneValues));
  state.mode = mode_bits(wave.mode);
  state.scc = wave.scc;
  if (state.lds_bytes != 0) std::memcpy(state.lds, wave.group->lds.bytes.data(), state.lds_bytes);
}

}  // namespace

RunResult run_single(const Single& single, SingleState& state, std::vector<Finding>& findings) {
  const HostFloatMode host;
  std::vector<std::uint8_t> code(single.code.begin(), single.code.end());
  code.insert(code.end(), std::begin(kEndOfProgram), std::end(kEndOfProgram));
  const Program program = Program::bind(code, 0, 0, single.table, single.options.checked);
  Kernel kernel;
  kernel.lds_bytes = state.lds_bytes;
  kernel.scratch_bytes = 256;
  const Dispatch dispatch;
  Launch launch{program,
                kernel,
                single.chip,
                single.options,
                dispatch,
                single.memory,
                0,
                0,
                Findings(single.options.most_findings),
                GlobalOrder{},
                {},
                Trace::open(single.options.trace)};
  GroupStorage storage;
  start_group(storage, launch, 0);
  Wave& wave = *storage.group.waves.front();
  put(wave, state);
  step(wave, kMostInstructions, true);
  get(wave, state);
  RunResult result;
  result.instructions = wave.executed;
  result.stats = storage.group.stats;
  findings = launch.findings.take();
  return result;
}

}  // namespace ckgen::emu
