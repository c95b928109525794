// Which combinations of an attention signature's fields mean something; as families/fmha/signature.py says.
#include <ckgen/signature_text.hpp>

#include "src/signature/rules.hpp"

namespace ckgen::inline v1::detail {
namespace {

Status nonsense(const char* text) noexcept {
  return Status::error(StatusCode::invalid_argument, "%s", text);
}

Status meaningless(const char* format, DType one, DType other = DType::none) noexcept {
  return Status::error(StatusCode::invalid_argument, format, name(one).data(), name(other).data());
}

constexpr bool is_float8(DType dtype) noexcept {
  return dtype == DType::fp8 || dtype == DType::bf8 || dtype == DType::fp8_fnuz || dtype == DType::bf8_fnuz ||
         dtype == DType::fp8_ocp || dtype == DType::bf8_ocp;
}

constexpr bool is_half(DType dtype) noexcept {
  return dtype == DType::fp16 || dtype == DType::bf16;
}

constexpr bool is_float(DType dtype) noexcept {
  return dtype == DType::fp32 || is_half(dtype) || is_float8(dtype);
}

/// Whether all that only GEMMs have is as a name without it says.
bool is_plain(const Signature& s) noexcept {
  Signature gemm = s;  // its pack() has every field of a GEMM
  gemm.op = Op::moe;
  Signature usual{Op::moe, s.a, s.b, s.c};
  if (gemm.pack() != usual.pack()) return false;
  gemm.op = usual.op = Op::gemm;
  return gemm.pack() == usual.pack();
}

Status types_status(const Signature& s) noexcept {
  if (!is_float(s.a)) return meaningless("Q cannot be %s", s.a);
  if (s.b != s.a && !(is_float8(s.b) && is_half(s.a)))
    return meaningless("K and V cannot be %s beside Q of %s", s.b, s.a);
  if (!is_float(s.c)) return meaningless("O cannot be %s", s.c);
  if (!is_float8(s.a) && s.c != s.a) return meaningless("O of Q in %s is not %s", s.a, s.c);
  if ((s.fmha.quant == FmhaQuant::none) == (is_float8(s.a) || is_float8(s.b)))
    return nonsense("8-bit types have descales, and others none");
  return Status::success();
}

Status append_status(const FmhaTraits& traits) noexcept {
  if (traits.masked) return nonsense("append has no use for a mask");
  if (traits.bias != FmhaBias::none) return nonsense("append has no use for a bias");
  if (traits.softcap) return nonsense("append has no use for softcap");
  if (traits.sink) return nonsense("append has no use for a sink");
  if (traits.lse) return nonsense("append has no use for lse");
  if (traits.dropout != FmhaDropout::none) return nonsense("append has no use for dropout");
  return Status::success();
}

}  // namespace

Status fmha_status(const Signature& s) noexcept {
  const FmhaTraits& traits = s.fmha;
  const bool is_paged = traits.kv != FmhaKv::contiguous;
  if (!is_plain(s)) return nonsense("an attention signature accumulates in fp32 and has no fields of a GEMM");
  if (const Status status = types_status(s); !status.ok()) return status;
  if (traits.rope != FmhaRope::none && traits.entry != FmhaEntry::append) return nonsense("only append rotates");
  if (traits.entry == FmhaEntry::append) {
    if (const Status status = append_status(traits); !status.ok()) return status;
  }
  if (traits.kv_layout == FmhaKvLayout::vectorized && !is_paged) return nonsense("only pages are vectorized");
  if (traits.quant == FmhaQuant::kv_blockscale && !is_paged) return nonsense("only pages have descales of their own");
  if (traits.v_column && is_paged) return nonsense("pages say where V lies");
  if (traits.softcap && traits.bias != FmhaBias::none) return nonsense("softcap goes without a bias");
  return Status::success();
}

}  // namespace ckgen::inline v1::detail
