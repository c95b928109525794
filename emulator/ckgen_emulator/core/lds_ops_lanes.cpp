// Exchanges between lanes that go through the LDS unit but touch none of its memory; counted in lgkmcnt like all of it.
#include "lds_access.hpp"
#include "lds_ops.hpp"

namespace ckgen::emu {
namespace {

void report_unwritten(Wave& wave, const Inst& inst, const Operand& operand, LaneMask lanes) {
  const unsigned row = std::min<unsigned>(operand.row(), kVectorRegisters - 1);
  const LaneMask missing = lanes & ~wave.shadow.written[row];
  if (missing == 0) return;
  wave.launch->findings.add(Rule::uninitialised, wave, inst, std::countr_zero(missing),
                            (row < 256 ? "v" : "a") + std::to_string(row % 256) + " was never written in " +
                                std::to_string(std::popcount(missing)) + " lanes that others read");
  wave.shadow.written[row] |= missing;
}

/// Copies per lane what `source` (a lane, or -1 for none) holds; 0 from none, and from lanes that EXEC has off.
template <bool Checked>
void pull(Wave& wave, const Inst& inst, const Operand& data, const int (&source)[kLanes]) {
  lds_issue<Checked>(wave, inst);
  const LaneMask exec = wave.exec();
  LaneValues moved;
  LaneMask read = 0;
  const std::uint32_t* from = lds_row(wave, data, 0);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const int which = source[lane];
    const bool there = which >= 0 && (exec >> which & 1) != 0;
    moved[lane] = there ? from[which] : 0;
    if (there && (exec >> lane & 1) != 0) read |= LaneMask{1} << which;
  }
  if constexpr (Checked) report_unwritten(wave, inst, data, read);
  std::uint32_t* to = lds_row(wave, inst.dst, 0);
  for (unsigned lane = 0; lane < kLanes; ++lane) to[lane] = (exec >> lane & 1) != 0 ? moved[lane] : to[lane];
}

unsigned reversed5(unsigned value) noexcept {
  return (value & 1) << 4 | (value & 2) << 2 | (value & 4) | (value & 8) >> 2 | (value & 16) >> 4;
}

/// Source lane of `lane`. Modes by the offset's value: CDNA3 ISA, DS_SWIZZLE_B32; LLVM's AMDGPUUsage "swizzle".
unsigned swizzle_source(unsigned offset, unsigned lane) noexcept {
  const unsigned in_half = lane & 31, half = lane & 32, low = offset & 31, middle = offset >> 5 & 31;
  if (offset >= 0xe000) return half | (reversed5(in_half) >> std::popcount(low)) | (in_half & low);
  if (offset >= 0xc000) {
    const unsigned turn = (offset >> 10 & 1) != 0 ? 32 - middle : middle;
    return half | (in_half & low) | ((in_half + turn) & ~low & 31);
  }
  if ((offset & 0x8000) != 0) return (lane & ~3u) | (offset >> 2 * (lane & 3) & 3);
  return half | ((((in_half & low) | middle) ^ (offset >> 10 & 31)) & 31);
}

template <bool Checked>
void swizzle(Wave& wave, const Inst& inst) {
  int source[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    source[lane] = static_cast<int>(swizzle_source(static_cast<unsigned>(inst.offset), lane));
  pull<Checked>(wave, inst, inst.src[0], source);
}

/// The lane that a byte address names: 4 to a lane, modulo the wave.
unsigned lane_of(std::uint32_t address, const Inst& inst) noexcept {
  return (address + static_cast<std::uint32_t>(inst.offset)) / 4 % kLanes;
}

template <bool Checked>
void backward_permute(Wave& wave, const Inst& inst) {
  if constexpr (Checked) report_unwritten(wave, inst, inst.src[0], wave.exec());
  const std::uint32_t* address = lds_row(wave, inst.src[0], 0);
  int source[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) source[lane] = static_cast<int>(lane_of(address[lane], inst));
  pull<Checked>(wave, inst, inst.src[1], source);
}

/// Where several lanes push to one, the highest wins.
template <bool Checked>
void permute(Wave& wave, const Inst& inst) {
  const LaneMask exec = wave.exec();
  if constexpr (Checked) report_unwritten(wave, inst, inst.src[0], exec);
  const std::uint32_t* address = lds_row(wave, inst.src[0], 0);
  int source[kLanes];
  std::fill_n(source, kLanes, -1);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((exec >> lane & 1) != 0) source[lane_of(address[lane], inst)] = static_cast<int>(lane);
  }
  pull<Checked>(wave, inst, inst.src[1], source);
}

void nothing(Wave&, const Inst&) {}

constexpr Semantics kLaneExchanges[] = {
    {"ds_swizzle_b32", swizzle<false>, swizzle<true>, kOtherLanes},
    {"ds_bpermute_b32", backward_permute<false>, backward_permute<true>, kOtherLanes},
    {"ds_permute_b32", permute<false>, permute<true>, kOtherLanes},
    {"ds_nop", nothing, nothing, 0},
};

}  // namespace

std::span<const Semantics> lds_lane_semantics() noexcept {
  return kLaneExchanges;
}

}  // namespace ckgen::emu
