// The opcodes of one arch: what each is called and which registers its operands take.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hazard_class.hpp"

namespace ckgen::emu {

enum class Format : std::uint8_t {
  sop1,
  sop2,
  sopc,
  sopk,
  sopp,
  smem,
  vop1,
  vop2,
  vopc,
  vop3,
  vop3sd,
  vop3p,
  mfma,
  mfma_scale,
  ds,
  flat,
  global,
  scratch,
  mubuf,
  mtbuf,
};
constexpr std::size_t kFormats = 20;

/// As the table's lines begin: "VOP3P_MFMA".
std::string_view format_name(Format format) noexcept;

/// How an inline constant is widened for an operand, and what neg and abs mean there.
enum class Number : std::uint8_t { bits, f16, bf16, f32, f64, pk_f16, pk_bf16, pk_f32, i64 };

/// An operand as the table gives it; bits 0: the opcode does not have it.
struct OperandShape {
  std::uint16_t bits = 0;
  Number number = Number::bits;
};

/// The operand fields that any format names.
enum class Field : std::uint8_t {
  vdst,
  sdst,
  src0,
  src1,
  src2,
  addr,
  data0,
  data1,
  saddr,
  sbase,
  sdata,
  soffset,
  srsrc,
  scale_src0,
  scale_src1,
  simm16,
};
constexpr std::size_t kFields = 16;

struct OpInfo {
  Format format;
  std::uint16_t number;
  std::string name;
  std::array<OperandShape, kFields> fields;
  bool older_cache_bits = false;  // gfx90a's assembler calls them glc, slc and scc
  HazardClass hazard{};

  const OperandShape& operator[](Field field) const noexcept { return fields[static_cast<std::size_t>(field)]; }
};

/// Whether a DS opcode has two offsets of 8 bits, in elements, instead of one of 16 bits.
bool has_two_offsets(const OpInfo& op) noexcept;

/// Immutable once read. Thread-safe.
class OpTable {
 public:
  /// Lines, from a table's second on, `FORMAT number mnemonic field:type:bits…`; empty `error` on success, else what is
  /// wrong with which line.
  static OpTable parse(std::string_view text, std::string& error);

  /// Null for an opcode that the arch does not have.
  const OpInfo* find(Format format, std::uint16_t number) const noexcept;
  const std::vector<OpInfo>& all() const noexcept { return ops_; }

 private:
  std::vector<OpInfo> ops_;
  std::unordered_map<std::uint32_t, std::size_t> index_;
};

}  // namespace ckgen::emu
