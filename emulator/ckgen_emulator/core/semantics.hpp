// Which function executes which mnemonic.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "inst.hpp"

namespace ckgen::emu {

/// What the loop and the register check must know of an opcode beside its operands.
enum Trait : std::uint16_t {
  kReadsDestination = 1,  // accumulates, or keeps a part of it
  kOtherLanes = 2,        // reads registers in lanes that EXEC leaves out; its handler checks what it reads
  kIgnoresExec = 4,       // reads and writes all 64 lanes
  kCommunicates = 8,      // other workgroups may see it: atomics, scoped loads and stores, cache control
  kReadsVcc = 16,         // without naming it
  kMatrix = 32,
  kBranch = 64,
  kNotesWrites = 128,  // its checked handler tells the shadow which vector registers it wrote, and in which lanes
  kRefused = 512,      // known, and reported where it would be executed
  kHighMayBeUnwritten = 256,  // of src[2]: compilers that want the low half of a sum give it nothing for the high one
};

struct Semantics {
  std::string_view name;
  Handler plain;    // without checks
  Handler checked;  // the same function where nothing but registers is to be checked
  std::uint16_t traits = 0;
};

std::span<const Semantics> scalar_semantics() noexcept;
std::span<const Semantics> vector_semantics() noexcept;
std::span<const Semantics> compare_semantics() noexcept;
std::span<const Semantics> conversion_semantics() noexcept;
std::span<const Semantics> cross_lane_semantics() noexcept;
std::span<const Semantics> packed_semantics() noexcept;
std::span<const Semantics> matrix_semantics() noexcept;
std::span<const Semantics> scalar_memory_semantics() noexcept;
std::span<const Semantics> vector_memory_semantics() noexcept;
std::span<const Semantics> lds_semantics() noexcept;

/// Traits that an opcode has only with some modifiers: loads and stores with sc1 communicate.
std::uint16_t dynamic_traits(const Inst& inst) noexcept;

/// Null for a mnemonic that is not executed.
const Semantics* find_semantics(std::string_view name) noexcept;

}  // namespace ckgen::emu
