#include "backends/host/fmha/check.hpp"

#include "backends/device/fmha_pointers.hpp"
#include "backends/host/fmha/geometry.hpp"
#include "backends/host/gemm/check.hpp"
#include "backends/host/refusal.hpp"

#include <algorithm>
#include <cmath>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr std::int64_t kMaxBatch = std::int64_t{1} << 31;
constexpr std::int32_t kMaxRows = 1 << 16;

Status check_signature(const Signature& s) noexcept {
  if (!(is_wide(s.a) || is_fp8(s.a)) || !(is_wide(s.b) || is_fp8(s.b)) || !(is_wide(s.c) || is_fp8(s.c)) ||
      s.acc != DType::fp32)
    return Status::error(StatusCode::unsupported, "no host kernel for attention of q=%s kv=%s o=%s acc=%s",
                         name(s.a).data(), name(s.b).data(), name(s.c).data(), name(s.acc).data());
  const FmhaTraits& t = s.fmha;
  if (t.entry != FmhaEntry::forward) return unsupported("it is another kernel that appends or goes backward");
  if (t.kv != FmhaKv::contiguous && t.v_column) return unsupported("paged KV has no host kernel for vcolumn");
  if (t.kv == FmhaKv::contiguous && t.kv_layout != FmhaKvLayout::linear) return invalid("only pages are vectorized");
  if (t.rope != FmhaRope::none) return invalid("rope is of append only");
  return Status::success();
}

Status check_shape_of(const Signature& s, const FmhaShape& x) noexcept {
  const FmhaTraits& t = s.fmha;
  if (x.batch < 1 || x.batch > kMaxBatch) return invalid("batch is out of range");
  if (x.heads_q < 1 || x.heads_k < 1 || x.heads_q % x.heads_k != 0)
    return Status::error(StatusCode::invalid_argument, "heads_q=%d is not a multiple of heads_k=%d", int{x.heads_q},
                         int{x.heads_k});
  if (x.hdim_q < 1 || x.hdim_q > kFmhaMaxHdim || x.hdim_v < 1 || x.hdim_v > kFmhaMaxHdim)
    return Status::error(StatusCode::invalid_argument, "hdim_q=%d or hdim_v=%d is not in 1 .. %d", int{x.hdim_q},
                         int{x.hdim_v}, kFmhaMaxHdim);
  if (x.seqlen_q < 0 || x.seqlen_q > kMaxLength || x.seqlen_k < 0 || x.seqlen_k > kMaxLength || x.total_q < 0)
    return invalid("a length of the shape is out of range");
  if (t.masked && (x.window_left < -1 || x.window_right < -1 || x.sink_tokens < 0))
    return invalid("a window is below -1, or sink_tokens below 0");
  if (t.kv != FmhaKv::contiguous && (x.page_size < 1 || x.pages < 0 || x.pages > kMaxLength))
    return invalid("page_size or pages is out of range");
  const std::int64_t vector = kFmhaVectorBytes / bytes_of(s.b, 1);
  if (t.kv_layout == FmhaKvLayout::vectorized && (x.hdim_q % vector != 0 || x.page_size % vector != 0))
    return Status::error(StatusCode::unsupported, "hdim_q=%d or page_size=%d is not whole vectors of %lld",
                         int{x.hdim_q}, int{x.page_size}, static_cast<long long>(vector));
  return Status::success();
}

Status check_strides(const char* what, const FmhaStrides& s) noexcept {
  if (s.row >= 0 && s.head >= 0 && s.batch >= 0) return Status::success();
  return Status::error(StatusCode::invalid_argument, "a stride of %s is negative", what);
}

