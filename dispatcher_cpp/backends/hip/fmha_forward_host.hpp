// The host side of our kernel of attention of any options: what is refused of a call, and one kernel call. C++17, no
// HIP.
//
// Functions neither allocate nor follow a pointer; thread-safe.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <ckgen/device_code.hpp>
#include <ckgen/fmha.hpp>
#include <ckgen/problem.hpp>

#include "../device/fmha_pointers.hpp"
#include "../device/fmha_stages.hpp"
#include "../device/kernel_call.hpp"
#include "fmha_forward_args.hpp"

namespace ckgen::hip {

/// One kernel. `q_bits`: of an element of Q.
struct FmhaForwardKernel {
  const char* symbol;
  FmhaTraits traits;
  std::int32_t q_bits;
};

inline Status check_forward_pointers(const FmhaForwardKernel& kernel, const FmhaShape& shape,
                                     const FmhaArgs& x) noexcept {
  const FmhaTraits& t = kernel.traits;
  const bool rows = shape.seqlen_q != 0, keys = shape.seqlen_k != 0, both = rows && keys;
  const bool table = t.kv == FmhaKv::block_table, list = t.kv == FmhaKv::page_list;
  const bool scaled = t.quant != FmhaQuant::none;
  const device::FmhaPointer all[] = {{"q", x.q, rows},
                                     {"k", x.k, keys},
                                     {"v", x.v, keys},
                                     {"o", x.o, rows},
                                     {"lse", x.lse, rows && t.lse},
                                     {"bias", x.bias, both && t.bias != FmhaBias::none},
                                     {"sink", x.sink, t.sink},
                                     {"rand_val", x.rand_val, both && t.dropout == FmhaDropout::randval},
                                     {"q_descale", x.q_descale, scaled && kernel.q_bits == 8},
                                     {"k_descale", x.k_descale, scaled},
                                     {"v_descale", x.v_descale, scaled},
                                     {"seqstart_q", x.seqstart_q, t.varlen},
                                     {"seqstart_k", x.seqstart_k, t.varlen && !table && !list},
                                     {"seqlen_k", x.seqlen_k, table},
                                     {"block_table", x.block_table, table},
                                     {"kv_indptr", x.kv_indptr, list},
                                     {"kv_pages", x.kv_pages, list},
                                     {"kv_last_page", x.kv_last_page, list}};
  return device::check_pointers(all);
}

/// Of arguments and sizes that were checked.
inline FmhaForwardArgs forward_args(const FmhaTraits& t, const Launch& launch) noexcept {
  const FmhaShape& shape = launch.problem->fmha();
  const FmhaArgs& x = *launch.fmha;
  FmhaForwardArgs to{};
  to.q = x.q;
  to.k = x.k;
  to.v = x.v;
  to.o = x.o;
  to.lse = x.lse;
  to.bias = x.bias;
  to.sink = x.sink;
  to.rand_val = x.rand_val;
  to.q_descale = x.q_descale;
  to.k_descale = x.k_descale;
  to.v_descale = x.v_descale;
  to.seqstart_q = x.seqstart_q;
  to.seqstart_k = x.seqstart_k;
  to.seqlen_q = x.seqlen_q;
  to.seqlen_k = x.seqlen_k;
  to.pages = t.kv == FmhaKv::page_list ? x.kv_pages : x.block_table;
  to.page_starts = x.kv_indptr;
  to.last_page = x.kv_last_page;
  to.q_strides = x.q_strides;
  to.k_strides = x.k_strides;
  to.v_strides = x.v_strides;
  to.o_strides = x.o_strides;
  to.bias_strides = x.bias_strides;
  to.rand_val_strides = x.rand_val_strides;
  to.lse_strides = {1, x.lse_head_stride, x.lse_batch_stride};
  to.table_stride = x.block_table_stride;
  to.seed = x.seed;
  to.offset = x.offset;
  to.shape = shape;
  to.splits = std::max(static_cast<std::int32_t>(launch.k_batch), 1);
  if (to.splits > 1) {
    const auto partials = device::fmha_partials(*launch.instance, *launch.problem, launch.k_batch, false);
    to.o_acc = static_cast<float*>(launch.workspace);
    to.lse_acc = partials.lse_of(launch.workspace);
    to.partial_rows = !t.varlen ? shape.seqlen_q : shape.total_q > 0 ? shape.total_q : shape.batch * shape.seqlen_q;
  }
  to.most_kept = static_cast<std::int32_t>(std::floor((1.0F - x.p_drop) * 255.0F));
  to.scale = x.scale;
  to.softcap = x.softcap;
  to.kept_factor = 1.0F / (1.0F - x.p_drop);
  return to;
}

/// PrepareFn's work.
inline Status prepare_fmha_forward(const FmhaForwardKernel& kernel, const Launch& launch, KernelCall& out) noexcept {
  const FmhaShape& shape = launch.problem->fmha();
  constexpr std::int64_t kMostGrid = 65535;  // along y and z, as HIP's devices say
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() - kScoreTile;
  constexpr std::int64_t kMostWorkgroups = (std::int64_t{1} << 32) / kScoreThreads - 1;
  if (const Status status = check_forward_pointers(kernel, shape, *launch.fmha); !status.ok()) return status;
  if (shape.batch > kMostGrid)
    return Status::error(StatusCode::unsupported, "%lld sequences: HIP takes grids of %lld along z",
                         static_cast<long long>(shape.batch), static_cast<long long>(kMostGrid));
  const std::int64_t rows = shape.seqlen_q * (shape.heads_q / shape.heads_k);
  if (rows > kMost || shape.seqlen_k > kMost)
    return Status::error(StatusCode::unsupported, "%lld rows of a KV head and %lld keys: the kernel counts to %lld",
                         static_cast<long long>(rows), static_cast<long long>(shape.seqlen_k),
                         static_cast<long long>(kMost));
  const FmhaForwardArgs args = forward_args(kernel.traits, launch);
  const std::int64_t tiles = std::max<std::int64_t>((rows + kScoreTile - 1) / kScoreTile, 1);
  if (tiles > kMostWorkgroups / args.splits)
    return Status::error(StatusCode::unsupported, "%lld tiles of rows in %d splits: a grid holds %lld workgroups",
                         static_cast<long long>(tiles), int{args.splits}, static_cast<long long>(kMostWorkgroups));
  const device::Extent grid{static_cast<std::uint64_t>(tiles) * static_cast<std::uint64_t>(args.splits),
                            static_cast<std::uint64_t>(shape.heads_k), static_cast<std::uint64_t>(shape.batch)};
  return device::fill(out, kernel.symbol, grid, device::Extent{kScoreThreads, 1, 1}, 0, args);
}

}  // namespace ckgen::hip
