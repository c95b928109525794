// int4 weights for ck_tile's kernels: the codes of a register as 8-bit floats.
//
// Only B's loader changes. ck_tile's own takes codes that are biased by 8 and that the host has reordered; ckgen's int4
// is two's complement, two elements per byte along K, the first in the low half (ckgen/dtype.hpp). For fp8 and bf8 A
// operands alike every value from -8 to 7 is exact. Device code of gfx9, as HIP.
#pragma once

#include <cstdint>

#include <ck_tile/core.hpp>
#include <ck_tile/ops/common/load_interleaved_pk_type.hpp>

#include <ckgen/codecs.hpp>
#include <ckgen/dtype.hpp>

namespace ckgen::tile {

/// The 8-bit codes of `first` to `first` + 3 in the type `to`, the first one in the low byte.
constexpr std::uint32_t codes_from(DType to, int first) {
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word |= encode(to, static_cast<float>(first + i)) << (8 * i);
  return word;
}

/// The low halves of four bytes, two's complement, as 8-bit floats.
template <DType kTo>
CK_TILE_DEVICE std::uint32_t widen_low_halves(std::uint32_t bytes) {
  const std::uint32_t at = bytes & 0x07070707u;
  const std::uint32_t positive = __builtin_amdgcn_perm(codes_from(kTo, 4), codes_from(kTo, 0), at);
  const std::uint32_t negative = __builtin_amdgcn_perm(codes_from(kTo, -4), codes_from(kTo, -8), at);
  // bytes 0 to 3 of the selector's range are `positive`, 4 to 7 `negative`
  const std::uint32_t of_sign = ((bytes >> 1) & 0x04040404u) | 0x03020100u;
  return __builtin_amdgcn_perm(negative, positive, of_sign);
}

/// Eight elements in the order of K.
template <DType kTo>
CK_TILE_DEVICE std::uint64_t widen_int4(std::uint32_t eight) {
  const std::uint32_t even = widen_low_halves<kTo>(eight);
  const std::uint32_t odd = widen_low_halves<kTo>(eight >> 4);
  const std::uint64_t low = __builtin_amdgcn_perm(odd, even, 0x05010400u);
  const std::uint64_t high = __builtin_amdgcn_perm(odd, even, 0x07030602u);
  return high << 32 | low;
}

/// The dtype that the compile's own 8-bit floats have.
template <class T>
constexpr DType flavour_of() {
  constexpr bool wide = std::is_same_v<T, ck_tile::bf8_t>;
#if CK_TILE_USE_OCP_FP8
  return wide ? DType::bf8_ocp : DType::fp8_ocp;
#else
  return wide ? DType::bf8_fnuz : DType::fp8_fnuz;
#endif
}

template <class Compute>
struct Int4Loader {
  template <class Window, class Tile>
  CK_TILE_DEVICE static void load_interleaved_pk_type(Tile& tile, const Window& window) {
    static_assert(Tile::get_thread_buffer_size() % 8 == 0);
    using Eight = Compute __attribute__((ext_vector_type(8)));
    const auto packed = ck_tile::load_tile(window);
    ck_tile::static_for<0, Tile::get_thread_buffer_size() / 8, 1>{}([&](auto i) {
      const std::uint32_t codes =
          ck_tile::bit_cast<std::uint32_t>(packed.get_thread_buffer().template get_as<ck_tile::pk_int4x4_t>()[i]);
      tile.get_thread_buffer().template get_as<Eight>()(i) =
          ck_tile::bit_cast<Eight>(widen_int4<flavour_of<Compute>()>(codes));
    });
  }
};

}  // namespace ckgen::tile

// ck_tile's block GEMMs name their loader and its width of 8, so these specialisations are how they take another one.
namespace ck_tile {
template <>
struct InterleavedPKTypeLoader<fp8_t, 8> : ckgen::tile::Int4Loader<fp8_t> {};
template <>
struct InterleavedPKTypeLoader<bf8_t, 8> : ckgen::tile::Int4Loader<bf8_t> {};
}  // namespace ck_tile
