// Moves, and what reads or writes lanes other than its own. A move copies what the shadow knows of its source: garbage
// may be moved, as compilers do with registers that are only partly filled, and is found where it is used.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "lanes.hpp"
#include "launch.hpp"
#include "semantics.hpp"

namespace ckgen::emu {
namespace {

constexpr LaneMask kAllLanes = ~LaneMask{0};

/// The register file's row of an operand's dword, s_set_gpr_idx_on considered; `index`: which source, 3 the
/// destination.
unsigned row_of(const Wave& wave, const Operand& operand, unsigned index, unsigned part = 0) noexcept {
  const bool relative = (wave.gpr_index_mode >> index & 1) != 0;
  return std::min(operand.row() + part + (relative ? wave.s[kM0] & 0xff : 0), kVectorRegisters - 1);
}

std::string name_of(unsigned row) {
  return row < 256 ? "v" + std::to_string(row) : "a" + std::to_string(row - 256);
}

/// Reports lanes of a row that are read and were never written.
void check_lanes(Wave& wave, const Inst& inst, unsigned row, LaneMask read) {
  const LaneMask missing = read & ~wave.shadow.written[row];
  if (missing == 0) return;
  const int lane = std::countr_zero(missing);
  const int count = std::popcount(missing);
  wave.launch->findings.add(Rule::uninitialised, wave, inst, lane,
                            name_of(row) + " was never written in lane " + std::to_string(lane) +
                                (count == 1 ? "" : " and " + std::to_string(count - 1) + " more") + ", which is read");
  wave.shadow.written[row] |= missing;
}

void nothing(Wave&, const Inst&) {}

using LaneArray = std::uint32_t[kLanes];

/// What the shadow then knows of dword `part` of a move's destination.
void note_move(Wave& wave, const Inst& inst, unsigned part) {
  auto& written = wave.shadow.written;
  const bool dpp = inst.special == Special::dpp;
  const LaneMask lanes = dpp ? wave.exec() & dpp_lanes(wave, inst) : wave.exec();
  LaneMask known = kAllLanes;
  if (inst.src[0].vector()) {
    const unsigned from = row_of(wave, inst.src[0], 0, part);
    if (dpp) check_lanes(wave, inst, from, wave.exec());
    known = dpp ? kAllLanes : written[from];
  }
  const unsigned to = row_of(wave, inst.dst, 3, part);
  written[to] = (written[to] & ~lanes) | (known & lanes);
}

template <bool Checked>
void move(Wave& wave, const Inst& inst) {
  if constexpr (Checked) note_move(wave, inst, 0);
  const Lanes source(wave, inst, 0);
  write_lanes(wave, inst, *reinterpret_cast<const LaneArray*>(source.data()));
}

template <bool Checked>
void move_pair(Wave& wave, const Inst& inst) {
  alignas(64) LaneArray low, high;  // registers of the pairs may be shared
  std::copy_n(Lanes(wave, inst, 0, 0).data(), kLanes, low);
  std::copy_n(Lanes(wave, inst, 0, 1).data(), kLanes, high);
  if constexpr (Checked) {
    note_move(wave, inst, 0);
    note_move(wave, inst, 1);
  }
  write_lanes(wave, inst, low, 0);
  write_lanes(wave, inst, high, 1);
}

template <bool Checked>
void swap(Wave& wave, const Inst& inst) {
  const unsigned first = row_of(wave, inst.dst, 3), second = row_of(wave, inst.src[0], 0);
  std::uint32_t *a = wave.v[first], *b = wave.v[second];
  const LaneMask exec = wave.exec();
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t mask = (exec >> lane & 1) != 0 ? ~0u : 0;
    const std::uint32_t change = (a[lane] ^ b[lane]) & mask;
    a[lane] ^= change;
    b[lane] ^= change;
  }
  if constexpr (Checked) {
    const LaneMask change = (wave.shadow.written[first] ^ wave.shadow.written[second]) & exec;
    if (first != second) {
      wave.shadow.written[first] ^= change;
      wave.shadow.written[second] ^= change;
    }
  }
}

/// Rows of `Row` lanes: the destination's odd ones change places with the source's even ones. A lane is written under
/// EXEC; from a lane that EXEC leaves out it gets its value with fetch-inactive (op_sel[0]), 0 with bound_ctrl
/// (op_sel[1]), else it stays: what llvm.amdgcn.permlane16.swap's flags say, as with DPP.
template <unsigned Row, bool Checked>
void permlane_swap(Wave& wave, const Inst& inst) {
  const unsigned first = row_of(wave, inst.dst, 3), second = row_of(wave, inst.src[0], 0);
  const bool fetch_inactive = (inst.op_sel & 1) != 0, bound_control = (inst.op_sel & 2) != 0;
  const LaneMask exec = wave.exec();
  constexpr LaneMask kEven = Row == 16 ? 0x0000'ffff'0000'ffff : 0x0000'0000'ffff'ffff;
  const LaneMask there = fetch_inactive ? kAllLanes : exec;
  std::uint32_t *to = wave.v[first], *from = wave.v[second];
  auto& written = wave.shadow.written;
  for (unsigned even = 0; even < kLanes; ++even) {
    if ((kEven >> even & 1) == 0) continue;
    const unsigned odd = even + Row;
    const std::uint32_t upward = from[even], downward = to[odd];
    const bool upward_written = (written[second] >> even & 1) != 0, downward_written = (written[first] >> odd & 1) != 0;
    const auto put = [&](std::uint32_t* registers, unsigned row, unsigned lane, unsigned source, std::uint32_t value,
                         bool known) {
      const bool found = (there >> source & 1) != 0;
      if ((exec >> lane & 1) == 0 || (!found && !bound_control)) return;
      registers[lane] = found ? value : 0;
      if constexpr (Checked) {
        const LaneMask bit = LaneMask{1} << lane;
        written[row] = known || !found ? written[row] | bit : written[row] & ~bit;
      }
    };
    put(from, second, even, odd, downward, downward_written);
    put(to, first, odd, even, upward, upward_written);
  }
}

/// A lane's value of source 0, also where EXEC has that lane off.
template <bool Checked>
void read_one(Wave& wave, const Inst& inst, unsigned lane) {
  const Operand& source = inst.src[0];
  if (!source.vector()) {
    write_scalar(wave, inst.dst, scalar_value(wave, inst, source));
    return;
  }
  const unsigned row = row_of(wave, source, 0);
  if constexpr (Checked) check_lanes(wave, inst, row, LaneMask{1} << lane);
  write_scalar(wave, inst.dst, wave.v[row][lane]);
}

template <bool Checked>
void read_lane(Wave& wave, const Inst& inst) {
  read_one<Checked>(wave, inst, scalar_value(wave, inst, inst.src[1]) & 63);
}

/// The lowest lane of EXEC; lane 0 if there is none.
template <bool Checked>
void read_first_lane(Wave& wave, const Inst& inst) {
  const LaneMask exec = wave.exec();
  read_one<Checked>(wave, inst, exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(exec)));
}

