#include "backends/host/gemm/check.hpp"

#include "backends/host/gemm/check_fused.hpp"
#include "ckgen/prepack.hpp"
#include "ckgen/preshuffle.hpp"
#include "ckgen/scales.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40;
constexpr std::int32_t kMaxBlock = 1 << 16;
constexpr std::int32_t kMaxDepth = 1 << 20;

const char* text(DType t) noexcept {
  return name(t).data();
}  // the names are literals, so NUL-terminated

bool is_float_operand(DType t) noexcept {
  return t == DType::fp32 || t == DType::fp16 || t == DType::bf16 || t == DType::fp4 || is_fp8(t);
}
bool is_float_result(DType t) noexcept {
  return t == DType::fp32 || t == DType::fp16 || t == DType::bf16;
}

// rows x columns at leading dimension ld, `batch` times: does it fit 63 bits, is ld long enough?
Status check_matrix(const char* what, std::int64_t rows, std::int64_t columns, std::int64_t ld, std::int64_t batch,
                    std::int64_t batch_stride, DType type) noexcept {
  if (ld < columns)
    return Status::error(StatusCode::invalid_argument, "ld%s=%lld is less than the row length %lld", what,
                         static_cast<long long>(ld), static_cast<long long>(columns));
  if (batch > 1 && batch_stride < 0)
    return Status::error(StatusCode::invalid_argument, "batch_stride_%s=%lld is negative", what,
                         static_cast<long long>(batch_stride));
  if (bits(type) == 4 && batch > 1 && batch_stride % 2 != 0)
    return Status::error(StatusCode::invalid_argument, "batch_stride_%s=%lld would start inside a byte", what,
                         static_cast<long long>(batch_stride));
  std::int64_t one = 0, all = 0, end = 0;
  if (__builtin_mul_overflow(rows, ld, &one) || __builtin_mul_overflow(batch > 1 ? batch : 0, batch_stride, &all) ||
      __builtin_add_overflow(one, all, &end) || end > (std::int64_t{1} << 60))
    return Status::error(StatusCode::invalid_argument, "%s: the extent does not fit in 63 bits", what);
  return Status::success();
}

}  // namespace

bool is_fp8(DType t) noexcept {
  return t == DType::fp8_fnuz || t == DType::fp8_ocp || t == DType::bf8_fnuz || t == DType::bf8_ocp;
}

Status check_traits(const GemmTraits& t) noexcept {
  if (t.a == DType::int8 && t.b == DType::int8) {
    if (t.acc != DType::int32)
      return Status::error(StatusCode::unsupported, "int8 operands accumulate in int32, not %s", text(t.acc));
    if (t.quant == Quant::blockscale || t.quant == Quant::mx)
      return Status::error(StatusCode::unsupported, "int8 operands have no %s twin", name(t.quant).data());
    if (t.c == DType::int32 && (t.quant != Quant::none || t.bias))
      return Status::error(StatusCode::unsupported, "an int32 result takes neither scales nor bias");
    if (t.c != DType::int32 && !is_float_result(t.c))
      return Status::error(StatusCode::unsupported, "result dtype %s is not one of int32, fp32, fp16, bf16", text(t.c));
  } else {
    if (!is_float_operand(t.a) || !(is_float_operand(t.b) || t.b == DType::int4))
      return Status::error(StatusCode::unsupported, "no host kernel for a=%s b=%s", text(t.a), text(t.b));
    if (t.acc != DType::fp32)
      return Status::error(StatusCode::unsupported, "float operands accumulate in fp32, not %s", text(t.acc));
    if (!is_float_result(t.c))
      return Status::error(StatusCode::unsupported, "result dtype %s is not one of fp32, fp16, bf16", text(t.c));
  }
  if (const Status s = check_fused_traits(t); !s.ok()) return s;
  if (t.b == DType::int4 && (t.preshuffle_b || b_is_row_major(t.layout)))
    return Status::error(StatusCode::unsupported, "an int4 B is packed along K and not preshuffled");
  if (t.scale_block.k == 0 || t.scale_block.n == 0 || t.scale_block.sides > ScaleSides::b)
    return Status::error(StatusCode::invalid_argument, "the scale block is out of range");
  if (t.quant > Quant::mx || t.layout > Layout::crr)
    return Status::error(StatusCode::invalid_argument, "quant or layout out of range");
  if (t.preshuffle_b && b_is_row_major(t.layout))
    return Status::error(StatusCode::unsupported, "a preshuffled B needs layout rcr or ccr, not %s",
                         name(t.layout).data());
  return Status::success();
}

Status check_config(const TwinConfig& c) noexcept {
  if (c.tile_m >= 1 && c.tile_m <= kMaxBlock && c.tile_n >= 1 && c.tile_n <= kMaxBlock && c.tile_k >= 1 &&
      c.tile_k <= kMaxBlock && c.k_batch_mode >= 0 && c.k_batch_mode <= 2)
    return Status::success();
  return Status::error(StatusCode::invalid_argument, "tile %dx%dx%d or k_batch_mode %d is out of range", c.tile_m,
                       c.tile_n, c.tile_k, c.k_batch_mode);
}

Status check_config(const HostConfig& c) noexcept {
  if (c.mc >= 1 && c.mc <= kMaxBlock && c.nc >= 1 && c.nc <= kMaxBlock && c.kc >= 1 && c.kc <= kMaxDepth &&
      c.threads >= 0 && c.isa <= Isa::x86_64_amx)
    return Status::success();
  return Status::error(StatusCode::invalid_argument, "mc=%d nc=%d kc=%d threads=%d is out of range", c.mc, c.nc, c.kc,
                       c.threads);
}

