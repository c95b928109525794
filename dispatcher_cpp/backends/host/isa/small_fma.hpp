// Kernels of gemm/small_m.hpp by fp32 FMA, compiled once per ISA. Included by isa/small.hpp only.
#pragma once

#include "backends/host/isa/small_prepare.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr int kStep = 32;  // elements that a decoder to fp32 takes

// sums[j][r] += steps [step, end) of J rows of B and R rows of A.
template <int J, int R, class Decode, class Row>
[[gnu::always_inline]] inline void add_steps(const SmallCall& s, const Decode& decode, const Row* rows,
                                             std::int64_t step, std::int64_t end, F16 (*sums)[R]) {
  constexpr int kDecoded = CKGEN_HOST_LEVEL >= 4 ? J : 1;  // rows of B that are in registers, beside the sums
  const float* a = static_cast<const float*>(s.a);
  F16 sum[J][R];
#pragma GCC unroll 4
  for (int j = 0; j < J; ++j)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sum[j][r] = sums[j][r];
  each_step<J>(rows, s.ahead, step, end, [&](const unsigned char* const(&from)[J], std::int64_t at) {
#pragma GCC unroll 4
    for (int j0 = 0; j0 < J; j0 += kDecoded) {
      F16 x[kDecoded][2];
#pragma GCC unroll 4
      for (int j = 0; j < kDecoded; ++j) decode(from[j0 + j], x[j]);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int i = 0; i < 2; ++i) {
          const F16 from_a = load_16(a + r * s.a_stride + at * kStep + 16 * i);
#pragma GCC unroll 4
          for (int j = 0; j < kDecoded; ++j) sum[j0 + j][r] = fma_16(from_a, x[j][i], sum[j0 + j][r]);
        }
    }
  });
#pragma GCC unroll 4
  for (int j = 0; j < J; ++j)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sums[j][r] = sum[j][r];
}

// J rows of B from `first` on, group by group, with all sums in registers.
template <int J, int R, class Decode, class Row>
[[gnu::always_inline]] inline void small_fma_groups(const SmallCall& s, const Decode& decode, const Row* rows,
                                                    int first) {
  const std::int64_t steps = (s.k + kStep - 1) / kStep, per_group = (s.group + kStep - 1) / kStep;
  F16 total[J][R];
#pragma GCC unroll 4
  for (int j = 0; j < J; ++j)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) total[j][r] = all_16(0.0F);
  for (std::int64_t step = 0, g = 0; step < steps; step += per_group, ++g) {
    F16 part[J][R];
#pragma GCC unroll 4
    for (int j = 0; j < J; ++j)
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) part[j][r] = all_16(0.0F);
    add_steps<J>(s, decode, rows + first, step, least(step + per_group, steps), part);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const F16 a_scale = all_16(s.a_scale[r * s.scale_stride + g]);
#pragma GCC unroll 4
      for (int j = 0; j < J; ++j)
        total[j][r] = fma_16(mul_16(part[j][r], a_scale), all_16(s.b_scale[first + j][g]), total[j][r]);
    }
  }
  store_sums(s, first, total);
}

// All of K as one group: rows of B whose sums are not all in registers take turns, and what they share of A stays in
// the first-level cache.
template <int J, int R, class Decode, class Row>
[[gnu::always_inline]] inline void small_fma_in_turns(const SmallCall& s, const Decode& decode, const Row* rows) {
  constexpr std::int64_t kTurn = 8;
  F16 part[kColumns][R];
  for (int j = 0; j < kColumns; ++j)
    for (int r = 0; r < R; ++r) part[j][r] = all_16(0.0F);
  const std::int64_t steps = (s.k + kStep - 1) / kStep;
  for (std::int64_t step = 0; step < steps; step += kTurn)
    for (int j = 0; j < kColumns; j += J) add_steps<J>(s, decode, rows + j, step, least(step + kTurn, steps), part + j);
  for (int j = 0; j < kColumns; ++j)
    for (int r = 0; r < R; ++r) {
      const F16 scaled = mul_16(part[j][r], all_16(s.a_scale[r * s.scale_stride]));
      part[j][r] = fma_16(scaled, all_16(s.b_scale[j][0]), all_16(0.0F));
    }
  store_sums(s, 0, part);
}

template <class Decode, int R>
[[gnu::always_inline]] inline void small_fma_once(const SmallCall& s, const Decode& decode) {
  constexpr int kAtOnce = columns_at_once(R);
  const SmallRows<Decode::kBits, kStep, bytes_ahead(kAtOnce)> b(s);
  if constexpr (kAtOnce < kColumns) {
    if (s.group >= s.k) return small_fma_in_turns<kAtOnce, R>(s, decode, b.rows);
  }
  // With scales of groups there are twice the sums, which then fit into registers.
  constexpr int kOfGroups = kAtOnce < kColumns ? 1 : R > 2 ? 2 : kColumns;
  if constexpr (kOfGroups == 2) {
    if (s.group >= s.k) return small_fma_groups<kColumns, R>(s, decode, b.rows, 0);
  }
  for (int j = 0; j < kColumns; j += kOfGroups) small_fma_groups<kOfGroups, R>(s, decode, b.rows, j);
}

template <class Decode, int R>
void small_fma(const SmallCall& call) {
  const Decode decode(call);
  each_time(call, [&](const SmallCall& s) { small_fma_once<Decode, R>(s, decode); });
}

// One row of each, group by group: no product of a scale is formed that the definition does not form.
template <class Decode>
void small_fma_exact(const SmallCall& s) {
  const Decode decode(s);
  const SmallRow<Decode::kBits, kStep> b(s.b[0], s.next[0], s.k);
  const float* a = static_cast<const float*>(s.a);
  const std::int64_t steps = (s.k + kStep - 1) / kStep, per_group = (s.group + kStep - 1) / kStep;
  float total = 0.0F;
  for (std::int64_t step = 0, g = 0; step < steps; ++g) {
    F16 part = all_16(0.0F), x[2];
    for (const std::int64_t end = least(step + per_group, steps); step < end; ++step) {
      decode(b.at(step), x);
      for (int i = 0; i < 2; ++i) part = fma_16(load_16(a + step * kStep + 16 * i), x[i], part);
    }
    total += (sum_of(part) * s.a_scale[g]) * s.b_scale[0][g];
  }
  static_cast<float*>(s.out[0])[0] = total;
}

template <class Decode>
constexpr SmallKernels kSmallFma = {
    {&small_fma<Decode, 1>, &small_fma<Decode, 2>, &small_fma<Decode, 3>, &small_fma<Decode, 4>},
    {&small_fma<Decode, 1>, &small_fma<Decode, 2>, &small_fma<Decode, 3>, &small_fma<Decode, 4>},
    &small_fma_exact<Decode>,
    &small_prepare_f32<Decode::kOrder>,
    4,
    Decode::kBits};

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
