// What cpuid says of AMX and of the model, asked through functions that a test can stand in for.
#pragma once

#include <cstdio>
#include <cstring>

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

/// Vendor, family and model in one line, as the kernel counts them: "GenuineIntel 6 207".
struct CpuModel {
  char text[32] = {};

  explicit CpuModel(Cpuid cpuid) noexcept {
    const CpuidRegisters names = cpuid(0, 0), version = cpuid(1, 0);
    char vendor[13] = {};
    std::memcpy(vendor, &names.b, 4);
    std::memcpy(vendor + 4, &names.d, 4);
    std::memcpy(vendor + 8, &names.c, 4);
    unsigned family = version.a >> 8 & 0xF, model = version.a >> 4 & 0xF;
    if (family == 6 || family == 15) model += (version.a >> 16 & 0xF) << 4;
    if (family == 15) family += version.a >> 20 & 0xFF;
    std::snprintf(text, sizeof text, "%s %u %u", vendor, family, model);
  }
};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
