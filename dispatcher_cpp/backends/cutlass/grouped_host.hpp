// The host side of CUTLASS's kernels over groups: groups become one kernel call and the table that it reads.
//
// Functions neither allocate nor follow a pointer but those of groups in host memory; thread-safe.
#pragma once

#include "gemm_host.hpp"

#include <cstring>

#include "../device/grouped_call.hpp"
#include "grouped.hpp"

namespace ckgen::cutlass_gemm {

static_assert(sizeof(UploadGroups) == sizeof(Upload) && kUploadGroupsLanes == kUploadLanes);
static_assert(offsetof(UploadGroups, words) == offsetof(Upload, words));
static_assert(offsetof(UploadGroups, payload) == offsetof(Upload, payload));

/// The kernels of one instance: what computes, and what makes its table on the device.
struct GroupedKernels {
  const char* compute;
  const char* describe;
};

/// What the kernels ask of each group. Of groups on the device sizes alone are looked at.
template <class Of>
Status check_groups(const Launch& launch) noexcept {
  if (launch.k_batch > 1) return Status::error(StatusCode::unsupported, "groups: no splits of K");
  const std::int64_t count = launch.problem->groups()->count();
  if (count == 0) return Status::error(StatusCode::unsupported, "there are no groups");
  if (count > std::numeric_limits<std::int32_t>::max())
    return Status::error(StatusCode::unsupported, "more groups than 32 bits count");
  if (launch.grouped->a_scale_stride > std::numeric_limits<std::int32_t>::max())
    return Status::error(StatusCode::unsupported, "a_scale_stride is beyond 32 bits");
  return device::check_each_group(launch, Of::alignment, [](const GemmArgs& group) { return check<Of>(group); });
}

template <class Of>
typename Of::Kernel::Arguments group_arguments(std::int64_t count, void* table, const GroupedArgs& all,
                                               std::uint32_t cu_num) noexcept {
  using Kernel = typename Of::Kernel;
  using In = typename Of::In;
  auto* const begin = static_cast<char*>(table);
  const auto array = [&](GroupArray of) { return begin + group_array_offset(of, count); };
  typename Kernel::Arguments to{};
  to.mode = cutlass::gemm::GemmUniversalMode::kGrouped;
  to.problem_shape.num_groups = static_cast<std::int32_t>(count);
  to.problem_shape.problem_shapes = reinterpret_cast<typename Of::Size*>(begin + group_sizes_offset(count, Of::table));
  constexpr bool swapped = Of::swapped;
  to.mainloop.ptr_A = reinterpret_cast<const In**>(array(swapped ? GroupArray::b : GroupArray::a));
  to.mainloop.ptr_B = reinterpret_cast<const In**>(array(swapped ? GroupArray::a : GroupArray::b));
  to.mainloop.dA = reinterpret_cast<decltype(to.mainloop.dA)>(array(swapped ? GroupArray::ldb : GroupArray::lda));
  to.mainloop.dB = reinterpret_cast<decltype(to.mainloop.dB)>(array(swapped ? GroupArray::lda : GroupArray::ldb));
  to.epilogue.ptr_D = reinterpret_cast<typename Of::Out**>(array(GroupArray::c));
  to.epilogue.dD = reinterpret_cast<decltype(to.epilogue.dD)>(array(GroupArray::ldc));
  static_assert(sizeof(*to.mainloop.dA) == sizeof(std::uint64_t) && sizeof(*to.mainloop.dB) == sizeof(std::uint64_t));
  static_assert(sizeof(*to.epilogue.dD) == sizeof(std::uint64_t));
  static_assert(sizeof(typename Of::Size) == kGroupSizes * sizeof(std::uint32_t));
  const auto addresses = [&](GroupArray of) { return reinterpret_cast<const float**>(array(of)); };
  const auto distances = [&](GroupArray of) { return reinterpret_cast<const std::int64_t*>(array(of)); };
  if constexpr (Of::scales == Scales::blocks) {
    to.mainloop.ptr_SFA = addresses(swapped ? GroupArray::b_scale : GroupArray::a_scale);
    to.mainloop.ptr_SFB = addresses(swapped ? GroupArray::a_scale : GroupArray::b_scale);
    to.mainloop.lines = {static_cast<std::int32_t>(all.a_scale_stride), all.a_scale_row_major};
  }
  if constexpr (Of::Stored::has_steps) {
    const struct {
      const float* const* a_scale;
      const float* const* b_scale;
      const float* const* bias;
      const void* d[kMaxD];
      const std::int64_t* ldd[kMaxD];
      float alpha;
    } given{addresses(GroupArray::a_scale),
            addresses(GroupArray::b_scale),
            addresses(GroupArray::bias),
            {array(GroupArray::d0), array(GroupArray::d1)},
            {distances(GroupArray::ldd0), distances(GroupArray::ldd1)},
            all.alpha};
    to.epilogue.thread = Of::Stored::of(given);
  } else {
    to.epilogue.thread.alpha = 1;
    to.epilogue.thread.beta = 0;
  }
  to.hw_info.sm_count = static_cast<int>(cu_num);
  return to;
}

/// PrepareFn's work.
template <class Of>
Status prepare_grouped(const GroupedKernels& kernels, const Launch& launch, std::uint32_t cu_num,
                       KernelCall& out) noexcept {
  if (const Status status = check_groups<Of>(launch); !status.ok()) return status;
  const std::int64_t count = launch.problem->groups()->count();
  const auto given = group_arguments<Of>(count, launch.group_table, *launch.grouped, cu_num);
  if (!Of::Kernel::can_implement(given))
    return Status::error(StatusCode::unsupported, "%s: CUTLASS cannot implement the problem", kernels.compute);
  return place_call<Of>(kernels.compute, given, launch.workspace, out);
}

/// DeviceWorkspaceFn's work: room for the descriptors that each workgroup makes.
template <class Of>
std::size_t grouped_workspace(std::uint32_t cu_num) noexcept {
  return Of::Kernel::get_workspace_size(group_arguments<Of>(1, nullptr, GroupedArgs{}, cu_num));
}

/// GroupTableCode::bytes.
template <class Of>
std::uint64_t grouped_table_bytes(const InstanceDesc&, const Problem& problem, std::uint32_t) noexcept {
  return static_cast<std::uint64_t>(group_table_words(problem.groups()->count(), Of::table)) * sizeof(std::uint32_t);
}

/// FillTableFn's work.
template <class Of>
Status fill_grouped(const Launch& launch, TableCursor& cursor, void* out, std::uint32_t bytes) noexcept {
  if (cursor.offset == 0) {
    if (const Status status = check_groups<Of>(launch); !status.ok()) return status;
  }
  const GroupedArgs& all = *launch.grouped;
  auto* to = static_cast<unsigned char*>(out);
  for (const std::uint64_t end = cursor.offset + bytes; cursor.offset < end; cursor.offset += sizeof(std::uint32_t)) {
    const auto at = static_cast<std::int64_t>(cursor.offset / sizeof(std::uint32_t));
    const std::uint32_t word = group_word(all.operands, all.sizes, all.count, Of::table, at);
    std::memcpy(to, &word, sizeof word);
    to += sizeof word;
  }
  return Status::success();
}

/// GroupTableCode::build.
template <class Of>
Status prepare_describe(const GroupedKernels& kernels, const Launch& launch, KernelCall& out) noexcept {
  if (const Status status = check_groups<Of>(launch); !status.ok()) return status;
  const std::int64_t count = launch.problem->groups()->count();
  const DescribeGroups args{launch.grouped->operands, launch.grouped->sizes,
                            static_cast<std::uint32_t*>(launch.group_table), count, Of::table};
  const auto words = static_cast<std::uint64_t>(group_table_words(count, Of::table));
  const std::uint64_t workgroups = (words + kDescribeLanes - 1) / kDescribeLanes;
  return device::fill(out, kernels.describe, {workgroups, 1, 1}, {static_cast<std::uint64_t>(kDescribeLanes), 1, 1}, 0,
                      args);
}

}  // namespace ckgen::cutlass_gemm
