#include "op_table.hpp"

#include <optional>

#include "words.hpp"

namespace ckgen::emu {
namespace {

template <class Value>
using Names = std::pair<std::string_view, Value>;

constexpr Names<Format> kFormatNames[] = {
    {"SOP1", Format::sop1},       {"SOP2", Format::sop2},          {"SOPC", Format::sopc},     {"SOPK", Format::sopk},
    {"SOPP", Format::sopp},       {"SMEM", Format::smem},          {"VOP1", Format::vop1},     {"VOP2", Format::vop2},
    {"VOPC", Format::vopc},       {"VOP3", Format::vop3},          {"VOP3SD", Format::vop3sd}, {"VOP3P", Format::vop3p},
    {"VOP3P_MFMA", Format::mfma}, {"VOP3PX2", Format::mfma_scale}, {"DS", Format::ds},         {"FLAT", Format::flat},
    {"GLOBAL", Format::global},   {"SCRATCH", Format::scratch},    {"MUBUF", Format::mubuf},   {"MTBUF", Format::mtbuf},
};

constexpr Names<Field> kFieldNames[] = {
    {"vdst", Field::vdst},
    {"vdata", Field::vdst},
    {"sdst", Field::sdst},
    {"src0", Field::src0},
    {"ssrc0", Field::src0},
    {"src1", Field::src1},
    {"vsrc1", Field::src1},
    {"ssrc1", Field::src1},
    {"src2", Field::src2},
    {"addr", Field::addr},
    {"vaddr", Field::addr},
    {"data", Field::data0},
    {"data0", Field::data0},
    {"data1", Field::data1},
    {"saddr", Field::saddr},
    {"sbase", Field::sbase},
    {"sdata", Field::sdata},
    {"soffset", Field::soffset},
    {"srsrc", Field::srsrc},
    {"scale_src0", Field::scale_src0},
    {"scale_src1", Field::scale_src1},
    {"simm16", Field::simm16},
};

constexpr Names<Number> kNumberNames[] = {
    {"num_i64", Number::i64},       {"num_f16", Number::f16},          {"num_bf16", Number::bf16},
    {"num_f32", Number::f32},       {"num_f64", Number::f64},          {"num_pk2_f16", Number::pk_f16},
    {"num_pk_f16", Number::pk_f16}, {"num_pk2_bf16", Number::pk_bf16}, {"num_pk2_f32", Number::pk_f32},
    {"num_pk4_f32", Number::f32},   {"num_pk16_f32", Number::f32},     {"num_pk32_f32", Number::f32},
    {"num_pk4_f64", Number::f64},
};

template <class Value, std::size_t N>
std::optional<Value> named(const Names<Value> (&names)[N], std::string_view name) {
  for (const auto& [known, value] : names) {
    if (known == name) return value;
  }
  return std::nullopt;
}

bool operand(std::string_view word, OpInfo& op) {
  const std::optional<Field> field = named(kFieldNames, cut(word, ':'));
  const std::string_view type = cut(word, ':');
  OperandShape shape;
  if (!field || !number(word, shape.bits)) return false;
  shape.number = named(kNumberNames, type).value_or(Number::bits);
  op.fields[static_cast<std::size_t>(*field)] = shape;
  return true;
}

constexpr std::uint16_t kBufferCacheControl = 41;

std::uint32_t key(Format format, std::uint16_t number) {
  return static_cast<std::uint32_t>(format) << 16 | number;
}

}  // namespace

std::string_view format_name(Format format) noexcept {
  for (const auto& [name, known] : kFormatNames) {
    if (known == format) return name;
  }
  return "";
}

OpTable OpTable::parse(std::string_view text, std::string& error) {
  OpTable table;
  for (std::size_t line_number = 2; !text.empty(); ++line_number) {
    std::string_view line = cut(text, '\n');
    if (line.empty()) continue;
    const std::string_view whole = line;
    OpInfo op{};
    const std::optional<Format> format = named(kFormatNames, cut(line, ' '));
    bool good = format && number(cut(line, ' '), op.number);
    op.name = cut(line, ' ');
    while (good && !line.empty()) good = operand(cut(line, ' '), op);
    if (!good || op.name.empty()) {
      error = "opcode table, line " + std::to_string(line_number) + ": " + std::string(whole);
      return {};
    }
    op.format = *format;
    op.hazard = hazard_class(op.format, op.name);
    table.index_[key(op.format, op.number)] = table.ops_.size();
    table.ops_.push_back(std::move(op));
  }
  const OpInfo* cache = table.find(Format::mubuf, kBufferCacheControl);
  const bool older = cache != nullptr && cache->name == "buffer_invl2";
  for (OpInfo& op : table.ops_) op.older_cache_bits = older;
  return table;
}

bool has_two_offsets(const OpInfo& op) noexcept {
  const std::string_view name = op.name;
  return op.format == Format::ds &&
         (name.starts_with("ds_read2") || name.starts_with("ds_write2") || name.starts_with("ds_wrxchg2"));
}

const OpInfo* OpTable::find(Format format, std::uint16_t number) const noexcept {
  const auto found = index_.find(key(format, number));
  return found == index_.end() ? nullptr : &ops_[found->second];
}

}  // namespace ckgen::emu
