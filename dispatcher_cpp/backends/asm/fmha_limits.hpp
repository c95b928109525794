// What the launchers of AMD's attention kernels ask of tensors: bytes that 32 bits count, loads of 16 bytes.
#pragma once

#include <cstdint>

#include <ckgen/dtype.hpp>
#include <ckgen/fmha.hpp>

#include "backends/asm/shipped.hpp"

namespace ckgen::asm_host {

inline constexpr std::uint64_t kMostGrid = 65535;  // along y and z, as HIP's devices say

/// A tensor of attention. `rows` of `columns` elements in each head of each batch; batches of 1 where offsets of
/// sequences are counted in rows. `reach`: rows that the kernel may address beyond the last one.
struct FmhaTensor {
  const char* name;
  const void* at;
  FmhaStrides strides;
  std::int64_t rows, columns, heads, batch;
  DType type;
  std::int64_t reach = 0;
};

/// Refuses strides and addresses that are no whole pieces of 16 bytes, and tensors beyond 4 GiB: kernels add offsets of
/// batches, heads and rows in 32 bits.
inline Status check_fmha_tensor(const char* instance, const FmhaTensor& one) noexcept {
  if (one.rows == 0 || one.heads == 0 || one.batch == 0) return Status::success();
  if (one.at == nullptr) return Status::error(StatusCode::invalid_argument, "%s: %s is null", instance, one.name);
  const std::int64_t bytes = bits(one.type) / 8;
  const std::int64_t grain = one.columns * bytes < kRowBytes ? bytes : kRowBytes;
  if (reinterpret_cast<std::uintptr_t>(one.at) % static_cast<std::uintptr_t>(grain) != 0)
    return Status::error(StatusCode::unsupported, "%s: %s is not aligned to %lld bytes", instance, one.name,
                         static_cast<long long>(grain));
  const struct {
    std::int64_t count, stride;
  } axes[] = {{one.batch, one.strides.batch}, {one.heads, one.strides.head}, {one.rows + one.reach, one.strides.row}};
  std::int64_t left = kReach - one.columns * bytes;
  for (const auto& axis : axes) {
    if (axis.count == 1) continue;
    if (axis.stride < 0 || axis.stride * bytes % grain != 0)
      return Status::error(StatusCode::unsupported, "%s: a stride of %s of %lld is not whole pieces of %lld bytes",
                           instance, one.name, static_cast<long long>(axis.stride), static_cast<long long>(grain));
    if (axis.stride != 0 && axis.count - 1 > left / (axis.stride * bytes))
      return Status::error(StatusCode::unsupported, "%s: %s takes more than the %lld bytes that are reached", instance,
                           one.name, static_cast<long long>(kReach));
    left -= (axis.count - 1) * axis.stride * bytes;
  }
  return Status::success();
}

/// Refuses splits, scales and problems without rows, which no kernel of them takes.
inline Status check_fmha_call(const char* instance, const Launch& launch) noexcept {
  const FmhaShape& x = launch.problem->fmha();
  if (launch.k_batch > 1)
    return Status::error(StatusCode::unsupported, "%s: the kernel does not split KV, %u splits are asked for", instance,
                         launch.k_batch);
  if (!(launch.fmha->scale > 0))
    return Status::error(StatusCode::unsupported, "%s: a scale of %g is not above 0", instance,
                         static_cast<double>(launch.fmha->scale));
  if (x.seqlen_q <= 0 || x.batch <= 0)
    return Status::error(StatusCode::unsupported, "%s: no row of Q: there is nothing to launch", instance);
  return Status::success();
}

constexpr std::uint32_t narrow(std::int64_t size) noexcept {
  return static_cast<std::uint32_t>(size);
}

}  // namespace ckgen::asm_host
