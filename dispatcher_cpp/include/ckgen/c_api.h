/* ckgen over plain C: opaque handles, size-prefixed structs, a status code and the caller's own message buffer.
 *
 * Every struct begins with `size`, which the caller sets to its sizeof; a call that is given a smaller one refuses it,
 * and fields that are added later are only touched where `size` covers them; `reserved` is 0. Every function returns a
 * ckgen_status; where it is not CKGEN_OK the reason is written to `message` (NUL-terminated, cut at message.size; a
 * null buffer is allowed). Null handles and null outputs are refused, never followed. No C++ exception crosses.
 * Thread-safety: a dispatcher and a device may be used by any number of threads; a registry by one at a time while it
 * is filled. What is returned as `const char*` lives as long as the handle that it was asked of. */
#ifndef CKGEN_C_API_H
#define CKGEN_C_API_H

#include <stddef.h>
#include <stdint.h>

#include <ckgen/export.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CKGEN_C_API_VERSION 1

typedef int32_t ckgen_status;
enum { CKGEN_OK = 0, CKGEN_UNSUPPORTED = 1, CKGEN_INVALID_ARGUMENT = 2, CKGEN_NO_DEVICE = 3, CKGEN_INTERNAL = 4 };

#define CKGEN_NO_INDEX 0xffffffffu

typedef struct ckgen_registry ckgen_registry;
typedef struct ckgen_dispatcher ckgen_dispatcher;
typedef struct ckgen_device ckgen_device;
typedef struct ckgen_plan ckgen_plan;
typedef struct ckgen_groups ckgen_groups;
typedef struct ckgen_problem_fmha ckgen_problem_fmha; /* sizes of attention, see ckgen/c_api_fmha.h */

typedef struct ckgen_message {
  char* text;
  size_t size;
} ckgen_message;

/* `signature` is what ckgen_parse_signature returns. `batch` is 1 where the signature is not batched. Of op
 * grouped_gemm `groups` says all sizes and must outlive the plans; it is null otherwise. Of op moe m, n and k are as
 * ckgen/moe.hpp says, and `block_m` is 0 where tokens are not sorted yet; these three are 0 otherwise. Of op fmha
 * `fmha` says all sizes, and is read during the call only; it is null otherwise. */
typedef struct ckgen_problem {
  uint64_t size;
  uint64_t signature;
  int64_t m, n, k, batch;
  int32_t deterministic;
  int32_t strategy; /* any, data_parallel, atomic, linear, tree */
  const ckgen_groups* groups;
  uint32_t experts, top_k;
  int32_t block_m;
  int32_t batch_invariant; /* as ckgen::Problem::batch_invariant */
  const ckgen_problem_fmha* fmha;
  int32_t num_threads; /* as ckgen::Problem::num_threads */
  int32_t reserved;
} ckgen_problem;

/* As ckgen::Selection; `tier` counts forced, override, exact, near, heuristic, predicted, far, other_cu, default,
 * unsupported. */
typedef struct ckgen_selection {
  uint64_t size;
  uint32_t instance;
  uint32_t k_batch;
  uint64_t table_m;
  uint32_t external;
  uint32_t tier;
  uint32_t rule;
  uint32_t reserved;
  int64_t measured, limit;
} ckgen_selection;

typedef struct ckgen_instance_info {
  uint64_t size;
  const char* name;
  uint64_t id;
  uint64_t signature;
  uint32_t backend; /* ck_tile, ck, hip, asm, host, cutlass */
  uint32_t archs;   /* bit i: the arch with value i of arch_data.hpp */
  const char* table_kernel;
  int32_t tile_m, tile_n, tile_k, max_k_batch;
  int32_t has_device, has_twin;
} ckgen_instance_info;

typedef struct ckgen_device_info {
  uint64_t size;
  const char* gfx;
  const char* brand;
  const char* note;
  uint32_t cu_num;
  uint32_t kind; /* unknown, simulated, host, gpu */
  int32_t id;
  int32_t reserved;
  const char* sku; /* the product as in a target's third part, "" where it is not known */
} ckgen_device_info;

/* As ckgen::DispatcherOptions; null texts are empty. */
typedef struct ckgen_options {
  uint64_t size;
  int32_t verbose;
  int32_t reserved;
  const char* force;
  const char* record;
  const char* override_file;
  const char* tables;
  int32_t count;
  int32_t more_reserved;
} ckgen_options;