Status check_pointers(const Signature& signature, const FmhaShape& x, const FmhaArgs& a) noexcept {
  const FmhaTraits& t = signature.fmha;
  const bool keys = x.seqlen_k > 0;
  const device::FmhaPointer all[] = {
      {"q", a.q, x.seqlen_q > 0},
      {"k", a.k, keys},
      {"v", a.v, keys},
      {"o", a.o, x.seqlen_q > 0},
      {"lse", a.lse, t.lse},
      {"bias", a.bias, t.bias == FmhaBias::alibi || (t.bias == FmhaBias::elementwise && keys)},
      {"sink", a.sink, t.sink},
      {"rand_val", a.rand_val, keys && t.dropout == FmhaDropout::randval},
      {"q_descale", a.q_descale, t.quant != FmhaQuant::none && is_fp8(signature.a)},
      {"k_descale", a.k_descale, t.quant != FmhaQuant::none},
      {"v_descale", a.v_descale, t.quant != FmhaQuant::none},
      {"seqstart_q", a.seqstart_q, t.varlen},
      {"seqstart_k", a.seqstart_k, t.varlen && t.kv == FmhaKv::contiguous},
      {"seqlen_k", a.seqlen_k, t.kv == FmhaKv::block_table},
      {"block_table", a.block_table, t.kv == FmhaKv::block_table},
      {"kv_indptr", a.kv_indptr, t.kv == FmhaKv::page_list},
      {"kv_pages", a.kv_pages, t.kv == FmhaKv::page_list},
      {"kv_last_page", a.kv_last_page, t.kv == FmhaKv::page_list}};
  if (const Status status = device::check_pointers(all); !status.ok()) return status;
  if (!t.varlen && a.seqlen_q != nullptr) return invalid("seqlen_q is of varlen only");
  if (t.kv == FmhaKv::page_list && a.seqlen_k != nullptr) return invalid("seqlen_k is not of pagelist");
  return Status::success();
}

Status check_numbers(const FmhaTraits& t, const FmhaArgs& a) noexcept {
  if (!std::isfinite(a.scale)) return invalid("scale is not finite");
  if (t.softcap && !(a.softcap > 0.0F && std::isfinite(a.softcap))) return invalid("softcap is not above 0");
  if (t.dropout != FmhaDropout::none && !(a.p_drop >= 0.0F && a.p_drop < 1.0F))
    return invalid("p_drop is not in [0, 1)");
  return Status::success();
}

Status too_long(const char* what, std::int64_t b, std::int64_t length, std::int64_t most) noexcept {
  return Status::error(StatusCode::invalid_argument, "%s of sequence %lld is %lld, not in 0 .. %lld", what,
                       static_cast<long long>(b), static_cast<long long>(length), static_cast<long long>(most));
}

/// Of varlen: starts that do not fall, and lengths within them and the shape.
Status check_starts(const char* starts_name, const char* lengths_name, std::int64_t batch, const std::int32_t* starts,
                    const std::int32_t* lengths, std::int64_t most) noexcept {
  if (starts[0] < 0) return Status::error(StatusCode::invalid_argument, "%s starts below 0", starts_name);
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t room = std::int64_t{starts[b + 1]} - starts[b];
    if (room < 0)
      return Status::error(StatusCode::invalid_argument, "%s falls at %lld", starts_name, static_cast<long long>(b));
    const std::int64_t length = lengths == nullptr ? room : lengths[b];
    if (length < 0 || length > room || length > most)
      return too_long(lengths == nullptr ? starts_name : lengths_name, b, length, room < most ? room : most);
  }
  return Status::success();
}

Status check_lengths(const FmhaTraits& t, const FmhaShape& x, const FmhaArgs& a) noexcept {
  if (t.varlen) {
    Status s = check_starts("seqstart_q", "seqlen_q", x.batch, a.seqstart_q, a.seqlen_q, x.seqlen_q);
    if (s.ok() && x.total_q > 0 && a.seqstart_q[x.batch] > x.total_q) return invalid("seqstart_q ends beyond total_q");
    if (!s.ok() || t.kv == FmhaKv::page_list) return s;
    if (t.kv == FmhaKv::contiguous)
      return check_starts("seqstart_k", "seqlen_k", x.batch, a.seqstart_k, a.seqlen_k, x.seqlen_k);
  }
  if (a.seqlen_k == nullptr) return Status::success();
  for (std::int64_t b = 0; b < x.batch; ++b)
    if (a.seqlen_k[b] < 0 || a.seqlen_k[b] > x.seqlen_k) return too_long("seqlen_k", b, a.seqlen_k[b], x.seqlen_k);
  return Status::success();
}

Status check_page(std::int64_t page, const FmhaShape& x) noexcept {
  const std::int64_t last = x.pages > 0 ? x.pages - 1 : kMaxLength;  // of an unknown number
  if (page >= 0 && page <= last) return Status::success();
  return Status::error(StatusCode::invalid_argument, "page %lld is not in 0 .. %lld", static_cast<long long>(page),
                       static_cast<long long>(last));
}

