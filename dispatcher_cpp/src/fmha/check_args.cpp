#include "src/fmha/check_args.hpp"

#include <cmath>

#include "src/fmha/rules.hpp"
#include "src/fmha/tensor.hpp"

namespace ckgen::inline v1::detail {
namespace {

Status invalid(const char* text) noexcept {
  return Status::error(StatusCode::invalid_argument, "%s", text);
}

/// Rows of Q and of contiguous KV behind one another in one batch entry, and how many such entries there are.
struct Rows {
  std::int64_t q, k, batch;
};

Rows rows_of(const Problem& p) noexcept {
  const FmhaTraits& traits = p.signature().fmha;
  const FmhaShape& x = p.fmha();
  if (!traits.varlen) return {x.seqlen_q, x.seqlen_k, x.batch};
  const std::int64_t longest = appends(traits) ? x.seqlen_new : x.seqlen_q;
  return {x.total_q != 0 ? x.total_q : x.batch * longest, x.batch * x.seqlen_k, 1};
}

/// K or V with `hdim` elements per row.
FmhaTensor cache_of(const char* name, const Problem& p, const void* data, std::int32_t hdim, const FmhaStrides& strides,
                    bool is_column) noexcept {
  const FmhaTraits& traits = p.signature().fmha;
  const FmhaShape& x = p.fmha();
  const DType type = p.signature().b;
  if (traits.kv_layout == FmhaKvLayout::vectorized)
    return fmha_tensor(name, type, data, std::int64_t{x.page_size} * hdim, 1, x.heads_k, x.pages, strides);
  if (is_paged(traits)) return fmha_tensor(name, type, data, hdim, x.page_size, x.heads_k, x.pages, strides);
  const Rows rows = rows_of(p);
  if (is_column) return fmha_tensor(name, type, data, x.seqlen_k, hdim, x.heads_k, rows.batch, strides);
  return fmha_tensor(name, type, data, hdim, rows.k, x.heads_k, rows.batch, strides);
}

FmhaTensors tensors_of_forward(const Problem& p, const FmhaArgs& args) noexcept {
  const Signature& s = p.signature();
  const FmhaTraits& traits = s.fmha;
  const FmhaShape& x = p.fmha();
  const Rows rows = rows_of(p);
  const auto plane = [&](const char* name, DType type, const void* data, const FmhaStrides& strides) {
    return fmha_tensor(name, type, data, x.seqlen_k, rows.q, x.heads_q, rows.batch, strides);
  };
  FmhaTensors found;
  found.add(fmha_tensor("Q", s.a, args.q, x.hdim_q, rows.q, x.heads_q, rows.batch, args.q_strides));
  found.add(cache_of("K", p, args.k, x.hdim_q, args.k_strides, false));
  found.add(cache_of("V", p, args.v, x.hdim_v, args.v_strides, traits.v_column));
  found.add_written(fmha_tensor("O", s.c, args.o, x.hdim_v, rows.q, x.heads_q, rows.batch, args.o_strides));
  if (traits.lse || goes_back(traits))
    found.add_written(fmha_tensor("lse", DType::fp32, args.lse, rows.q, 1, x.heads_q, rows.batch,
                                  {0, args.lse_head_stride, args.lse_batch_stride}));
  if (traits.bias == FmhaBias::alibi)
    found.add(fmha_tensor("bias", DType::fp32, args.bias, 1, 1, x.heads_q, x.batch, args.bias_strides));
  if (traits.bias == FmhaBias::elementwise)
    found.add(plane("bias", s.a, args.bias, args.bias_strides)).may_repeat = true;
  if (traits.dropout == FmhaDropout::randval)
    found.add(plane("rand_val", DType::int8, args.rand_val, args.rand_val_strides)).may_repeat = true;
  return found;
}

FmhaTensors tensors_of_backward(const Problem& p, const FmhaArgs& args) noexcept {
  const Signature& s = p.signature();
  const FmhaShape& x = p.fmha();
  const Rows rows = rows_of(p);
  const auto of_q = [&](const char* name, const void* data, std::int32_t hdim, const FmhaStrides& strides) {
    return fmha_tensor(name, s.a, data, hdim, rows.q, x.heads_q, rows.batch, strides);
  };
  FmhaTensors found = tensors_of_forward(p, args);
  for (int i = 0; i < found.count; ++i) found.all[i].written = false;  // O and lse are read
  found.add(of_q("dO", args.dout, x.hdim_v, args.dout_strides));
  found.add_written(of_q("dQ", args.dq, x.hdim_q, args.dq_strides));
  // how many rows K has that seqstart_k cuts, the sizes do not say
  found.add(cache_of("dK", p, args.dk, x.hdim_q, args.dk_strides, false)).written = !s.fmha.varlen;
  found.add(cache_of("dV", p, args.dv, x.hdim_v, args.dv_strides, false)).written = !s.fmha.varlen;
  if (args.dbias == nullptr || s.fmha.bias != FmhaBias::elementwise) return found;
  FmhaTensor dbias =
      fmha_tensor("dbias", s.a, args.dbias, x.seqlen_k, rows.q, x.heads_q, rows.batch, args.dbias_strides);
  // what it is summed along has one element
  const std::int64_t of_bias[] = {args.bias_strides.row, args.bias_strides.head, args.bias_strides.batch};
  for (int i = 0; i < 3; ++i) dbias.axes[i].count = of_bias[i] == 0 ? 1 : dbias.axes[i].count;
  found.add_written(dbias);
  return found;
}

FmhaTensors tensors_of_append(const Problem& p, const FmhaArgs& args) noexcept {
  const Signature& s = p.signature();
  const FmhaShape& x = p.fmha();
  const Rows rows = rows_of(p);
  const auto new_rows = [&](const char* name, const void* data, std::int32_t hdim, const FmhaStrides& strides) {
    return fmha_tensor(name, s.a, data, hdim, s.fmha.varlen ? rows.q : x.seqlen_new, x.heads_k, rows.batch, strides);
  };
  FmhaTensors found;
  if (rotated_rows(s.fmha, x) != 0) {
    found.add(fmha_tensor("Q", s.a, args.q, x.hdim_q, rows.q, x.heads_q, rows.batch, args.q_strides));
    found.add_written(fmha_tensor("O", s.c, args.o, x.hdim_q, rows.q, x.heads_q, rows.batch, args.o_strides));
  }
  if (x.seqlen_new == 0) return found;
  // how many rows a cache has that seqstart_k cuts, the sizes do not say
  const bool is_counted = !s.fmha.varlen || is_paged(s.fmha);
  found.add(cache_of("the cache of K", p, args.k_cache, x.hdim_q, args.k_strides, false)).written = is_counted;
  found.add(cache_of("the cache of V", p, args.v_cache, x.hdim_v, args.v_strides, s.fmha.v_column)).written =
      is_counted;
  found.add(new_rows("k_new", args.k_new, x.hdim_q, args.k_new_strides));
  found.add(new_rows("v_new", args.v_new, x.hdim_v, args.v_new_strides));
  return found;
}

FmhaTensors tensors_of(const Problem& p, const FmhaArgs& args) noexcept {
  switch (p.signature().fmha.entry) {
    case FmhaEntry::append: return tensors_of_append(p, args);
    case FmhaEntry::backward: return tensors_of_backward(p, args);
    case FmhaEntry::forward: break;
  }
  return tensors_of_forward(p, args);
}

Status check_tensors(const Problem& p, const FmhaArgs& args) noexcept {
  for (const FmhaTensor& tensor : tensors_of(p, args)) {
    if (const Status status = check(tensor); !status.ok()) return status;
  }
  return Status::success();
}

enum class Use : std::uint8_t { none, optional, needed };

constexpr Use needed_if(bool condition) noexcept {
  return condition ? Use::needed : Use::none;
}

/// What the tensors do not tell: which pointers are asked for, and which would be dropped.
Status check_pointers(const Problem& p, const FmhaArgs& args) noexcept {
  const Signature& s = p.signature();
  const FmhaShape& x = p.fmha();
  const FmhaTraits& t = s.fmha;
  const bool is_append = appends(t), has_new = is_append && x.seqlen_new != 0;
  const bool has_q = !is_append || rotated_rows(t, x) != 0;
  const bool paged = is_paged(t), table = t.kv == FmhaKv::block_table, list = t.kv == FmhaKv::page_list;
  const bool quantised = t.quant != FmhaQuant::none;
  const auto optional_if = [](bool condition) { return condition ? Use::optional : Use::none; };
  const struct {
    const char* name;
    const void* data;
    Use use;
  } all[] = {{"q", args.q, optional_if(has_q)},
             {"o", args.o, optional_if(has_q)},
             {"k", args.k, optional_if(!is_append)},
             {"v", args.v, optional_if(!is_append)},
             {"k_cache", args.k_cache, optional_if(is_append)},
             {"v_cache", args.v_cache, optional_if(is_append)},
             {"k_new", args.k_new, optional_if(has_new)},
             {"v_new", args.v_new, optional_if(has_new)},
             {"rotary_cos", args.rotary_cos, needed_if(t.rope != FmhaRope::none)},
             {"rotary_sin", args.rotary_sin, needed_if(t.rope != FmhaRope::none)},
             {"lse", args.lse, optional_if(t.lse || goes_back(t))},
             {"bias", args.bias, optional_if(t.bias != FmhaBias::none)},
             {"rand_val", args.rand_val, optional_if(t.dropout == FmhaDropout::randval)},
             {"sink", args.sink, needed_if(t.sink)},
             {"q_descale", args.q_descale, needed_if(quantised && bits(s.a) == 8)},
             {"k_descale", args.k_descale, needed_if(quantised)},
             {"v_descale", args.v_descale, needed_if(quantised)},
             {"seqstart_q", args.seqstart_q, needed_if(t.varlen)},
             {"seqstart_k", args.seqstart_k, needed_if(t.varlen && !paged)},
             {"seqlen_q", args.seqlen_q, optional_if(t.varlen)},
             {"seqlen_k", args.seqlen_k, table || (is_append && !list) ? Use::needed : optional_if(!list)},
             {"block_table", args.block_table, needed_if(table)},
             {"kv_indptr", args.kv_indptr, needed_if(list)},
             {"kv_pages", args.kv_pages, needed_if(list)},
             {"kv_last_page", args.kv_last_page, needed_if(list)},
             {"dout", args.dout, optional_if(goes_back(t))},
             {"dq", args.dq, optional_if(goes_back(t))},
             {"dk", args.dk, optional_if(goes_back(t))},
             {"dv", args.dv, optional_if(goes_back(t))},
             {"dbias", args.dbias, optional_if(goes_back(t) && t.bias == FmhaBias::elementwise)},
             {"dsink", args.dsink, optional_if(goes_back(t) && t.sink)},
             {"split.items", args.split.items, needed_if(p.fmha().split_items != 0)},
             {"split.combine_items", args.split.combine_items, needed_if(p.fmha().split_combines != 0)}};
  for (const auto& one : all) {
    if (one.use == Use::needed && one.data == nullptr)
      return Status::error(StatusCode::invalid_argument, "%s is null", one.name);
    if (one.use == Use::none && one.data != nullptr)
      return Status::error(StatusCode::invalid_argument, "%s is given, and the plan has no use for it", one.name);
  }
  return Status::success();
}

Status check_numbers(const Problem& p, const FmhaArgs& args) noexcept {
  const FmhaTraits& t = p.signature().fmha;
  const auto off = [](const char* name, float value, const char* asked) {
    return Status::error(StatusCode::invalid_argument, "%s = %g, it must be %s", name, static_cast<double>(value),
                         asked);
  };
  if (appends(t) && args.scale != 0.0F) return off("scale", args.scale, "0 where nothing is scaled");
  if (!appends(t) && (!std::isfinite(args.scale) || args.scale == 0.0F))
    return off("scale", args.scale, "finite and not 0");
  if (t.softcap && !(std::isfinite(args.softcap) && args.softcap > 0.0F))
    return off("softcap", args.softcap, "finite and above 0");
  if (!t.softcap && args.softcap != 0.0F) return off("softcap", args.softcap, "0 without softcap in the signature");
  const bool drops = t.dropout != FmhaDropout::none;
  if (drops && !(args.p_drop >= 0.0F && args.p_drop < 1.0F))
    return off("p_drop", args.p_drop, "at least 0 and below 1");
  if (!drops && args.p_drop != 0.0F) return off("p_drop", args.p_drop, "0 without dropout in the signature");
  if (t.kv != FmhaKv::block_table) return Status::success();
  const std::int64_t pages = (p.fmha().seqlen_k + p.fmha().page_size - 1) / p.fmha().page_size;
  if (p.fmha().batch > 1 && args.block_table_stride < pages)
    return refuse("the row stride", "block_table", args.block_table_stride, pages);
  return Status::success();
}

/// Q that rotates where it is.
Status check_in_place(const Problem& p, const FmhaArgs& args) noexcept {
  const FmhaStrides &q = args.q_strides, &o = args.o_strides;
  const bool is_one = p.signature().fmha.varlen || p.fmha().batch == 1;
  if (q.row == o.row && q.head == o.head && (is_one || q.batch == o.batch)) return Status::success();
  return invalid("O is Q with other strides");
}

}  // namespace

Status check_args(const Problem& problem, const FmhaArgs& args) noexcept {
  const FmhaTraits& traits = problem.signature().fmha;
  if (fmha_is_empty(traits, problem.fmha())) return Status::success();
  if (const Status status = check_pointers(problem, args); !status.ok()) return status;
  if (const Status status = check_tensors(problem, args); !status.ok()) return status;
  if (const Status status = check_numbers(problem, args); !status.ok()) return status;
  return appends(traits) && args.q != nullptr && args.q == args.o ? check_in_place(problem, args) : Status::success();
}

Status check_fmha_extents(const Problem& problem) noexcept {
  for (const FmhaTensor& tensor : tensors_of(problem, FmhaArgs{})) {
    if (const Status status = check_dense(tensor); !status.ok()) return status;
  }
  return Status::success();
}

}  // namespace ckgen::inline v1::detail
