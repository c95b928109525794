// A matrix that a caller passes: does its memory hold it?
#pragma once

#include <cstdint>

#include <ckgen/dtype.hpp>
#include <ckgen/status.hpp>

namespace ckgen::inline v1::detail {

/// A matrix in memory: `lines` of `length` elements, `ld` apart.
struct Operand {
  const char* name;
  DType dtype;
  const void* data;
  std::int64_t lines, length, ld, batch_stride;
  bool may_broadcast;
  bool may_repeat = false;  // an ld of 0: one line stands for all
};

inline Status refuse(const char* what, const char* name, std::int64_t got, std::int64_t least) noexcept {
  return Status::error(StatusCode::invalid_argument, "%s of %s = %lld is below %lld", what, name,
                       static_cast<long long>(got), static_cast<long long>(least));
}

/// Elements from the first to behind the last of one batch entry, and whether all bytes of all of them can be counted.
inline bool extent(const Operand& x, std::int64_t batch, std::int64_t& one) noexcept {
  std::int64_t all = 0;
  std::int64_t bits_of_all = 0;
  if (__builtin_mul_overflow(x.lines - 1, x.ld, &one) || __builtin_add_overflow(one, x.length, &one)) return false;
  if (__builtin_mul_overflow(batch - 1, x.batch_stride, &all) || __builtin_add_overflow(all, one, &all)) return false;
  return !__builtin_mul_overflow(all, static_cast<std::int64_t>(bits(x.dtype)), &bits_of_all);
}

inline Status too_large(const char* name) noexcept {
  return Status::error(StatusCode::invalid_argument, "%s has more bits than 64-bit integers count", name);
}

inline Status check(const Operand& x, std::int64_t batch) noexcept {
  if (x.data == nullptr) return Status::error(StatusCode::invalid_argument, "%s is null", x.name);
  if (x.ld < x.length && !(x.may_repeat && x.ld == 0)) return refuse("the leading dimension", x.name, x.ld, x.length);
  std::int64_t one = 0;
  if (!extent(x, batch, one)) return too_large(x.name);
  if (batch <= 1 || (x.batch_stride == 0 && x.may_broadcast)) return Status::success();
  return x.batch_stride < one ? refuse("the batch stride", x.name, x.batch_stride, one) : Status::success();
}

}  // namespace ckgen::inline v1::detail
