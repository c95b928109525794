#include "c_api_object.h"

#include <memory>
#include <new>
#include <string>

#include "kernel.hpp"

using ckgen::emu::Argument;
using ckgen::emu::Kernel;

struct ckgen_emu_object {
  ckgen::emu::CodeObject read;
  std::string error;
};

extern "C" {

ckgen_emu_object* ckgen_emu_object_read(const void* bytes, uint64_t size) try {
  auto object = std::make_unique<ckgen_emu_object>();
  object->read = ckgen::emu::read_code_object({static_cast<const std::uint8_t*>(bytes), static_cast<std::size_t>(size)},
                                              object->error);
  return object.release();
} catch (const std::bad_alloc&) {
  return nullptr;
}

void ckgen_emu_object_free(ckgen_emu_object* object) {
  delete object;
}

const char* ckgen_emu_object_error(const ckgen_emu_object* object) {
  return object->error.c_str();
}

uint32_t ckgen_emu_object_machine(const ckgen_emu_object* object) {
  return object->read.machine;
}

const uint8_t* ckgen_emu_object_image(const ckgen_emu_object* object, uint64_t* size) {
  *size = object->read.image.size();
  return object->read.image.data();
}

uint32_t ckgen_emu_object_kernel_count(const ckgen_emu_object* object) {
  return static_cast<uint32_t>(object->read.kernels.size());
}

int ckgen_emu_object_kernel(const ckgen_emu_object* object, uint32_t kernel, ckgen_emu_kernel* out) {
  if (kernel >= object->read.kernels.size()) return 1;
  const Kernel& found = object->read.kernels[kernel];
  *out = {found.name.c_str(),
          found.lds_bytes,
          found.scratch_bytes,
          found.kernarg_bytes,
          found.text_start,
          found.entry,
          static_cast<uint32_t>(found.text.size()),
          found.vgprs,
          found.accum_offset,
          found.max_workgroup,
          static_cast<uint32_t>(found.arguments.size()),
          static_cast<uint32_t>(found.hidden.size())};
  return 0;
}

int ckgen_emu_object_argument(const ckgen_emu_object* object, uint32_t kernel, uint32_t argument,
                              ckgen_emu_argument* out) {
  if (kernel >= object->read.kernels.size()) return 1;
  const Kernel& of = object->read.kernels[kernel];
  const std::size_t passed = of.arguments.size();
  if (argument >= passed + of.hidden.size()) return 1;
  const Argument& found = argument < passed ? of.arguments[argument] : of.hidden[argument - passed];
  *out = {found.kind.c_str(), found.offset, found.size};
  return 0;
}

}  // extern "C"
