// v_cmp and v_cmpx: a lane mask; cmpx sets EXEC to it too.
#include <cstring>
#include <vector>

#include "vector_parts.hpp"

namespace ckgen::emu {
namespace {

using U = std::uint32_t;

/// Relations as sets of outcomes.
enum Outcome : unsigned { kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8 };

void finish(Wave& wave, const Inst& inst, const Row<std::uint8_t>& flags) noexcept {
  const LaneMask mask = mask_of(flags) & wave.exec();
  write_mask(wave, inst.sdst, mask);
  if (inst.op->name[5] == 'x') wave.set_pair(kExecLo, mask);  // v_cmpx_…
}

/// An operand type: `Value` of a lane, and how a source becomes a row of them.
struct Half {
  using Value = float;
  static void read(const Wave& wave, const Inst& inst, unsigned index, Row<float>& out) noexcept {
    read_f16(wave, inst, index, out);
  }
};
struct Single {
  using Value = float;
  static void read(const Wave& wave, const Inst& inst, unsigned index, Row<float>& out) noexcept {
    Row<U> bits;  // with denormals flushed where MODE says so
    read_f32_bits(wave, inst, index, bits);
    std::memcpy(&out, &bits, sizeof out);
  }
};
struct Double {
  using Value = double;
  static void read(const Wave& wave, const Inst& inst, unsigned index, Row<double>& out) noexcept {
    read_f64(wave, inst, index, out);
  }
};
template <class Int>
struct Integer {
  using Value = Int;
  static void read(const Wave& wave, const Inst& inst, unsigned index, Row<Int>& out) noexcept {
    if constexpr (sizeof(Int) == 8) {
      Row<std::uint64_t> bits;
      read_u64(wave, inst, index, bits);
      std::memcpy(&out, &bits, sizeof out);
    } else {
      const Lanes from(wave, inst, index);
      const unsigned shift = sizeof(Int) == 2 ? (inst.op_sel >> index & 1) * 16u : 0;
      for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = static_cast<Int>(from[lane] >> shift);
    }
  }
};

/// NaNs fail every comparison, and so pass those that are written as the opposite of one.
template <unsigned Wanted, class Value>
[[gnu::noinline]] void compare_lanes(const Row<Value>& a, const Row<Value>& b, Row<std::uint8_t>& flags) noexcept {
  constexpr bool kNegated = (Wanted & kUnordered) != 0;
  constexpr unsigned kSet = kNegated ? ~Wanted & 7 : Wanted;  // a comparison that NaNs fail
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const Value x = a[lane], y = b[lane];
    bool holds = false;
    if constexpr (kSet == kLess) holds = x < y;
    if constexpr (kSet == kEqual) holds = x == y;
    if constexpr (kSet == (kLess | kEqual)) holds = x <= y;
    if constexpr (kSet == kGreater) holds = x > y;
    if constexpr (kSet == (kLess | kGreater)) holds = x < y || x > y;
    if constexpr (kSet == (kGreater | kEqual)) holds = x >= y;
    if constexpr (kSet == (kLess | kEqual | kGreater)) holds = x == x && y == y;
    flags[lane] = holds != kNegated;
  }
}

template <class Type, unsigned Wanted>
void compare(Wave& wave, const Inst& inst) {
  Row<typename Type::Value> a, b;
  Type::read(wave, inst, 0, a);
  Type::read(wave, inst, 1, b);
  Row<std::uint8_t> flags;
  if constexpr (std::is_floating_point_v<typename Type::Value>) {
    const FloatScope scope(kNearest);  // the sources are flushed already
    compare_lanes<Wanted>(a, b, flags);
  } else {
    compare_lanes<Wanted>(a, b, flags);
  }
  finish(wave, inst, flags);
}

/// Which of ten classes: signalling and quiet NaN, then -infinity, -normal, -denormal, -0, +0, +denormal, +normal,
/// +infinity. Denormals are seen as such whatever MODE says.
template <class F>
constexpr U class_bit(typename F::Word value) noexcept {
  const bool negative = (value & F::kSign) != 0;
  const auto magnitude = value & ~F::kSign;
  const bool infinite = magnitude == F::kInfinity, denormal = (magnitude & F::kInfinity) == 0 && magnitude != 0;
  const U rank = infinite ? 3 : magnitude == 0 ? 0 : denormal ? 1 : 2;
  const U number = negative ? 5 - rank : 6 + rank;
  return 1u << (is_nan<F>(value) ? (is_signalling<F>(value) ? 0 : 1) : number);
}

template <class F>
void class_of(Wave& wave, const Inst& inst) {
  using Word = typename F::Word;
  Row<Word> a;
  if constexpr (sizeof(Word) == 8) {
    read_u64(wave, inst, 0, a);
  } else {
    const Lanes from(wave, inst, 0);
    const bool half = std::is_same_v<F, F16>;
    const unsigned shift = half ? (inst.op_sel & 1) * 16u : 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) a[lane] = half ? from[lane] >> shift & 0xffff : from[lane];
  }
  const Word keep = (inst.abs & 1) != 0 ? static_cast<Word>(~F::kSign) : static_cast<Word>(~Word{0});
  const Word flip = (inst.neg & 1) != 0 ? F::kSign : 0;
  const Lanes wanted(wave, inst, 1);
  Row<std::uint8_t> flags;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    flags[lane] = (class_bit<F>((a[lane] & keep) ^ flip) & wanted[lane]) != 0;
  }
  finish(wave, inst, flags);
}