/* As ckgen::Counters: `tiers` in the order of ckgen_selection's. */
typedef struct ckgen_counters {
  uint64_t size;
  uint64_t tiers[10];
  uint64_t hits, misses, recorded, unrecorded;
} ckgen_counters;

/* As ckgen::GemmArgs. Elements, not bytes; see gemm_types.hpp for scales and strides. */
typedef struct ckgen_gemm_args {
  uint64_t size;
  const void* a;
  const void* b;
  void* c;
  const void* a_scale;
  const void* b_scale;
  const void* bias;
  int32_t a_scale_row_major;
  int32_t mx_scale_shuffled;
  int64_t m, n, k, batch;
  int64_t lda, ldb, ldc;
  int64_t batch_stride_a, batch_stride_b, batch_stride_c;
  const void* d[2];
  int64_t ldd[2];
  int64_t batch_stride_d[2];
  const void* a1;
  const void* b1;
  float alpha;
  int32_t b_prepacked; /* `b` is what ckgen_pack_b made */
} ckgen_gemm_args;

typedef struct ckgen_bench_result {
  uint64_t size;
  double median_us, min_us, max_us;
  int32_t runs;
  int32_t reserved;
} ckgen_bench_result;

/* How stream-K shares the K iterations of tiles among workgroups: as ckgen::StreamKPartition, with what it asks for.
 * `feasible`: no_work (-1), too_few_tiles (0), ok (1); the numbers behind it are 0 unless it is ok. */
typedef struct ckgen_stream_k {
  uint64_t size;
  int64_t num_tiles, iters_per_tile, grid, dp_tiles, sk_tiles;
  int32_t feasible;
  int32_t reserved;
  int64_t max_iters_per_workgroup, max_splits;
  int64_t slice_bytes, flags_offset, workspace; /* of linear and tree; atomic needs none */
} ckgen_stream_k;

CKGEN_API const char* ckgen_version(void);
CKGEN_API uint32_t ckgen_runtime_abi(void);

/* The number that stands for a signature: a canonical name or an alias. Plain fp8 stays plain. */
CKGEN_API ckgen_status ckgen_parse_signature(const char* text, uint64_t* signature, ckgen_message message);
/* The canonical name of such a number. */
CKGEN_API ckgen_status ckgen_signature_text(uint64_t signature, ckgen_message text);

/* Fills `out` for a problem on `grid` workgroups. `sizes`: batch, M, N, K, each at most 2^31; `tile`: M, N, K of a
 * tile, each 1 to 2^16; at most 2^20 workgroups, and 2^62 iterations of all tiles. */
CKGEN_API ckgen_status ckgen_stream_k_partition(const int64_t sizes[4], const int64_t tile[3], int64_t grid,
                                                int64_t acc_bytes, ckgen_stream_k* out, ckgen_message message);
/* The stream-K iterations [begin, end) of a workgroup of a feasible partition. */
CKGEN_API ckgen_status ckgen_stream_k_workgroup(const ckgen_stream_k* partition, int64_t workgroup, int64_t* begin,
                                                int64_t* end, ckgen_message message);
/* The first and the last workgroup of a tile of a feasible partition. */
CKGEN_API ckgen_status ckgen_stream_k_tile(const ckgen_stream_k* partition, int64_t tile, int64_t* first, int64_t* last,
                                           ckgen_message message);

/* Between N rows of K elements, `stride` bytes apart, and the order that instances of a preshuffled B read:
   ckgen/preshuffle.hpp. `layout` is the order's number, as ckgen_preshuffle_layout gives it; refused are another one, n
   that is no multiple of 16, row_bytes that are none of 32, a stride below row_bytes. The buffers must not overlap. */
CKGEN_API int32_t ckgen_preshuffle_layout(void);
CKGEN_API ckgen_status ckgen_preshuffle_b(const void* rows, int64_t stride, void* shuffled, int64_t n,
                                          int64_t row_bytes, int32_t layout, ckgen_message message);
CKGEN_API ckgen_status ckgen_unpreshuffle_b(const void* shuffled, void* rows, int64_t stride, int64_t n,
                                            int64_t row_bytes, int32_t layout, ckgen_message message);

/* Weights packed once for the CPU's own instances: ckgen/prepack.hpp. `signature` as in ckgen_problem; B of `batch`
 * entries is as GemmArgs has it. The result goes to ckgen_gemm_args.b, with b_prepacked. A header that was damaged, or
 * is of another type, layout or size, is refused by ckgen_check_packed_b and by every run. */
