// What the two GEMMs of a mixture of experts share, whatever their scales: the first of gate and up rows with an
// activation, the second added into the tokens' rows. Their rows of A are gathered, those of C scattered, by sorted
// token ids.
#pragma once

#include <cstddef>
#include <type_traits>

#include "ck/ops/common.hpp"
#include "ck/ops/erf.hpp"

namespace ckgen::ck_ops {

/// The result as C's type; scales and weights were multiplied in registers before.
struct MoeCast {
  template <class E, class C, class... Ds>
  __host__ __device__ constexpr void operator()(E& e, const C& c, const Ds&...) const {
    e = ck::type_convert<E>(ck::type_convert<float>(c));
  }
};

/// C of the first GEMM is written, that of the second added to.
template <class C>
inline constexpr Write moe_write = C::gate_up ? Write::Set : Write::AtomicAdd;

template <class C>
using MoeAcc = std::conditional_t<std::is_same_v<typename C::Operand, int8_t>, int32_t, float>;

/// VGPRs that ck's invoker estimates: A once and once per wave along N, B twice and the accumulators, both of gate and
/// up.
template <class C>
inline constexpr std::size_t moe_registers =
    C::m * C::k * sizeof(typename C::Operand) / C::block / 4 * (1 + C::n / C::xdl_n / C::per_wave_n) +
    C::n * C::k * sizeof(typename C::Weight) / C::block / 4 * 2 * (C::gate_up ? 2 : 1) +
    C::m * C::n * sizeof(MoeAcc<C>) / C::block / 4 * (C::gate_up ? 2 : 1);

}  // namespace ckgen::ck_ops
