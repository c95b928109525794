// What the device operations of every ck module share: the parts of a variant, layouts, element-wise functions, and the
// checks of an entry. Included by device units and host units alike, so that both name the same types. C++20.
#pragma once

#include "ck/ck.hpp"
#include "ck/tensor_operation/gpu/device/gemm_specialization.hpp"
#include "ck/tensor_operation/gpu/device/tensor_layout.hpp"
#include "ck/tensor_operation/gpu/element/element_wise_operation.hpp"
#include "ck/utility/blkgemmpipe_scheduler.hpp"
#include "ck/utility/data_type.hpp"

namespace ckgen::ck_ops {

using Index = ck::index_t;
using Spec = ck::tensor_operation::device::GemmSpecialization;
using Scheduler = ck::BlockGemmPipelineScheduler;
using Version = ck::BlockGemmPipelineVersion;
using Tail = ck::TailNumber;
using Write = ck::InMemoryDataOperationEnum;
using PassThrough = ck::tensor_operation::element_wise::PassThrough;
using Row = ck::tensor_layout::gemm::RowMajor;
using Col = ck::tensor_layout::gemm::ColumnMajor;

template <Index... is>
using S = ck::Sequence<is...>;

/// K before rows, K1 last: how threads are arranged over a tile that is contiguous along K, and how they read it.
using KFirst = S<1, 0, 2>;

/// One device kernel of an instance: which sides of the problem are padded, whether the main loop runs at all, what is
/// left after it, and whether C is written or added to.
struct Variant {
  Spec spec;
  bool hot;
  Tail tail;
  Write write;
};

/// e = c * d0 * d1 in fp32: the scale of the column and the scale of the row.
struct RowwiseScale {
  template <class E, class C, class D0, class D1>
  __host__ __device__ constexpr void operator()(E& e, const C& c, const D0& d0, const D1& d1) const {
    e = ck::type_convert<E>(ck::type_convert<float>(c) * ck::type_convert<float>(d0) * ck::type_convert<float>(d1));
  }
};

/// Work-items per workgroup that the entries are compiled for: ck's own bound, whatever a Config's block is.
inline constexpr int kMaxThreads = CK_MAX_THREAD_PER_BLOCK;

/// Rejects what ck would compile into an empty kernel or what no launch could carry.
template <class Gridwise, Write write>
struct Checked {
  static_assert(Gridwise::template IsValidCompilationParameter<write>(),
                "ck compiles this instance into an empty kernel on this arch");
  static_assert(sizeof(typename Gridwise::Argument) <= 1024, "the arguments exceed ckgen::kMaxKernelArgs");
};

}  // namespace ckgen::ck_ops