CKGEN_API ckgen_status ckgen_packed_b_bytes(uint64_t signature, int64_t n, int64_t k, int64_t batch, uint64_t* bytes,
                                            ckgen_message message);
CKGEN_API ckgen_status ckgen_pack_b(uint64_t signature, const void* b, int64_t n, int64_t k, int64_t ldb, int64_t batch,
                                    int64_t batch_stride, void* packed, uint64_t bytes, ckgen_message message);
CKGEN_API ckgen_status ckgen_check_packed_b(uint64_t signature, int64_t n, int64_t k, int64_t batch, const void* packed,
                                            ckgen_message message);

CKGEN_API ckgen_status ckgen_registry_create(ckgen_registry** out, ckgen_message message);
CKGEN_API void ckgen_registry_destroy(ckgen_registry* registry);
/* `library` is what the generated symbol ckgen_<name>_library() returns. */
CKGEN_API ckgen_status ckgen_registry_add_library(ckgen_registry* registry, const void* library, ckgen_message message);
/* Gives instances that were added their GPU code; `library` is what a built library's symbol
 * ckgen_<name>_device_library() returns. */
CKGEN_API ckgen_status ckgen_registry_attach(ckgen_registry* registry, const void* library, ckgen_message message);
/* Registry::provide_libraries: kernels of vendors' libraries that tables name, where those libraries are here. */
CKGEN_API ckgen_status ckgen_registry_provide_libraries(ckgen_registry* registry, ckgen_message message);
CKGEN_API ckgen_status ckgen_registry_size(const ckgen_registry* registry, uint32_t* out, ckgen_message message);
/* Every instance as JSON, see ckgen/registry_json.hpp; `needed` (may be null) is its length with the NUL. */
CKGEN_API ckgen_status ckgen_registry_json(const ckgen_registry* registry, ckgen_message text, size_t* needed);

CKGEN_API ckgen_status ckgen_device_simulated(const char* target, uint32_t cu_num, ckgen_device** out,
                                              ckgen_message message);
CKGEN_API ckgen_status ckgen_device_host(ckgen_device** out, ckgen_message message);
CKGEN_API ckgen_status ckgen_device_current(ckgen_device** out, ckgen_message message);
CKGEN_API void ckgen_device_destroy(ckgen_device* device);
CKGEN_API ckgen_status ckgen_device_describe(const ckgen_device* device, ckgen_device_info* out, ckgen_message message);

/* Null options: those of the environment. Options that could not be honoured are said in `message`, with the code of
 * the status, and the dispatcher is made nevertheless. */
CKGEN_API ckgen_status ckgen_dispatcher_create(const ckgen_registry* registry, const ckgen_options* options,
                                               ckgen_dispatcher** out, ckgen_message message);
CKGEN_API void ckgen_dispatcher_destroy(ckgen_dispatcher* dispatcher);
CKGEN_API ckgen_status ckgen_load_overrides(ckgen_dispatcher* dispatcher, const char* path, ckgen_message message);

/* FILE[:FILE...] in place of the tables before; rows that were left out are said in `message`, the others hold. */
CKGEN_API ckgen_status ckgen_load_tables(ckgen_dispatcher* dispatcher, const char* paths, ckgen_message message);
/* Equal where the same rows answer, among processes and machines. */
CKGEN_API ckgen_status ckgen_tables_digest(const ckgen_dispatcher* dispatcher, uint64_t* out, ckgen_message message);
/* Of the bytes of the files that are loaded, as `ckgen tables digest` prints it; 0 without any. */
CKGEN_API ckgen_status ckgen_loaded_tables_digest(const ckgen_dispatcher* dispatcher, uint64_t* out,
                                                  ckgen_message message);
/* As ckgen::Dispatcher::generation; 0 for a null dispatcher. */
CKGEN_API uint64_t ckgen_generation(const ckgen_dispatcher* dispatcher);
/* Zeros unless the options say `count` or `record`. */
CKGEN_API ckgen_status ckgen_read_counters(const ckgen_dispatcher* dispatcher, ckgen_counters* out,
                                           ckgen_message message);

/* Instances and external kernels by index, as selections name them. */
CKGEN_API ckgen_status ckgen_instance_count(const ckgen_dispatcher* dispatcher, uint32_t* out, ckgen_message message);
CKGEN_API ckgen_status ckgen_instance(const ckgen_dispatcher* dispatcher, uint32_t index, ckgen_instance_info* out,
                                      ckgen_message message);