Status check_pages(const FmhaTraits& t, const FmhaShape& x, const FmhaArgs& a) noexcept {
  for (std::int64_t b = 0; b < x.batch; ++b) {
    const std::int32_t* pages = a.kv_pages;
    std::int64_t count = 0;
    if (t.kv == FmhaKv::block_table) {
      pages = a.block_table + b * a.block_table_stride;
      count = (std::int64_t{a.seqlen_k[b]} + x.page_size - 1) / x.page_size;
      if (count > a.block_table_stride) return invalid("a sequence has more pages than a row of block_table");
    } else {
      pages += a.kv_indptr[b];
      count = std::int64_t{a.kv_indptr[b + 1]} - a.kv_indptr[b];
      if (a.kv_indptr[b] < 0 || count < 0) return invalid("kv_indptr falls or starts below 0");
      const std::int64_t last = a.kv_last_page[b];
      if (count > 0 && (last < 1 || last > x.page_size)) return too_long("kv_last_page", b, last, x.page_size);
      const std::int64_t length = count == 0 ? 0 : (count - 1) * x.page_size + last;
      if (length > x.seqlen_k) return too_long("the pages", b, length, x.seqlen_k);
    }
    for (std::int64_t i = 0; i < count; ++i)
      if (const Status s = check_page(pages[i], x); !s.ok()) return s;
  }
  return Status::success();
}

}  // namespace

Isa fmha_isa(const InstanceDesc& instance) noexcept {
  return instance.backend == Backend::host ? instance.host_config.isa : detect_isa();
}

PackKind fmha_kind(const Signature& s, Isa isa) noexcept {
  const bool narrow = (s.a == DType::bf16 || is_fp8(s.a)) && (s.b == DType::bf16 || is_fp8(s.b));
  return narrow && isa >= Isa::x86_64_v4_bf16 ? PackKind::bf16 : PackKind::f32;
}

int fmha_threads(const InstanceDesc& instance) noexcept {
  const int most = instance.backend == Backend::host ? instance.host_config.threads : 0;
  return most > 0 ? std::min(most, thread_count()) : thread_count();
}

Status check_fmha_tile(const FmhaConfig& tile, std::int32_t most_rows) noexcept {
  if (tile.m0 >= 1 && tile.m0 <= most_rows && tile.n0 >= 1 && tile.n0 <= kFmhaMaxColumns) return Status::success();
  return Status::error(StatusCode::unsupported, "no host kernel for a tile of %d x %d: at most %d x %d", int{tile.m0},
                       int{tile.n0}, int{most_rows}, kFmhaMaxColumns);
}

Status check_fmha_shape(const Signature& signature, const FmhaShape& shape) noexcept {
  return check_shape_of(signature, shape);
}

Status check_fmha(const InstanceDesc& instance, const FmhaShape& shape) noexcept {
  const Signature& signature = instance.signature;
  if (signature.op != Op::fmha) return invalid("the instance is not of op fmha");
  if (const Status s = check_signature(signature); !s.ok()) return s;
  if (const Status s = check_fmha_tile(instance.fmha, kMaxRows); !s.ok()) return s;
  const Isa isa = fmha_isa(instance);
  if (const Status available = check_isa(isa); !available.ok()) return available;
  if (signature.fmha.kv_layout == FmhaKvLayout::vectorized && instance.fmha.n0 % 2 != 0 &&
      fmha_kind(signature, isa) == PackKind::bf16)
    return unsupported("pages in vectors need an even n0");
  return check_fmha_shape(signature, shape);
}

Status check_fmha_args(const Signature& signature, const FmhaShape& shape, const FmhaArgs& args) noexcept {
  const FmhaTraits& t = signature.fmha;
  Status s = check_pointers(signature, shape, args);
  if (s.ok()) s = check_numbers(t, args);
  if (s.ok()) s = check_strides("q", args.q_strides);
  if (s.ok()) s = check_strides("k", args.k_strides);
  if (s.ok()) s = check_strides("v", args.v_strides);
  if (s.ok()) s = check_strides("o", args.o_strides);
  if (s.ok()) s = check_strides("bias", args.bias_strides);
  if (s.ok()) s = check_strides("rand_val", args.rand_val_strides);
  if (!s.ok()) return s;
  if (args.lse_head_stride < 0 || args.lse_batch_stride < 0) return invalid("a stride of lse is negative");
  if (shape.seqlen_q > 1 && args.o_strides.row < shape.hdim_v) return invalid("rows of o overlap");
  s = check_lengths(t, shape, args);
  if (s.ok() && t.kv != FmhaKv::contiguous) s = check_pages(t, shape, args);
  return s;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
