/* The emulator core's C interface: code objects loaded, launched and checked; single instructions run; text. */
#ifndef CKGEN_EMULATOR_C_API_H
#define CKGEN_EMULATOR_C_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CKGEN_EMU_ABI 6

/* Every function that answers with an int gives 0, or a status with ckgen_emu_error() of the same thread set. */
enum {
  CKGEN_EMU_FAILED = 1,
  CKGEN_EMU_BAD_GEOMETRY = 2,     /* of ckgen_emu_takes and _launch: a grid or workgroup that the kernel cannot have */
  CKGEN_EMU_OUT_OF_RESOURCES = 3, /* of the same: more LDS or registers than a compute unit has */
  CKGEN_EMU_NO_BINARY = 4         /* of ckgen_emu_load: code of another processor */
};
const char* ckgen_emu_error(void);
uint32_t ckgen_emu_abi(void);

typedef struct ckgen_emu ckgen_emu;               /* one simulated chip with its memory; thread-safe but for destroy */
typedef struct ckgen_emu_module ckgen_emu_module; /* one loaded code object; belongs to its chip */

typedef struct {
  const char* arch;         /* gfx942 */
  const char* opcode_table; /* its first line is take_processor's, the others OpTable::parse's */
  uint32_t compute_units;
  uint32_t xcds;
  uint32_t lds_bytes; /* per compute unit */
} ckgen_emu_chip;

ckgen_emu* ckgen_emu_create(const ckgen_emu_chip* chip); /* null on error */
void ckgen_emu_destroy(ckgen_emu* emu);

/* Memory that kernels may touch: host memory by its own address; `written`: counts as initialised. */
int ckgen_emu_memory_add(ckgen_emu* emu, void* memory, uint64_t bytes, int written, int writable);
int ckgen_emu_memory_remove(ckgen_emu* emu, void* memory);
int ckgen_emu_memory_written(ckgen_emu* emu, void* memory, uint64_t bytes);

/* `bytes` is copied. */
int ckgen_emu_load(ckgen_emu* emu, const void* bytes, uint64_t size, ckgen_emu_module** out);
void ckgen_emu_unload(ckgen_emu* emu, ckgen_emu_module* module);
uint32_t ckgen_emu_kernel_count(const ckgen_emu_module* module);
const char* ckgen_emu_kernel_name(const ckgen_emu_module* module, uint32_t index);

typedef struct {
  uint32_t grid[3];  /* workgroups */
  uint32_t block[3]; /* work items of one */
  uint32_t dynamic_lds;
  const void* args; /* explicit arguments, as they lie in the kernarg segment */
  uint64_t args_size;
} ckgen_emu_dispatch;

typedef struct {
  int checked;
  uint64_t seed; /* 0: waves in order, as far as each goes; else an adversary's order */
  uint32_t threads;
  uint64_t most_instructions; /* 0: no limit */
  uint32_t most_findings;
  const char* trace;           /* a file to which every executed instruction is appended; null or empty: none */
  uint64_t watch, watch_bytes; /* memory whose last store is traced; no bytes: none */
  uint32_t turn; /* with seed 0: all workgroups that fit run side by side, a wave so many instructions; 0: as above */
} ckgen_emu_options;

typedef struct {
  uint64_t instructions; /* of waves */
  uint64_t by_class[7];  /* scalar, vector, matrix, scalar memory, vector memory, LDS, control */
  uint64_t global_read, global_written, atomics, lds_read, lds_written, lds_cycles, lds_conflict_cycles;
  uint64_t groups, waves;
  uint32_t occupancy; /* workgroups that one compute unit holds */
  uint32_t findings;
} ckgen_emu_result;

typedef struct {
  const char* rule;
  const char* instruction; /* empty: none is to blame */
  const char* what;
  uint32_t address; /* in the code object's image */
  uint32_t group[3];
  uint32_t wave;
  int32_t lane; /* -1: none in particular */
  uint64_t count;
} ckgen_emu_finding;

typedef struct ckgen_emu_report ckgen_emu_report;

/* Whether ckgen_emu_launch takes that dispatch; its arguments are not looked at. */
int ckgen_emu_takes(const ckgen_emu* emu, const ckgen_emu_module* module, const char* kernel,
                    const ckgen_emu_dispatch* dispatch);
/* Runs a kernel to its end. What is wrong with the kernel is no error of the call: it is in the report. */
int ckgen_emu_launch(ckgen_emu* emu, ckgen_emu_module* module, const char* kernel, const ckgen_emu_dispatch* dispatch,
                     const ckgen_emu_options* options, ckgen_emu_result* result, ckgen_emu_report** report);
void ckgen_emu_report_finding(const ckgen_emu_report* report, uint32_t index, ckgen_emu_finding* out);
/* Of a launch that watches: JSON, `writes` (how many instructions stored to what is watched) and `steps` (the last one
   and what its value was made of, as core/origin_trace.hpp says). Empty without; the report's. */
const char* ckgen_emu_report_origin(const ckgen_emu_report* report);
void ckgen_emu_report_free(ckgen_emu_report* report);

/* One wave's registers around a few instructions. */
typedef struct {
  uint32_t* scalars; /* 128: as operands number them; VCC at 106, M0 at 124, EXEC at 126 */
  uint32_t* vectors; /* 512 rows of 64: v0…v255, a0…a255 */
  uint8_t* lds;
  uint32_t lds_bytes;
  uint32_t mode; /* the MODE register */
  uint32_t scc;
  int all_written; /* registers and LDS count as initialised */
} ckgen_emu_wave;

/* Runs instruction bytes for one wave that is a workgroup of its own, until their end, an s_endpgm or a barrier. */
int ckgen_emu_step(ckgen_emu* emu, const void* code, uint64_t size, const ckgen_emu_options* options,
                   ckgen_emu_wave* wave, ckgen_emu_result* result, ckgen_emu_report** report);

/* The text of every instruction in `code`, one line `address bytes text` each, hexadecimal address, decimal byte count;
   stops at what is no instruction. Returns the characters needed; writes at most `room` with the final zero. */
uint64_t ckgen_emu_disassemble(const ckgen_emu* emu, const void* code, uint64_t size, char* text, uint64_t room);

/* Mnemonics of the chip's table, one line `FORMAT mnemonic 0|1` each: 1 where it is executed. As above. */
uint64_t ckgen_emu_opcodes(const ckgen_emu* emu, char* text, uint64_t room);

#ifdef __cplusplus
}
#endif

#endif
