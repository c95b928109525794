// The host side of CUTLASS's GEMM kernels: a problem becomes one kernel call, by CUTLASS's own host code.
//
// Functions neither allocate nor follow a pointer; thread-safe.
#pragma once

#include "host_compiler.hpp"

// After it.
#include <cstdint>
#include <limits>
#include <new>

#include <ckgen/device_code.hpp>
#include <ckgen/gemm_types.hpp>

#include "../device/kernel_call.hpp"
#include "gemm.hpp"
#include "strips.hpp"

namespace ckgen::cutlass_gemm {

inline constexpr std::uintptr_t kTmaBytes = 16;  // what addresses and distances of rows are multiples of

inline bool is_whole(const void* memory) noexcept {
  return reinterpret_cast<std::uintptr_t>(memory) % kTmaBytes == 0;
}

/// What descriptors ask of an operand beside its extents.
inline Status check_operand(const char* name, const void* memory, std::int64_t row, std::int64_t batch,
                            std::int64_t alignment) noexcept {
  if (!is_whole(memory))
    return Status::error(StatusCode::unsupported, "%s begins at %p, no multiple of 16 bytes", name, memory);
  if (row % alignment == 0 && batch % alignment == 0) return Status::success();
  return Status::error(StatusCode::unsupported, "rows of %s are %lld elements apart, batches %lld: no multiple of %lld",
                       name, static_cast<long long>(row), static_cast<long long>(batch),
                       static_cast<long long>(alignment));
}

/// A batch stride, 0 where there is one matrix.
inline std::int64_t between(const GemmArgs& args, std::int64_t stride) noexcept {
  return args.batch > 1 ? stride : 0;
}

/// What the kernels ask of scales beside what the problem does.
template <class Of>
Status check_scales(const GemmArgs& args) noexcept {
  if constexpr (Of::scales == Scales::blocks) {
    if (Of::copies_scales && args.a_scale_row_major)
      return Status::error(StatusCode::unsupported, "a_scale must be [K/128][M] (not a_scale_row_major)");
    if (Of::copies_scales && !is_whole(args.a_scale))
      return Status::error(StatusCode::unsupported, "a_scale begins at %p, no multiple of 16 bytes", args.a_scale);
  }
  return Status::success();
}

template <class Of>
Status check(const GemmArgs& args) noexcept {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (args.m > kMost || args.n > kMost || args.k > kMost || args.batch > kMost)
    return Status::error(StatusCode::unsupported, "M, N, K and the batch are at most %lld",
                         static_cast<long long>(kMost));
  for (const Status& status :
       {check_operand("A", args.a, args.lda, between(args, args.batch_stride_a), Of::alignment),
        check_operand("B", args.b, args.ldb, between(args, args.batch_stride_b), Of::alignment),
        check_operand("C", args.c, args.ldc, between(args, args.batch_stride_c), Of::alignment_c)}) {
    if (!status.ok()) return status;
  }
  for (int i = 0; i < Of::Stored::d_count; ++i) {
    const Status status =
        check_operand("D", args.d[i], args.ldd[i], between(args, args.batch_stride_d[i]), Of::alignment_c);
    if (!status.ok()) return status;
  }
  return check_scales<Of>(args);
}

/// The stride of batches, which for an operand that they share is 0.
template <class Layout>
Layout shared(const Layout& scales) noexcept {
  return {scales.shape(), cute::make_stride(cute::get<0>(scales.stride()), cute::get<1>(scales.stride()), 0)};
}

/// Scales and what else the store reads.
template <class Of>
void give_store(const GemmArgs& args, typename Of::Kernel::Arguments& to) noexcept {
  if constexpr (Of::scales == Scales::blocks) {
    using Config = typename BlockScales<Of::swapped>::Config;
    const auto* of_a = static_cast<const float*>(args.a_scale);
    const auto* of_b = static_cast<const float*>(args.b_scale);
    const bool shares_a = args.batch > 1 && args.batch_stride_a == 0;
    const bool shares_b = args.batch > 1 && args.batch_stride_b == 0;
    to.mainloop.ptr_SFA = Of::swapped ? of_b : of_a;
    to.mainloop.ptr_SFB = Of::swapped ? of_a : of_b;
    to.mainloop.layout_SFA = Config::tile_atom_to_shape_SFA(to.problem_shape);
    to.mainloop.layout_SFB = Config::tile_atom_to_shape_SFB(to.problem_shape);
    if (Of::swapped ? shares_b : shares_a) to.mainloop.layout_SFA = shared(to.mainloop.layout_SFA);
    if (Of::swapped ? shares_a : shares_b) to.mainloop.layout_SFB = shared(to.mainloop.layout_SFB);
  }
  if constexpr (Of::Stored::has_steps) {
    to.epilogue.thread = Of::Stored::of(args);
  } else {
    to.epilogue.thread.alpha = 1;
    to.epilogue.thread.beta = 0;
  }
}

/// How K is shared: in `splits` parts each, where there are several; else by tiles that are left of whole rounds.
template <class Of>
void give_splits(std::uint32_t splits, typename Of::Kernel::Arguments& to) noexcept {
  if constexpr (Of::stream_k) {
    using Mode = decltype(to.scheduler.decomposition_mode);
    to.scheduler.splits = static_cast<int>(splits > 1 ? splits : 1);
    to.scheduler.decomposition_mode = splits > 1 ? Mode::SplitK : Mode::Heuristic;
  }
}

/// Two tiles wide, or one: not of stream-K, which has an order of its own.
template <class Of>
int strip_of(std::int64_t rows, std::int64_t columns, std::int64_t batch, std::uint32_t cu_num) noexcept {
  using Tile = typename Of::Tile;
  const Tiling tiling{
      rows, columns, batch, {cute::size<0>(Tile{}), cute::size<1>(Tile{})}, {Of::clusters[0], Of::clusters[1]}};
  return !Of::stream_k && goes_in_strips(tiling, cu_num) ? 2 : 1;
}

/// Elements from line to line and from matrix to matrix: those of a line are side by side.
template <class Distances>
void place_lines(Distances& to, std::int64_t line, std::int64_t batch) noexcept {
  constexpr bool is_first = std::is_same_v<std::decay_t<decltype(cute::get<0>(to))>, std::int64_t>;
  cute::get<is_first ? 0 : 1>(to) = line;
  cute::get<2>(to) = batch;
}

template <class Of>
typename Of::Kernel::Arguments arguments(const GemmArgs& args, std::uint32_t splits, std::uint32_t cu_num) noexcept {
  using Kernel = typename Of::Kernel;
  using In = typename Of::In;
  const auto m = static_cast<int>(args.m), n = static_cast<int>(args.n), k = static_cast<int>(args.k);
  const int batch = args.batch > 1 ? static_cast<int>(args.batch) : 1;
  typename Kernel::Arguments to{};
  to.mode = cutlass::gemm::GemmUniversalMode::kGemm;
  const auto place = [&](int rows, int columns, const void* left, std::int64_t left_line, std::int64_t left_batch,
                         const void* right, std::int64_t right_line, std::int64_t right_batch) {
    to.problem_shape = {rows, columns, k, batch};
    to.mainloop.ptr_A = static_cast<const In*>(left);
    to.mainloop.ptr_B = static_cast<const In*>(right);
    place_lines(to.mainloop.dA, left_line, left_batch);
    place_lines(to.mainloop.dB, right_line, right_batch);
  };
  const std::int64_t of_a = between(args, args.batch_stride_a), of_b = between(args, args.batch_stride_b);
  const std::int64_t of_c = between(args, args.batch_stride_c);
  to.epilogue.ptr_D = static_cast<typename Of::Out*>(args.c);
  if constexpr (Of::swapped) {
    place(n, m, args.b, args.ldb, of_b, args.a, args.lda, of_a);
    to.epilogue.dD = {cute::_1{}, args.ldc, of_c};
  } else {
    place(m, n, args.a, args.lda, of_a, args.b, args.ldb, of_b);
    to.epilogue.dD = {args.ldc, cute::_1{}, of_c};
  }
  give_store<Of>(args, to);
  give_splits<Of>(splits, to);
  to.scheduler.max_swizzle_size = strip_of<Of>(Of::swapped ? n : m, Of::swapped ? m : n, batch, cu_num);
  to.hw_info.sm_count = static_cast<int>(cu_num);
  return to;
}

/// One call of a kernel with such arguments.
template <class Of>
Status place_call(const char* symbol, const typename Of::Kernel::Arguments& given, void* workspace,
                  KernelCall& out) noexcept {
  using Kernel = typename Of::Kernel;
  using Params = typename Kernel::Params;
  static_assert(sizeof(Params) <= kMaxKernelArgs && alignof(Params) <= kKernelArgsAlignment);
  static_assert(std::is_trivially_copyable_v<Params> && std::is_trivially_destructible_v<Params>);
  // In place: copying it would be a third of the work.
  const Params& params =
      *::new (static_cast<void*>(out.args)) Params(Kernel::to_underlying_arguments(given, workspace));
  const dim3 grid = Kernel::get_grid_shape(params);
  const dim3 block = Kernel::get_block_shape();
  if (const Status status = device::copy_extent({grid.x, grid.y, grid.z}, "grid", out.grid); !status.ok())
    return status;
  if (const Status status = device::copy_extent({block.x, block.y, block.z}, "block", out.block); !status.ok())
    return status;
  for (int i = 0; i < 3; ++i) out.cluster[i] = Of::clusters[i];
  out.symbol = symbol;
  out.dynamic_lds = static_cast<std::uint32_t>(Kernel::SharedStorageSize);
  out.args_size = sizeof(Params);
  return Status::success();
}

/// PrepareFn's work for a kernel of that symbol.
template <class Of>
Status prepare(const char* symbol, const Launch& launch, std::uint32_t cu_num, KernelCall& out) noexcept {
  using Kernel = typename Of::Kernel;
  const GemmArgs& args = *launch.args;
  if (!Of::stream_k && launch.k_batch > 1) return Status::error(StatusCode::unsupported, "%s: no splits of K", symbol);
  if (const Status status = check<Of>(args); !status.ok()) return status;
  const auto given = arguments<Of>(args, launch.k_batch, cu_num);
  if (!Kernel::can_implement(given))
    return Status::error(StatusCode::unsupported, "%s: CUTLASS cannot implement the problem", symbol);
  if constexpr (Of::stream_k) {
    const cutlass_host::Clearing clearing(out.flags);
    if (Kernel::initialize_workspace(given, launch.workspace) != cutlass::Status::kSuccess)
      return Status::error(StatusCode::invalid_argument, "%s needs a workspace of %zu bytes", symbol,
                           Kernel::get_workspace_size(given));
  }
  return place_call<Of>(symbol, given, launch.workspace, out);
}

/// DeviceWorkspaceFn's work: for sums of tiles that workgroups share, and counters of who has written his part.
template <class Of>
std::size_t workspace(const Problem& problem, std::uint32_t k_batch, std::uint32_t cu_num) noexcept {
  GemmArgs args{};
  args.m = problem.m();
  args.n = problem.n();
  args.k = problem.k();
  args.batch = problem.batch();
  return Of::Kernel::get_workspace_size(arguments<Of>(args, k_batch, cu_num));
}

}  // namespace ckgen::cutlass_gemm
