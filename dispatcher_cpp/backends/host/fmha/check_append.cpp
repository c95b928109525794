#include "backends/host/fmha/check_append.hpp"

#include "backends/device/fmha_pointers.hpp"
#include "backends/host/fmha/append_sequence.hpp"
#include "backends/host/fmha/check.hpp"
#include "backends/host/gemm/check.hpp"
#include "backends/host/refusal.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

Status check_append_sizes(const Signature& s, const FmhaShape& x) noexcept {
  const FmhaTraits& t = s.fmha;
  if (x.batch < 1 || x.batch > kMaxLength || x.heads_q < 1 || x.heads_k < 1 || x.hdim_q < 1 || x.hdim_v < 1 ||
      x.hdim_q > kAppendMaxHdim || x.hdim_v > kAppendMaxHdim)
    return invalid("a size of the shape is out of range");
  if (x.seqlen_k < 0 || x.seqlen_k > kMaxLength || x.seqlen_new < 0 || x.seqlen_new > x.seqlen_k || x.seqlen_q < 0)
    return invalid("a length of the shape is out of range");
  if (t.rope != FmhaRope::none &&
      (x.seqlen_q > x.seqlen_k || x.rotary_dim < 2 || x.rotary_dim > x.hdim_q || x.rotary_dim % 2 != 0))
    return invalid("rotary_dim or the rows of Q are out of range");
  if (t.kv != FmhaKv::contiguous && (x.page_size < 1 || x.pages < 0 || x.pages > kMaxLength))
    return invalid("page_size or pages is out of range");
  const std::int32_t vector = 16 / static_cast<std::int32_t>(bytes_of(s.b, 1));
  if (t.kv_layout == FmhaKvLayout::vectorized && (x.hdim_q % vector != 0 || x.page_size % vector != 0))
    return Status::error(StatusCode::invalid_argument, "hdim_q=%d or page_size=%d is not whole vectors of %d",
                         int{x.hdim_q}, int{x.page_size}, int{vector});
  return Status::success();
}

Status check_strides(const FmhaArgs& a) noexcept {
  const struct {
    const char* what;
    const FmhaStrides& strides;
  } all[] = {{"q", a.q_strides},       {"o", a.o_strides},         {"k_cache", a.k_strides},
             {"v_cache", a.v_strides}, {"k_new", a.k_new_strides}, {"v_new", a.v_new_strides}};
  for (const auto& one : all)
    if (one.strides.row < 0 || one.strides.head < 0 || one.strides.batch < 0)
      return Status::error(StatusCode::invalid_argument, "a stride of %s is negative", one.what);
  return Status::success();
}

/// Starts that do not fall, of rows that are there, and lengths within them.
Status check_starts(const FmhaTraits& t, const FmhaShape& x, const FmhaArgs& a, std::int64_t b) noexcept {
  const auto at = static_cast<long long>(b);
  const std::int64_t room = std::int64_t{a.seqstart_q[b + 1]} - a.seqstart_q[b];
  const std::int64_t length = a.seqlen_q != nullptr ? a.seqlen_q[b] : room;
  if (a.seqstart_q[b] < 0 || room < 0)
    return Status::error(StatusCode::invalid_argument, "seqstart_q falls or starts below 0 at %lld", at);
  if (length < 0 || length > room || length > x.seqlen_new)
    return Status::error(StatusCode::invalid_argument, "sequence %lld has %lld new rows, not within 0 to %lld", at,
                         static_cast<long long>(length), static_cast<long long>(std::min(room, x.seqlen_new)));
  const std::int64_t all = x.total_q != 0 ? x.total_q : x.batch * x.seqlen_new;
  if (a.seqstart_q[b + 1] > all)
    return Status::error(StatusCode::invalid_argument, "seqstart_q ends at %d, behind the plan's %lld rows",
                         a.seqstart_q[b + 1], static_cast<long long>(all));
  if (t.kv == FmhaKv::contiguous && (a.seqstart_k[b] < 0 || a.seqstart_k[b + 1] < a.seqstart_k[b]))
    return Status::error(StatusCode::invalid_argument, "seqstart_k falls or starts below 0 at %lld", at);
  return Status::success();
}

