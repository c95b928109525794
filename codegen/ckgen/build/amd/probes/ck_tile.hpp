// What every probe of ck_tile stands on: its umbrella headers as far as the tree has them, and short names.
#include "ck_tile/core.hpp"
#include "ck_tile/host/kernel_launch.hpp"
#include "ck_tile/ops/common.hpp"
#include "ck_tile/ops/elementwise.hpp"
#include "ck_tile/ops/epilogue.hpp"
#include "ck_tile/ops/gemm.hpp"
#if __has_include("ck_tile/ops/gemm_quant.hpp")
#include "ck_tile/ops/gemm_quant.hpp"
#endif
#if __has_include("ck_tile/ops/gemm_group_quant.hpp")
#include "ck_tile/ops/gemm_group_quant.hpp"
#endif

namespace probe {

using ck_tile::bf16_t;
using ck_tile::bf8_t;
using ck_tile::fp8_t;
using ck_tile::half_t;
using ck_tile::sequence;
using Row  = ck_tile::tensor_layout::gemm::RowMajor;
using Col  = ck_tile::tensor_layout::gemm::ColumnMajor;
using None = ck_tile::tuple<>;
using Same = ck_tile::element_wise::PassThrough;
using ck_tile::GemmPipelineScheduler;
using ck_tile::TailNumber;

using Shape = ck_tile::TileGemmShape<sequence<128, 128, 64>, sequence<2, 2, 1>, sequence<32, 32, 16>>;

template <bool Double = false>
using Traits = ck_tile::TileGemmUniversalTraits<false, false, false, Double, Row, Col, Row>;

template <GemmPipelineScheduler S = GemmPipelineScheduler::Intrawave, bool Double = false>
using Problem = ck_tile::UniversalGemmPipelineProblem<half_t, half_t, float, Shape, Traits<Double>, S>;

template <class T>
constexpr bool complete = sizeof(T) > 0;

}  // namespace probe
