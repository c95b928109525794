// A launch's sizes and pointers as ck's device ops take them: 32-bit extents and offsets.
#pragma once

#include <cstdint>
#include <limits>

#include <ckgen/device_code.hpp>
#include <ckgen/dtype.hpp>

namespace ckgen::ck_host {

/// Extents in elements; leading dimensions and batch strides count elements too.
struct Sizes {
  std::int32_t m = 0, n = 0, k = 0, batch = 1;
  std::int32_t lda = 0, ldb = 0, ldc = 0;
  std::int32_t batch_a = 0, batch_b = 0, batch_c = 0;
  std::int32_t k_batch = 1;
};

/// Bytes that ck's kernels reach in one matrix. Offsets are 32-bit, and an element outside of a matrix is sent 2 GiB
/// further: beyond the end, only if that is not behind it by a turn of 32 bits.
inline constexpr std::int64_t kReach = (std::int64_t{1} << 32) - 1;
inline constexpr std::int64_t kReachWithTails = std::int64_t{1} << 31;

inline bool narrow(std::int64_t from, std::int32_t& to) noexcept {
  to = static_cast<std::int32_t>(from);
  return from >= 0 && from <= std::numeric_limits<std::int32_t>::max();
}

/// Bytes from the first to behind the last element of `lines` lines of `length` elements, `ld` apart.
inline std::int64_t span(std::int64_t lines, std::int64_t length, std::int64_t ld, DType dtype) noexcept {
  return ((lines - 1) * ld + length) * bits(dtype) / 8;
}

/// Refuses a matrix that the kernel cannot reach all of; `tails`: whether tiles stick out of M, N or K.
inline Status check_reach(const Launch& launch, bool tails) noexcept {
  const GemmArgs& x = *launch.args;
  const Signature& s = launch.problem->signature();
  const std::int64_t reach = tails ? kReachWithTails : kReach;
  const struct {
    const char* name;
    std::int64_t bytes;
  } matrices[] = {{"A", span(x.m, x.k, x.lda, s.a)},
                  {"B", span(x.n, x.k, s.preshuffle_b ? x.k : x.ldb, s.b)},
                  {"C", span(x.m, x.n, x.ldc, s.c)}};
  for (const auto& matrix : matrices) {
    if (matrix.bytes > reach)
      return Status::error(StatusCode::unsupported, "%s takes %lld bytes, ck's kernels reach %lld here", matrix.name,
                           static_cast<long long>(matrix.bytes), static_cast<long long>(reach));
  }
  return Status::success();
}

/// Narrows, and refuses what 32 bits cannot count. The arguments of `launch` were checked against its problem.
inline Status sizes_of(const Launch& launch, Sizes& to) noexcept {
  const GemmArgs& args = *launch.args;
  const std::int64_t ldb = launch.problem->signature().preshuffle_b ? args.k : args.ldb;
  const struct {
    const char* name;
    std::int64_t from;
    std::int32_t& to;
  } fields[] = {{"M", args.m, to.m},
                {"N", args.n, to.n},
                {"K", args.k, to.k},
                {"batch", args.batch, to.batch},
                {"lda", args.lda, to.lda},
                {"ldb", ldb, to.ldb},
                {"ldc", args.ldc, to.ldc},
                {"batch_stride_a", args.batch > 1 ? args.batch_stride_a : 0, to.batch_a},
                {"batch_stride_b", args.batch > 1 ? args.batch_stride_b : 0, to.batch_b},
                {"batch_stride_c", args.batch > 1 ? args.batch_stride_c : 0, to.batch_c},
                {"k_batch", launch.k_batch == 0 ? 1 : launch.k_batch, to.k_batch}};
  for (const auto& field : fields) {
    if (!narrow(field.from, field.to))
      return Status::error(StatusCode::unsupported, "%s = %lld is beyond ck's 32-bit sizes", field.name,
                           static_cast<long long>(field.from));
  }
  return Status::success();
}

}  // namespace ckgen::ck_host
