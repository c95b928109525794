// The metadata note of a code object: what it says of each kernel's arguments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elf.hpp"
#include "kernel.hpp"

namespace ckgen::emu {

struct KernelMetadata {
  std::string symbol;  // of its descriptor: "name.kd"
  std::uint32_t kernarg_bytes = 0;
  std::uint32_t max_workgroup = 0;
  std::vector<Argument> arguments;  // hidden ones too, in their order
};

struct Metadata {
  std::string target;  // amdgcn-amd-amdhsa--gfx942
  std::vector<KernelMetadata> kernels;
};

/// Reads the note's MessagePack: the types that LLVM's AMDGPU metadata uses. Malformed for what is none, and for
/// numbers that no kernel has.
Metadata read_metadata(Bytes note);

}  // namespace ckgen::emu
