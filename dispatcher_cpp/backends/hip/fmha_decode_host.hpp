// The host side of the attention kernel over a KV cache: what is refused of a call's memory, and one kernel call.
// C++17, no HIP.
//
// Sizes are those that the instance's Constraints take; what is refused here is a call's memory. Functions neither
// allocate nor follow a pointer; thread-safe.
#pragma once

#include <cstdint>

#include <ckgen/device_code.hpp>
#include <ckgen/fmha.hpp>
#include <ckgen/problem.hpp>

#include "../device/fmha_pointers.hpp"
#include "../device/fmha_stages.hpp"
#include "../device/kernel_call.hpp"
#include "fmha_decode_args.hpp"

namespace ckgen::hip {

/// One kernel. `kv_bytes`: of an element of K and V.
struct FmhaDecodeKernel {
  const char* symbol;
  FmhaTraits traits;
  std::int32_t kv_bytes;
};

/// Refuses rows or heads that do not begin at whole loads of `load` bytes.
inline Status check_decode_rows(const char* name, const void* memory, const FmhaStrides& strides, bool has_batch,
                                std::int32_t bytes, std::int64_t load) noexcept {
  for (const std::int64_t stride : {strides.row, strides.head, has_batch ? strides.batch : 0}) {
    if (stride < 0 || stride * bytes % load != 0)
      return Status::error(StatusCode::unsupported, "a stride of %s of %lld: the kernel loads %lld bytes at a time",
                           name, static_cast<long long>(stride), static_cast<long long>(load));
  }
  if (reinterpret_cast<std::uintptr_t>(memory) % static_cast<std::uintptr_t>(load) == 0) return Status::success();
  return Status::error(StatusCode::unsupported, "%s is not aligned to the %lld bytes of a load", name,
                       static_cast<long long>(load));
}

inline Status check_decode_memory(const FmhaDecodeKernel& kernel, const FmhaShape& shape, const FmhaArgs& x) noexcept {
  const FmhaTraits& t = kernel.traits;
  constexpr std::int64_t kLoad = 16, kStore = 8;
  const bool of_q = !t.varlen && shape.batch > 1, of_kv = t.kv != FmhaKv::contiguous || of_q;
  if (Status s = check_decode_rows("Q", x.q, x.q_strides, of_q, 2, kLoad); !s.ok()) return s;
  if (Status s = check_decode_rows("O", x.o, x.o_strides, of_q, 2, kStore); !s.ok()) return s;
  if (Status s = check_decode_rows("K", x.k, x.k_strides, of_kv, kernel.kv_bytes, kLoad); !s.ok()) return s;
  if (Status s = check_decode_rows("V", x.v, x.v_strides, of_kv, kernel.kv_bytes, kLoad); !s.ok()) return s;
  const device::FmhaPointer given[] = {{"q", x.q, true},
                                       {"o", x.o, true},
                                       {"lse", x.lse, t.lse},
                                       {"sink", x.sink, t.sink},
                                       {"k_descale", x.k_descale, t.quant != FmhaQuant::none},
                                       {"v_descale", x.v_descale, t.quant != FmhaQuant::none},
                                       {"seqstart_q", x.seqstart_q, t.varlen},
                                       {"seqstart_k", x.seqstart_k, t.varlen && t.kv == FmhaKv::contiguous},
                                       {"seqlen_k", x.seqlen_k, t.kv == FmhaKv::block_table},
                                       {"block_table", x.block_table, t.kv == FmhaKv::block_table},
                                       {"kv_indptr", x.kv_indptr, t.kv == FmhaKv::page_list},
                                       {"kv_pages", x.kv_pages, t.kv == FmhaKv::page_list},
                                       {"kv_last_page", x.kv_last_page, t.kv == FmhaKv::page_list}};
  if (Status s = device::check_pointers(given); !s.ok()) return s;
  const std::int32_t vector = static_cast<std::int32_t>(kLoad) / kernel.kv_bytes;
  if (t.kv_layout == FmhaKvLayout::vectorized && shape.page_size % vector != 0)
    return Status::error(StatusCode::unsupported, "pages of %d keys are no whole vectors of %d", int{shape.page_size},
                         int{vector});
  return Status::success();
}

/// PrepareFn's work.
inline Status prepare_fmha_decode(const FmhaDecodeKernel& kernel, const Launch& launch, KernelCall& out) noexcept {
  const FmhaShape& shape = launch.problem->fmha();
  const FmhaArgs& x = *launch.fmha;
  const FmhaTraits& t = kernel.traits;
  if (const Status status = check_decode_memory(kernel, shape, x); !status.ok()) return status;

  constexpr float kLog2E = 1.4426950408889634F;
  const std::int64_t rows = shape.seqlen_q * (shape.heads_q / shape.heads_k);
  const std::int64_t tiles = (rows + kDecodeRows - 1) / kDecodeRows;
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 1024;  // blocks and tiles end behind the last
  if (rows > kMost || shape.seqlen_k > kMost)
    return Status::error(StatusCode::unsupported, "%lld rows of a KV head and %lld keys: the kernel counts to %lld",
                         static_cast<long long>(rows), static_cast<long long>(shape.seqlen_k),
                         static_cast<long long>(kMost));
  FmhaDecodeArgs args{};
  args.q = x.q;
  args.k = x.k;
  args.v = x.v;
  args.o = x.o;
  args.lse = x.lse;
  args.sink = x.sink;
  args.k_descale = x.k_descale;
  args.v_descale = x.v_descale;
  args.seqstart_q = x.seqstart_q;
  args.seqstart_k = x.seqstart_k;
  args.seqlen_q = x.seqlen_q;
  args.seqlen_k = t.kv == FmhaKv::page_list ? nullptr : x.seqlen_k;
  args.pages = t.kv == FmhaKv::page_list ? x.kv_pages : x.block_table;
  args.page_starts = x.kv_indptr;
  args.last_page = x.kv_last_page;
  args.q_strides = x.q_strides;
  args.k_strides = x.k_strides;
  args.v_strides = x.v_strides;
  args.o_strides = x.o_strides;
  args.lse_head_stride = x.lse_head_stride;
  args.lse_batch_stride = x.lse_batch_stride;
  args.table_stride = x.block_table_stride;
  args.shape = shape;
  args.scale = t.softcap ? x.scale / x.softcap : x.scale * kLog2E;
  args.softcap = x.softcap * kLog2E;
  args.q_tiles = static_cast<std::int32_t>(tiles);
  args.splits = static_cast<std::int32_t>(launch.k_batch < 1 ? 1 : launch.k_batch);
  if (t.kv != FmhaKv::contiguous) args.page = page_division(static_cast<std::uint32_t>(shape.page_size));
  const bool scheduled = shape.split_items != 0;
  const device::FmhaPartials partials = device::fmha_partials(*launch.instance, *launch.problem, launch.k_batch, false);
  if (partials.rows != 0) {
    args.o_acc = static_cast<float*>(launch.workspace);
    args.lse_acc = partials.lse_of(launch.workspace);
  }
  args.partial_rows = scheduled           ? shape.split_rows
                      : !t.varlen         ? shape.seqlen_q
                      : shape.total_q > 0 ? shape.total_q
                                          : shape.batch * shape.seqlen_q;
  if (scheduled) args.items = x.split.items;
  const std::int64_t items = scheduled ? shape.split_items : shape.batch * tiles * args.splits;

  constexpr std::int64_t kMostWorkgroups = (std::int64_t{1} << 32) / kDecodeThreads - 1;
  if (items <= 0 || items > kMostWorkgroups / shape.heads_k)
    return Status::error(StatusCode::unsupported, "%lld items of %d heads: a grid holds 1 to %lld workgroups",
                         static_cast<long long>(items), int{shape.heads_k}, static_cast<long long>(kMostWorkgroups));
  const device::Extent grid{static_cast<std::uint64_t>(items) * static_cast<std::uint64_t>(shape.heads_k), 1, 1};
  return device::fill(out, kernel.symbol, grid, device::Extent{kDecodeThreads, 1, 1}, 0, args);
}

}  // namespace ckgen::hip
