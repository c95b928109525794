// What happens to sums on their way to C, as CUTLASS's visitors: scales, an fp32 bias, the ops of an epilogue, in this
// order and in fp32; one rounding at the end, and none of bare int32. For device units by nvcc, and for host units
// behind host_compiler.hpp.
//
// A step is a type with `On<To, Below, Place>`: the visitor tree that applies it to what `Below` gives and says it in
// type To, and `of(given)`: the tree's arguments from those of a GEMM, or from arrays of groups' pointers.
#pragma once

#include <cstdint>
#include <type_traits>

#include <cutlass/cutlass.h>
#include <cute/tensor.hpp>
#include <cutlass/epilogue/fusion/sm90_callbacks_tma_warpspecialized.hpp>

#include <ckgen/epilogue.hpp>

#include "elementwise.hpp"
#include "group_visitors.hpp"

namespace ckgen::cutlass_gemm {

/// What scales are of: nothing, all of A and of B, rows of A and of B, or blocks of 1 x 128 of A and 128 x 128 of B.
enum class Scales { none, tensors, rows, blocks };

/// What sums are taken to C in: those of int8 stay whole in an int32.
template <class Out>
using ComputeOf = std::conditional_t<std::is_same_v<Out, std::int32_t>, std::int32_t, float>;

/// What follows scales: a bias of columns, then ops.
template <bool is_with_bias, EpilogueOp... ops>
struct Then {
  static constexpr bool has_bias = is_with_bias;
  static constexpr bool is_nothing = !has_bias && sizeof...(ops) == 0;
  static constexpr int d_count = (0 + ... + (takes_d(ops) ? 1 : 0));
};

/// The kernel's tile and C, of which it computes the transpose where it swaps. `of_groups`: each group has scales, a
/// bias and D tensors at addresses of its own.
template <class Tile_, class Out_, bool is_swapped, bool is_of_groups = false>
struct Place {
  using Tile = Tile_;
  using Out = Out_;
  static constexpr bool swapped = is_swapped, of_groups = is_of_groups;
  using Pointer = std::conditional_t<is_of_groups, float*, float>;
  using Batch = std::conditional_t<is_of_groups, cute::_0, std::int64_t>;
};

template <template <class> class Fn, class To>
using Compute = visit::Sm90Compute<Fn, To, float, cutlass::FloatRoundStyle::round_to_nearest>;

/// A float for each row of what the kernel computes, or for each of its columns. `Batch`: elements between matrices.
template <class Place, class Pointer, class Batch>
using OfRow =
    visit::Sm90ColBroadcast<0, typename Place::Tile, Pointer, float, cute::Stride<cute::_1, cute::_0, Batch>, 1>;
template <class Place, class Pointer, class Batch>
using OfColumn =
    visit::Sm90RowBroadcast<0, typename Place::Tile, Pointer, float, cute::Stride<cute::_0, cute::_1, Batch>, 1>;

/// The sums as they are.
struct Sums {
  using Visitor = visit::Sm90AccFetch;
  template <class Given>
  static typename Visitor::Arguments of(const Given&) noexcept {
    return {};
  }
};

/// A step of two operands, the other one being read by a Load.
template <template <class> class Fn, class To, class Load, class Below>
struct Joined {
  using Visitor = visit::Sm90EVT<Compute<Fn, To>, typename Load::Visitor, typename Below::Visitor>;
  template <class Given>
  static typename Visitor::Arguments of(const Given& given) noexcept {
    return {Load::of(given), Below::of(given), {}};
  }
};

template <template <class> class Fn, class To, class Below>
struct Applied {
  using Visitor = visit::Sm90EVT<Compute<Fn, To>, typename Below::Visitor>;
  template <class Given>
  static typename Visitor::Arguments of(const Given& given) noexcept {
    return {Below::of(given), {}};
  }
};

/// A scale of each row of A, of each column of B: one batch's behind the other's, or the same of all where these share
/// the operand.
template <class Place, bool is_of_a>
struct ScaleOfLine {
  static constexpr bool is_row = is_of_a != Place::swapped;
  using Visitor = std::conditional_t<is_row, OfRow<Place, typename Place::Pointer, typename Place::Batch>,
                                     OfColumn<Place, typename Place::Pointer, typename Place::Batch>>;
  template <class Given>
  static typename Visitor::Arguments of(const Given& given) noexcept {
    typename Visitor::Arguments to{};
    const auto* from = is_of_a ? given.a_scale : given.b_scale;
    if constexpr (is_row)
      to.ptr_col = static_cast<decltype(to.ptr_col)>(from);
    else
      to.ptr_row = static_cast<decltype(to.ptr_row)>(from);
    if constexpr (!Place::of_groups) {
      const bool is_shared = given.batch <= 1 || (is_of_a ? given.batch_stride_a : given.batch_stride_b) == 0;
      const std::int64_t lines = is_shared ? 0 : is_of_a ? given.m : given.n;
      if constexpr (is_row)
        cute::get<2>(to.dCol) = lines;
      else
        cute::get<2>(to.dRow) = lines;
    }
    return to;
  }
};

template <class Place, bool is_of_a>
struct ScaleOfAll {
  using Visitor = std::conditional_t<Place::of_groups, GroupScalar, visit::Sm90ScalarBroadcast<float>>;
  template <class Given>
  static typename Visitor::Arguments of(const Given& given) noexcept {
    typename Visitor::Arguments to{};
    const auto* from = is_of_a ? given.a_scale : given.b_scale;
    if constexpr (Place::of_groups)
      to.of = from;
    else
      to.scalar_ptrs[0] = static_cast<const float*>(from);
    return to;
  }
};

struct Alpha {
  using Visitor = visit::Sm90ScalarBroadcast<float>;
  template <class Given>
  static typename Visitor::Arguments of(const Given& given) noexcept {
    typename Visitor::Arguments to{};
    to.scalars[0] = given.alpha;
    return to;
  }
};

template <class Place>
struct Bias {
  using Visitor = std::conditional_t<Place::swapped, OfRow<Place, typename Place::Pointer, cute::_0>,
                                     OfColumn<Place, typename Place::Pointer, cute::_0>>;
  template <class Given>
  static typename Visitor::Arguments of(const Given& given) noexcept {
    typename Visitor::Arguments to{};
    if constexpr (Place::swapped)
      to.ptr_col = static_cast<decltype(to.ptr_col)>(given.bias);
    else
      to.ptr_row = static_cast<decltype(to.ptr_row)>(given.bias);
    return to;
  }
};

/// D tensor `number`, read as C is written; a leading dimension of 0 is one row for all rows.
template <class Place, int number>
struct Tensor {
  using Distance = std::conditional_t<Place::swapped, cute::Stride<cute::_1, std::int64_t, std::int64_t>,
                                      cute::Stride<std::int64_t, cute::_1, std::int64_t>>;
  using Out = typename Place::Out;
  using Visitor = std::conditional_t<Place::of_groups, GroupTensor<Out, Distance>,
                                     visit::Sm90AuxLoad<0, void, Out, Distance, void, void>>;
  template <class Given>
  static typename Visitor::Arguments of(const Given& given) noexcept {
    typename Visitor::Arguments to{};
    if constexpr (Place::of_groups) {
      to.of = static_cast<const Out* const*>(given.d[number]);
      to.line = given.ldd[number];
    } else {
      to.ptr_aux = static_cast<const Out*>(given.d[number]);
      cute::get<Place::swapped ? 1 : 0>(to.dAux) = given.ldd[number];
      cute::get<2>(to.dAux) = given.batch > 1 ? given.batch_stride_d[number] : 0;
    }
    return to;
  }
};

template <bool is_of_a>
struct ScaledByLine {
  template <class To, class Below, class Place>
  using On = Joined<cutlass::multiplies, To, ScaleOfLine<Place, is_of_a>, Below>;
};
template <bool is_of_a>
struct ScaledByAll {
  template <class To, class Below, class Place>
  using On = Joined<cutlass::multiplies, To, ScaleOfAll<Place, is_of_a>, Below>;
};
struct WithBias {
  template <class To, class Below, class Place>
  using On = Joined<cutlass::plus, To, Bias<Place>, Below>;
};
template <EpilogueOp op, int d>
struct Step;
template <int d>
struct Step<EpilogueOp::add, d> {
  template <class To, class Below, class Place>
  using On = Joined<cutlass::plus, To, Tensor<Place, d>, Below>;
};
template <int d>
struct Step<EpilogueOp::mul, d> {
  template <class To, class Below, class Place>
  using On = Joined<cutlass::multiplies, To, Tensor<Place, d>, Below>;
};
template <int d>
struct Step<EpilogueOp::scale, d> {
  template <class To, class Below, class Place>
  using On = Joined<cutlass::multiplies, To, Alpha, Below>;
};
template <int d>
struct Step<EpilogueOp::relu, d> {
  template <class To, class Below, class Place>
  using On = Applied<Relu, To, Below>;
};
template <int d>
struct Step<EpilogueOp::silu, d> {
  template <class To, class Below, class Place>
  using On = Applied<Silu, To, Below>;
};
template <int d>
struct Step<EpilogueOp::gelu, d> {
  template <class To, class Below, class Place>
  using On = Applied<Gelu, To, Below>;
};

/// Steps in their order.
template <class... Steps>
struct List {};

template <class Known, int next_d, EpilogueOp... ops>
struct WithOps {
  using Type = Known;
};
template <class... Known, int next_d, EpilogueOp op, EpilogueOp... others>
struct WithOps<List<Known...>, next_d, op, others...>
    : WithOps<List<Known..., Step<op, next_d>>, next_d + (takes_d(op) ? 1 : 0), others...> {};

template <Scales scales>
struct ScalingOf {
  using Type = List<>;
};
template <>
struct ScalingOf<Scales::tensors> {
  using Type = List<ScaledByAll<true>, ScaledByAll<false>>;
};
template <>
struct ScalingOf<Scales::rows> {
  using Type = List<ScaledByLine<true>, ScaledByLine<false>>;
};

template <class Scaling, class Following>
struct StepsOf;
template <class... Scaling, EpilogueOp... ops>
struct StepsOf<List<Scaling...>, Then<false, ops...>> : WithOps<List<Scaling...>, 0, ops...> {};
template <class... Scaling, EpilogueOp... ops>
struct StepsOf<List<Scaling...>, Then<true, ops...>> : WithOps<List<Scaling..., WithBias>, 0, ops...> {};

/// The whole tree: the last step says it in C's type. Without steps it is CUTLASS's own, which has factors of 1 and 0.
template <class Place, class Below, class Steps>
struct Chain;
template <class Place>
struct Chain<Place, Sums, List<>> {
  using Factor = ComputeOf<typename Place::Out>;
  using Visitor = visit::LinearCombination<typename Place::Out, Factor, void, Factor>;
};
template <class Place, class Below, class Last>
struct Chain<Place, Below, List<Last>> : Last::template On<typename Place::Out, Below, Place> {};
template <class Place, class Below, class First, class Next, class... Others>
struct Chain<Place, Below, List<First, Next, Others...>>
    : Chain<Place, typename First::template On<float, Below, Place>, List<Next, Others...>> {};

/// What is stored of sums: a `Visitor` for CUTLASS, and with steps `of(given)`, its arguments.
template <class Place, Scales scales, class Following>
struct Store : Chain<Place, Sums, typename StepsOf<typename ScalingOf<scales>::Type, Following>::Type> {
  static constexpr bool has_steps = scales == Scales::tensors || scales == Scales::rows || !Following::is_nothing;
  static constexpr int d_count = Following::d_count;
};

}  // namespace ckgen::cutlass_gemm
