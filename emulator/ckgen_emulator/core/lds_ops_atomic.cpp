// Atomics, with and without a result. Source: the pseudocode in CDNA3 ISA, 12.13 "LDS Instructions".
// They must be aligned by their size whatever the alignment mode (CDNA3 ISA, 11.1).
#include <xmmintrin.h>

#include <bit>
#include <type_traits>

#include "float_mode.hpp"
#include "formats.hpp"
#include "lds_access.hpp"
#include "lds_ops.hpp"

namespace ckgen::emu {
namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;
using I32 = std::int32_t;
using I64 = std::int64_t;

// Each: what memory holds, DATA and DATA2 to what it will hold.
template <class T>
struct Add {
  static T next(T old, T data, T) { return static_cast<T>(old + data); }
};
template <class T>
struct Subtract {
  static T next(T old, T data, T) { return static_cast<T>(old - data); }
};
template <class T>
struct ReverseSubtract {
  static T next(T old, T data, T) { return static_cast<T>(data - old); }
};
template <class T>
struct Increment {
  static T next(T old, T data, T) { return old >= data ? 0 : old + 1; }
};
template <class T>
struct Decrement {
  static T next(T old, T data, T) { return old == 0 || old > data ? data : old - 1; }
};
template <class T>
struct Minimum {
  static T next(T old, T data, T) { return data < old ? data : old; }
};
template <class T>
struct Maximum {
  static T next(T old, T data, T) { return data > old ? data : old; }
};
template <class T>
struct And {
  static T next(T old, T data, T) { return old & data; }
};
template <class T>
struct Or {
  static T next(T old, T data, T) { return old | data; }
};
template <class T>
struct Xor {
  static T next(T old, T data, T) { return old ^ data; }
};
template <class T>
struct MaskedOr {
  static T next(T old, T data, T data2) { return (old & ~data) | data2; }
};
template <class T>
struct Exchange {
  static T next(T, T data, T) { return data; }
};
template <class T>
struct CompareStore {
  static T next(T old, T data, T data2) { return old == data ? data2 : old; }
};
template <class T>
struct Wrap {
  static T next(T old, T data, T data2) { return old >= data ? old - data : old + data2; }
};
/// Two dwords, each exchanged where DATA's has its top bit set.
template <class T>
struct ConditionalExchange {
  static T next(T old, T data, T) {
    const auto half = [](T was, T now) { return (now >> 31 & 1) != 0 ? now & 0x7fff'ffff : was & 0xffff'ffff; };
    return half(old, data) | half(old >> 32, data >> 32) << 32;
  }
};
/// The sum of two numbers of 11 or 8 bits' precision, rounded to 24 and then to 11 or 8, is the same as rounded once.
template <class T>
struct AddHalves {
  static T next(T old, T data, T) {
    const auto half = [](T a, T b) -> T {
      return f32_to_f16(f16_to_f32(static_cast<std::uint16_t>(a)) + f16_to_f32(static_cast<std::uint16_t>(b)));
    };
    return half(old, data) | half(old >> 16, data >> 16) << 16;
  }
};
template <class T>
struct AddBrains {
  static T next(T old, T data, T) {
    const auto half = [](T a, T b) -> T {
      return f32_to_bf16(bf16_to_f32(static_cast<std::uint16_t>(a)) + bf16_to_f32(static_cast<std::uint16_t>(b)));
    };
    return half(old, data) | half(old >> 16, data >> 16) << 16;
  }
};

template <class T>
T from_rows(const Wave& wave, const Operand& operand, unsigned lane) noexcept {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(lds_row(wave, operand, 0)[lane]);
  } else {
    return std::bit_cast<T>(lds_row(wave, operand, 0)[lane] | static_cast<U64>(lds_row(wave, operand, 1)[lane]) << 32);
  }
}

template <class T>
void to_rows(const Wave& wave, const Operand& operand, unsigned part, unsigned lane, T value) noexcept {
  if constexpr (sizeof(T) == 4) {
    lds_row(wave, operand, part)[lane] = std::bit_cast<U32>(value);
  } else {
    const U64 bits = std::bit_cast<U64>(value);
    lds_row(wave, operand, part)[lane] = static_cast<U32>(bits);
    lds_row(wave, operand, part + 1)[lane] = static_cast<U32>(bits >> 32);
  }
}

/// f64 and the 16-bit formats follow MODE's other fields than f32, which the loop has set.
template <class T, template <class> class Operation>
constexpr bool kOtherMode = std::is_same_v<T, double> || std::is_same_v<Operation<U32>, AddHalves<U32>> ||
                            std::is_same_v<Operation<U32>, AddBrains<U32>>;

/// The lanes of one place, in order; what was there goes to `part` of the destination.
template <class T, template <class> class Operation, bool Checked>
void perform(Wave& wave, const Inst& inst, const LdsPlace<Checked>& place, const Operand& data, const Operand& data2,
             unsigned part) {
  if constexpr (Checked) lds_aligned(wave, inst, place.at(), place.lanes(), sizeof(T));
  std::uint8_t* bytes = wave.group->lds.bytes.data();
  const unsigned mode = _mm_getcsr();
  if constexpr (kOtherMode<T, Operation>) {
    Mode other = wave.mode;
    // The sums of 16-bit numbers are exact or rounded in f32 without a denormal in sight.
    other.denormals_f32 = std::is_same_v<T, double> ? wave.mode.denormals_f16_f64 : 3;
    other.round_f32 = wave.mode.round_f16_f64;
    _mm_setcsr(mxcsr_of(other));
  }
  for (LaneMask left = wave.exec(); left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    T old{};
    if ((place.lanes() >> lane & 1) != 0) {
      std::memcpy(&old, bytes + place.at()[lane], sizeof old);
      const T second = data2.present() ? from_rows<T>(wave, data2, lane) : T{};
      const T made = Operation<T>::next(old, from_rows<T>(wave, data, lane), second);
      std::memcpy(bytes + place.at()[lane], &made, sizeof made);
    }
    if (inst.dst.present()) to_rows(wave, inst.dst, part, lane, old);
  }
  if constexpr (kOtherMode<T, Operation>) _mm_setcsr(mode);
}

