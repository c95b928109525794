// One decoded instruction.
#pragma once

#include <array>
#include <cstdint>

#include "op_table.hpp"

namespace ckgen::emu {

struct Wave;
struct Inst;

/// Executes one instruction for a wave. Never throws: what is wrong becomes a finding of the wave's launch.
using Handler = void (*)(Wave&, const Inst&);

// Operand codes: the scalar file and the specials at 0…127, constants at 128…255 as the ISA numbers them, then the
// vector registers.
constexpr std::uint16_t kFlatScratch = 102;
constexpr std::uint16_t kVccLo = 106;
constexpr std::uint16_t kVccHi = 107;
constexpr std::uint16_t kM0 = 124;
constexpr std::uint16_t kExecLo = 126;
constexpr std::uint16_t kExecHi = 127;
constexpr std::uint16_t kConstants = 128;
constexpr std::uint16_t kVccz = 251;
constexpr std::uint16_t kExecz = 252;
constexpr std::uint16_t kScc = 253;
constexpr std::uint16_t kLiteral = 255;
constexpr std::uint16_t kVgpr = 256;
constexpr std::uint16_t kAgpr = 512;
constexpr std::uint16_t kOperandEnd = 768;
constexpr unsigned kVectorRegisters = 512;  // v0…v255, then a0…a255
constexpr unsigned kLanes = 64;

/// Registers or a constant; `dwords` 0: absent.
struct Operand {
  std::uint16_t code = 0;
  std::uint8_t dwords = 0;
  Number number = Number::bits;

  bool present() const noexcept { return dwords != 0; }
  bool vector() const noexcept { return code >= kVgpr; }
  bool scalar() const noexcept { return code < kConstants; }
  /// Row of the vector register file: v0 is 0, a0 is 256.
  unsigned row() const noexcept { return code - kVgpr; }
};

enum class Special : std::uint8_t { none, dpp, sdwa };

/// DPP16's control word.
struct Dpp {
  std::uint16_t control = 0;
  std::uint8_t row_mask = 15;
  std::uint8_t bank_mask = 15;
  bool bound_control = false;  // lanes without a source read 0; else they keep their destination
};

/// SDWA's selections: 0…3 byte, 4 and 5 word, 6 dword; `dst_unused` 0 pad with zeros, 1 sign, 2 preserve.
struct Sdwa {
  std::uint8_t src0 = 6, src1 = 6, dst = 6, dst_unused = 0;
  bool src0_sext = false, src1_sext = false;
};

struct Inst {
  Handler run = nullptr;
  const OpInfo* op = nullptr;
  std::uint32_t address = 0;  // in the code object's image
  std::int32_t target = -1;   // of a branch: index of the instruction that it goes to; -1 if none begins there
  std::uint32_t literal = 0;
  std::int32_t offset = 0;  // memory: immediate bytes; SOPP, SOPK: simm16; DS with two offsets: the first, unscaled
  std::uint16_t offset1 = 0;
  std::uint8_t bytes = 0;

  Operand dst;                 // what it writes; a store has none
  Operand sdst;                // a second, scalar result: VOPC's mask, carry out
  std::array<Operand, 3> src;  // arithmetic: sources in order. Memory: address, data, second data
  Operand base;                // memory: sbase, srsrc or saddr
  Operand soffset;
  std::array<Operand, 2> scale;  // of a scaled MFMA

  std::uint8_t neg = 0, abs = 0, neg_hi = 0, op_sel = 0, op_sel_hi = 0, omod = 0;
  std::uint8_t cbsz = 0, abid = 0, blgp = 0;
  bool clamp = false;
  bool offen = false, idxen = false, lds = false, sc0 = false, sc1 = false, nt = false;
  Special special = Special::none;
  Dpp dpp;
  Sdwa sdwa;
};

}  // namespace ckgen::emu
