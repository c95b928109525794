// What cpuid says of AMX, asked through functions that a test can stand in for.
#pragma once

namespace ckgen {
inline namespace v1 {
namespace host {

struct CpuidRegisters {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

/// What a CPU answers: all 0 for a leaf that it does not know.
using Cpuid = CpuidRegisters (*)(unsigned leaf, unsigned subleaf);
/// The low half of XCR0: what the operating system saves. Asked only where cpuid says OSXSAVE.
using SavedState = unsigned (*)();

/// Whether bf16 and int8 tiles can be used: the CPU has them and the operating system saves them.
inline bool has_amx(Cpuid cpuid, SavedState saved) noexcept {
  constexpr unsigned tiles = (1u << 22) | (1u << 24) | (1u << 25);  // amx-bf16, amx-tile, amx-int8
  constexpr unsigned osxsave = 1u << 27;
  constexpr unsigned state = 0x60000u;  // of tile configuration and data
  return (cpuid(7, 0).d & tiles) == tiles && (cpuid(1, 0).c & osxsave) != 0 && (saved() & state) == state;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
