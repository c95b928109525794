#include "lds.hpp"

#include <bit>
#include <cstring>
#include <string>

#include "lds_access.hpp"
#include "lds_dma.hpp"

namespace ckgen::emu {

Lds::Lds() = default;
Lds::~Lds() = default;
Lds::Lds(Lds&&) noexcept = default;
Lds& Lds::operator=(Lds&&) noexcept = default;

void Lds::barrier_passed() {
  if (checks) checks->barrier_passed();
}

void start_lds(Lds& lds, std::uint32_t bytes) {
  lds.bytes.assign(bytes, 0);
  lds.dma.reset();
  if (lds.checks) lds.checks->start(bytes);
}

void mark_lds_written(Lds& lds) {
  if (!lds.checks) {
    lds.checks = std::make_unique<LdsChecks>();
    lds.checks->start(lds.bytes.size());
  }
  lds.checks->mark_written();
}

LaneMask lds_outside(Wave& wave, const Inst& inst, const std::uint32_t* at, LaneMask lanes, unsigned bytes,
                     unsigned first) noexcept {
  const std::size_t size = wave.group->lds.bytes.size();
  LaneMask inside = 0;
  for (LaneMask left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    if (at[lane] < size && size - at[lane] >= bytes) inside |= LaneMask{1} << lane;
  }
  if (const LaneMask out = lanes & ~inside; out != 0) {
    const auto lane = static_cast<unsigned>(std::countr_zero(out));
    wave.launch->findings.add(Rule::out_of_bounds, wave, inst, static_cast<int>(first + lane),
                              std::to_string(bytes) + " bytes at LDS address " + std::to_string(at[lane]) +
                                  ", of which the workgroup has " + std::to_string(size));
  }
  return inside;
}

void lds_aligned(Wave& wave, const Inst& inst, const std::uint32_t* at, LaneMask lanes, unsigned alignment) noexcept {
  std::uint32_t low = 0;
  for (LaneMask left = lanes; left != 0; left &= left - 1) low |= at[std::countr_zero(left)];
  if (low % alignment == 0) return;
  for (LaneMask left = lanes; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (at[lane] % alignment == 0) continue;
    wave.launch->findings.add(
        Rule::misaligned, wave, inst, lane,
        "LDS address " + std::to_string(at[lane]) + ", which is no multiple of " + std::to_string(alignment));
    return;
  }
}

bool lds_load(Wave& wave, const Inst& inst, unsigned lane, std::uint32_t address, std::uint8_t* to, unsigned count,
              std::uint32_t lgkm_number) {
  if (lds_inside(wave, inst, &address, 1, count, lane) == 0) return false;
  if (wave.launch->options.checked)
    lds_checks(wave).check_lane(wave, inst, Touch::read, lane, address, count, lgkm_number);
  std::memcpy(to, wave.group->lds.bytes.data() + address, count);
  wave.group->stats.lds_read += count;
  return true;
}

bool lds_store(Wave& wave, const Inst& inst, unsigned lane, std::uint32_t address, const std::uint8_t* from,
               unsigned count, std::uint32_t lgkm_number) {
  if (lds_inside(wave, inst, &address, 1, count, lane) == 0) return false;
  if (wave.launch->options.checked)
    lds_checks(wave).check_lane(wave, inst, Touch::write, lane, address, count, lgkm_number);
  std::memcpy(wave.group->lds.bytes.data() + address, from, count);
  wave.group->stats.lds_written += count;
  return true;
}

}  // namespace ckgen::emu
