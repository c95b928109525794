// What the host sides of ck_tile's scaled GEMMs share: which problems their 32-bit arithmetic can address, which of
// the built kernels serves an arch, and how they refuse.
//
// C++20, no ck_tile, no HIP. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <backends/device/kernel_call.hpp>

#include <ckgen/arch_data.hpp>
#include <ckgen/device_code.hpp>
#include <ckgen/dtype.hpp>

namespace ckgen::tile {

/// A kernel of an instance: what makes its kind choose it, and the archs (bit i: Arch with value i) that have it.
template <class Variant>
struct Built {
  Variant variant;
  std::uint32_t archs;
  const char* symbol;
};

template <class... Archs>
constexpr std::uint32_t archs_of(Archs... archs) noexcept {
  return ((std::uint32_t{1} << static_cast<unsigned>(archs)) | ... | std::uint32_t{0});
}

/// The symbol of the kernel for `variant` on `arch`; null where it was not built.
template <class Variant, std::size_t N>
const char* symbol_of(const Built<Variant> (&built)[N], Variant variant, Arch arch) noexcept {
  for (const Built<Variant>& one : built)
    if (one.variant == variant && (one.archs & archs_of(arch)) != 0) return one.symbol;
  return nullptr;
}

/// ck_tile counts elements and bytes in 32 bits and does not see where that wraps. A is row-major, B is N rows of K
/// elements that are `b_pitch` apart; `operand` is the type of both.
inline Status check_extents(const GemmArgs& args, std::int64_t b_pitch, DType operand, DType c) noexcept {
  struct Matrix {
    const char* name;
    std::int64_t rows, pitch;
    DType type;
  };
  const Matrix matrices[] = {
      {"A", args.m, args.lda, operand}, {"B", args.n, b_pitch, operand}, {"C", args.m, args.ldc, c}};
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  for (const Matrix& matrix : matrices)
    if (matrix.rows > kMost || matrix.pitch > kMost || matrix.rows * matrix.pitch > kMost / (bits(matrix.type) / 8))
      return Status::error(StatusCode::unsupported, "%s of %lld x %lld takes 2 GiB or more; ck_tile addresses less",
                           matrix.name, static_cast<long long>(matrix.rows), static_cast<long long>(matrix.pitch));
  return Status::success();
}

inline Status refused(const Launch& launch, const char* kernel) noexcept {
  const GemmArgs& args = *launch.args;
  return Status::error(StatusCode::unsupported, "%s::IsSupportedArgument refuses M=%lld N=%lld K=%lld k_batch=%u",
                       kernel, static_cast<long long>(args.m), static_cast<long long>(args.n),
                       static_cast<long long>(args.k), static_cast<unsigned>(launch.k_batch));
}

inline Status not_built(const Launch& launch, Arch arch) noexcept {
  return Status::error(StatusCode::unsupported, "no kernel was built for K=%lld k_batch=%u on %s",
                       static_cast<long long>(launch.args->k), static_cast<unsigned>(launch.k_batch),
                       arch_info(arch).name);
}

}  // namespace ckgen::tile
