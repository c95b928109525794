// Atomics on global memory and buffers: atomic on the host too, since other workgroups may run in other threads.
#include <immintrin.h>

#include <algorithm>
#include <bit>

#include "float_mode.hpp"
#include "vector_memory.hpp"

namespace ckgen::emu {
namespace {

// What an operation makes of the old value. `kFloat`: it rounds, and never serves as a flag.
struct Swap {
  static constexpr bool kFloat = false;
  template <class T>
  static T apply(T, T value) {
    return value;
  }
};
struct Add {
  static constexpr bool kFloat = false;
  template <class T>
  static T apply(T old, T value) {
    return old + value;
  }
};
struct Sub {
  static constexpr bool kFloat = false;
  template <class T>
  static T apply(T old, T value) {
    return old - value;
  }
};
struct SignedMin {
  static constexpr bool kFloat = false;
  template <class T>
  static T apply(T old, T value) {
    using Signed = std::make_signed_t<T>;
    return static_cast<Signed>(value) < static_cast<Signed>(old) ? value : old;
  }
};
struct SignedMax {
  static constexpr bool kFloat = false;
  template <class T>
  static T apply(T old, T value) {
    using Signed = std::make_signed_t<T>;
    return static_cast<Signed>(value) >= static_cast<Signed>(old) ? value : old;
  }
};
struct Min {
  static constexpr bool kFloat = false;
  template <class T>
  static T apply(T old, T value) {
    return std::min(old, value);
  }
};
struct Max {
  static constexpr bool kFloat = false;
  template <class T>
  static T apply(T old, T value) {
    return std::max(old, value);
  }
};
struct And {
  static constexpr bool kFloat = false;
  template <class T>
  static T apply(T old, T value) {
    return old & value;
  }
};
struct Or {
  static constexpr bool kFloat = false;
  template <class T>
  static T apply(T old, T value) {
    return old | value;
  }
};
struct Xor {
  static constexpr bool kFloat = false;
  template <class T>
  static T apply(T old, T value) {
    return old ^ value;
  }
};
struct Inc {
  static constexpr bool kFloat = false;
  template <class T>
  static T apply(T old, T value) {
    return old >= value ? 0 : old + 1;
  }
};
struct Dec {
  static constexpr bool kFloat = false;
  template <class T>
  static T apply(T old, T value) {
    return old == 0 || old > value ? value : old - 1;
  }
};
struct AddF32 {
  static constexpr bool kFloat = true;
  static std::uint32_t apply(std::uint32_t old, std::uint32_t value) {
    return std::bit_cast<std::uint32_t>(std::bit_cast<float>(old) + std::bit_cast<float>(value));
  }
};
struct AddF64 {
  static constexpr bool kFloat = true;
  static std::uint64_t apply(std::uint64_t old, std::uint64_t value) {
    return std::bit_cast<std::uint64_t>(std::bit_cast<double>(old) + std::bit_cast<double>(value));
  }
};
struct MinF64 {
  static constexpr bool kFloat = true;
  static std::uint64_t apply(std::uint64_t old, std::uint64_t value) {
    return std::bit_cast<double>(value) < std::bit_cast<double>(old) ? value : old;
  }
};
struct MaxF64 {
  static constexpr bool kFloat = true;
  static std::uint64_t apply(std::uint64_t old, std::uint64_t value) {
    return std::bit_cast<double>(value) > std::bit_cast<double>(old) ? value : old;
  }
};

/// Both halves; a sum of two f16 or bf16 is exact enough in f32 that rounding it once more changes nothing.
template <std::uint16_t (*Sum)(std::uint16_t, std::uint16_t)>
struct AddPairs {
  static constexpr bool kFloat = true;
  static std::uint32_t apply(std::uint32_t old, std::uint32_t value) {
    const auto half = [&](unsigned shift) {
      return static_cast<std::uint32_t>(
          Sum(static_cast<std::uint16_t>(old >> shift), static_cast<std::uint16_t>(value >> shift)));
    };
    return half(0) | half(16) << 16;
  }
};

std::uint16_t sum_f16(std::uint16_t a, std::uint16_t b) {
  return _cvtss_sh(_cvtsh_ss(a) + _cvtsh_ss(b), _MM_FROUND_TO_NEAREST_INT);
}

std::uint16_t sum_bf16(std::uint16_t a, std::uint16_t b) {
  const auto widened = [](std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); };
  const float sum = widened(a) + widened(b);
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(sum);
  if (sum != sum) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <class T>
T lane_value(const LaneValues* rows, unsigned lane) noexcept {
  if constexpr (sizeof(T) == 4)
    return rows[0][lane];
  else
    return rows[0][lane] | static_cast<std::uint64_t>(rows[1][lane]) << 32;
}

template <class Op, class T>
struct Modify {
  static constexpr unsigned kOperands = 1;
  using Type = T;
  using Operation = Op;
  static T run(T& memory, const LaneValues* rows, unsigned lane, bool& changed) noexcept {
    const std::atomic_ref<T> at(memory);
    const T value = lane_value<T>(rows, lane);
    T old = at.load(std::memory_order_relaxed), made = Op::apply(old, value);
    while (!at.compare_exchange_weak(old, made, std::memory_order_acq_rel)) made = Op::apply(old, value);
    changed = made != old;
    return old;
  }
};

/// The data is the new value, then what the old one has to be.
template <class T>
struct CompareSwap {
  static constexpr unsigned kOperands = 2;
  using Type = T;
  using Operation = Swap;
  static T run(T& memory, const LaneValues* rows, unsigned lane, bool& changed) noexcept {
    T old = lane_value<T>(rows + sizeof(T) / 4, lane);
    const T made = lane_value<T>(rows, lane);
    changed = std::atomic_ref<T>(memory).compare_exchange_strong(old, made, std::memory_order_acq_rel) && made != old;
    return old;
  }
};

/// The lanes in order; what memory held, by dword and lane. Returns how many bytes changed.
using OldValues = std::uint32_t[2][kLanes];
using PerformFn = unsigned (*)(const LaneAccess& access, const LaneValues* rows, OldValues& old);
template <class Kind>
unsigned perform(const LaneAccess& access, const LaneValues* rows, OldValues& old) {
  using T = typename Kind::Type;
  unsigned written = 0;
  for_each_lane(access.lanes, [&](unsigned lane) {
    bool changed = false;
    const T value = Kind::run(*reinterpret_cast<T*>(access.address[lane]), rows, lane, changed);
    written += changed ? unsigned{sizeof(T)} : 0;
    old[0][lane] = static_cast<std::uint32_t>(value);
    if constexpr (sizeof(T) == 8) old[1][lane] = static_cast<std::uint32_t>(value >> 32);
  });
  return written;
}

/// What `atomic` must know of an operation: a constant, so that it is compiled once for all of a space.
struct AtomicKind {
  unsigned dwords, operands;
  bool is_float;
  PerformFn perform;
};

template <Space S, bool Checked>
void atomic(Wave& wave, const Inst& inst, const AtomicKind& kind) {
  const unsigned size = kind.dwords * 4;
  const Issued issued = issue<S>(wave);
  const LaneMask exec = wave.exec();
  const unsigned first = inst.src[1].row();
  if (exec == 0 || first + kind.dwords * kind.operands > kVectorRegisters) return;
  note_load<Checked>(wave, inst, issued);
  LaneAccess access;
  if constexpr (S == Space::buffer) {
    const Resource resource = resource_of(wave, inst);
    if (in_scratch_pool(resource.base)) return refuse_scratch_buffer(wave, inst);
    buffer_addresses(wave, inst, resource, size, false, 0, access);
  } else {
    global_addresses(wave, inst, access);
  }
  if constexpr (S == Space::flat) {
    Apertures apertures;
    split_apertures(access, apertures);
    if (apertures.any()) {
      wave.launch->findings.add(Rule::unsupported, wave, inst, std::countr_zero(apertures.shared | apertures.privates),
                                "FLAT atomics on LDS or scratch are not executed");
    }
  }
  require_alignment(wave, inst, access, size);
  const bool sums = kind.is_float && !inst.dst.present();
  admit<Checked>(wave, inst, access, size, {sums ? Access::sum : Access::atomic, issued.vm, nullptr, 0});
  if constexpr (Checked) {
    // Sums are data, not flags: publishing them would only cost.
    if (!sums) wave.launch->order.publish(wave, access.address, access.lanes, false);
  }
  alignas(64) OldValues old = {};
  unsigned written = 0;  // only what changes: a wave that polls with atomics makes no progress
  {
    // The L2 rounds to nearest and keeps denormals whatever MODE says (LLVM:
    // FeatureMemoryAtomicFAddF32DenormalSupport).
    const HostFloatMode saved;
    if (kind.is_float) _mm_setcsr(0x1f80);
    written = kind.perform(access, wave.v + first, old);
  }
  wave.group->stats.atomics += static_cast<unsigned>(std::popcount(access.lanes));
  wave.group->stats.global_written += written;
  if (!inst.dst.present()) return;
  if constexpr (Checked) wave.launch->order.pick_up(wave, access.address, access.lanes, issued.vm);
  for (unsigned part = 0; part < kind.dwords; ++part) put_row(memory_row(wave, inst.dst, part), old[part], exec);
}

template <Space S, class Kind, bool Checked>
void atomic_of(Wave& wave, const Inst& inst) {
  static constexpr AtomicKind kKind{sizeof(typename Kind::Type) / 4, Kind::kOperands, Kind::Operation::kFloat,
                                    &perform<Kind>};
  atomic<S, Checked>(wave, inst, kKind);
}

using U32 = std::uint32_t;
using U64 = std::uint64_t;
template <class Op>
using M32 = Modify<Op, U32>;
template <class Op>
using M64 = Modify<Op, U64>;

#define CKGEN_ATOMIC(suffix, kind) CKGEN_IN_SPACES(atomic_of, "_atomic_" suffix, kind, kCommunicates)
#define CKGEN_ATOMICS(suffix, op) CKGEN_ATOMIC(suffix, M32<op>), CKGEN_ATOMIC(suffix "_x2", M64<op>)

constexpr Semantics kTable[] = {
    CKGEN_ATOMICS("swap", Swap),
    CKGEN_ATOMIC("cmpswap", CompareSwap<U32>),
    CKGEN_ATOMIC("cmpswap_x2", CompareSwap<U64>),
    CKGEN_ATOMICS("add", Add),
    CKGEN_ATOMICS("sub", Sub),
    CKGEN_ATOMICS("smin", SignedMin),
    CKGEN_ATOMICS("umin", Min),
    CKGEN_ATOMICS("smax", SignedMax),
    CKGEN_ATOMICS("umax", Max),
    CKGEN_ATOMICS("and", And),
    CKGEN_ATOMICS("or", Or),
    CKGEN_ATOMICS("xor", Xor),
    CKGEN_ATOMICS("inc", Inc),
    CKGEN_ATOMICS("dec", Dec),
    CKGEN_ATOMIC("add_f32", M32<AddF32>),
    CKGEN_ATOMIC("pk_add_f16", M32<AddPairs<sum_f16>>),
    CKGEN_ATOMIC("pk_add_bf16", M32<AddPairs<sum_bf16>>),
    CKGEN_ATOMIC("add_f64", M64<AddF64>),
    CKGEN_ATOMIC("min_f64", M64<MinF64>),
    CKGEN_ATOMIC("max_f64", M64<MaxF64>),
};

#undef CKGEN_ATOMICS
#undef CKGEN_ATOMIC

}  // namespace

std::span<const Semantics> vector_atomic_semantics() noexcept {
  return kTable;
}

}  // namespace ckgen::emu
