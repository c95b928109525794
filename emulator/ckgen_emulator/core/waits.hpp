// s_waitcnt's counters: which results are there, and which are still on their way.
#pragma once

#include <cstdint>

namespace ckgen::emu {

/// A wave numbers its memory operations per counter, from 1. `vm`: vector memory, loads and stores, done in the order
/// of issue. `lgkm`: LDS in order; scalar memory in any order, so only lgkmcnt(0) says that those are done.
/// Source: CDNA3 ISA, 4.4 "Manually Inserted Wait States" and 5.4 "Data dependency resolution".
struct Waits {
  static constexpr std::uint32_t kMostLgkm = 15;

  std::uint32_t vm_issued = 0, vm_done = 0;
  std::uint32_t lgkm_issued = 0, lgkm_done = 0;
  std::uint32_t last_scalar = 0;  // the youngest scalar memory operation's number
  std::uint32_t last_flat = 0;    // the same of FLAT, which counts in both and returns in any order

  std::uint32_t issue_vm() noexcept { return ++vm_issued; }
  /// lgkmcnt has four bits: where 15 are under way, the next one is issued only when the oldest is done. Production
  /// kernels count on it. (vmcnt has six; so many are not left under way.)
  std::uint32_t issue_lgkm() noexcept {
    ++lgkm_issued;
    if (lgkm_issued - lgkm_done > kMostLgkm && last_scalar <= lgkm_done && last_flat <= lgkm_done)
      lgkm_done = lgkm_issued - kMostLgkm;
    return lgkm_issued;
  }

  /// What s_waitcnt with these limits guarantees.
  void wait(std::uint32_t vm_limit, std::uint32_t lgkm_limit) noexcept {
    if (vm_issued - vm_done > vm_limit) vm_done = vm_issued - vm_limit;
    if (lgkm_limit == 0) {
      lgkm_done = lgkm_issued;
    } else if (lgkm_issued - lgkm_done > lgkm_limit && last_scalar <= lgkm_done && last_flat <= lgkm_done) {
      lgkm_done = lgkm_issued - lgkm_limit;
    }
  }
};

}  // namespace ckgen::emu
