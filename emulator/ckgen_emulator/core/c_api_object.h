/* What a code object says of its kernels, without a chip to run them: for tools, tests and the HIP shim. */
#ifndef CKGEN_EMULATOR_C_API_OBJECT_H
#define CKGEN_EMULATOR_C_API_OBJECT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ckgen_emu_object ckgen_emu_object; /* immutable, with copies of what it was read from */

/* Null if memory is short. Otherwise an object whose error is empty, or which has no kernels. */
ckgen_emu_object* ckgen_emu_object_read(const void* bytes, uint64_t size);
void ckgen_emu_object_free(ckgen_emu_object* object);
const char* ckgen_emu_object_error(const ckgen_emu_object* object);
uint32_t ckgen_emu_object_machine(const ckgen_emu_object* object); /* EF_AMDGPU_MACH of the e_flags */
/* The loaded segments by virtual address, from 0. */
const uint8_t* ckgen_emu_object_image(const ckgen_emu_object* object, uint64_t* size);

typedef struct {
  const char* name;
  uint32_t lds_bytes;
  uint32_t scratch_bytes; /* per work item */
  uint32_t kernarg_bytes;
  uint32_t text_start, entry; /* addresses in the image */
  uint32_t text_bytes;
  uint32_t vgprs, accum_offset;
  uint32_t max_workgroup;  /* work items; 0: not said */
  uint32_t argument_count; /* those that the caller passes */
  uint32_t hidden_count;
} ckgen_emu_kernel;

typedef struct {
  const char* kind;      /* by_value, global_buffer, hidden_block_count_x… */
  uint32_t offset, size; /* in the kernarg segment, in bytes */
} ckgen_emu_argument;

/* Kernels by name, then arguments in order, the hidden ones last. 1 if there is none of that index. */
uint32_t ckgen_emu_object_kernel_count(const ckgen_emu_object* object);
int ckgen_emu_object_kernel(const ckgen_emu_object* object, uint32_t kernel, ckgen_emu_kernel* out);
int ckgen_emu_object_argument(const ckgen_emu_object* object, uint32_t kernel, uint32_t argument,
                              ckgen_emu_argument* out);

#ifdef __cplusplus
}
#endif

#endif