template <bool Checked>
void write_lane(Wave& wave, const Inst& inst) {
  const unsigned lane = scalar_value(wave, inst, inst.src[1]) & 63;
  const unsigned row = row_of(wave, inst.dst, 3);
  wave.v[row][lane] = scalar_value(wave, inst, inst.src[0]);
  if constexpr (Checked) wave.shadow.written[row] |= LaneMask{1} << lane;
}

/// Set bits of source 0 below the lane's own position in the wave's lower or upper 32, added to source 1.
template <unsigned Base>
void count_below(Wave& wave, const Inst& inst) {
  const Lanes mask(wave, inst, 0), add(wave, inst, 1);
  alignas(64) std::uint32_t out[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const LaneMask below = ((LaneMask{1} << lane) - 1) >> Base & 0xffff'ffff;
    out[lane] = add[lane] + static_cast<std::uint32_t>(std::popcount(mask[lane] & static_cast<std::uint32_t>(below)));
  }
  write_lanes(wave, inst, out);
}

constexpr std::uint16_t kMoves = kOtherLanes | kNotesWrites;
constexpr std::uint16_t kSwaps = kMoves | kReadsDestination;

constexpr Semantics kAll[] = {
    {"v_nop", nothing, nothing, 0},
    {"v_mov_b32", move<false>, move<true>, kMoves},
    {"v_mov_b64", move_pair<false>, move_pair<true>, kMoves},
    {"v_accvgpr_read_b32", move<false>, move<true>, kMoves},
    {"v_accvgpr_write_b32", move<false>, move<true>, kMoves},
    {"v_accvgpr_mov_b32", move<false>, move<true>, kMoves},
    {"v_swap_b32", swap<false>, swap<true>, kSwaps},
    {"v_permlane16_swap_b32", permlane_swap<16, false>, permlane_swap<16, true>, kSwaps},
    {"v_permlane32_swap_b32", permlane_swap<32, false>, permlane_swap<32, true>, kSwaps},
    {"v_readlane_b32", read_lane<false>, read_lane<true>, kOtherLanes},
    {"v_readfirstlane_b32", read_first_lane<false>, read_first_lane<true>, kOtherLanes},
    {"v_writelane_b32", write_lane<false>, write_lane<true>, kOtherLanes | kNotesWrites},
    {"v_mbcnt_lo_u32_b32", count_below<0>, count_below<0>, 0},
    {"v_mbcnt_hi_u32_b32", count_below<32>, count_below<32>, 0},
};

}  // namespace

std::span<const Semantics> cross_lane_semantics() noexcept {
  return kAll;
}

}  // namespace ckgen::emu
