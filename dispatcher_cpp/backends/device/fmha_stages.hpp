// The FmhaStages of attention that splits KV: where partial results lie, and how backends/hip/fmha_combine.hpp is
// launched. C++17, no HIP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <ckgen/device_code.hpp>
#include <ckgen/dtype.hpp>

#include "fmha_combine_args.hpp"
#include "kernel_call.hpp"

namespace ckgen::device {

/// Partial results in Launch::workspace: fp32 rows of O at its start, their fp32 lse behind them.
struct FmhaPartials {
  std::uint64_t rows = 0;        // of all heads and splits; 0: there are none
  std::uint64_t lse_offset = 0;  // bytes, a multiple of 256
  std::uint64_t bytes = 0;       // the largest number where 64 bits do not count them

  float* lse_of(void* workspace) const noexcept {
    return reinterpret_cast<float*>(static_cast<char*>(workspace) + lse_offset);
  }
};

/// `always`: the kernel writes partial results of one split too.
inline FmhaPartials fmha_partials(const InstanceDesc& instance, const Problem& problem, std::uint32_t k_batch,
                                  bool always) noexcept {
  const FmhaShape& x = problem.fmha();
  const std::uint32_t splits = k_batch == 0 ? 1 : k_batch;
  const auto counted = [](std::int64_t size) { return static_cast<std::uint64_t>(size); };
  FmhaPartials found;
  std::uint64_t row_bytes = 0;
  bool overflows = false;
  if (x.split_items != 0) {
    found.rows = counted(x.split_rows) * counted(instance.fmha.merge_heads ? x.heads_k : x.heads_q);
  } else if (splits > 1 || always) {
    const bool given = problem.signature().fmha.varlen && x.total_q != 0;
    const std::uint64_t rows = given ? counted(x.total_q) : counted(x.batch) * counted(x.seqlen_q);
    overflows = __builtin_mul_overflow(rows, counted(x.heads_q) * splits, &found.rows);
  }
  if (found.rows == 0 && !overflows) return found;
  constexpr std::uint64_t kAlign = 256;
  overflows = overflows || __builtin_mul_overflow(found.rows, counted(x.hdim_v) * sizeof(float), &row_bytes) ||
              __builtin_add_overflow(row_bytes, kAlign - 1, &found.lse_offset);
  found.lse_offset = found.lse_offset / kAlign * kAlign;
  overflows = overflows || __builtin_add_overflow(found.lse_offset, found.rows * sizeof(float), &found.bytes);
  if (overflows) found.bytes = std::numeric_limits<std::uint64_t>::max();
  return found;
}

/// FmhaStages::combine of a kernel named `symbol`; `always` as of fmha_partials. O is multiplied by `o_factor`, and by
/// *o_descale where that is not null.
inline Status prepare_combine(const char* symbol, bool always, const Launch& launch, KernelCall& out,
                              float o_factor = 1.0F, const float* o_descale = nullptr) noexcept {
  const InstanceDesc& instance = *launch.instance;
  const Signature& s = launch.problem->signature();
  const FmhaShape& x = launch.problem->fmha();
  const FmhaArgs& a = *launch.fmha;
  const FmhaPartials partials = fmha_partials(instance, *launch.problem, launch.k_batch, always);
  const bool scheduled = x.split_items != 0, varlen = s.fmha.varlen, merged = scheduled && instance.fmha.merge_heads;
  const std::int32_t splits = launch.k_batch == 0 ? 1 : static_cast<std::int32_t>(launch.k_batch);
  const std::int32_t heads = merged ? x.heads_k : x.heads_q, parts = combine_parts(x.hdim_v);
  const auto rows_at_once = static_cast<std::uint64_t>(kCombineLanes / parts);
  const auto groups_of = [rows_at_once](std::int64_t rows) {
    return (static_cast<std::uint64_t>(rows) + rows_at_once - 1) / rows_at_once;
  };
  const std::int64_t grain = kCombineColumns, batch = varlen ? 1 : x.batch;
  const auto bytes = static_cast<std::uintptr_t>(bits(s.c) / 8);
  const auto whole = [grain](std::int64_t stride) { return stride % grain == 0; };
  FmhaCombineArgs args{};
  args.o_acc = static_cast<const float*>(launch.workspace);
  args.lse_acc = partials.lse_of(launch.workspace);
  args.o = a.o;
  args.lse = s.fmha.lse ? a.lse : nullptr;
  args.items = scheduled ? a.split.combine_items : nullptr;
  args.seqstart_q = varlen ? a.seqstart_q : nullptr;
  args.seqlen_q = varlen ? a.seqlen_q : nullptr;
  args.o_descale = o_descale;
  args.o_factor = o_factor;
  args.o_row = a.o_strides.row;
  args.o_head = a.o_strides.head;
  args.o_batch = varlen ? 0 : a.o_strides.batch;
  args.lse_head = a.lse_head_stride;
  args.lse_batch = varlen ? 0 : a.lse_batch_stride;
  args.split_stride = static_cast<std::int64_t>(partials.rows / static_cast<std::uint64_t>(splits));
  args.rows = scheduled ? x.split_rows : args.split_stride / (batch * heads);
  args.splits = splits;
  args.heads = heads;
  args.hdim_v = x.hdim_v;
  args.parts = parts;
  args.m0 = instance.fmha.m0;
  args.group = merged ? x.heads_q / x.heads_k : 1;
  args.loads_vectors = whole(x.hdim_v);
  args.stores_vectors = whole(x.hdim_v) && whole(args.o_row) && whole(args.o_head) && whole(args.o_batch) &&
                        reinterpret_cast<std::uintptr_t>(a.o) % (static_cast<std::uintptr_t>(grain) * bytes) == 0;
  constexpr std::int64_t kMostGrid = 65535;  // along z, as HIP's devices say; heads are not more
  if (scheduled)
    return fill(
        out, symbol,
        Extent{static_cast<std::uint64_t>(x.split_combines) * groups_of(args.m0), static_cast<std::uint64_t>(heads), 1},
        Extent{kCombineLanes, 1, 1}, 0, args);
  if (x.batch > kMostGrid)
    return Status::error(StatusCode::unsupported, "splits of %lld sequences, more than %lld cannot be combined",
                         static_cast<long long>(x.batch), static_cast<long long>(kMostGrid));
  const Extent grid{groups_of(x.seqlen_q), static_cast<std::uint64_t>(heads), static_cast<std::uint64_t>(x.batch)};
  return fill(out, symbol, grid, Extent{kCombineLanes, 1, 1}, 0, args);
}

}  // namespace ckgen::device
