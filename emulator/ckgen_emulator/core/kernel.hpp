// A code object: the kernels in it, their descriptors and arguments, and the bytes that are loaded.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ckgen::emu {

/// One entry of the metadata's `.args`: `kind` is its `.value_kind` ("by_value", "global_buffer", "hidden_…").
struct Argument {
  std::string kind;
  std::uint32_t offset = 0;  // in the kernarg segment
  std::uint32_t size = 0;
};

/// Fields of the 64-byte kernel descriptor ("Kernel Descriptor" in LLVM's AMDGPU usage guide); sizes in bytes.
struct Kernel {
  std::string name;
  std::uint32_t lds_bytes = 0;
  std::uint32_t scratch_bytes = 0;  // per lane
  std::uint32_t kernarg_bytes = 0;  // the metadata's where the descriptor says 0, as hand-written ones do
  std::uint32_t text_start = 0;     // of the section that holds it, as an address in the image
  std::uint32_t entry = 0;          // address of its first instruction
  std::uint32_t rsrc1 = 0, rsrc2 = 0;
  std::uint16_t properties = 0;      // which user SGPRs it wants
  std::uint32_t vgprs = 512;         // v and a together, as allocated
  std::uint32_t accum_offset = 256;  // v registers among them: a0 follows
  std::uint32_t max_workgroup = 0;   // work-items; 0: the metadata does not say
  std::vector<Argument> arguments;   // that the caller passes, in their order
  std::vector<Argument> hidden;      // that the launch itself fills in
  std::vector<std::uint8_t> text;    // of that section
};

/// Kernels by name. `image`: every loaded segment at its virtual address, from 0; what code finds relative to its
/// program counter is there, once the image has an address and `counter` = that address + the instruction's own.
/// No object has relocations; one that does is refused.
struct CodeObject {
  std::string processor;      // gfx942, as the metadata says; empty where they do not
  std::uint32_t machine = 0;  // EF_AMDGPU_MACH
  std::vector<Kernel> kernels;
  std::vector<std::uint8_t> image;
};

/// Reads a linked ELF code object (v3 to v6). Empty `error` on success; every offset is checked against `bytes`.
CodeObject read_code_object(std::span<const std::uint8_t> bytes, std::string& error);

}  // namespace ckgen::emu
