#include "backends/host/gemm/small_m.hpp"

#include "backends/host/gemm/pack_source.hpp"
#include "ckgen/preshuffle.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr std::int64_t kChunk = 64;

// Scales are trusted within these bounds. A group of 32 products with operands of at most eight bits, the other one
// scaled, lies between 2^-17 and 2^21 times a scaled value: bf16 products do not underflow, no sum overflows. What is
// beyond is computed group by group.
constexpr float kLeastTrusted = 0x1p-100F;
constexpr float kMostTrusted = 0x1p90F;
constexpr float kUntrusted = std::numeric_limits<float>::infinity();

// A panel: of each row the largest magnitude of its scales (mx: of its scaled values), or kUntrusted; then the scales
// of all rows; then their values.
constexpr std::size_t kSizesBytes = aligned_64(kSmallRows * sizeof(float));

std::size_t scales_bytes(const SmallPlan& plan) noexcept {
  return static_cast<std::size_t>(plan.scale_stride) * sizeof(float);
}
std::size_t scales_at(const SmallPlan& plan, std::int64_t row) noexcept {
  return kSizesBytes + static_cast<std::size_t>(row) * scales_bytes(plan);
}
std::size_t values_at(const SmallPlan& plan, std::int64_t row) noexcept {
  return scales_at(plan, kSmallRows) + static_cast<std::size_t>(row) * static_cast<std::size_t>(plan.row_bytes);
}

// The scales of one row, group by group, as fp32; 1 where this side has none and in the places beyond. Returns the
// largest magnitude, NaN if one is NaN.
float gather_scales(const SmallPlan& plan, const GroupScales& s, std::int64_t row, float* out) noexcept {
  const std::int64_t groups = plan.groups;
  std::fill(out + (s.base == nullptr ? 0 : groups), out + plan.scale_stride, 1.0F);
  if (s.base == nullptr) return 1.0F;
  if (plan.quant == Quant::blockscale) {
    const auto* values = static_cast<const float*>(s.base);
    const std::int64_t at = row / s.block;
    if (s.group_major)
      for (std::int64_t g = 0; g < groups; ++g) out[g] = values[g * s.line + at];
    else
      std::memcpy(out, values + at * s.line, static_cast<std::size_t>(groups) * sizeof(float));
    return plan.isa->most(out, groups);
  }
  const auto* codes = static_cast<const unsigned char*>(s.base);
  if (!s.shuffled) return plan.isa->e8m0(codes + row * groups, groups, out);
  float most = 0.0F;
  unsigned char piece[256];
  for (std::int64_t g0 = 0; g0 < groups; g0 += 256) {
    const std::int64_t take = std::min<std::int64_t>(256, groups - g0);
    for (std::int64_t g = 0; g < take; ++g) piece[g] = codes[shuffled_mx_scale(row, g0 + g, groups)];
    const float size = plan.isa->e8m0(piece, take, out + g0);
    most = size <= most ? most : size;  // NaN stays
  }
  return most;
}

// The scales of a row that comes soon: rows of scales are too short for the hardware to see where they go.
void prefetch_scales(const SmallPlan& plan, const GroupScales& s, std::int64_t row) noexcept {
  if (s.base == nullptr || s.group_major || s.shuffled || s.block != 1) return;
  const bool is_mx = plan.quant == Quant::mx;
  const std::int64_t bytes = plan.groups * (is_mx ? 1 : 4);
  const auto first =
      reinterpret_cast<std::uintptr_t>(s.base) + static_cast<std::uintptr_t>(row * (is_mx ? bytes : 4 * s.line));
  for (std::uintptr_t i = 0; i < static_cast<std::uintptr_t>(bytes); i += 64)
    __builtin_prefetch(reinterpret_cast<const void*>(first + i));
}

bool all_at_least(float least, const float* scales, std::int64_t n) noexcept {
  for (std::int64_t i = 0; i < n; ++i)
    if (scales[i] != 0.0F && std::fabs(scales[i]) < least) return false;
  return true;
}

bool trusted(float a, float b) noexcept {
  return a <= kMostTrusted && b <= kMostTrusted && a * b <= kMostTrusted;
}

}  // namespace

bool is_faster_by_tiles(const Blocking& blocking, std::int64_t m) noexcept {
  constexpr std::int64_t kRowsReadOnce = 4;
  return m > kRowsReadOnce && has_tiles(blocking);
}

SmallPlan small_plan(const GemmTraits& t, const Blocking& blocking, std::int64_t k) noexcept {
  SmallPlan p{};
  p.isa = blocking.isa;
  p.a = t.a;
  p.b = t.b;
  p.quant = t.quant;
  p.scale_block = t.scale_block;
  p.k = k;
  if (!blocking.few_rows || k < 1 || blocking.split < k || b_is_row_major(t.layout) || t.preshuffle_b ||
      t.a_op != OperandOp::none || t.b_op != OperandOp::none)
    return p;
  p.group = t.quant == Quant::mx ? 32 : t.quant == Quant::blockscale ? t.scale_block.k : k;
  const bool narrow_groups = by_group(p) && p.group == 32;
  if (by_group(p) && !narrow_groups && p.group % kChunk != 0) return p;
  p.groups = ceil_div(k, p.group);
  // Only scales that are powers of two can be moved into bf16 values.
  p.kernels = blocking.isa->small(t.a, t.b, blocking.dots && (!narrow_groups || t.quant == Quant::mx));
  if (p.kernels == nullptr) return p;
  if (narrow_groups && p.kernels->mx[0] == nullptr) p.kernels = blocking.isa->small(t.a, t.b, false);
  const std::int64_t padded = ceil_div(k, kChunk) * kChunk;
  // Not a multiple of 4096, or the rows would fight for one cache set.
  p.row_bytes = padded * p.kernels->element_bytes;
  if (p.row_bytes % 4096 == 0) p.row_bytes += 64;
  p.scale_stride = ceil_div(p.groups + 1, 16) * 16;
  return p;
}

