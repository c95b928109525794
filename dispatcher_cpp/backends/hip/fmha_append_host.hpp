// The host side of our kernel that appends to a KV cache: what is refused of a call, and one kernel call. C++17, no
// HIP.
//
// Functions neither allocate nor follow a pointer; thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ckgen/device_code.hpp>
#include <ckgen/fmha.hpp>
#include <ckgen/problem.hpp>

#include "../device/fmha_pointers.hpp"
#include "../device/kernel_call.hpp"
#include "fmha_append_args.hpp"

namespace ckgen::hip {

struct FmhaAppendKernel {
  const char* symbol;
  FmhaTraits traits;
};

/// PrepareFn's work.
inline Status prepare_fmha_append(const FmhaAppendKernel& kernel, const Launch& launch, KernelCall& out) noexcept {
  const FmhaShape& shape = launch.problem->fmha();
  const FmhaArgs& x = *launch.fmha;
  const FmhaTraits& t = kernel.traits;
  if (const Status status = device::check_append_pointers(t, shape, x); !status.ok()) return status;
  const std::int64_t rotated = t.rope == FmhaRope::none ? 0 : shape.seqlen_q;
  const std::int64_t tiles = (std::max(shape.seqlen_new, rotated) + kAppendRows - 1) / kAppendRows;
  const std::int64_t lines = 2 * std::int64_t{shape.heads_k} + (rotated == 0 ? 0 : shape.heads_q);

  FmhaAppendArgs args{};
  args.q = x.q;
  args.o = x.o;
  args.k_new = x.k_new;
  args.v_new = x.v_new;
  args.k_cache = x.k_cache;
  args.v_cache = x.v_cache;
  args.cos = x.rotary_cos;
  args.sin = x.rotary_sin;
  args.k_descale = x.k_descale;
  args.v_descale = x.v_descale;
  args.seqstart_q = x.seqstart_q;
  args.seqlen_q = x.seqlen_q;
  args.seqstart_k = x.seqstart_k;
  args.seqlen_k = x.seqlen_k;
  args.pages = t.kv == FmhaKv::page_list ? x.kv_pages : x.block_table;
  args.page_starts = x.kv_indptr;
  args.last_page = x.kv_last_page;
  args.q_strides = x.q_strides;
  args.o_strides = x.o_strides;
  args.k_new_strides = x.k_new_strides;
  args.v_new_strides = x.v_new_strides;
  args.k_strides = x.k_strides;
  args.v_strides = x.v_strides;
  args.table_stride = x.block_table_stride;
  args.batch = static_cast<std::int32_t>(shape.batch);
  args.heads_q = shape.heads_q;
  args.heads_k = shape.heads_k;
  args.hdim_q = shape.hdim_q;
  args.hdim_v = shape.hdim_v;
  args.half = shape.rotary_dim / 2;
  args.added = static_cast<std::int32_t>(shape.seqlen_new);
  args.rotated = static_cast<std::int32_t>(rotated);
  args.page_size = shape.page_size;
  args.tiles = static_cast<std::int32_t>(tiles);

  constexpr std::int64_t kMostWorkgroups = (std::int64_t{1} << 32) / kAppendThreads - 1;
  constexpr std::int64_t kMostLines = 65535;
  const std::int64_t columns = (lines + kAppendLines - 1) / kAppendLines;
  if (tiles == 0 || shape.batch > kMostWorkgroups / tiles || columns > kMostLines)
    return Status::error(StatusCode::unsupported, "%lld tiles of %lld sequences and %lld heads do not fit a grid",
                         static_cast<long long>(tiles), static_cast<long long>(shape.batch),
                         static_cast<long long>(lines));
  const device::Extent grid{static_cast<std::uint64_t>(shape.batch * tiles), static_cast<std::uint64_t>(columns), 1};
  return device::fill(out, kernel.symbol, grid, device::Extent{kAppendThreads, 1, 1}, 0, args);
}

}  // namespace ckgen::hip
