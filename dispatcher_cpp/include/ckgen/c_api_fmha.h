/* Attention over plain C: a part of ckgen/c_api.h, with its rules. */
#ifndef CKGEN_C_API_FMHA_H
#define CKGEN_C_API_FMHA_H

#include <ckgen/c_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As ckgen::FmhaShape; `corner` counts top_left, bottom_right. The defaults are not all 0. */
struct ckgen_problem_fmha {
  uint64_t size;
  int64_t batch, seqlen_q, seqlen_k;
  int32_t heads_q, heads_k, hdim_q, hdim_v;
  int32_t corner, window_left, window_right, sink_tokens;
  int64_t pages, total_q;
  int32_t page_size;
  int32_t split_m0, split_n0, split_merged;
  int64_t split_items, split_combines, split_rows;
  int64_t seqlen_new;
  int32_t rotary_dim, min_seqlen_k;
  int32_t finite_kv, gaps_q;
};

/* As ckgen::FmhaStrides: elements. */
typedef struct ckgen_fmha_strides {
  int64_t row, head, batch;
} ckgen_fmha_strides;

/* As ckgen::FmhaArgs. What the signature has no use for is null, and the numbers of it 0. */
typedef struct ckgen_fmha_args {
  uint64_t size;
  const void* q;
  const void* k;
  const void* v;
  void* o;
  float* lse;
  const void* bias;
  const float* sink;
  const uint8_t* rand_val;
  const float* q_descale;
  const float* k_descale;
  const float* v_descale;
  ckgen_fmha_strides q_strides, k_strides, v_strides, o_strides, bias_strides, rand_val_strides;
  int64_t lse_head_stride, lse_batch_stride;
  const int32_t* seqstart_q;
  const int32_t* seqstart_k;
  const int32_t* seqlen_q;
  const int32_t* seqlen_k;
  const int32_t* block_table;
  int64_t block_table_stride;
  const int32_t* kv_indptr;
  const int32_t* kv_pages;
  const int32_t* kv_last_page;
  float scale, softcap, p_drop;
  int32_t reserved;
  uint64_t seed, offset;
  const struct ckgen_fmha_split_item* split_items; /* of ckgen/c_api_fmha_split.h */
  const struct ckgen_fmha_combine_item* split_combines;
  void* k_cache;
  void* v_cache;
  const void* k_new;
  const void* v_new;
  ckgen_fmha_strides k_new_strides, v_new_strides;
  const void* rotary_cos;
  const void* rotary_sin;
  const void* dout;
  void* dq;
  void* dk;
  void* dv;
  void* dbias;
  float* dsink;
  ckgen_fmha_strides dout_strides, dq_strides, dk_strides, dv_strides, dbias_strides;
} ckgen_fmha_args;

/* Sets every field but `size` to its default: no sizes, and the window of a causal mask. */
CKGEN_API ckgen_status ckgen_problem_fmha_defaults(ckgen_problem_fmha* problem, ckgen_message message);

/* As ckgen_run, ckgen_run_pooled and ckgen_bench of plans of op fmha. */
CKGEN_API ckgen_status ckgen_run_fmha(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan,
                                      const ckgen_fmha_args* args, void* workspace, void* stream,
                                      ckgen_message message);
CKGEN_API ckgen_status ckgen_run_fmha_pooled(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan,
                                             const ckgen_fmha_args* args, void* stream, ckgen_message message);
CKGEN_API ckgen_status ckgen_bench_fmha(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan,
                                        const ckgen_fmha_args* args, int32_t warmup, int32_t runs,
                                        ckgen_bench_result* out, ckgen_message message);

#ifdef __cplusplus
}
#endif
#endif
