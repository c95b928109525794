// What kernels of attention's backward leave each other in Launch::workspace. C++17, no HIP.
#pragma once

#include <cstdint>
#include <limits>

#include <ckgen/problem.hpp>

namespace ckgen::device {

/// Bytes from the beginning of the workspace, multiples of 256 but for the end; the largest number where 64 bits do not
/// count them. First the fp32 sums of dQ, [batch][heads_q][seqlen_q][hdim_q], of varlen [heads_q][total_q][hdim_q], or
/// of an ordered kernel a part for each tile of keys, [batch][heads_q][tiles][seqlen_q][hdim_q] for varlen too; then
/// delta, the same rows of one number; then, where heads are summed by another kernel, fp32 dK and dV of each query
/// head, [batch][heads_q][seqlen_k][hdim] for varlen too.
struct FmhaBackwardRoom {
  std::uint64_t dq_bytes = 0;
  std::uint64_t delta = 0;
  std::uint64_t dk = 0;
  std::uint64_t dv = 0;
  std::uint64_t bytes = 0;

  /// `tile`: keys of a part of dQ, of an ordered kernel; 0: there are none.
  static FmhaBackwardRoom of(const Problem& problem, bool sums_heads, std::int32_t tile) noexcept {
    const FmhaShape& x = problem.fmha();
    const std::int64_t rows = rows_of(problem);
    FmhaBackwardRoom room;
    bool fits = true;
    const auto take = [&](std::int64_t lines, std::int64_t columns) {
      constexpr std::uint64_t kAlign = 256;
      std::uint64_t size = 0, end = 0;
      fits = fits && !__builtin_mul_overflow(counted(lines), counted(x.heads_q), &size) &&
             !__builtin_mul_overflow(size, counted(columns) * sizeof(float), &size) &&
             !__builtin_add_overflow(room.bytes, kAlign - 1, &end);
      const std::uint64_t begin = end / kAlign * kAlign;
      fits = fits && !__builtin_add_overflow(begin, size, &end);
      if (size != 0) room.bytes = end;
      return begin;
    };
    std::int64_t lines = rows;
    if (tile != 0) fits = !__builtin_mul_overflow(x.batch * x.seqlen_q, parts_of(x, tile), &lines);
    take(lines, x.hdim_q);
    room.dq_bytes = room.bytes;
    room.delta = take(rows, 1);
    if (sums_heads) {
      const std::int64_t keys = x.batch * x.seqlen_k;
      room.dk = take(keys, x.hdim_q);
      room.dv = take(keys, x.hdim_v);
    }
    if (!fits) room.bytes = room.dq_bytes = std::numeric_limits<std::uint64_t>::max();
    return room;
  }

  /// Parts of dQ, one for each tile of keys; where there is no key, one of zeros.
  static std::int64_t parts_of(const FmhaShape& x, std::int32_t tile) noexcept {
    return x.seqlen_k < 1 ? 1 : (x.seqlen_k - 1) / tile + 1;
  }
  /// Rows of Q of all sequences, as one head has them.
  static std::int64_t rows_of(const Problem& problem) noexcept {
    const FmhaShape& x = problem.fmha();
    return problem.signature().fmha.varlen && x.total_q != 0 ? x.total_q : x.batch * x.seqlen_q;
  }

 private:
  static std::uint64_t counted(std::int64_t size) noexcept { return static_cast<std::uint64_t>(size); }
};

}  // namespace ckgen::device
