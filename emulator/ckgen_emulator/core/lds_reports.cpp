// What LdsChecks says of what it finds.
#include <cstdio>

#include "lds_access.hpp"
#include "lds_dma.hpp"
#include "lds_state.hpp"
#include "text.hpp"

namespace ckgen::emu {
namespace {

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string named(const Inst& inst) {
  return text_of(inst) + " at " + hex(inst.address);
}

}  // namespace

/// The other wave's access of this epoch that `state` tells of, as precisely as the log still knows it.
std::string LdsChecks::culprit(unsigned wave, std::uint32_t byte, std::uint64_t state, bool writes) const {
  const std::uint64_t writer = lds_writer(state);
  for (unsigned other = 0; other < kGroupWaves; ++other) {
    const auto& log = logs_[other];
    const bool meant = writes ? writer == other || writer == kLdsSeveral : (state >> (32 + other) & 1) != 0;
    if (other == wave || !log || !meant) continue;
    for (std::uint32_t back = 1; back <= LdsLog::kKept; ++back) {
      const LdsAccess& access = log->ring[(log->count - back) % LdsLog::kKept];
      if (access.epoch != epoch_ || (access.touch != Touch::read) != writes || !covers(access, byte)) continue;
      const std::string done =
          "wave " + std::to_string(other) + (writes ? " writes" : " reads") + " it by " + named(*access.inst);
      return access.carried ? done + ", which it had not waited for when it came to the barrier"
                            : done + ", and no barrier is between the two";
    }
  }
  return std::string("another wave ") + (writes ? "writes" : "reads") + " it, and no barrier is between the two";
}

void LdsChecks::report(Wave& wave, const Inst& inst, Touch touch, unsigned lane, std::uint32_t byte,
                       std::uint64_t state, unsigned problem) const {
  Findings& findings = wave.launch->findings;
  const std::string what = "LDS byte " + hex(byte);
  if (problem == kUnwritten) {
    findings.add(Rule::uninitialised, wave, inst, static_cast<int>(lane),
                 what + " is read, and nothing has written it");
    return;
  }
  const std::string verb = touch == Touch::read ? " is read" : " is written";
  if (problem == kRacesWithWrite || problem == kRacesWithRead) {
    findings.add(Rule::lds_race, wave, inst, static_cast<int>(lane),
                 what + verb + "; " + culprit(wave.index % kGroupWaves, byte, state, problem == kRacesWithWrite));
    return;
  }
  unsigned owner = 0;
  const DmaQueue* queue = wave.group->lds.dma.get();
  const DmaWrites* pending = queue == nullptr ? nullptr : queue->covering(byte, owner);
  if (pending == nullptr) return;
  const std::string load = named(*pending->access.inst);
  if (owner == wave.index % kGroupWaves) {
    findings.add(Rule::before_wait, wave, inst, static_cast<int>(lane),
                 what + verb + " before s_waitcnt vmcnt(" +
                     std::to_string(wave.waits.vm_issued - pending->access.number) + ") for " + load);
  } else {
    findings.add(Rule::lds_race, wave, inst, static_cast<int>(lane),
                 what + verb + "; wave " + std::to_string(owner) + " has not waited for its " + load);
  }
}

}  // namespace ckgen::emu
