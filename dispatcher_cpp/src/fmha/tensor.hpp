// A tensor of attention that a caller passes: does its memory hold it, and do elements that are written lie apart?
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include <ckgen/fmha.hpp>

#include "src/operation/operand.hpp"

namespace ckgen::inline v1::detail {

struct FmhaAxis {
  const char* stride_name;
  std::int64_t stride, count;
};

/// `inner` elements side by side, along up to three axes.
struct FmhaTensor {
  const char* name;
  DType dtype;
  const void* data;
  std::int64_t inner;
  FmhaAxis axes[3];  // the first may only repeat where `may_repeat`
  bool written = false;
  bool may_repeat = false;
};

/// Whether 64 bits count the bits from the first element to the last.
inline bool counts(const FmhaTensor& x) noexcept {
  std::int64_t elements = x.inner, all = 0;
  for (const FmhaAxis& axis : x.axes) {
    std::int64_t distance = 0;
    if (axis.count <= 1) continue;
    if (__builtin_mul_overflow(axis.stride, axis.count - 1, &distance) ||
        __builtin_add_overflow(elements, distance, &elements))
      return false;
  }
  return !__builtin_mul_overflow(elements, std::int64_t{bits(x.dtype)}, &all);
}

/// Whether no two elements of what is written lie in one place: each stride steps over all that is inside it.
inline Status check_distinct(const FmhaTensor& x) noexcept {
  FmhaAxis axes[3];
  std::copy(std::begin(x.axes), std::end(x.axes), axes);
  std::sort(std::begin(axes), std::end(axes), [](const FmhaAxis& a, const FmhaAxis& b) { return a.stride < b.stride; });
  std::int64_t inside = x.inner;
  for (const FmhaAxis& axis : axes) {
    if (axis.count <= 1) continue;
    if (axis.stride < inside) return refuse(axis.stride_name, x.name, axis.stride, inside);
    inside += axis.stride * (axis.count - 1);
  }
  return Status::success();
}

inline Status check(const FmhaTensor& x) noexcept {
  if (x.inner == 0 || std::any_of(std::begin(x.axes), std::end(x.axes), [](const FmhaAxis& a) { return a.count == 0; }))
    return Status::success();
  if (x.data == nullptr) return Status::error(StatusCode::invalid_argument, "%s is null", x.name);
  for (int i = 0; i < 3; ++i) {
    const FmhaAxis& axis = x.axes[i];
    const bool repeats = axis.stride == 0 && !x.written && (i != 0 || x.may_repeat);
    if (axis.count > 1 && axis.stride < x.inner && !repeats)
      return refuse(axis.stride_name, x.name, axis.stride, x.inner);
  }
  if (!counts(x)) return too_large(x.name);
  return x.written ? check_distinct(x) : Status::success();
}

/// Whether 64 bits count the bits of the tensor when it is stored without gaps.
inline Status check_dense(FmhaTensor x) noexcept {
  std::int64_t inside = x.inner;
  for (FmhaAxis& axis : x.axes) {
    axis.stride = inside;
    if (__builtin_mul_overflow(inside, std::max<std::int64_t>(axis.count, 1), &inside)) return too_large(x.name);
  }
  return counts(x) ? Status::success() : too_large(x.name);
}

/// The tensors of a run that the signature has a use for.
struct FmhaTensors {
  FmhaTensor all[12];
  int count = 0;

  FmhaTensor& add(const FmhaTensor& one) noexcept { return all[count++] = one; }
  FmhaTensor& add_written(const FmhaTensor& one) noexcept {
    add(one).written = true;
    return all[count - 1];
  }
  const FmhaTensor* begin() const noexcept { return all; }
  const FmhaTensor* end() const noexcept { return all + count; }
};

inline FmhaTensor fmha_tensor(const char* name, DType dtype, const void* data, std::int64_t inner, std::int64_t rows,
                              std::int64_t heads, std::int64_t batch, const FmhaStrides& strides) noexcept {
  return {name,
          dtype,
          data,
          inner,
          {{"the row stride", strides.row, rows},
           {"the head stride", strides.head, heads},
           {"the batch stride", strides.batch, batch}}};
}

}  // namespace ckgen::inline v1::detail
