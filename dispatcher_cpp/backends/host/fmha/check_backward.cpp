#include "backends/host/fmha/check_backward.hpp"

#include "backends/device/fmha_pointers.hpp"
#include "backends/host/fmha/check.hpp"
#include "backends/host/gemm/check.hpp"
#include "backends/host/refusal.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr std::int32_t kMaxRows = 256;

Status check_signature(const Signature& s) noexcept {
  if (!is_wide(s.a) || s.b != s.a || s.c != s.a || s.acc != DType::fp32)
    return Status::error(StatusCode::unsupported, "no host kernel for attention's backward of q=%s kv=%s o=%s acc=%s",
                         name(s.a).data(), name(s.b).data(), name(s.c).data(), name(s.acc).data());
  const FmhaTraits& t = s.fmha;
  if (t.entry != FmhaEntry::backward) return invalid("the instance does not go backward");
  if (t.kv != FmhaKv::contiguous || t.kv_layout != FmhaKvLayout::linear || t.v_column || t.lse ||
      t.quant != FmhaQuant::none || t.rope != FmhaRope::none)
    return invalid("backward has no pages, columns of V, descales or rope, and writes no lse");
  return Status::success();
}

}  // namespace

Status check_fmha_backward(const InstanceDesc& instance, const FmhaShape& shape) noexcept {
  const Signature& signature = instance.signature;
  if (signature.op != Op::fmha) return invalid("the instance is not of op fmha");
  if (const Status s = check_signature(signature); !s.ok()) return s;
  if (const Status s = check_fmha_tile(instance.fmha, kMaxRows); !s.ok()) return s;
  if (shape.split_items != 0) return unsupported("backward reads no schedule of splits");
  if (const Status available = check_isa(fmha_isa(instance)); !available.ok()) return available;
  return check_fmha_shape(signature, shape);
}

Status check_fmha_backward_args(const Signature& signature, const FmhaShape& x, const FmhaArgs& a) noexcept {
  if (const Status s = check_fmha_args(signature, x, a); !s.ok()) return s;
  const bool queries = x.seqlen_q > 0, keys = x.seqlen_k > 0;
  const device::FmhaPointer all[] = {{"lse", a.lse, queries},
                                     {"dout", a.dout, queries},
                                     {"dq", a.dq, queries},
                                     {"dk", a.dk, keys},
                                     {"dv", a.dv, keys}};
  if (const Status s = device::check_pointers(all); !s.ok()) return s;
  if (a.dbias != nullptr && signature.fmha.bias != FmhaBias::elementwise)
    return invalid("dbias is of a bias of elements only");
  if (a.dsink != nullptr && !signature.fmha.sink) return invalid("dsink is of a signature with sink only");
  for (const FmhaStrides& s : {a.dout_strides, a.dq_strides, a.dk_strides, a.dv_strides, a.dbias_strides}) {
    if (s.row < 0 || s.head < 0 || s.batch < 0) return invalid("a stride of a gradient is negative");
  }
  return Status::success();
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
