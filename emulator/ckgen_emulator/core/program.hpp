// A kernel's text, decoded and bound to its handlers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "inst.hpp"
#include "semantics.hpp"
#include "stats.hpp"

namespace ckgen::emu {

/// The registers that an instruction reads and writes, as its operands say.
struct Footprint {
  std::array<Operand, 7> reads;
  std::array<Operand, 2> writes;
  std::uint8_t read_count = 0, write_count = 0;
  std::uint8_t may_be_unwritten = 0;  // reads, by bit
  std::int8_t low_half = -1;          // the read whose high half may be unwritten: then that of the result is
};

/// Immutable once bound. Thread-safe.
struct Program {
  std::vector<Inst> insts;             // in order of address
  std::vector<Footprint> footprints;   // of the same index
  std::vector<std::uint16_t> traits;   // of the same index
  std::vector<Class> classes;          // of the same index
  std::vector<std::int32_t> index_of;  // by (address - start) / 4: the instruction that begins there, or -1
  std::uint32_t start = 0;             // address of the first instruction
  std::size_t entry = 0;               // index of the kernel's first instruction

  /// Decodes `text`, whose first byte has address `start`, and binds it for a checked or a plain run. Stops at what is
  /// no instruction, which a run then reports if it comes there. An opcode without semantics is reported likewise.
  static Program bind(std::span<const std::uint8_t> text, std::uint32_t start, std::uint32_t entry,
                      const OpTable& table, bool checked);

  /// Index of the instruction at `address`; -1 if none begins there.
  std::int64_t at(std::int64_t address) const noexcept {
    const std::int64_t slot = (address - static_cast<std::int64_t>(start)) / 4;
    const bool inside = address >= start && address % 4 == 0 && slot < static_cast<std::int64_t>(index_of.size());
    return inside ? index_of[static_cast<std::size_t>(slot)] : -1;
  }
};

Footprint footprint_of(const Inst& inst, std::uint16_t traits);

}  // namespace ckgen::emu
