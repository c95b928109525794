#include "backends/host/gemm/part_scales.hpp"

#include "ckgen/codecs.hpp"
#include "ckgen/preshuffle.hpp"
#include "ckgen/scales.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr DecodeTable kE8m0 = make_decode_table(DType::e8m0);
constexpr std::int64_t kMxGroup = 32;

}  // namespace

PartScales::PartScales(const Geometry& g, const GemmTraits& traits, const GemmArgs& args, std::int64_t batch,
                       const Part& part) noexcept
    : g_(g), traits_(traits), args_(args), part_(part) {
  const std::int64_t b_rows = traits.quant == Quant::blockscale ? ceil_div(args.n, traits.scale_block.n) : args.n;
  a_ = of_batch(scales_a(traits.quant, traits.scale_block) ? args.a_scale : nullptr,
                args.batch_stride_a == 0 ? 0 : batch, args.m);
  b_ = of_batch(scales_b(traits.quant, traits.scale_block) ? args.b_scale : nullptr,
                args.batch_stride_b == 0 ? 0 : batch, b_rows);
}

void PartScales::gather_a(std::int64_t p0, std::int64_t stride, float* out) const noexcept {
  if (g_.group == 0) return;
  const std::int64_t line = a_scale_line(args_, g_.groups);
  for (std::int64_t r = 0; r < g_.micro->mr; ++r) {
    const bool inside = p0 + r < g_.size.m;
    const std::int64_t row = inside ? part_.m0 + p0 + r : 0;
    const std::int64_t p = inside && part_.rows != nullptr ? part_.rows[row] : row;
    for (std::int64_t q = 0; q < g_.groups; ++q) {
      float v = 0.0f;
      if (inside) {
        if (traits_.quant == Quant::mx)
          v = mx_scale(a_, p, q);
        else if (a_ == nullptr)
          v = 1.0f;
        else
          v = a()[args_.a_scale_row_major ? p * line + q : q * line + p];
      }
      out[q * stride + r] = v;
    }
  }
}

void PartScales::gather_b(std::int64_t p0, std::int64_t width, std::int64_t stride, float* out) const noexcept {
  if (g_.group == 0) return;
  for (std::int64_t r = 0; r < width; ++r) {
    const std::int64_t p = part_.n0 + p0 + r;
    const std::int64_t of_block = p / traits_.scale_block.n * g_.groups;
    for (std::int64_t q = 0; q < g_.groups; ++q) {
      float v = 0.0f;
      if (p0 + r < g_.size.n) {
        if (traits_.quant == Quant::mx)
          v = mx_scale(b_, p, q);
        else if (b_ == nullptr)
          v = 1.0f;
        else
          v = b()[of_block + q];
      }
      out[q * stride + r] = v;
    }
  }
}

void PartScales::fold_a(std::int64_t p0, std::int64_t count, std::int64_t k0, std::int64_t k1, std::int64_t width,
                        void* panel) const noexcept {
  g_.isa->fold_rows({panel, width, count, 0, ceil_div(k1 - k0, kMxGroup), mx_codes(a_, part_.m0 + p0, k0), g_.groups});
}

void PartScales::fold_b(std::int64_t p0, std::int64_t count, std::int64_t k0, std::int64_t k1, std::int64_t stride,
                        void* panels) const noexcept {
  auto* panel = static_cast<std::uint32_t*>(panels);
  const std::int64_t length = k1 - k0;
  for (std::int64_t j = 0; j < count; j += kPanelColumns, panel += stride)
    g_.isa->fold_columns({panel, kPanelColumns, std::min<std::int64_t>(kPanelColumns, count - j), ceil_div(length, 2),
                          ceil_div(length, kMxGroup), mx_codes(b_, part_.n0 + p0 + j, k0), g_.groups});
}

const void* PartScales::of_batch(const void* base, std::int64_t batch, std::int64_t rows) const noexcept {
  if (base == nullptr) return nullptr;
  switch (traits_.quant) {
    case Quant::rowwise: return static_cast<const float*>(base) + batch * rows;
    case Quant::blockscale: return static_cast<const float*>(base) + batch * rows * g_.groups;
    case Quant::mx:
      return static_cast<const unsigned char*>(base) +
             batch * (args_.mx_scale_shuffled ? shuffled_mx_scale_bytes(rows, g_.groups) : rows * g_.groups);
    default: return base;
  }
}

const unsigned char* PartScales::mx_codes(const void* scales, std::int64_t row, std::int64_t k0) const noexcept {
  return static_cast<const unsigned char*>(scales) + row * g_.groups + k0 / kMxGroup;
}

float PartScales::mx_scale(const void* scales, std::int64_t row, std::int64_t group) const noexcept {
  const std::int64_t at = args_.mx_scale_shuffled ? shuffled_mx_scale(row, group, g_.groups) : row * g_.groups + group;
  return kE8m0.value[static_cast<const unsigned char*>(scales)[at]];
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
