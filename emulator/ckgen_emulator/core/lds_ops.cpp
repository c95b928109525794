// Reads and writes. Source: CDNA3 ISA, 12.13 "LDS Instructions", and CDNA4's.
//
// Alignment: SH_MEM_CONFIG's alignment mode is "unaligned" under amdhsa (Linux's kfd sets it for gfx9, and LLVM assumes
// +unaligned-access-mode there, which lets it select ds_read_b128 for data that is aligned by one byte), so a read or
// write may begin at any byte.
#include "lds_ops.hpp"

#include <array>
#include <vector>

#include "lds_access.hpp"

namespace ckgen::emu {
namespace {

using Four __attribute__((vector_size(16))) = std::uint32_t;
static_assert(kLanes % 4 == 0);

/// Four rows of four to their transpose.
inline void transpose(Four (&row)[4]) noexcept {
  const Four a = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5),
             b = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
  const Four c = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5),
             d = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
  row[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  row[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  row[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  row[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

/// Dwords from LDS into rows `first`… of the destination, in lanes of EXEC; 0 where `place` is outside.
template <unsigned Dwords, bool Checked>
void gather(Wave& wave, const Inst& inst, const LdsPlace<Checked>& place, unsigned first) noexcept {
  const std::uint8_t* bytes = wave.group->lds.bytes.data();
  const std::uint32_t* at = place.at();
  std::uint32_t* row[Dwords];
  for (unsigned part = 0; part < Dwords; ++part) row[part] = lds_row(wave, inst.dst, first + part);
  const LaneMask inside = place.lanes(), exec = wave.exec();
  if (inside == ~LaneMask{0}) {
    if constexpr (Dwords == 4) {
      for (unsigned lane = 0; lane < kLanes; lane += 4) {
        Four four[4];
        for (unsigned i = 0; i < 4; ++i) std::memcpy(&four[i], bytes + at[lane + i], 16);
        transpose(four);
        for (unsigned i = 0; i < 4; ++i) std::memcpy(row[i] + lane, &four[i], 16);
      }
    } else {
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        std::uint32_t values[Dwords];
        std::memcpy(values, bytes + at[lane], sizeof values);
        for (unsigned part = 0; part < Dwords; ++part) row[part][lane] = values[part];
      }
    }
    return;
  }
  for (LaneMask left = exec; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    std::uint32_t values[Dwords] = {};
    if ((inside >> lane & 1) != 0) std::memcpy(values, bytes + at[lane], sizeof values);
    for (unsigned part = 0; part < Dwords; ++part) row[part][lane] = values[part];
  }
}

/// Dwords of a data operand into LDS; the highest lane wins where several write the same byte.
template <unsigned Dwords, bool Checked>
void scatter(Wave& wave, const Operand& data, const LdsPlace<Checked>& place) noexcept {
  std::uint8_t* bytes = wave.group->lds.bytes.data();
  const std::uint32_t* at = place.at();
  const std::uint32_t* row[Dwords];
  for (unsigned part = 0; part < Dwords; ++part) row[part] = lds_row(wave, data, part);
  const LaneMask inside = place.lanes();
  if constexpr (Dwords == 4) {
    if (inside == ~LaneMask{0}) {
      for (unsigned lane = 0; lane < kLanes; lane += 4) {
        Four four[4];
        for (unsigned i = 0; i < 4; ++i) std::memcpy(&four[i], row[i] + lane, 16);
        transpose(four);
        for (unsigned i = 0; i < 4; ++i) std::memcpy(bytes + at[lane + i], &four[i], 16);
      }
      return;
    }
  }
  const auto one = [&](unsigned lane) {
    std::uint32_t values[Dwords];
    for (unsigned part = 0; part < Dwords; ++part) values[part] = row[part][lane];
    std::memcpy(bytes + at[lane], values, sizeof values);
  };
  if (inside == ~LaneMask{0}) {
    for (unsigned lane = 0; lane < kLanes; ++lane) one(lane);
  } else {
    for (LaneMask left = inside; left != 0; left &= left - 1) one(static_cast<unsigned>(std::countr_zero(left)));
  }
}

std::uint32_t offset_of(const Inst& inst) noexcept {
  return static_cast<std::uint32_t>(inst.offset);
}

template <bool Checked, unsigned Dwords>
void read(Wave& wave, const Inst& inst) {
  const LdsPlace<Checked> place(wave, inst, offset_of(inst), Touch::read, 4 * Dwords, lds_issue<Checked>(wave, inst));
  gather<Dwords, Checked>(wave, inst, place, 0);
}

template <bool Checked, unsigned Dwords>
void write(Wave& wave, const Inst& inst) {
  const LdsPlace<Checked> place(wave, inst, offset_of(inst), Touch::write, 4 * Dwords, lds_issue<Checked>(wave, inst));
  scatter<Dwords, Checked>(wave, inst.src[1], place);
}

/// Two offsets in units of the element, or of 64 of them.
template <bool Checked, unsigned Dwords, unsigned Elements>
void read2(Wave& wave, const Inst& inst) {
  constexpr std::uint32_t kUnit = 4 * Dwords * Elements;
  const std::uint32_t number = lds_issue<Checked>(wave, inst);
  const LdsPlace<Checked> first(wave, inst, offset_of(inst) * kUnit, Touch::read, 4 * Dwords, number);
  const LdsPlace<Checked> second(wave, inst, inst.offset1 * kUnit, Touch::read, 4 * Dwords, number);
  gather<Dwords, Checked>(wave, inst, first, 0);
  gather<Dwords, Checked>(wave, inst, second, Dwords);
}

template <bool Checked, unsigned Dwords, unsigned Elements>
void write2(Wave& wave, const Inst& inst) {
  constexpr std::uint32_t kUnit = 4 * Dwords * Elements;
  const std::uint32_t number = lds_issue<Checked>(wave, inst);
  const LdsPlace<Checked> first(wave, inst, offset_of(inst) * kUnit, Touch::write, 4 * Dwords, number);
  scatter<Dwords, Checked>(wave, inst.src[1], first);
  const LdsPlace<Checked> second(wave, inst, inst.offset1 * kUnit, Touch::write, 4 * Dwords, number);
  scatter<Dwords, Checked>(wave, inst.src[2], second);
}

enum class Half { all, low, high };

/// Bytes and words: sign or zero extended into the register, or into a half of it.
template <bool Checked, class Element, Half Into>
void read_small(Wave& wave, const Inst& inst) {
  const std::uint32_t number = lds_issue<Checked>(wave, inst);
  const LdsPlace<Checked> place(wave, inst, offset_of(inst), Touch::read, sizeof(Element), number);
  const std::uint8_t* bytes = wave.group->lds.bytes.data();
  std::uint32_t* row = lds_row(wave, inst.dst, 0);
  for (LaneMask left = wave.exec(); left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    Element element = 0;
    if ((place.lanes() >> lane & 1) != 0) std::memcpy(&element, bytes + place.at()[lane], sizeof element);
    const auto value = static_cast<std::uint32_t>(static_cast<std::int32_t>(element));
    if constexpr (Into == Half::all) row[lane] = value;
    if constexpr (Into == Half::low) row[lane] = (row[lane] & 0xffff0000) | (value & 0xffff);
    if constexpr (Into == Half::high) row[lane] = (row[lane] & 0xffff) | value << 16;
  }
}

template <bool Checked, class Element, Half From>
void write_small(Wave& wave, const Inst& inst) {
  const std::uint32_t number = lds_issue<Checked>(wave, inst);
  const LdsPlace<Checked> place(wave, inst, offset_of(inst), Touch::write, sizeof(Element), number);
  std::uint8_t* bytes = wave.group->lds.bytes.data();
  const std::uint32_t* row = lds_row(wave, inst.src[1], 0);
  for (LaneMask left = place.lanes(); left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    const auto element = static_cast<Element>(From == Half::high ? row[lane] >> 16 : row[lane]);
    std::memcpy(bytes + place.at()[lane], &element, sizeof element);
  }
}

/// M0's lower half and the offset, to which each lane adds 4 times its number. The operands do not name M0.
template <bool Checked>
std::uint32_t thread_base(Wave& wave, const Inst& inst) {
  if (Checked && !wave.shadow.scalar_written[kM0])
    wave.launch->findings.add(Rule::uninitialised, wave, inst, -1, "m0 was never written");
  return offset_of(inst) + (wave.s[kM0] & 0xffff);
}

template <bool Checked>
void read_addtid(Wave& wave, const Inst& inst) {
  const LdsPlace<Checked> place(wave, inst, Touch::read, thread_base<Checked>(wave, inst),
                                lds_issue<Checked>(wave, inst));
  gather<1, Checked>(wave, inst, place, 0);
}

template <bool Checked>
void write_addtid(Wave& wave, const Inst& inst) {
  const LdsPlace<Checked> place(wave, inst, Touch::write, thread_base<Checked>(wave, inst),
                                lds_issue<Checked>(wave, inst));
  scatter<1, Checked>(wave, inst.src[1], place);
}

using I8 = std::int8_t;
using U8 = std::uint8_t;
using I16 = std::int16_t;
using U16 = std::uint16_t;

constexpr Semantics kTransfers[] = {
    {"ds_read_b32", read<false, 1>, read<true, 1>, 0},
    {"ds_read_b64", read<false, 2>, read<true, 2>, 0},
    {"ds_read_b96", read<false, 3>, read<true, 3>, 0},
    {"ds_read_b128", read<false, 4>, read<true, 4>, 0},
    {"ds_write_b32", write<false, 1>, write<true, 1>, 0},
    {"ds_write_b64", write<false, 2>, write<true, 2>, 0},
    {"ds_write_b96", write<false, 3>, write<true, 3>, 0},
    {"ds_write_b128", write<false, 4>, write<true, 4>, 0},
    {"ds_read2_b32", read2<false, 1, 1>, read2<true, 1, 1>, 0},
    {"ds_read2_b64", read2<false, 2, 1>, read2<true, 2, 1>, 0},
    {"ds_read2st64_b32", read2<false, 1, 64>, read2<true, 1, 64>, 0},
    {"ds_read2st64_b64", read2<false, 2, 64>, read2<true, 2, 64>, 0},
    {"ds_write2_b32", write2<false, 1, 1>, write2<true, 1, 1>, 0},
    {"ds_write2_b64", write2<false, 2, 1>, write2<true, 2, 1>, 0},
    {"ds_write2st64_b32", write2<false, 1, 64>, write2<true, 1, 64>, 0},
    {"ds_write2st64_b64", write2<false, 2, 64>, write2<true, 2, 64>, 0},
    {"ds_read_i8", read_small<false, I8, Half::all>, read_small<true, I8, Half::all>, 0},
    {"ds_read_u8", read_small<false, U8, Half::all>, read_small<true, U8, Half::all>, 0},
    {"ds_read_i16", read_small<false, I16, Half::all>, read_small<true, I16, Half::all>, 0},
    {"ds_read_u16", read_small<false, U16, Half::all>, read_small<true, U16, Half::all>, 0},
    {"ds_read_i8_d16", read_small<false, I8, Half::low>, read_small<true, I8, Half::low>, kReadsDestination},
    {"ds_read_u8_d16", read_small<false, U8, Half::low>, read_small<true, U8, Half::low>, kReadsDestination},
    {"ds_read_u16_d16", read_small<false, U16, Half::low>, read_small<true, U16, Half::low>, kReadsDestination},
    {"ds_read_i8_d16_hi", read_small<false, I8, Half::high>, read_small<true, I8, Half::high>, kReadsDestination},
    {"ds_read_u8_d16_hi", read_small<false, U8, Half::high>, read_small<true, U8, Half::high>, kReadsDestination},
    {"ds_read_u16_d16_hi", read_small<false, U16, Half::high>, read_small<true, U16, Half::high>, kReadsDestination},
    {"ds_write_b8", write_small<false, U8, Half::low>, write_small<true, U8, Half::low>, 0},
    {"ds_write_b16", write_small<false, U16, Half::low>, write_small<true, U16, Half::low>, 0},
    {"ds_write_b8_d16_hi", write_small<false, U8, Half::high>, write_small<true, U8, Half::high>, 0},
    {"ds_write_b16_d16_hi", write_small<false, U16, Half::high>, write_small<true, U16, Half::high>, 0},
    {"ds_read_addtid_b32", read_addtid<false>, read_addtid<true>, 0},
    {"ds_write_addtid_b32", write_addtid<false>, write_addtid<true>, 0},
};

}  // namespace

std::span<const Semantics> lds_transfer_semantics() noexcept {
  return kTransfers;
}

std::span<const Semantics> lds_semantics() noexcept {
  static const std::vector<Semantics> all = [] {
    std::vector<Semantics> joined;
    for (const auto part :
         {lds_transfer_semantics(), lds_atomic_semantics(), lds_lane_semantics(), lds_transpose_semantics()})
      joined.insert(joined.end(), part.begin(), part.end());
    return joined;
  }();
  return all;
}

}  // namespace ckgen::emu
