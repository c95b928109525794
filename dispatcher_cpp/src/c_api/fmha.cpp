// The C API's attention.
#include "src/c_api/support.hpp"

using ckgen::v1::detail::bench_of;
using ckgen::v1::detail::ok;
using ckgen::v1::detail::run_in;
using ckgen::v1::detail::run_pooled;
using ckgen::v1::detail::sized;

namespace ckgen::inline v1::detail {

FmhaShape fmha_shape_of(const ckgen_problem_fmha& x) noexcept {
  FmhaShape shape;
  shape.batch = x.batch;
  shape.heads_q = x.heads_q;
  shape.heads_k = x.heads_k;
  shape.seqlen_q = x.seqlen_q;
  shape.seqlen_k = x.seqlen_k;
  shape.hdim_q = x.hdim_q;
  shape.hdim_v = x.hdim_v;
  shape.corner = x.corner == 0 ? FmhaCorner::top_left : FmhaCorner::bottom_right;
  shape.window_left = x.window_left;
  shape.window_right = x.window_right;
  shape.sink_tokens = x.sink_tokens;
  shape.page_size = x.page_size;
  shape.pages = x.pages;
  shape.total_q = x.total_q;
  shape.split_items = x.split_items;
  shape.split_combines = x.split_combines;
  shape.split_rows = x.split_rows;
  shape.split_m0 = x.split_m0;
  shape.split_n0 = x.split_n0;
  shape.split_merged = x.split_merged != 0;
  shape.seqlen_new = x.seqlen_new;
  shape.rotary_dim = x.rotary_dim;
  shape.min_seqlen_k = x.min_seqlen_k;
  shape.finite_kv = x.finite_kv != 0;
  shape.gaps_q = x.gaps_q != 0;
  return shape;
}

}  // namespace ckgen::inline v1::detail

namespace {

ckgen::FmhaStrides strides_of(const ckgen_fmha_strides& x) noexcept {
  return {x.row, x.head, x.batch};
}

ckgen::FmhaArgs fmha_args_of(const ckgen_fmha_args& x) noexcept {
  ckgen::FmhaArgs args;
  args.q = x.q;
  args.k = x.k;
  args.v = x.v;
  args.o = x.o;
  args.lse = x.lse;
  args.bias = x.bias;
  args.sink = x.sink;
  args.rand_val = x.rand_val;
  args.q_descale = x.q_descale;
  args.k_descale = x.k_descale;
  args.v_descale = x.v_descale;
  args.q_strides = strides_of(x.q_strides);
  args.k_strides = strides_of(x.k_strides);
  args.v_strides = strides_of(x.v_strides);
  args.o_strides = strides_of(x.o_strides);
  args.bias_strides = strides_of(x.bias_strides);
  args.rand_val_strides = strides_of(x.rand_val_strides);
  args.lse_head_stride = x.lse_head_stride;
  args.lse_batch_stride = x.lse_batch_stride;
  args.seqstart_q = x.seqstart_q;
  args.seqstart_k = x.seqstart_k;
  args.seqlen_q = x.seqlen_q;
  args.seqlen_k = x.seqlen_k;
  args.block_table = x.block_table;
  args.block_table_stride = x.block_table_stride;
  args.kv_indptr = x.kv_indptr;
  args.kv_pages = x.kv_pages;
  args.kv_last_page = x.kv_last_page;
  args.scale = x.scale;
  args.softcap = x.softcap;
  args.p_drop = x.p_drop;
  args.seed = x.seed;
  args.offset = x.offset;
  args.split = {reinterpret_cast<const ckgen::FmhaSplitItem*>(x.split_items),
                reinterpret_cast<const ckgen::FmhaCombineItem*>(x.split_combines)};
  args.k_cache = x.k_cache;
  args.v_cache = x.v_cache;
  args.k_new = x.k_new;
  args.v_new = x.v_new;
  args.k_new_strides = strides_of(x.k_new_strides);
  args.v_new_strides = strides_of(x.v_new_strides);
  args.rotary_cos = x.rotary_cos;
  args.rotary_sin = x.rotary_sin;
  args.dout = x.dout;
  args.dq = x.dq;
  args.dk = x.dk;
  args.dv = x.dv;
  args.dbias = x.dbias;
  args.dsink = x.dsink;
  args.dout_strides = strides_of(x.dout_strides);
  args.dq_strides = strides_of(x.dq_strides);
  args.dk_strides = strides_of(x.dk_strides);
  args.dv_strides = strides_of(x.dv_strides);
  args.dbias_strides = strides_of(x.dbias_strides);
  return args;
}

}  // namespace

extern "C" {

ckgen_status ckgen_problem_fmha_defaults(ckgen_problem_fmha* problem, ckgen_message message) {
  if (!sized(message, problem)) return CKGEN_INVALID_ARGUMENT;
  const ckgen::FmhaShape x;
  *problem = {problem->size,    x.batch,          x.seqlen_q,
              x.seqlen_k,       x.heads_q,        x.heads_k,
              x.hdim_q,         x.hdim_v,         x.corner == ckgen::FmhaCorner::top_left ? 0 : 1,
              x.window_left,    x.window_right,   x.sink_tokens,
              x.pages,          x.total_q,        x.page_size,
              x.split_m0,       x.split_n0,       int{x.split_merged},
              x.split_items,    x.split_combines, x.split_rows,
              x.seqlen_new,     x.rotary_dim,     x.min_seqlen_k,
              int{x.finite_kv}, int{x.gaps_q}};
  return ok(message);
}

ckgen_status ckgen_run_fmha(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan, const ckgen_fmha_args* args,
                            void* workspace, void* stream, ckgen_message message) {
  return run_in<fmha_args_of>(dispatcher, plan, args, workspace, stream, message);
}

ckgen_status ckgen_run_fmha_pooled(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan,
                                   const ckgen_fmha_args* args, void* stream, ckgen_message message) {
  return run_pooled<fmha_args_of>(dispatcher, plan, args, stream, message);
}

ckgen_status ckgen_bench_fmha(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan, const ckgen_fmha_args* args,
                              int32_t warmup, int32_t runs, ckgen_bench_result* out, ckgen_message message) {
  return bench_of<fmha_args_of>(dispatcher, plan, args, warmup, runs, out, message);
}

}  // extern "C"