/* The archs for which GPU code is attached to an instance, such as "gfx942,gfx950". */
CKGEN_API ckgen_status ckgen_instance_device_archs(const ckgen_dispatcher* dispatcher, uint32_t index,
                                                   ckgen_message text);
CKGEN_API ckgen_status ckgen_find_instance(const ckgen_dispatcher* dispatcher, const char* name, uint32_t* out,
                                           ckgen_message message);
CKGEN_API ckgen_status ckgen_external(const ckgen_dispatcher* dispatcher, uint32_t index, const char** library,
                                      const char** name, ckgen_message message);

/* An unsupported problem is CKGEN_OK with instance CKGEN_NO_INDEX; ckgen_reason says why. */
CKGEN_API ckgen_status ckgen_select(const ckgen_dispatcher* dispatcher, const ckgen_device* device,
                                    const ckgen_problem* problem, ckgen_selection* out, ckgen_message message);
/* 1 where a measured row answers, at or near the problem's sizes and for the device's own target; else 0. Neither
 * counted nor recorded. */
CKGEN_API ckgen_status ckgen_is_tuned(const ckgen_dispatcher* dispatcher, const ckgen_device* device,
                                      const ckgen_problem* problem, int32_t* out, ckgen_message message);
/* `count` problems and selections in arrays without gaps, all of the size of the first. */
CKGEN_API ckgen_status ckgen_select_many(const ckgen_dispatcher* dispatcher, const ckgen_device* device,
                                         const ckgen_problem* problems, size_t count, ckgen_selection* out,
                                         ckgen_message message);
CKGEN_API ckgen_status ckgen_next(const ckgen_dispatcher* dispatcher, const ckgen_device* device,
                                  const ckgen_problem* problem, const ckgen_selection* after, ckgen_selection* out,
                                  ckgen_message message);
/* Writes up to `capacity` selections of instances that support the problem; `count` is how many there are. */
CKGEN_API ckgen_status ckgen_enumerate(const ckgen_dispatcher* dispatcher, const ckgen_device* device,
                                       const ckgen_problem* problem, ckgen_selection* out, size_t capacity,
                                       size_t* count, ckgen_message message);
/* The sentence of a selection without an instance; empty for one that has one. */
CKGEN_API ckgen_status ckgen_reason(const ckgen_selection* selection, ckgen_message text);
/* The trail; `needed` (may be null) is its length with the NUL, so that a caller can ask again with more room. */
CKGEN_API ckgen_status ckgen_explain(const ckgen_dispatcher* dispatcher, const ckgen_device* device,
                                     const ckgen_problem* problem, ckgen_message text, size_t* needed);

/* Null `selection`: the dispatcher's own. */
CKGEN_API ckgen_status ckgen_plan_create(const ckgen_dispatcher* dispatcher, const ckgen_device* device,
                                         const ckgen_problem* problem, const ckgen_selection* selection,
                                         ckgen_plan** out, ckgen_message message);
CKGEN_API void ckgen_plan_destroy(ckgen_plan* plan);
CKGEN_API ckgen_status ckgen_plan_selection(const ckgen_plan* plan, ckgen_selection* out, ckgen_message message);
CKGEN_API ckgen_status ckgen_plan_workspace(const ckgen_plan* plan, uint64_t* bytes, ckgen_message message);
/* CKGEN_OK where the plan can be launched on its device, else why not. */
CKGEN_API ckgen_status ckgen_plan_launchable(const ckgen_plan* plan, ckgen_message message);

/* Loads the plan's GPU code ahead of its first run, as before a stream is captured. */
CKGEN_API ckgen_status ckgen_preload(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan, ckgen_message message);
/* With the caller's workspace, aligned to 64 bytes. */
CKGEN_API ckgen_status ckgen_run(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan,
                                 const ckgen_gemm_args* args, void* workspace, void* stream, ckgen_message message);
/* With workspace from the dispatcher's pool. */
CKGEN_API ckgen_status ckgen_run_pooled(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan,
                                        const ckgen_gemm_args* args, void* stream, ckgen_message message);
/* A `warmup` or `runs` below 0: CK_TILE_BENCH_WARMUP or CK_TILE_BENCH_REPEAT, else 50 and 100. */
CKGEN_API ckgen_status ckgen_bench(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan,
                                   const ckgen_gemm_args* args, int32_t warmup, int32_t runs, ckgen_bench_result* out,
                                   ckgen_message message);

#ifdef __cplusplus
}
#endif

#include <ckgen/c_api_fmha.h>
#include <ckgen/c_api_gpu.h>
#include <ckgen/c_api_ops.h>

#endif
