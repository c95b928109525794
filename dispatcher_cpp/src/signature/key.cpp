#include "src/signature/key.hpp"

#include <algorithm>
#include <string_view>

namespace ckgen::inline v1::detail {
namespace {

/// Whether a value is an enumerator: GCC and clang print any other as a cast, "(ckgen::Op)7".
template <auto Value>
constexpr bool is_enumerator() noexcept {
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  return text.find("Value = (") == std::string_view::npos;
}
static_assert(is_enumerator<Op::fmha>() && !is_enumerator<static_cast<Op>(0xff)>());

/// Enumerators count from 0 without gaps: all fit where the first value that does not fit is none.
#define CKGEN_FITS(Enum, bits)                                            \
  static_assert(!is_enumerator<static_cast<Enum>(1 << key_bits::bits)>(), \
                #Enum " has more enumerators than key_bits::" #bits " holds: keys of signatures would collide")

CKGEN_FITS(Op, op);
CKGEN_FITS(DType, dtype);
CKGEN_FITS(Layout, layout);
CKGEN_FITS(Quant, quant);
CKGEN_FITS(EpilogueOp, epilogue_op);
CKGEN_FITS(OperandOp, operand_op);
CKGEN_FITS(MoePart, moe_part);
CKGEN_FITS(ScaleSides, scale_sides);
CKGEN_FITS(FmhaEntry, fmha_entry);
CKGEN_FITS(FmhaBias, fmha_bias);
CKGEN_FITS(FmhaDropout, fmha_dropout);
CKGEN_FITS(FmhaQuant, fmha_quant);
CKGEN_FITS(FmhaKv, fmha_kv);
CKGEN_FITS(FmhaKvLayout, fmha_kv_layout);
CKGEN_FITS(FmhaRope, fmha_rope);
#undef CKGEN_FITS
static_assert(kNoScaleBlock < 1 << key_bits::scale_block);
static_assert(2 * key_bits::flag + key_bits::moe_part <= 2 * key_bits::operand_op, "MoE traits stand in their place");

constexpr int kTypes = key_bits::op + 5 * key_bits::dtype;
constexpr int kPlain = key_bits::layout + key_bits::quant + 3 * key_bits::flag;
constexpr int kExtras = key_bits::scale_sides + 2 * key_bits::scale_block + 2 * key_bits::operand_op +
                        kMaxEpilogueOps * key_bits::epilogue_op;
constexpr int kTraits = key_bits::fmha_entry + 6 * key_bits::flag + key_bits::fmha_bias + key_bits::fmha_dropout +
                        key_bits::fmha_quant + key_bits::fmha_kv + key_bits::fmha_kv_layout + key_bits::fmha_rope;
static_assert(std::max(kExtras, kTraits) + kTypes + kPlain == key_bits::signature,
              "key_bits::signature is the sum of what pack() writes");

/// Takes fields from a key's low end, the last that was packed first.
class Taken {
 public:
  explicit constexpr Taken(std::uint64_t key) noexcept : rest_(key) {}

  constexpr std::uint64_t field(int bits) noexcept {
    const std::uint64_t value = rest_ & ((std::uint64_t{1} << bits) - 1);
    rest_ >>= bits;
    return value;
  }
  constexpr bool flag() noexcept { return field(key_bits::flag) != 0; }
  template <class Enum>
  constexpr void into(Enum& out, int bits) noexcept {
    out = static_cast<Enum>(field(bits));
  }
  /// The field that was packed first has all that is left: what its bits do not hold is none of its values.
  template <class Enum>
  constexpr void last_into(Enum& out) noexcept {
    out = static_cast<Enum>(std::min<std::uint64_t>(rest_, 0xff));
  }

 private:
  std::uint64_t rest_;
};

/// The size of a scale block with that code; 0, which is none, where there is no such code.
template <int N>
std::uint8_t size_of(const std::uint8_t (&sizes)[N], std::uint64_t code) noexcept {
  return code < N ? sizes[code] : std::uint8_t{0};
}

void take_traits(Taken& key, FmhaTraits& traits) noexcept {
  key.into(traits.rope, key_bits::fmha_rope);
  key.into(traits.kv_layout, key_bits::fmha_kv_layout);
  key.into(traits.kv, key_bits::fmha_kv);
  key.into(traits.quant, key_bits::fmha_quant);
  key.into(traits.dropout, key_bits::fmha_dropout);
  key.into(traits.bias, key_bits::fmha_bias);
  for (bool* const flag :
       {&traits.lse, &traits.sink, &traits.softcap, &traits.masked, &traits.v_column, &traits.varlen})
    *flag = key.flag();
  key.last_into(traits.entry);
}

void take_extras(Taken& key, Signature& s) noexcept {
  for (int i = kMaxEpilogueOps; i-- > 0;) key.into(s.epilogue.ops[i], key_bits::epilogue_op);
  if (s.op == Op::moe) {
    s.moe.weight_first = key.flag();
    s.moe.gated = key.flag();
    key.into(s.moe.part, key_bits::moe_part);
  } else {
    key.into(s.b_op, key_bits::operand_op);
    key.into(s.a_op, key_bits::operand_op);
  }
  s.scale_block.n = size_of(kScaleBlockN, key.field(key_bits::scale_block));
  s.scale_block.k = size_of(kScaleBlockK, key.field(key_bits::scale_block));
  key.last_into(s.scale_block.sides);
}

}  // namespace

Signature unpack(std::uint64_t packed) noexcept {
  Signature s;
  Taken key(packed);
  s.bias = key.flag();
  s.batched = key.flag();
  s.preshuffle_b = key.flag();
  key.into(s.quant, key_bits::quant);
  key.into(s.layout, key_bits::layout);
  for (DType* const type : {&s.scale, &s.acc, &s.c, &s.b, &s.a}) key.into(*type, key_bits::dtype);
  key.into(s.op, key_bits::op);
  if (s.op == Op::fmha) {
    take_traits(key, s.fmha);
  } else {
    take_extras(key, s);
  }
  return s;
}

}  // namespace ckgen::inline v1::detail
