#include <algorithm>
#include <cmath>
#include <utility>

#include "check_args.hpp"
#include "fmha_rules.hpp"
#include "operand.hpp"

namespace ckgen::inline v1::detail {
namespace {

struct Axis {
  const char* stride_name;
  std::int64_t stride, count;
};

/// `inner` elements side by side, along up to three axes.
struct Tensor {
  const char* name;
  DType dtype;
  const void* data;
  std::int64_t inner;
  Axis axes[3];  // the first may only repeat where `may_repeat`
  bool written = false;
  bool may_repeat = false;
};

Status invalid(const char* text) noexcept {
  return Status::error(StatusCode::invalid_argument, "%s", text);
}

/// Whether 64 bits count the bits from the first element to the last.
bool counts(const Tensor& x) noexcept {
  std::int64_t elements = x.inner, all = 0;
  for (const Axis& axis : x.axes) {
    std::int64_t distance = 0;
    if (axis.count <= 1) continue;
    if (__builtin_mul_overflow(axis.stride, axis.count - 1, &distance) ||
        __builtin_add_overflow(elements, distance, &elements))
      return false;
  }
  return !__builtin_mul_overflow(elements, std::int64_t{bits(x.dtype)}, &all);
}

/// Whether no two elements of what is written lie in one place: each stride steps over all that is inside it.
Status check_distinct(const Tensor& x) noexcept {
  Axis axes[3];
  std::copy(std::begin(x.axes), std::end(x.axes), axes);
  std::sort(std::begin(axes), std::end(axes), [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
  std::int64_t inside = x.inner;
  for (const Axis& axis : axes) {
    if (axis.count <= 1) continue;
    if (axis.stride < inside) return refuse(axis.stride_name, x.name, axis.stride, inside);
    inside += axis.stride * (axis.count - 1);
  }
  return Status::success();
}

Status check(const Tensor& x) noexcept {
  if (x.inner == 0 || std::any_of(std::begin(x.axes), std::end(x.axes), [](const Axis& a) { return a.count == 0; }))
    return Status::success();
  if (x.data == nullptr) return Status::error(StatusCode::invalid_argument, "%s is null", x.name);
  for (int i = 0; i < 3; ++i) {
    const Axis& axis = x.axes[i];
    const bool repeats = axis.stride == 0 && !x.written && (i != 0 || x.may_repeat);
    if (axis.count > 1 && axis.stride < x.inner && !repeats)
      return refuse(axis.stride_name, x.name, axis.stride, x.inner);
  }
  if (!counts(x)) return too_large(x.name);
  return x.written ? check_distinct(x) : Status::success();
}

/// Rows of Q and of contiguous KV behind one another in one batch entry, and how many such entries there are.
struct Rows {
  std::int64_t q, k, batch;
};

Rows rows_of(const Problem& p) noexcept {
  const FmhaShape& x = p.fmha();
  if (!p.signature().fmha.varlen) return {x.seqlen_q, x.seqlen_k, x.batch};
  return {x.total_q != 0 ? x.total_q : x.batch * x.seqlen_q, x.batch * x.seqlen_k, 1};
}

Tensor tensor(const char* name, DType dtype, const void* data, std::int64_t inner, std::int64_t rows,
              std::int64_t heads, std::int64_t batch, const FmhaStrides& strides) noexcept {
  return {name,
          dtype,
          data,
          inner,
          {{"the row stride", strides.row, rows},
           {"the head stride", strides.head, heads},
           {"the batch stride", strides.batch, batch}}};
}

/// K or V with `hdim` elements per row.
Tensor cache_of(const char* name, const Problem& p, const void* data, std::int32_t hdim, const FmhaStrides& strides,
                bool is_column) noexcept {
  const FmhaTraits& traits = p.signature().fmha;
  const FmhaShape& x = p.fmha();
  const DType type = p.signature().b;
  if (traits.kv_layout == FmhaKvLayout::vectorized)
    return tensor(name, type, data, std::int64_t{x.page_size} * hdim, 1, x.heads_k, x.pages, strides);
  if (is_paged(traits)) return tensor(name, type, data, hdim, x.page_size, x.heads_k, x.pages, strides);
  const Rows rows = rows_of(p);
  if (is_column) return tensor(name, type, data, x.seqlen_k, hdim, x.heads_k, rows.batch, strides);
  return tensor(name, type, data, hdim, rows.k, x.heads_k, rows.batch, strides);
}

struct FmhaTensors {
  Tensor q, k, v, o, lse, bias, rand_val;
};

FmhaTensors tensors_of(const Problem& p, const FmhaArgs& args) noexcept {
  const Signature& s = p.signature();
  const FmhaShape& x = p.fmha();
  const Rows rows = rows_of(p);
  const bool is_alibi = s.fmha.bias == FmhaBias::alibi;
  FmhaTensors all{
      tensor("Q", s.a, args.q, x.hdim_q, rows.q, x.heads_q, rows.batch, args.q_strides),
      cache_of("K", p, args.k, x.hdim_q, args.k_strides, false),
      cache_of("V", p, args.v, x.hdim_v, args.v_strides, s.fmha.v_column),
      tensor("O", s.c, args.o, x.hdim_v, rows.q, x.heads_q, rows.batch, args.o_strides),
      tensor("lse", DType::fp32, args.lse, rows.q, 1, x.heads_q, rows.batch,
             {0, args.lse_head_stride, args.lse_batch_stride}),
      is_alibi ? tensor("bias", DType::fp32, args.bias, 1, 1, x.heads_q, x.batch, args.bias_strides)
               : tensor("bias", s.a, args.bias, x.seqlen_k, rows.q, x.heads_q, rows.batch, args.bias_strides),
      tensor("rand_val", DType::int8, args.rand_val, x.seqlen_k, rows.q, x.heads_q, rows.batch, args.rand_val_strides)};
  all.o.written = all.lse.written = true;
  all.bias.may_repeat = all.rand_val.may_repeat = true;
  return all;
}

Status check_tensors(const Problem& p, const FmhaArgs& args) noexcept {
  const FmhaTraits& traits = p.signature().fmha;
  const FmhaTensors x = tensors_of(p, args);
  for (const auto& [tensor, is_used] :
       {std::pair(&x.q, true), std::pair(&x.k, true), std::pair(&x.v, true), std::pair(&x.o, true),
        std::pair(&x.lse, traits.lse), std::pair(&x.bias, traits.bias != FmhaBias::none),
        std::pair(&x.rand_val, traits.dropout == FmhaDropout::randval)}) {
    if (!is_used) continue;
    if (const Status status = check(*tensor); !status.ok()) return status;
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
  const FmhaTraits& t = s.fmha;
  const bool paged = is_paged(t), table = t.kv == FmhaKv::block_table, list = t.kv == FmhaKv::page_list;
  const bool quantised = t.quant != FmhaQuant::none;
  const auto optional_if = [](bool condition) { return condition ? Use::optional : Use::none; };
  const struct {
    const char* name;
    const void* data;
    Use use;
  } all[] = {{"lse", args.lse, optional_if(t.lse)},
             {"bias", args.bias, optional_if(t.bias != FmhaBias::none)},
             {"rand_val", args.rand_val, optional_if(t.dropout == FmhaDropout::randval)},
             {"sink", args.sink, needed_if(t.sink)},
             {"q_descale", args.q_descale, needed_if(quantised && bits(s.a) == 8)},
             {"k_descale", args.k_descale, needed_if(quantised)},
             {"v_descale", args.v_descale, needed_if(quantised)},
             {"seqstart_q", args.seqstart_q, needed_if(t.varlen)},
             {"seqstart_k", args.seqstart_k, needed_if(t.varlen && !paged)},
             {"seqlen_q", args.seqlen_q, optional_if(t.varlen)},
             {"seqlen_k", args.seqlen_k, table ? Use::needed : optional_if(!list)},
             {"block_table", args.block_table, needed_if(table)},
             {"kv_indptr", args.kv_indptr, needed_if(list)},
             {"kv_pages", args.kv_pages, needed_if(list)},
             {"kv_last_page", args.kv_last_page, needed_if(list)},
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
  if (!std::isfinite(args.scale) || args.scale == 0.0F) return off("scale", args.scale, "finite and not 0");
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

}  // namespace

Status check_args(const Problem& problem, const FmhaArgs& args) noexcept {
  if (problem.signature().op != Op::fmha) return invalid("the plan is not of attention: it takes other arguments");
  if (problem.fmha().seqlen_q == 0) return Status::success();
  if (const Status status = check_pointers(problem, args); !status.ok()) return status;
  if (const Status status = check_tensors(problem, args); !status.ok()) return status;
  return check_numbers(problem, args);
}

Status check_fmha_extents(const Problem& problem) noexcept {
  const FmhaArgs dense;
  const FmhaTraits& traits = problem.signature().fmha;
  FmhaTensors all = tensors_of(problem, dense);
  for (Tensor* one :
       {&all.q, &all.k, &all.v, &all.o, &all.lse, traits.bias == FmhaBias::elementwise ? &all.bias : nullptr,
        traits.dropout == FmhaDropout::randval ? &all.rand_val : nullptr}) {
    if (one == nullptr) continue;
    std::int64_t inside = one->inner;
    for (Axis& axis : one->axes) {
      axis.stride = inside;
      if (__builtin_mul_overflow(inside, std::max<std::int64_t>(axis.count, 1), &inside)) return too_large(one->name);
    }
    if (!counts(*one)) return too_large(one->name);
  }
  return Status::success();
}

}  // namespace ckgen::inline v1::detail
