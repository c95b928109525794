// The arguments of AMD's kernels of attention's gradients, in their four forms. C++17, no HIP.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ckgen/fmha.hpp>

#include "backends/asm/fmha_limits.hpp"
#include "backends/asm/shipped.hpp"

namespace ckgen::asm_host {

enum class BackwardForm : std::uint8_t { padded, windows, group, own };

inline constexpr float kLog2E = 1.4426950408889634F;

/// Of the workspace, without gaps: fp32 sums of dQ, delta and lse, [batch][heads][rows], or [heads][rows] where `rows`
/// are those of sequences one after the other.
struct BackwardTensors {
  void* dq;
  const void* delta;
  const void* lse;
  std::int64_t rows;
};

/// An argument of eight bytes.
template <class T>
struct alignas(8) HalfSlot {
  T value{};
};

/// How all begin.
template <template <class> class Of>
struct BackwardOperands {
  Of<void*> dq, dk, dv;
  Of<const void*> q, k, v, dout, lse, delta;

  void set(const FmhaArgs& a, const BackwardTensors& room) noexcept {
    dq.value = room.dq;
    dk.value = a.dk;
    dv.value = a.dv;
    q.value = a.q;
    k.value = a.k;
    v.value = a.v;
    dout.value = a.dout;
    lse.value = room.lse;
    delta.value = room.delta;
  }
};

/// Of the scores, whose exponents are those of 2.
template <template <class> class Of>
struct BackwardFactors {
  Of<float> scale, log2_e;

  void set(float of_scores) noexcept {
    scale.value = of_scores;
    log2_e.value = kLog2E;
  }
};

/// Strides in bytes, of elements of 16 bits.
template <template <class> class Of>
struct BackwardStrides {
  Of<std::uint32_t> head, batch, row;

  void set(const FmhaStrides& of) noexcept {
    head.value = narrow(2 * of.head);
    batch.value = narrow(2 * of.batch);
    row.value = narrow(2 * of.row);
  }
};

/// Those of sequences one after the other.
struct GroupStrides {
  HalfSlot<std::uint32_t> head, row;

  void set(const FmhaStrides& of) noexcept {
    head.value = narrow(2 * of.head);
    row.value = narrow(2 * of.row);
  }
};

template <class Strides>
struct StridesOfTensors {
  Strides q, k, v, dout, dk, dv;

  void set(const FmhaArgs& a) noexcept {
    q.set(a.q_strides);
    k.set(a.k_strides);
    v.set(a.v_strides);
    dout.set(a.dout_strides);
    dk.set(a.dk_strides);
    dv.set(a.dv_strides);
  }
};

/// Of kernels for gfx942, and of those that were compiled again for gfx950.
struct PaddedBackwardArguments {
  BackwardOperands<HalfSlot> operands;
  BackwardFactors<HalfSlot> factors;
  HalfSlot<std::uint32_t> heads_per_kv;
  HalfSlot<std::uint32_t> q_length, k_length;
  HalfSlot<std::uint32_t> hdim;
  HalfSlot<std::uint32_t> heads;
  StridesOfTensors<BackwardStrides<HalfSlot>> strides;

  static PaddedBackwardArguments of(const FmhaShape& x, const FmhaArgs& a, const BackwardTensors& room) noexcept {
    PaddedBackwardArguments to;
    to.operands.set(a, room);
    to.factors.set(a.scale);
    to.heads_per_kv.value = narrow(x.heads_q / x.heads_k);
    to.q_length.value = narrow(x.seqlen_q);
    to.k_length.value = narrow(x.seqlen_k);
    to.hdim.value = narrow(x.hdim_q);
    to.heads.value = narrow(x.heads_q);
    to.strides.set(a);
    return to;
  }
};
static_assert(sizeof(PaddedBackwardArguments) == 34 * 8);

/// Of the same kernels with windows: row i sees the keys j of i - mask_y < j < i + mask_x.
struct WindowBackwardArguments {
  PaddedBackwardArguments padded;
  HalfSlot<std::int32_t> mask_x, mask_y;