std::size_t small_panel_bytes(const SmallPlan& plan, std::int64_t m) noexcept {
  return values_at(plan, m);
}

std::size_t small_scratch_bytes(const SmallPlan& plan) noexcept {
  return std::size_t{kSmallColumns} * scales_bytes(plan);
}

void small_prepare(const SmallPlan& plan, const PackSource& a, const GroupScales& scales, std::int64_t row,
                   std::int64_t at, void* panel) noexcept {
  auto* base = static_cast<unsigned char*>(panel);
  auto* most = reinterpret_cast<float*>(base) + at;
  auto* own = reinterpret_cast<float*>(base + scales_at(plan, at));
  void* values = base + values_at(plan, at);
  SmallExtremes seen{kMostTrusted, 0.0F};
  *most = gather_scales(plan, scales, a.rows == nullptr ? row : std::int64_t{a.rows[row]}, own);
  if (plan.quant == Quant::mx) {
    plan.kernels->prepare(a, row, plan.k, own, &seen, values);
    *most = seen.least >= kLeastTrusted && seen.most <= kMostTrusted ? seen.most : kUntrusted;
    if (*most != kUntrusted) {
      std::fill(own, own + plan.groups, 1.0F);
      return;
    }
  } else if (!all_at_least(kLeastTrusted, own, plan.groups)) {
    *most = kUntrusted;
  }
  plan.kernels->prepare(a, row, plan.k, nullptr, &seen, values);
}

void small_rows(const SmallPlan& plan, const SmallOperands& o, std::int64_t n0, std::int64_t count, void* acc,
                std::int64_t ld, void* scratch) noexcept {
  const SmallKernels& kernels = *plan.kernels;
  const auto* panel = static_cast<const unsigned char*>(o.panel);
  const auto* a_most = reinterpret_cast<const float*>(panel);
  const PackSource tables = make_pack_source(PackKind::f32, plan.b, nullptr, 0, true, false);
  SmallCall call{};
  call.a_stride = plan.row_bytes / kernels.element_bytes;
  call.scale_stride = plan.scale_stride;
  call.k = plan.k;
  call.group = plan.group;
  call.table = tables.table;
  call.table16 = tables.table16;
  call.pairs = tables.pairs;
  call.ld = ld;
  call.ahead = o.ahead;
  call.b_step = o.ldb_bytes;
  const bool grouped = by_group(plan);
  const SmallFn* of_rows = plan.quant == Quant::mx && kernels.mx[0] != nullptr ? kernels.mx : kernels.scaled;
  const auto at_row = [&](std::int64_t r) {
    call.a = panel + values_at(plan, r);
    call.a_scale = reinterpret_cast<const float*>(panel + scales_at(plan, r));
  };
  // The rows that go together are far apart: every stream of memory goes on where it was.
  const std::int64_t stride = count / kSmallColumns;
  // In one call where rows of A are not to be gone through again for the same of B, nor scales to be gathered.
  const std::int64_t at_once = grouped || o.m > 4 ? 1 : stride;
  for (std::int64_t i = 0, done = 0; done < count; i += call.times) {
    call.times = i < stride ? at_once : 1;
    const std::int64_t columns = i < stride ? kSmallColumns : std::min<std::int64_t>(kSmallColumns, count - done);
    float b_most[kSmallColumns] = {};
    unsigned char* out[kSmallColumns] = {};
    for (std::int64_t j = 0; j < kSmallColumns; ++j) {
      // What is missing is the last one once more.
      const std::int64_t of_call = std::min(j, columns - 1),
                         column = i < stride ? i + of_call * stride : done + of_call;
      auto* scales =
          reinterpret_cast<float*>(static_cast<unsigned char*>(scratch) +
                                   static_cast<std::size_t>(j < columns ? j : columns - 1) * scales_bytes(plan));
      if (j < columns && (grouped || done == 0)) {
        b_most[j] = gather_scales(plan, o.b_scales, n0 + column, scales);
        prefetch_scales(plan, o.b_scales, n0 + column + 2);
      }
      call.b[j] = static_cast<const unsigned char*>(o.b) + (n0 + column) * o.ldb_bytes;
      call.next[j] = reinterpret_cast<const unsigned char*>(reinterpret_cast<std::uintptr_t>(call.b[j]) +
                                                            static_cast<std::uintptr_t>(o.ldb_bytes));
      call.b_scale[j] = scales;
      out[j] = static_cast<unsigned char*>(acc) + column * 4;
    }
    for (std::int64_t r = 0; r < o.m; r += 4) {
      at_row(r);
      for (std::int64_t j = 0; j < kSmallColumns; ++j) call.out[j] = out[j] + r * ld * 4;
      of_rows[std::min<std::int64_t>(4, o.m - r) - 1](call);
    }
    done += columns * call.times;
    if (!grouped) continue;
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t r = 0; r < o.m; ++r) {
        if (trusted(a_most[r], b_most[j])) continue;
        at_row(r);
        SmallCall one = call;
        one.b[0] = call.b[j];
        one.b_scale[0] = call.b_scale[j];
        one.out[0] = out[j] + r * ld * 4;
        kernels.exact(one);
      }
    }
  }
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