/// Of page_list: pages, and rows of the last one, that make a length.
Status check_list(const FmhaShape& x, const FmhaArgs& a, std::int64_t b) noexcept {
  const std::int64_t count = std::int64_t{a.kv_indptr[b + 1]} - a.kv_indptr[b], last = a.kv_last_page[b];
  if (a.kv_indptr[b] < 0 || count < 0) return invalid("kv_indptr falls or starts below 0");
  if (count > 0 && (last < 1 || last > x.page_size))
    return Status::error(StatusCode::invalid_argument, "kv_last_page of sequence %lld is %lld, not in 1 .. %d",
                         static_cast<long long>(b), static_cast<long long>(last), int{x.page_size});
  return Status::success();
}

/// Whether the sequence's rows have room, and pages that exist.
Status check_sequence(const FmhaTraits& t, const FmhaShape& x, const FmhaArgs& a, std::int64_t b) noexcept {
  const auto at = static_cast<long long>(b);
  const AppendSequence s = append_sequence(t, x, a, b);
  if (s.before < 0)
    return t.kv == FmhaKv::page_list
               ? Status::error(StatusCode::invalid_argument, "the pages of sequence %lld hold %lld rows, %lld are new",
                               at, static_cast<long long>(s.before + s.added), static_cast<long long>(s.added))
               : Status::error(StatusCode::invalid_argument, "seqlen_k of sequence %lld is below 0", at);
  const std::int64_t rows = std::max(s.added, s.rotated), room = std::min(s.room, x.seqlen_k);
  if (s.before + rows > room)
    return Status::error(StatusCode::invalid_argument,
                         "sequence %lld has %lld rows and %lld more, and the cache has room for %lld", at,
                         static_cast<long long>(s.before), static_cast<long long>(rows), static_cast<long long>(room));
  if (t.kv == FmhaKv::contiguous || s.added == 0) return Status::success();
  const std::int64_t last = (s.before + s.added - 1) / x.page_size;
  if (t.kv == FmhaKv::block_table && last >= a.block_table_stride && x.batch > 1)
    return invalid("a sequence has more pages than a row of block_table");
  for (std::int64_t i = s.before / x.page_size; i <= last; ++i)
    if (s.pages[i] < 0 || s.pages[i] >= x.pages)
      return Status::error(StatusCode::invalid_argument, "page %d is not in 0 .. %lld", s.pages[i],
                           static_cast<long long>(x.pages - 1));
  return Status::success();
}

}  // namespace

Status check_fmha_append(const InstanceDesc& instance, const FmhaShape& shape) noexcept {
  const Signature& s = instance.signature;
  const bool narrows = is_fp8(s.b);
  if (!is_wide(s.a) || (s.b != s.a && !narrows) || s.c != s.a)
    return Status::error(StatusCode::unsupported, "no host kernel for append of %s to a cache of %s with O in %s",
                         name(s.a).data(), name(s.b).data(), name(s.c).data());
  const FmhaQuant quant = s.fmha.quant;
  if (narrows ? quant != FmhaQuant::per_tensor && quant != FmhaQuant::kv_blockscale : quant != FmhaQuant::none)
    return unsupported("append has no host kernel for such descales");
  if (const Status available = check_isa(fmha_isa(instance)); !available.ok()) return available;
  return check_append_sizes(s, shape);
}

Status check_fmha_append_args(const Signature& signature, const FmhaShape& shape, const FmhaArgs& args) noexcept {
  const FmhaTraits& t = signature.fmha;
  Status s = device::check_append_pointers(t, shape, args);
  if (s.ok()) s = check_strides(args);
  for (std::int64_t b = 0; s.ok() && b < shape.batch; ++b) {
    if (t.varlen) s = check_starts(t, shape, args, b);
    if (s.ok() && t.kv == FmhaKv::page_list) s = check_list(shape, args, b);
    if (s.ok()) s = check_sequence(t, shape, args, b);
  }
  return s;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
