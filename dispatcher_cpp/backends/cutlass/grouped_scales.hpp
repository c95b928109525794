// What CUTLASS's main loop over groups with scales of blocks lacks: lines of A's scales with gaps between them, in
// either order. So groups can share one matrix of the scales of all their rows.
#pragma once

#include <cstdint>

#include "gemm.hpp"

namespace ckgen::cutlass_gemm {

/// How scales of A lie in every group: `line` floats from line to line, which is a row of [M][K/128] or, of
/// [K/128][M], a block of K; 0: without gaps.
struct ScaleLines {
  std::int32_t line;
  bool are_rows;
};

/// `Base` is CUTLASS's collective, whose A and B are B^T and A^T where the kernel swaps. Scales of B have no gaps.
template <class Base, bool is_swapped>
struct LinesOfScales : Base {
  using Scale = typename Base::ElementBlockScale;
  using Config = typename BlockScales<is_swapped>::Config;
  struct Arguments : Base::Arguments {
    ScaleLines lines;
  };
  struct Params : Base::Params {
    ScaleLines lines;
  };

  template <class Problem>
  static constexpr Params to_underlying_arguments(Problem problem, const Arguments& given, void* workspace) {
    return {Base::to_underlying_arguments(problem, given, workspace), given.lines};
  }

  /// Base's, but for where A's scales are.
  template <class Size>
  CUTLASS_DEVICE auto load_init(const Size& size, const Params& params, const Scale* left = nullptr,
                                const Scale* right = nullptr) const {
    const auto [m, n, k, batch] = size;
    const auto [a, b, of_left, of_right] = Base::load_init(size, params, left, right);
    if constexpr (is_swapped) {
      return cute::make_tuple(a, b, of_left, cute::make_tensor(of_right.data(), layout(n, k, params.lines)));
    } else {
      return cute::make_tuple(a, b, cute::make_tensor(of_left.data(), layout(m, k, params.lines)), of_right);
    }
  }

  template <class Inputs, class Size>
  CUTLASS_DEVICE Inputs tensors_perform_update(const Inputs&, const Params& params, Size size, std::int32_t group) {
    return load_init(size, params, params.ptr_SFA[group], params.ptr_SFB[group]);
  }

 private:
  CUTLASS_DEVICE static auto layout(std::int32_t rows, std::int32_t k, ScaleLines lines) {
    using cute::_0, cute::_1, cute::_128;
    const std::int32_t blocks = cute::ceil_div(k, 128);
    const std::int32_t packed = lines.are_rows ? blocks : rows;
    const std::int32_t line = lines.line != 0 ? lines.line : packed;
    return cute::make_layout(
        cute::make_shape(cute::make_shape(_1{}, rows), cute::make_shape(_128{}, blocks), std::int32_t{1}),
        cute::make_stride(cute::make_stride(_0{}, lines.are_rows ? line : 1),
                          cute::make_stride(_0{}, lines.are_rows ? 1 : line), std::int32_t{0}));
  }
};

}  // namespace ckgen::cutlass_gemm
