// How each ck module calls its device op: which padding a problem takes, and the op's MakeArgument in its own order.
// After prelude.hpp.
//
// `Family` is a struct of ck/ops: Op<spec> is the device op, C its constants. Paddings as AITER's instances choose
// them.
#pragma once

#include <array>

#include <ckgen/gemm_types.hpp>

#include "ck/host/operands.hpp"
#include "ck/ops/common.hpp"

namespace ckgen::ck_host {

using ck_ops::Index;
using ck_ops::PassThrough;
using ck_ops::Spec;

/// How the scales lie, where they form a matrix. `any` takes no notice of the flags of GemmArgs; `rows` and `columns`
/// are of A's (a_scale_row_major), `shuffled` of both (mx_scale_shuffled).
enum class ScaleOrder { any, rows, columns, shuffled };

/// All of M, N, K padded, or none.
constexpr Spec all_or_none(bool padded) noexcept {
  return padded ? Spec::MNKPadding : Spec::Default;
}

/// a8w8: scales of the columns, then of the rows.
template <class Family>
struct A8w8 {
  using C = typename Family::C;
  static constexpr bool splits = true;
  static constexpr auto scale_order = ScaleOrder::any;

  static Spec spec(const Sizes& s) noexcept {
    return all_or_none(s.m % C::m != 0 || s.n % C::n != 0 || s.k % (std::int64_t{C::k} * s.k_batch) != 0);
  }
  template <Spec padding>
  static auto argument(const Sizes& s, const GemmArgs& x) {
    return Family::template Op<padding>::MakeArgument(x.a, x.b, std::array{x.b_scale, x.a_scale}, x.c, s.m, s.n, s.k,
                                                      s.lda, s.ldb, std::array<Index, 2>{0, 0}, s.ldc, s.k_batch, {},
                                                      {}, {});
  }
};

/// a8w8_bpreshuffle: the same, but K's padding is chosen as if it were not split.
template <class Family>
struct A8w8BPreshuffle : A8w8<Family> {
  using C = typename Family::C;

  static Spec spec(const Sizes& s) noexcept {
    return all_or_none(s.m % C::m != 0 || s.n % C::n != 0 || s.k % C::k != 0);
  }
};

/// a8w8_blockscale: A's scales are [M][K/128]. Its kernels of this tree know no K split.
template <class Family>
struct A8w8BlockScale {
  using C = typename Family::C;
  static constexpr bool splits = false;
  static constexpr auto scale_order = ScaleOrder::rows;

  static Spec spec(const Sizes& s) noexcept {
    constexpr Spec padded[2][2][2] = {{{Spec::Default, Spec::KPadding}, {Spec::NPadding, Spec::NKPadding}},
                                      {{Spec::MPadding, Spec::MKPadding}, {Spec::MNPadding, Spec::MNKPadding}}};
    return padded[s.m % C::m != 0][s.n % C::n != 0][s.k % C::k != 0];
  }
  template <Spec padding>
  static auto argument(const Sizes& s, const GemmArgs& x) {
    return Family::template Op<padding>::MakeArgument(x.a, x.b, {}, x.c, s.m, s.n, s.k, s.lda, s.ldb, {}, s.ldc,
                                                      x.a_scale, x.b_scale, {}, {}, {});
  }
};

/// a8w8_blockscale_bpreshuffle: A's scales are [K/128][M].
template <class Family>
struct A8w8BlockScaleBPreshuffle : A8w8BlockScale<Family> {
  using C = typename Family::C;
  static constexpr auto scale_order = ScaleOrder::columns;

  static Spec spec(const Sizes& s) noexcept {
    return all_or_none(s.m % C::m != 0 || s.n % C::n != 0 || s.k % C::k != 0);
  }
};

/// batched_a8w8 and batched_bf16: scales of a batch's next entry follow without a gap; an operand that is broadcast
/// (batch stride 0) shares its scales.
template <class Family>
struct Batched {
  using C = typename Family::C;
  static constexpr bool splits = false;
  static constexpr auto scale_order = ScaleOrder::any;

  static Spec spec(const Sizes& s) noexcept {
    if constexpr (Family::scaled) return all_or_none(s.m % C::m != 0 || s.n % C::n != 0 || s.k % C::k != 0);
    return Spec::Default;
  }
  template <Spec padding>
  static auto argument(const Sizes& s, const GemmArgs& x) {
    using Op = typename Family::template Op<padding>;
    const auto make = [&](auto scales, auto no_strides, auto batch_strides) {
      return Op::MakeArgument(x.a, x.b, scales, x.c, s.m, s.n, s.k, s.batch, s.lda, s.ldb, no_strides, s.ldc, s.batch_a,
                              s.batch_b, batch_strides, s.batch_c, {}, {}, {}, s.k_batch);
    };
    if constexpr (Family::scaled) {
      const std::array<Index, 2> strides{s.batch > 1 && s.batch_b == 0 ? 0 : s.n,
                                         s.batch > 1 && s.batch_a == 0 ? 0 : s.m};
      return make(std::array{x.b_scale, x.a_scale}, std::array<Index, 2>{0, 0}, strides);
    } else {
      return make(std::array<const void*, 0>{}, std::array<Index, 0>{}, std::array<Index, 0>{});
    }
  }
};

/// a4w4_blockscale: K and leading dimensions count fp4 values; scales are e8m0, shuffled, four in an int32.
template <class Family>
struct A4w4 {
  using C = typename Family::C;
  static constexpr bool splits = true;
  static constexpr auto scale_order = ScaleOrder::shuffled;

  static Spec spec(const Sizes&) noexcept { return Spec::Default; }
  template <Spec padding>
  static auto argument(const Sizes& s, const GemmArgs& x) {
    using Op = typename Family::template Op<padding>;
    using Operand = typename C::Operand;
    const Index scales = s.k / Family::scale_k;
    return Op::MakeArgument(static_cast<const Operand*>(x.a), static_cast<const std::int32_t*>(x.a_scale),
                            static_cast<const Operand*>(x.b), static_cast<const std::int32_t*>(x.b_scale),
                            static_cast<typename C::Out*>(x.c), s.m, s.n, s.k, s.lda, scales, s.ldb, scales, s.ldc,
                            s.k_batch, {}, {}, {});
  }
};

}  // namespace ckgen::ck_host
