// What every probe of classic ck stands on: its core, and short names for the arguments of its device operations.
#include "ck/ck.hpp"
#include "ck/tensor_operation/gpu/device/gemm_specialization.hpp"
#include "ck/tensor_operation/gpu/device/tensor_layout.hpp"
#include "ck/tensor_operation/gpu/element/element_wise_operation.hpp"
#include "ck/utility/blkgemmpipe_scheduler.hpp"
#include "ck/utility/data_type.hpp"

namespace probe {

namespace device = ck::tensor_operation::device;
using Row        = ck::tensor_layout::gemm::RowMajor;
using Col        = ck::tensor_layout::gemm::ColumnMajor;
using Same       = ck::tensor_operation::element_wise::PassThrough;
using ck::bhalf_t;
using ck::f8_t;
using ck::Tuple;
template <ck::index_t... is>
using S      = ck::Sequence<is...>;
using KFirst = S<1, 0, 2>;

constexpr auto kDefault   = device::GemmSpecialization::Default;
constexpr auto kIntrawave = ck::BlockGemmPipelineScheduler::Intrawave;
constexpr auto kV1        = ck::BlockGemmPipelineVersion::v1;
constexpr auto kV3        = ck::BlockGemmPipelineVersion::v3;

struct Scale {
  template <class E, class C, class... D>
  __host__ __device__ constexpr void operator()(E&, const C&, const D&...) const {}
};

template <class T>
constexpr bool complete = sizeof(T) > 0;

}  // namespace probe
