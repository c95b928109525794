// gfx950's transposing reads.
//
// Sixteen lanes read a matrix of 16 columns and as many rows as a lane has elements (4 of 16 bits, 8 of 8, 16 of 4 or
// 6), each lane its own 64 or 96 bits of one row: lane l has row l / (16 / rows), and in it the columns from
// rows * (l % (16 / rows)). Lane l of the result holds column l, element n from row n.
// Sources: rocRoller's test of all four forms on the device (TransposeLoadsTest: a block of 16 lanes is transposed);
// CK's load_tile_transpose.hpp (Quad16 and Quad8: input and output encodings of 16 lanes); for b16 also
// ROCm/rocm-systems pull request 10175. CDNA4 ISA, 11.4: EXEC must be all ones, addresses are aligned by the data's
// size; for 96 bits rocRoller's test has 16 bytes.
#include "lds_access.hpp"
#include "lds_ops.hpp"

namespace ckgen::emu {
namespace {

constexpr unsigned kColumns = 16;

template <unsigned Dwords>
using Packed = std::array<std::uint32_t, Dwords + 1>;  // one more, so that an element across two dwords is no exception

template <unsigned Bits, unsigned Dwords>
std::uint32_t element(const Packed<Dwords>& packed, unsigned index) noexcept {
  const unsigned at = index * Bits;
  const std::uint64_t pair = packed[at / 32] | static_cast<std::uint64_t>(packed[at / 32 + 1]) << 32;
  return static_cast<std::uint32_t>(pair >> at % 32) & ((1u << Bits) - 1);
}

template <unsigned Bits, unsigned Dwords>
void set_element(Packed<Dwords>& packed, unsigned index, std::uint32_t value) noexcept {
  const unsigned at = index * Bits;
  const std::uint64_t placed = static_cast<std::uint64_t>(value) << at % 32;
  packed[at / 32] |= static_cast<std::uint32_t>(placed);
  packed[at / 32 + 1] |= static_cast<std::uint32_t>(placed >> 32);
}

template <bool Checked, unsigned Bits, unsigned Dwords>
void read_transposed(Wave& wave, const Inst& inst) {
  constexpr unsigned kRows = 32 * Dwords / Bits, kLanesPerRow = kColumns / kRows;
  const std::uint32_t number = lds_issue<Checked>(wave, inst);
  const auto offset = static_cast<std::uint32_t>(inst.offset);
  const LdsPlace<Checked> place(wave, inst, offset, Touch::read, 4 * Dwords, number);
  const LaneMask exec = wave.exec();
  if constexpr (Checked) {
    lds_aligned(wave, inst, place.at(), place.lanes(), Dwords == 3 ? 16 : 8);
    if (exec != ~LaneMask{0})
      wave.launch->findings.add(Rule::unsupported, wave, inst, std::countr_zero(~exec), "EXEC must be all ones here");
  }
  const std::uint8_t* bytes = wave.group->lds.bytes.data();
  Packed<Dwords> raw[kLanes] = {};
  for (LaneMask left = place.lanes(); left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    std::memcpy(raw[lane].data(), bytes + place.at()[lane], 4 * Dwords);
  }
  for (LaneMask left = exec; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    const unsigned column = lane % kColumns, group = lane - column;
    Packed<Dwords> made{};
    for (unsigned row = 0; row < kRows; ++row) {
      const unsigned from = group + row * kLanesPerRow + column / kRows;
      set_element<Bits, Dwords>(made, row, element<Bits, Dwords>(raw[from], column % kRows));
    }
    for (unsigned part = 0; part < Dwords; ++part) lds_row(wave, inst.dst, part)[lane] = made[part];
  }
}

constexpr Semantics kTransposingReads[] = {
    {"ds_read_b64_tr_b16", read_transposed<false, 16, 2>, read_transposed<true, 16, 2>, 0},
    {"ds_read_b64_tr_b8", read_transposed<false, 8, 2>, read_transposed<true, 8, 2>, 0},
    {"ds_read_b64_tr_b4", read_transposed<false, 4, 2>, read_transposed<true, 4, 2>, 0},
    {"ds_read_b96_tr_b6", read_transposed<false, 6, 3>, read_transposed<true, 6, 3>, 0},
};

}  // namespace

std::span<const Semantics> lds_transpose_semantics() noexcept {
  return kTransposingReads;
}

}  // namespace ckgen::emu
