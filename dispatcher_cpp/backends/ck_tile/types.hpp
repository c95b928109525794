// ckgen's element types and layouts as ck_tile's.
#pragma once

#include <ck_tile/core.hpp>
#include <ck_tile/ops/common/tensor_layout.hpp>

#include <ckgen/dtype.hpp>
#include <ckgen/gemm_types.hpp>

namespace ckgen::tile {

template <DType>
struct ElementOf;

#define CKGEN_TILE_ELEMENT(dtype, element) \
  template <>                              \
  struct ElementOf<DType::dtype> {         \
    using type = ck_tile::element;         \
  }
CKGEN_TILE_ELEMENT(fp16, half_t);
CKGEN_TILE_ELEMENT(bf16, bf16_t);
CKGEN_TILE_ELEMENT(int8, int8_t);
CKGEN_TILE_ELEMENT(int32, int32_t);
CKGEN_TILE_ELEMENT(fp8_fnuz, fp8_t);
CKGEN_TILE_ELEMENT(fp8_ocp, fp8_t);
CKGEN_TILE_ELEMENT(bf8_fnuz, bf8_t);
CKGEN_TILE_ELEMENT(bf8_ocp, bf8_t);
#undef CKGEN_TILE_ELEMENT
template <>
struct ElementOf<DType::fp32> {
  using type = float;
};

/// ck_tile's type for a dtype. Its 8-bit floats are those of the arch that is compiled for.
template <DType D>
using Element = typename ElementOf<D>::type;

/// Whether the 8-bit floats of this compile are those of `dtype`; the host half computes with none.
constexpr bool has_flavour(DType dtype) {
#if defined(__HIP_DEVICE_COMPILE__)
  constexpr bool ocp = CK_TILE_USE_OCP_FP8 != 0;
  if (dtype == DType::fp8_fnuz || dtype == DType::bf8_fnuz) return !ocp;
  if (dtype == DType::fp8_ocp || dtype == DType::bf8_ocp) return ocp;
#endif
  return static_cast<void>(dtype), true;
}

template <bool RowMajor>
using MajorOf =
    std::conditional_t<RowMajor, ck_tile::tensor_layout::gemm::RowMajor, ck_tile::tensor_layout::gemm::ColumnMajor>;
template <Layout L>
using LayoutA = MajorOf<a_is_row_major(L)>;
template <Layout L>
using LayoutB = MajorOf<b_is_row_major(L)>;
using LayoutC = MajorOf<true>;

}  // namespace ckgen::tile