struct Relation {
  std::string_view name;
  unsigned wanted;
};
constexpr Relation kOfFloats[] = {
    {"f", 0}, {"lt", 1},  {"eq", 2},   {"le", 3},   {"gt", 4},   {"lg", 5},   {"ge", 6},   {"o", 7},
    {"u", 8}, {"nge", 9}, {"nlg", 10}, {"ngt", 11}, {"nle", 12}, {"neq", 13}, {"nlt", 14}, {"tru", 15},
};
constexpr Relation kOfIntegers[] = {{"f", 0},  {"lt", 1}, {"eq", 2}, {"le", 3},
                                    {"gt", 4}, {"ne", 5}, {"ge", 6}, {"t", 15}};

/// One per set of outcomes.
template <class Type, std::size_t... Wanted>
constexpr std::array<Handler, sizeof...(Wanted)> handlers(std::index_sequence<Wanted...>) noexcept {
  return {compare<Type, Wanted>...};
}

/// The opcodes' table and the names that it points to.
struct Table {
  std::vector<std::string> names;
  std::vector<Semantics> all;

  void add(std::string_view relation, std::string_view type, Handler run) {
    for (const std::string_view prefix : {"v_cmp_", "v_cmpx_"}) {
      names.push_back(std::string(prefix).append(relation).append("_").append(type));
      all.push_back(plain_semantics(names.back(), run));
    }
  }
  template <class Type>
  void add_all(std::string_view type, std::span<const Relation> relations) {
    constexpr auto kHandlers = handlers<Type>(std::make_index_sequence<16>());
    for (const Relation& one : relations) add(one.name, type, kHandlers[one.wanted]);
  }

  Table() {
    names.reserve(256);  // views into it must stay valid
    add_all<Half>("f16", kOfFloats);
    add_all<Single>("f32", kOfFloats);
    add_all<Double>("f64", kOfFloats);
    add_all<Integer<std::int16_t>>("i16", kOfIntegers);
    add_all<Integer<std::uint16_t>>("u16", kOfIntegers);
    add_all<Integer<std::int32_t>>("i32", kOfIntegers);
    add_all<Integer<std::uint32_t>>("u32", kOfIntegers);
    add_all<Integer<std::int64_t>>("i64", kOfIntegers);
    add_all<Integer<std::uint64_t>>("u64", kOfIntegers);
    add("class", "f16", class_of<F16>);
    add("class", "f32", class_of<F32>);
    add("class", "f64", class_of<F64>);
  }
};

}  // namespace

std::span<const Semantics> compare_semantics() noexcept {
  static const Table table;
  return table.all;
}

}  // namespace ckgen::emu
