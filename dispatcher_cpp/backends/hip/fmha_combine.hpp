// Partial results of attention's splits of KV to O and lse: with m the largest lse of a row's splits and
// w[s] = exp(lse[s] - m), O = factor * sum_s w[s] O[s] / sum_s w[s] and lse = m + log(sum_s w[s]), added in the order
// of splits.
//
// A row whose splits all have lse = -infinity gives O = 0 and lse = -infinity. C++20, for either half of a HIP compile;
// nothing here launches a kernel.
#pragma once

#include <cstdint>

#include <hip/hip_runtime.h>

#include "../device/fmha_combine_args.hpp"

namespace ckgen::hip {

using device::FmhaCombineArgs;
using device::kCombineColumns;
using device::kCombineLanes;

/// Where one row's splits lie, and where its result goes.
struct CombinedRow {
  std::int64_t first;   // partial row of its first split
  std::int64_t stride;  // rows from split to split
  std::int32_t splits;
  std::int64_t o;  // elements into O
  std::int64_t lse;
};

/// The row of this lane; false where there is none.
__device__ inline bool combined_row(const FmhaCombineArgs& a, CombinedRow& row) {
  const int at_once = kCombineLanes / a.parts, mine = static_cast<int>(threadIdx.x) / a.parts;
  std::int64_t batch = blockIdx.z, head = blockIdx.y, query = 0;
  if (a.items != nullptr) {
    const unsigned groups = static_cast<unsigned>(a.m0 + at_once - 1) / static_cast<unsigned>(at_once);
    const auto item = a.items[blockIdx.x / groups];
    const int r = static_cast<int>(blockIdx.x % groups) * at_once + mine;
    if (item.request < 0 || r >= item.rows) return false;
    row.first = head * a.rows + item.partial_row + r;
    row.stride = item.rows;
    row.splits = item.splits;
    const std::int64_t in_group = std::int64_t{item.q_tile} * a.m0 + r;
    batch = item.request;
    query = in_group / a.group;
    head = head * a.group + in_group % a.group;
  } else {
    query = std::int64_t{blockIdx.x} * at_once + mine;
    const bool varlen = a.seqstart_q != nullptr;
    const std::int64_t length = a.seqlen_q != nullptr ? a.seqlen_q[batch]
                                : varlen              ? a.seqstart_q[batch + 1] - a.seqstart_q[batch]
                                                      : a.rows;
    if (query >= length) return false;
    row.first = ((varlen ? 0 : batch) * a.heads + head) * a.rows + (varlen ? a.seqstart_q[batch] : 0) + query;
    row.stride = a.split_stride;
    row.splits = a.splits;
  }
  const std::int64_t place = a.seqstart_q != nullptr ? a.seqstart_q[batch] + query : query;
  row.o = batch * a.o_batch + head * a.o_head + place * a.o_row;
  row.lse = batch * a.lse_batch + head * a.lse_head + place;
  return true;
}

template <class O>
__device__ void fmha_combine(const FmhaCombineArgs& a) {
  using Sums = float __attribute__((ext_vector_type(kCombineColumns)));
  using Results = O __attribute__((ext_vector_type(kCombineColumns)));
  constexpr float kNone = -__builtin_inff();
  CombinedRow row;
  if (!combined_row(a, row)) return;
  const int part = static_cast<int>(threadIdx.x) % a.parts, column = part * kCombineColumns;
  const float* lse = a.lse_acc + row.first;
  float most = kNone;
#pragma unroll 1  // what is left of an unrolled loop reads registers that nothing wrote (clang 22)
  for (int s = 0; s < row.splits; ++s) most = __builtin_fmaxf(most, lse[s * row.stride]);
  const float base = most == kNone ? 0.0F : most;
  const float* from = a.o_acc + row.first * a.hdim_v + column;
  Sums sums = 0.0F;
  float total = 0.0F;
#pragma unroll 4
  for (int s = 0; s < row.splits; ++s) {
    const float weight = __builtin_expf(lse[s * row.stride] - base);
    const float* values = from + s * row.stride * a.hdim_v;
    total += weight;
    if (a.loads_vectors && column < a.hdim_v) {
      sums += *reinterpret_cast<const Sums*>(values) * weight;
    } else {
      for (int i = 0; i < kCombineColumns; ++i) {
        if (column + i < a.hdim_v) sums[i] += values[i] * weight;
      }
    }
  }
  const float descale = a.o_descale != nullptr ? *a.o_descale * a.o_factor : a.o_factor;
  const float inverse = total == 0.0F ? 0.0F : descale / total;
  Results results;
  for (int i = 0; i < kCombineColumns; ++i) results[i] = static_cast<O>(sums[i] * inverse);
  O* to = static_cast<O*>(a.o) + row.o + column;
  if (a.stores_vectors && column < a.hdim_v) {
    *reinterpret_cast<Results*>(to) = results;
  } else {
    for (int i = 0; i < kCombineColumns; ++i) {
      if (column + i < a.hdim_v) to[i] = results[i];
    }
  }
  if (a.lse != nullptr && part == 0) a.lse[row.lse] = total == 0.0F ? kNone : base + __builtin_logf(total);
}

}  // namespace ckgen::hip

/// Defines the kernel as `symbol` for O of elements `type`: float, _Float16 or __bf16. Its launch is
/// device::prepare_combine.
#define CKGEN_FMHA_COMBINE_KERNEL(symbol, type)                                                                      \
  extern "C" __global__ void __launch_bounds__(ckgen::hip::kCombineLanes) symbol(ckgen::hip::FmhaCombineArgs args) { \
    ckgen::hip::fmha_combine<type>(args);                                                                            \
  }