  /// A side without a limit ends behind the longer axis, from where no row and no key is beyond it.
  static WindowBackwardArguments of(const FmhaShape& x, const FmhaArgs& a, const BackwardTensors& room) noexcept {
    const std::int64_t shift = x.corner == FmhaCorner::top_left ? 0 : x.seqlen_k - x.seqlen_q;
    const std::int64_t most = std::max(x.seqlen_q, x.seqlen_k);
    const auto side = [most](std::int32_t of) { return of < 0 ? most : std::min<std::int64_t>(of, most); };
    WindowBackwardArguments to;
    to.padded = PaddedBackwardArguments::of(x, a, room);
    to.mask_x.value = static_cast<std::int32_t>(side(x.window_right) + 1 + shift);
    to.mask_y.value = static_cast<std::int32_t>(side(x.window_left) + 1 - shift);
    return to;
  }
};
static_assert(sizeof(WindowBackwardArguments) == 36 * 8);

/// Of the same kernels for sequences one after the other. Lengths are differences of starts, rows are found by the
/// padded starts; heads of dQ and delta are as far apart as lse's are. No kernel reads how many keys there are in all.
struct GroupBackwardArguments {
  BackwardOperands<HalfSlot> operands;
  HalfSlot<const std::int32_t*> q_starts, k_starts, q_padded_starts, k_padded_starts;
  BackwardFactors<HalfSlot> factors;
  HalfSlot<std::uint32_t> heads_per_kv;
  HalfSlot<std::uint32_t> lse_head;
  HalfSlot<std::uint32_t> all_keys;
  StridesOfTensors<GroupStrides> strides;
  HalfSlot<std::uint32_t> hdim;

  static GroupBackwardArguments of(const FmhaShape& x, const FmhaArgs& a, const BackwardTensors& room) noexcept {
    GroupBackwardArguments to;
    to.operands.set(a, room);
    to.q_starts.value = to.q_padded_starts.value = a.seqstart_q;
    to.k_starts.value = to.k_padded_starts.value = a.seqstart_k;
    to.factors.set(a.scale);
    to.heads_per_kv.value = narrow(x.heads_q / x.heads_k);
    to.lse_head.value = narrow(4 * room.rows);
    to.strides.set(a);
    to.hdim.value = narrow(x.hdim_q);
    return to;
  }
};
static_assert(sizeof(GroupBackwardArguments) == 31 * 8);

/// Of gfx950's own. Starts are of sequences one after the other; none of them has a window.
struct OwnBackwardArguments {
  BackwardOperands<Slot> operands;
  BackwardFactors<Slot> factors;
  Slot<std::uint32_t> q_length;
  Slot<std::uint32_t> k_tile;
  BackwardStrides<Slot> q;
  Slot<std::uint32_t> heads_per_kv;
  BackwardStrides<Slot> k;
  Slot<std::uint32_t> dk_row;
  Slot<std::uint32_t> k_length;
  Slot<std::uint32_t> hdim_q, hdim_v;
  Slot<std::uint32_t> heads;
  BackwardStrides<Slot> v, dout;
  Slot<std::uint32_t> dk_head, dk_batch;
  BackwardStrides<Slot> dv;
  Slot<std::uint32_t> lse_head;
  Slot<const std::int32_t*> q_starts, k_starts, q_padded_starts, k_padded_starts;
  Slot<std::uint32_t> longest_q;
  Slot<std::uint32_t> mask_x, mask_y;

  /// `keys`: of a workgroup's tile.
  static OwnBackwardArguments of(const FmhaShape& x, const FmhaArgs& a, const BackwardTensors& room,
                                 std::uint32_t keys) noexcept {
    OwnBackwardArguments to;
    to.operands.set(a, room);
    to.factors.set(a.scale);
    to.q_length.value = to.longest_q.value = narrow(x.seqlen_q);
    to.k_tile.value = narrow(2 * a.k_strides.row * keys);
    to.q.set(a.q_strides);
    to.heads_per_kv.value = narrow(x.heads_q / x.heads_k);
    to.k.set(a.k_strides);
    to.dk_row.value = narrow(2 * a.dk_strides.row);
    to.k_length.value = narrow(x.seqlen_k);
    to.hdim_q.value = narrow(x.hdim_q);
    to.hdim_v.value = narrow(x.hdim_v);
    to.heads.value = narrow(x.heads_q);
    to.v.set(a.v_strides);
    to.dout.set(a.dout_strides);
    to.dk_head.value = narrow(2 * a.dk_strides.head);
    to.dk_batch.value = narrow(2 * a.dk_strides.batch);
    to.dv.set(a.dv_strides);
    to.lse_head.value = narrow(4 * room.rows);
    to.q_starts.value = to.q_padded_starts.value = a.seqstart_q;
    to.k_starts.value = to.k_padded_starts.value = a.seqstart_k;
    return to;
  }
};
static_assert(sizeof(OwnBackwardArguments) == 44 * 16);

}  // namespace ckgen::asm_host