Status check_twin(const GemmTraits& t, const TwinConfig& c, std::int64_t k_batch) noexcept {
  if (const Status s = gemm_twin_supports(t, c); !s.ok()) return s;
  if (k_batch < 1 || k_batch > kMaxDepth)
    return Status::error(StatusCode::invalid_argument, "k_batch=%lld is outside [1, 2^20]",
                         static_cast<long long>(k_batch));
  if (k_batch > 1 && c.k_batch_mode == 0)
    return Status::error(StatusCode::invalid_argument, "k_batch=%lld, but this instance does not split K",
                         static_cast<long long>(k_batch));
  if (k_batch > 1 && !t.epilogue.empty())
    return Status::error(StatusCode::unsupported, "k_batch=%lld: an epilogue takes whole sums",
                         static_cast<long long>(k_batch));
  return Status::success();
}

Status check_sizes(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) noexcept {
  if (m < 0 || n < 0 || k < 0 || batch < 0 || m > kMaxExtent || n > kMaxExtent || k > kMaxExtent || batch > kMaxExtent)
    return Status::error(StatusCode::invalid_argument, "m=%lld n=%lld k=%lld batch=%lld: each must be in [0, 2^40]",
                         static_cast<long long>(m), static_cast<long long>(n), static_cast<long long>(k),
                         static_cast<long long>(batch));
  return Status::success();
}

Status check_prepacked(const GemmTraits& t, const GemmArgs& p) noexcept {
  if (!can_prepack(t.b) || t.b_op != OperandOp::none)
    return Status::error(StatusCode::unsupported, "B of type %s%s is not prepacked: pass it as it is", text(t.b),
                         t.b_op != OperandOp::none ? " and of two tensors" : "");
  return check_packed_b(t.b, p.n, p.k, p.batch_stride_b == 0 && p.batch > 0 ? 1 : p.batch, p.b);
}

Status check_args(const GemmTraits& t, const GemmArgs& p) noexcept {
  const auto missing = [](const char* field) {
    return Status::error(StatusCode::invalid_argument, "%s is null", field);
  };
  if (p.c == nullptr) return missing("c");
  if (p.k > 0 && p.a == nullptr) return missing("a");
  if (p.k > 0 && p.b == nullptr) return missing("b");
  const bool has_scales = p.k > 0 || (t.quant != Quant::blockscale && t.quant != Quant::mx);
  if (has_scales && scales_a(t.quant, t.scale_block) && p.a_scale == nullptr) return missing("a_scale");
  if (has_scales && scales_b(t.quant, t.scale_block) && p.b_scale == nullptr) return missing("b_scale");
  if (t.bias && p.bias == nullptr) return missing("bias");
  if (!t.bias && p.bias != nullptr)
    return Status::error(StatusCode::invalid_argument, "bias is given, but this instance adds none");

  const bool a_rows = a_is_row_major(t.layout), b_rows = b_is_row_major(t.layout);
  Status s = check_matrix("a", a_rows ? p.m : p.k, a_rows ? p.k : p.m, p.lda, p.batch, p.batch_stride_a, t.a);
  if (!s.ok()) return s;
  const std::int64_t b_row = b_rows ? p.n : p.k;
  if (p.b_prepacked)
    s = check_prepacked(t, p);
  else
    s = check_matrix("b", b_rows ? p.k : p.n, b_row, t.preshuffle_b ? b_row : p.ldb, p.batch, p.batch_stride_b, t.b);
  if (!s.ok()) return s;
  s = check_matrix("c", p.m, p.n, p.ldc, p.batch, p.batch_stride_c, t.c);
  if (!s.ok()) return s;
  if (p.batch > 1 && p.batch_stride_c < (p.m - 1) * p.ldc + p.n)
    return Status::error(StatusCode::invalid_argument, "batch_stride_c=%lld makes the results overlap",
                         static_cast<long long>(p.batch_stride_c));
  if (t.preshuffle_b && !p.b_prepacked && (p.k * bits(t.b) % 8 != 0 || !can_preshuffle(p.n, bytes_of(t.b, p.k))))
    return Status::error(StatusCode::invalid_argument,
                         "preshuffled B needs n=%lld to be a multiple of 16 and k=%lld to span multiples of 32 bytes",
                         static_cast<long long>(p.n), static_cast<long long>(p.k));
  return check_fused_args(t, p);
}

Status check_padding(const GemmTraits& t, const TwinConfig& c, std::int64_t k_batch, const GemmArgs& p) noexcept {
  const auto refuse = [](const char* dim, std::int64_t size, std::int64_t tile) {
    return Status::error(StatusCode::unsupported, "%s=%lld is not a multiple of %lld and this instance does not pad %s",
                         dim, static_cast<long long>(size), static_cast<long long>(tile), dim);
  };
  if (!c.pad_k && p.k % (c.tile_k * k_batch) != 0) return refuse("k", p.k, c.tile_k * k_batch);
  if (!c.pad_m && !a_is_row_major(t.layout) && p.m % c.tile_m != 0) return refuse("m", p.m, c.tile_m);
  if (!c.pad_n && b_is_row_major(t.layout) && p.n % c.tile_n != 0) return refuse("n", p.n, c.tile_n);
  return Status::success();
}

Status check_workspace(const void* workspace) noexcept {
  if (workspace != nullptr && reinterpret_cast<std::uintptr_t>(workspace) % 16 == 0) return Status::success();
  return Status::error(StatusCode::invalid_argument, "workspace is null or not aligned to 16 bytes");
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
