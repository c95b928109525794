// What code a chip executes, as the first line of an opcode table says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ckgen::emu {

/// Which of AMD's ISA documents says how code behaves.
enum class Isa : std::uint8_t { unknown, cdna2, cdna3, cdna4 };

struct Processor {
  std::string name;           // what code objects are for: the processor that the compiler was told
  std::uint32_t machine = 0;  // the same as EF_AMDGPU_MACH, the low byte of e_flags
  Isa isa = Isa::unknown;
  bool fnuz = false;  // the flavour of fp8 and bf8
  std::uint32_t lds_banks = 32;
  std::uint32_t lds_granule = 512;  // bytes, of which a workgroup is given whole ones
  std::uint32_t simd_vgprs = 512;   // per lane, of all waves of a SIMD
  std::uint32_t vgpr_granule = 8;   // of which a wave is given whole ones
  std::uint32_t simd_waves = 8;     // at most
};

/// Takes the line `chip name machine isa flavour` and the numbers behind it, in their order, off the table's head.
/// Empty `error` on success.
Processor take_processor(std::string_view& table, std::string& error);

}  // namespace ckgen::emu
