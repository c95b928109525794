// What a kernel of cluster_k.hpp does to whole sums on their way to C: an fp32 bias, then the ops of an epilogue, in
// this order and in fp32. For device units by nvcc, and for host units behind host_compiler.hpp.
#pragma once

#include <cstdint>

#include "store.hpp"

namespace ckgen::cutlass_gemm {

/// Four elements side by side in a line of C.
template <class Element>
using Quad = cutlass::AlignedArray<Element, 4>;
using QuadOfSums = cutlass::Array<float, 4>;

/// `Following`: a Then. D tensors are of C's type; a leading dimension of 0 is one row for all rows.
template <class Out, class Following>
struct QuadStore;

template <class Out, bool has_bias, EpilogueOp... ops>
struct QuadStore<Out, Then<has_bias, ops...>> {
  using Following = Then<has_bias, ops...>;
  static constexpr bool has_steps = !Following::is_nothing;
  static constexpr int d_count = Following::d_count;

  struct Tensor {
    const Out* from;
    std::int64_t line, batch;  // elements from line to line, from matrix to matrix
  };
  struct Arguments {
    float alpha, beta;  // alpha is op scale's; there is no beta
    const float* bias;
    Tensor d[d_count > 0 ? d_count : 1];
  };
  template <class Given>
  static Arguments of(const Given& given) noexcept {
    Arguments to{};
    to.alpha = given.alpha;
    to.bias = static_cast<const float*>(given.bias);
    for (int i = 0; i < d_count; ++i)
      to.d[i] = {static_cast<const Out*>(given.d[i]), given.ldd[i], given.batch > 1 ? given.batch_stride_d[i] : 0};
    return to;
  }

  /// Of sums of columns [column, column + 4) of a line.
  CUTLASS_DEVICE static QuadOfSums apply(QuadOfSums sums, const Arguments& given, int line, int column, int batch) {
    if constexpr (has_bias) {
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < QuadOfSums::kElements; ++i) sums[i] += given.bias[column + i];
    }
    return follow<0, ops...>(sums, given, line, column, batch);
  }

 private:
  template <int next_d>
  CUTLASS_DEVICE static QuadOfSums follow(const QuadOfSums& sums, const Arguments&, int, int, int) {
    return sums;
  }
  template <int next_d, EpilogueOp op, EpilogueOp... others>
  CUTLASS_DEVICE static QuadOfSums follow(QuadOfSums sums, const Arguments& given, int line, int column, int batch) {
    if constexpr (takes_d(op)) {
      const Tensor& d = given.d[next_d];
      const Out* from = d.from + line * d.line + batch * d.batch + column;
      const auto other = cutlass::NumericArrayConverter<float, Out, QuadOfSums::kElements>{}(
          *reinterpret_cast<const Quad<Out>*>(from));
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < QuadOfSums::kElements; ++i)
        sums[i] = op == EpilogueOp::add ? sums[i] + other[i] : sums[i] * other[i];
    } else if constexpr (op == EpilogueOp::scale) {
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < QuadOfSums::kElements; ++i) sums[i] *= given.alpha;
    } else if constexpr (op == EpilogueOp::relu) {
      sums = Relu<QuadOfSums>{}(sums);
    } else if constexpr (op == EpilogueOp::silu) {
      sums = Silu<QuadOfSums>{}(sums);
    } else {
      static_assert(op == EpilogueOp::gelu);
      sums = Gelu<QuadOfSums>{}(sums);
    }
    return follow<next_d + (takes_d(op) ? 1 : 0), others...>(sums, given, line, column, batch);
  }
};

}  // namespace ckgen::cutlass_gemm
