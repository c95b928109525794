// What text.cpp is made of: one line of assembly that grows, and the names of operands.
#pragma once

#include <string>
#include <string_view>

#include "inst.hpp"

namespace ckgen::emu {

/// Operands are separated by commas, modifiers by spaces.
class Line {
 public:
  explicit Line(std::string mnemonic) : text_(std::move(mnemonic)) {}

  void operand(std::string_view text);
  void modifier(std::string_view text);
  void flag(bool set, std::string_view text) {
    if (set) modifier(text);
  }
  /// ` name:value`; nothing if it is 0, which every modifier of the assembler is by default.
  void number(std::string_view name, std::int64_t value);
  /// ` name:[1,0,…]`, the `count` lowest bits of `bits`; nothing if they are `normal`.
  void bits(std::string_view name, unsigned bits, unsigned count, unsigned normal = 0);
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  bool first_ = true;
};

std::string hex(std::uint64_t value);

/// `s[2:3]`, `vcc`, `v7`, `a[0:15]`, `src_scc`, `1.0`, `-4`, or the literal.
std::string operand_text(const Operand& operand, std::uint32_t literal);

/// Operands and modifiers of SMEM, DS, FLAT, GLOBAL, SCRATCH, MUBUF and MTBUF.
void memory_text(Line& line, const Inst& inst);

/// Of SOP1, SOP2, SOPC, SOPK and SOPP.
void scalar_text(Line& line, const Inst& inst);

}  // namespace ckgen::emu
