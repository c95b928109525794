// From a ckgen Launch of groups to one launch of a kernel over them, and to the table that it reads.
//
// For host units (`-x hip --cuda-host-only`) only. Nothing of HIP is left to be linked. A Kind's groups are judged one
// by one, as ck_tile judges single GEMMs.
#pragma once

#include "grouped.hpp"
#include "multi_abd_host.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>

#include "../device/grouped_call.hpp"
#include "../hip/describe_groups.hpp"
#include "../hip/upload.hpp"

namespace ckgen::tile {

static_assert(sizeof(hip::UploadArgs) == sizeof(Upload) && hip::kUploadLanes == kUploadLanes);
static_assert(offsetof(hip::UploadArgs, words) == offsetof(Upload, words));
static_assert(offsetof(hip::UploadArgs, payload) == offsetof(Upload, payload));

/// A kernel and the archs whose code object has it, see on().
struct BuiltKernel {
  const char* symbol = nullptr;
  std::uint32_t archs = 0;
};

/// The kernels of an instance: those that set C and add to it, and those that make the table, which every arch has. The
/// persistent form has `resident` workgroups per compute unit; 0: a workgroup per work item.
struct BuiltGrouped {
  BuiltKernel set;
  BuiltKernel add;
  const char* upload;
  const char* describe;
  std::uint32_t resident;
};

/// Work items that kernels count in 32 bits, with room for a step beyond.
inline constexpr std::int64_t kMostItems = std::int64_t{1} << 30;

/// ck_tile's verdict on one group of a Kind: `static Status of(const GemmArgs&, std::int64_t k_batch, Arch)`.
template <class Kind>
struct GroupCheck;

template <class C>
struct GroupCheck<GroupedDense<C>> {
  static Status of(const GemmArgs& group, std::int64_t k_batch, Arch arch) {
    using Once = typename GroupedDense<C>::Once;
    if (!addresses<Once>(group))
      return Status::error(StatusCode::unsupported, "a matrix of 2 GiB or more: ck_tile addresses with 32 bits");
    // splits are of whole K tiles, whatever their number: only C's vector may forbid them
    const auto args = multi_abd_args<Once>(group, 1);
    constexpr bool odd = GroupedDense<C>::template Kernel<true>::EpiloguePipeline::GetVectorSizeC() % 2 != 0;
    if (!accepts_multi_abd<Once>(args.gemm, arch) || (odd && k_batch > 1 && bits(C::c) == 16))
      return Status::error(StatusCode::unsupported, "ck_tile's IsSupportedArgument refuses %lld x %lld x %lld",
                           static_cast<long long>(group.m), static_cast<long long>(group.n),
                           static_cast<long long>(group.k));
    return Status::success();
  }
};

/// Whether the launch is one that the kernels can do: their archs, splits, and every group.
template <class Kind>
Status check_groups(const BuiltGrouped& built, const Launch& launch, Arch arch) noexcept try {
  const Groups& groups = *launch.problem->groups();
  const std::int64_t k_batch = launch.k_batch == 0 ? 1 : launch.k_batch;
  if (((k_batch > 1 ? built.add : built.set).archs & on(arch)) == 0)
    return Status::error(StatusCode::unsupported, "no kernel was built for %lld splits of K on %s",
                         static_cast<long long>(k_batch), arch_info(arch).name);
  if (k_batch > 1 && groups.are_on_device())
    return Status::error(StatusCode::unsupported, "K is not split where sizes are on the device: C is not zeroed");
  if (groups.tiles(Kind::kTileM, Kind::kTileN) > kMostItems / k_batch || groups.count() >= kMostItems)
    return Status::error(StatusCode::unsupported, "%lld groups: more than 2^30 tiles",
                         static_cast<long long>(groups.count()));
  return device::check_each_group(launch, Kind::kTileK * k_batch,
                                  [&](const GemmArgs& group) { return GroupCheck<Kind>::of(group, k_batch, arch); });
} catch (const std::exception& error) {
  return Status::error(StatusCode::internal, "ck_tile's host code failed: %s", error.what());
}

/// See PrepareFn. Of groups on the device, as many workgroups as their tiles can be.
template <class Kind>
Status prepare_grouped(const BuiltGrouped& built, const Launch& launch, Arch arch, std::uint32_t cu_num,
                       KernelCall& out) noexcept {
  if (const Status status = check_groups<Kind>(built, launch, arch); !status.ok()) return status;
  const Groups& groups = *launch.problem->groups();
  const std::int64_t k_batch = launch.k_batch == 0 ? 1 : launch.k_batch;
  const std::int64_t items = groups.tiles(Kind::kTileM, Kind::kTileN) * k_batch;
  const std::int64_t resident = std::int64_t{cu_num == 0 ? 1 : cu_num} * built.resident;
  const std::int64_t workgroups = built.resident == 0 ? items : std::min(items, resident);

  const auto* table = static_cast<const char*>(launch.group_table);
  const GroupedKernelArgs args{(Constant<std::int32_t>)table,
                               (Constant<GroupEntry>)(table + device::entries_offset(groups.count())),
                               static_cast<std::int32_t>(groups.count()),
                               static_cast<std::int32_t>(workgroups),
                               static_cast<std::int32_t>(k_batch),
                               launch.grouped->alpha};
  const device::Extent grid{static_cast<std::uint64_t>(workgroups), 1, 1};
  const char* symbol = (k_batch > 1 ? built.add : built.set).symbol;
  const Status status = device::fill(out, symbol, grid, {static_cast<std::uint64_t>(Kind::kBlockSize), 1, 1}, 0, args);
  if (status.ok() && k_batch > 1) device::clear_c(out, launch);
  return status;
}

/// See GroupTableCode.
inline std::uint64_t group_table_bytes(const InstanceDesc&, const Problem& problem, std::uint32_t) noexcept {
  return device::group_table_bytes(problem.groups()->count());
}

/// See FillTableFn.
template <class Kind>
Status fill_grouped(const BuiltGrouped& built, const Launch& launch, Arch arch, TableCursor& cursor, void* out,
                    std::uint32_t bytes) noexcept {
  if (cursor.offset == 0) {
    if (const Status status = check_groups<Kind>(built, launch, arch); !status.ok()) return status;
  }
  device::fill_group_table(*launch.grouped, Kind::kTileM, Kind::kTileN, launch.k_batch == 0 ? 1 : launch.k_batch,
                           cursor, out, bytes);
  return Status::success();
}

/// See GroupTableCode::build.
template <class Kind>
Status prepare_describe(const BuiltGrouped& built, const Launch& launch, Arch arch, KernelCall& out) noexcept {
  if (const Status status = check_groups<Kind>(built, launch, arch); !status.ok()) return status;
  const std::int64_t count = launch.problem->groups()->count();
  auto* table = static_cast<char*>(launch.group_table);
  const hip::DescribeArgs args{launch.grouped->operands,
                               launch.grouped->sizes,
                               reinterpret_cast<std::int32_t*>(table),
                               reinterpret_cast<GroupEntry*>(table + device::entries_offset(count)),
                               static_cast<std::int32_t>(count),
                               Kind::kTileM,
                               Kind::kTileN,
                               1};
  return device::fill(out, built.describe, {1, 1, 1}, {hip::kDescribeLanes, 1, 1}, 0, args);
}

}  // namespace ckgen::tile
