// What the hazard rules must know of an opcode, told once when its table is read.
#pragma once

#include <cstdint>
#include <string_view>

namespace ckgen::emu {

enum class Format : std::uint8_t;

struct HazardClass {
  enum Kind : std::uint32_t {
    valu = 1,  // executed by the vector unit; matrix instructions too
    mfma = 2,
    dgemm = 4,    // MFMA of f64
    sgemm = 8,    // MFMA of f32, which gfx942 does not execute on its fast path ("XDL")
    smfmac = 16,  // accumulates in its destination, src2 are indices
    f8f6f4 = 32,  // takes longer for formats of 8 bits
    trans = 64,
    dot = 128,
    vmem = 256,
    lds = 512,
    scalar_unit = 1024,
    masked = 2048,  // src2 is a mask per lane
    div_fmas = 4096,
    lane_select = 8192,  // v_readlane, v_writelane
    reads_lane = 16384,  // v_readlane, v_readfirstlane
    permlane = 1 << 15,  // the swaps of gfx950
    sets_register = 1 << 16,
    gets_register = 1 << 17,
    uses_m0 = 1 << 18,       // and is not guarded against an s_mov just before; buffer loads to LDS are
    writes_exec = 1 << 19,   // without naming it
    byte_result = 1 << 20,   // op_sel[3:2] choose a byte of the destination
    keeps_result = 1 << 21,  // always leaves a part of its destination
    nop = 1 << 22,
    swaps = 1 << 23,  // writes its source too
  };
  std::uint32_t kinds = 0;
  std::uint8_t passes = 0;        // of an MFMA, 4 cycles each, on gfx942; see matrix_passes() for gfx950
  std::uint8_t older_passes = 0;  // on gfx90a

  bool is(std::uint32_t kind) const noexcept { return (kinds & kind) != 0; }
};

HazardClass hazard_class(Format format, std::string_view name) noexcept;

}  // namespace ckgen::emu
