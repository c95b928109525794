// The scales of a part of a product, whatever shape the caller keeps them in.
#pragma once

#include "backends/host/gemm/driver.hpp"

#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

/// Block scales from one line of those of A to the next: a row of [M][groups], or of [groups][M] a group.
constexpr std::int64_t a_scale_line(const GemmArgs& args, std::int64_t groups) noexcept {
  if (args.a_scale_stride != 0) return args.a_scale_stride;
  return args.a_scale_row_major ? groups : args.m;
}

class PartScales {
 public:
  PartScales(const Geometry& g, const GemmTraits& traits, const GemmArgs& args, std::int64_t batch,
             const Part& part) noexcept;

  /// Of scales that are not by group: those of the whole product's rows, or the one of all; null where there are none.
  const float* a() const noexcept { return static_cast<const float*>(a_); }
  const float* b() const noexcept { return static_cast<const float*>(b_); }
  /// out[group * stride + r] for the rows of a register tile: the scale of row r of the part, counted from p0; 1 where
  /// this side has none.
  void gather_a(std::int64_t p0, std::int64_t stride, float* out) const noexcept;
  /// The same of so many columns.
  void gather_b(std::int64_t p0, std::int64_t width, std::int64_t stride, float* out) const noexcept;
  /// Puts the scales of elements [k0, k1) into packed values: of `count` rows of the part from p0 on, a panel for
  /// tiles,
  void fold_a(std::int64_t p0, std::int64_t count, std::int64_t k0, std::int64_t k1, std::int64_t width,
              void* panel) const noexcept;
  /// and of so many columns, whose panels are `stride` words apart.
  void fold_b(std::int64_t p0, std::int64_t count, std::int64_t k0, std::int64_t k1, std::int64_t stride,
              void* panels) const noexcept;

 private:
  const void* of_batch(const void* base, std::int64_t batch, std::int64_t rows) const noexcept;
  const unsigned char* mx_codes(const void* scales, std::int64_t row, std::int64_t k0) const noexcept;
  float mx_scale(const void* scales, std::int64_t row, std::int64_t group) const noexcept;

  const Geometry& g_;
  const GemmTraits& traits_;
  const GemmArgs& args_;
  const Part& part_;
  const void* a_;
  const void* b_;
};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