template <bool Checked, class T, template <class> class Operation>
void atomic(Wave& wave, const Inst& inst) {
  const std::uint32_t number = lds_issue<Checked>(wave, inst);
  const auto offset = static_cast<std::uint32_t>(inst.offset);
  const LdsPlace<Checked> place(wave, inst, offset, Touch::atomic, sizeof(T), number);
  perform<T, Operation, Checked>(wave, inst, place, inst.src[1], inst.src[2], 0);
}

/// Two exchanges, offsets in units of the element or of 64 of them.
template <bool Checked, class T, unsigned Elements>
void exchange2(Wave& wave, const Inst& inst) {
  constexpr std::uint32_t kUnit = sizeof(T) * Elements;
  const std::uint32_t number = lds_issue<Checked>(wave, inst);
  const LdsPlace<Checked> first(wave, inst, static_cast<std::uint32_t>(inst.offset) * kUnit, Touch::atomic, sizeof(T),
                                number);
  const LdsPlace<Checked> second(wave, inst, inst.offset1 * kUnit, Touch::atomic, sizeof(T), number);
  // The destination may be the second operand's registers.
  T data2[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) data2[lane] = from_rows<T>(wave, inst.src[2], lane);
  perform<T, Exchange, Checked>(wave, inst, first, inst.src[1], {}, 0);
  if constexpr (Checked) lds_aligned(wave, inst, second.at(), second.lanes(), sizeof(T));
  std::uint8_t* bytes = wave.group->lds.bytes.data();
  for (LaneMask left = wave.exec(); left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    T old{};
    if ((second.lanes() >> lane & 1) != 0) {
      std::memcpy(&old, bytes + second.at()[lane], sizeof old);
      std::memcpy(bytes + second.at()[lane], &data2[lane], sizeof old);
    }
    to_rows(wave, inst.dst, sizeof(T) / 4, lane, old);
  }
}

#define ONE(name, T, Operation) {name, atomic<false, T, Operation>, atomic<true, T, Operation>, 0}
#define BOTH(stem, type, T, Operation) \
  ONE("ds_" stem "_" type, T, Operation), ONE("ds_" stem "_rtn_" type, T, Operation)

constexpr Semantics kAtomics[] = {
    BOTH("add", "u32", U32, Add),
    BOTH("add", "u64", U64, Add),
    BOTH("sub", "u32", U32, Subtract),
    BOTH("sub", "u64", U64, Subtract),
    BOTH("rsub", "u32", U32, ReverseSubtract),
    BOTH("rsub", "u64", U64, ReverseSubtract),
    BOTH("inc", "u32", U32, Increment),
    BOTH("inc", "u64", U64, Increment),
    BOTH("dec", "u32", U32, Decrement),
    BOTH("dec", "u64", U64, Decrement),
    BOTH("min", "i32", I32, Minimum),
    BOTH("min", "i64", I64, Minimum),
    BOTH("max", "i32", I32, Maximum),
    BOTH("max", "i64", I64, Maximum),
    BOTH("min", "u32", U32, Minimum),
    BOTH("min", "u64", U64, Minimum),
    BOTH("max", "u32", U32, Maximum),
    BOTH("max", "u64", U64, Maximum),
    BOTH("and", "b32", U32, And),
    BOTH("and", "b64", U64, And),
    BOTH("or", "b32", U32, Or),
    BOTH("or", "b64", U64, Or),
    BOTH("xor", "b32", U32, Xor),
    BOTH("xor", "b64", U64, Xor),
    BOTH("mskor", "b32", U32, MaskedOr),
    BOTH("mskor", "b64", U64, MaskedOr),
    BOTH("cmpst", "b32", U32, CompareStore),
    BOTH("cmpst", "b64", U64, CompareStore),
    BOTH("cmpst", "f32", float, CompareStore),
    BOTH("cmpst", "f64", double, CompareStore),
    BOTH("min", "f32", float, Minimum),
    BOTH("min", "f64", double, Minimum),
    BOTH("max", "f32", float, Maximum),
    BOTH("max", "f64", double, Maximum),
    BOTH("add", "f32", float, Add),
    BOTH("add", "f64", double, Add),
    BOTH("pk_add", "f16", U32, AddHalves),
    BOTH("pk_add", "bf16", U32, AddBrains),
    ONE("ds_wrxchg_rtn_b32", U32, Exchange),
    ONE("ds_wrxchg_rtn_b64", U64, Exchange),
    ONE("ds_wrap_rtn_b32", U32, Wrap),
    ONE("ds_condxchg32_rtn_b64", U64, ConditionalExchange),
    {"ds_wrxchg2_rtn_b32", exchange2<false, U32, 1>, exchange2<true, U32, 1>, 0},
    {"ds_wrxchg2_rtn_b64", exchange2<false, U64, 1>, exchange2<true, U64, 1>, 0},
    {"ds_wrxchg2st64_rtn_b32", exchange2<false, U32, 64>, exchange2<true, U32, 64>, 0},
    {"ds_wrxchg2st64_rtn_b64", exchange2<false, U64, 64>, exchange2<true, U64, 64>, 0},
};

#undef BOTH
#undef ONE

}  // namespace

std::span<const Semantics> lds_atomic_semantics() noexcept {
  return kAtomics;
}

}  // namespace ckgen::emu
