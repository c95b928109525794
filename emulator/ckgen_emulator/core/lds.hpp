// The LDS of one workgroup, and the writes of direct-to-LDS loads that are on their way to it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace ckgen::emu {

struct Wave;
struct Inst;
class LdsChecks;
class DmaQueue;

struct Lds {
  std::vector<std::uint8_t> bytes;
  std::unique_ptr<LdsChecks> checks;  // of checked runs; made by the first access
  std::unique_ptr<DmaQueue> dma;      // made by the first direct-to-LDS load

  Lds();
  ~Lds();
  Lds(Lds&&) noexcept;
  Lds& operator=(Lds&&) noexcept;

  /// Every wave of the workgroup that has not ended has come to the barrier, and none has gone on yet.
  void barrier_passed();
};

/// For a workgroup that starts: so many bytes, none of them written.
void start_lds(Lds& lds, std::uint32_t bytes);
/// All of it counts as initialised: for single instructions that start from a given state.
void mark_lds_written(Lds& lds);

/// What a direct-to-LDS load brings; see lds_dma.hpp.
struct LdsDelivery;
/// They land between now and the wait that covers `vm_number`. Seed 0: now. Other seeds choose per instruction.
void lds_dma_write(Wave& wave, const Inst& inst, LdsDelivery& delivery, std::uint32_t vm_number);
/// Lands the wave's writes that its waits now guarantee; all of them if the wave has ended.
void land_dma(Wave& wave);

/// A FLAT access of one lane that is in the shared aperture: checked like any other. False, with nothing moved, if it
/// is outside of LDS: a load then reads 0. `lgkm_number`: the instruction's, 0 in plain runs.
bool lds_load(Wave& wave, const Inst& inst, unsigned lane, std::uint32_t address, std::uint8_t* to, unsigned count,
              std::uint32_t lgkm_number);
bool lds_store(Wave& wave, const Inst& inst, unsigned lane, std::uint32_t address, const std::uint8_t* from,
               unsigned count, std::uint32_t lgkm_number);

}  // namespace ckgen::emu
