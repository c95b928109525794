// How many bits each member of a signature takes in its key: Signature::pack() and FmhaTraits::pack().
//
// ckgen/families/common/key_bits.py has the same numbers. That every enum fits is asserted in src/signature/key.cpp.
#pragma once

namespace ckgen {
inline namespace v1 {
namespace key_bits {

inline constexpr int flag = 1;
inline constexpr int op = 3;
inline constexpr int dtype = 5;
inline constexpr int layout = 3;
inline constexpr int quant = 4;
inline constexpr int epilogue_op = 3;
inline constexpr int operand_op = 2;
inline constexpr int moe_part = 2;
inline constexpr int scale_block = 3;  // where a size stands in kScaleBlockK or kScaleBlockN
inline constexpr int scale_sides = 2;
inline constexpr int fmha_entry = 1;
inline constexpr int fmha_bias = 2;
inline constexpr int fmha_dropout = 2;
inline constexpr int fmha_quant = 2;
inline constexpr int fmha_kv = 2;
inline constexpr int fmha_kv_layout = 1;
inline constexpr int fmha_rope = 2;

/// A whole key.
inline constexpr int signature = 59;

}  // namespace key_bits
}  // namespace v1
}  // namespace ckgen
