/* Grouped GEMM and MoE over plain C: a part of ckgen/c_api.h, with its rules. */
#ifndef CKGEN_C_API_OPS_H
#define CKGEN_C_API_OPS_H

#include <ckgen/c_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As ckgen::GroupSize and ckgen::GroupOperands, in arrays without a size field: on the device kernels read them. */
typedef struct ckgen_group_size {
  int64_t m, n, k;
} ckgen_group_size;
typedef struct ckgen_group_operands {
  const void* a;
  const void* b;
  void* c;
  const void* a_scale;
  const void* b_scale;
  const void* bias;
  const void* d[2];
  int64_t lda, ldb, ldc;
  int64_t ldd[2];
} ckgen_group_operands;

/* As ckgen::GroupedArgs: arrays of `count`, of the host, or of the device where the plan's groups are there. */
typedef struct ckgen_grouped_args {
  uint64_t size;
  const ckgen_group_operands* operands;
  const ckgen_group_size* sizes;
  int64_t count;
  int32_t a_scale_row_major;
  int32_t mx_scale_shuffled;
  float alpha;
  int32_t reserved;
  int64_t a_scale_stride; /* read where `size` covers it */
} ckgen_grouped_args;

/* As ckgen::SortedTokens. */
typedef struct ckgen_sorted_tokens {
  int32_t* token_ids;
  float* weights;
  int32_t* expert_ids;
  int32_t* valid;
} ckgen_sorted_tokens;

/* As ckgen::MoeArgs. */
typedef struct ckgen_moe_args {
  uint64_t size;
  const void* a;
  const void* w1;
  const void* w2;
  void* c;
  const void* a_scale;
  const void* w1_scale;
  const void* w2_scale;
  int64_t tokens, lda, ldc;
  const int32_t* topk_ids;
  const float* topk_weights;
  ckgen_sorted_tokens sorted;
  int32_t a_scale_row_major;
  int32_t mx_scale_shuffled;
} ckgen_moe_args;

/* The sizes of a grouped GEMM's groups, which are copied; or of `count` groups whose rows only the device knows. */
CKGEN_API ckgen_status ckgen_groups_create(const ckgen_group_size* sizes, int64_t count, ckgen_groups** out,
                                           ckgen_message message);
CKGEN_API ckgen_status ckgen_groups_on_device(int64_t count, int64_t m_max, int64_t n, int64_t k, ckgen_groups** out,
                                              ckgen_message message);
CKGEN_API void ckgen_groups_destroy(ckgen_groups* groups);

/* As ckgen_run, ckgen_run_pooled and ckgen_bench of plans of op grouped_gemm and moe. */
CKGEN_API ckgen_status ckgen_run_grouped(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan,
                                         const ckgen_grouped_args* args, void* workspace, void* stream,
                                         ckgen_message message);
CKGEN_API ckgen_status ckgen_run_grouped_pooled(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan,
                                                const ckgen_grouped_args* args, void* stream, ckgen_message message);
CKGEN_API ckgen_status ckgen_bench_grouped(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan,
                                           const ckgen_grouped_args* args, int32_t warmup, int32_t runs,
                                           ckgen_bench_result* out, ckgen_message message);
CKGEN_API ckgen_status ckgen_run_moe(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan,
                                     const ckgen_moe_args* args, void* workspace, void* stream, ckgen_message message);
CKGEN_API ckgen_status ckgen_run_moe_pooled(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan,
                                            const ckgen_moe_args* args, void* stream, ckgen_message message);
CKGEN_API ckgen_status ckgen_bench_moe(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan,
                                       const ckgen_moe_args* args, int32_t warmup, int32_t runs,
                                       ckgen_bench_result* out, ckgen_message message);
/* The block_m of tokens that a plan of op moe reads. */
CKGEN_API ckgen_status ckgen_plan_block_m(const ckgen_plan* plan, int32_t* block_m, ckgen_message message);

/* Entries that sorted tokens need room for, a multiple of block_m; -1 where the sizes are illegal. */
CKGEN_API int64_t ckgen_sorted_capacity(int64_t tokens, uint32_t experts, uint32_t top_k, int64_t block_m);
/* Between top_k experts and weights per token, and tokens in the order of their experts: ckgen/moe.hpp. Refused where
 * a size is illegal, an id is no expert or, coming back, the sorted form is none. */
CKGEN_API ckgen_status ckgen_sort_tokens(const int32_t* topk_ids, const float* topk_weights, int64_t tokens,
                                         uint32_t experts, uint32_t top_k, int64_t block_m,
                                         const ckgen_sorted_tokens* out, ckgen_message message);
CKGEN_API ckgen_status ckgen_unsort_tokens(const ckgen_sorted_tokens* sorted, int64_t tokens, uint32_t experts,
                                           uint32_t top_k, int64_t block_m, int32_t* topk_ids, float* topk_weights,
                                           ckgen_message message);

#ifdef __cplusplus
}
#endif
#endif
