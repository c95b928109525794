#include "hazard_class.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "op_table.hpp"

namespace ckgen::emu {
namespace {

using Kind = HazardClass::Kind;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

template <std::size_t N>
bool one_of(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// CDNA3 ISA, table "Trans Ops".
constexpr std::string_view kTrans[] = {
    "v_exp_f32",  "v_log_f32",  "v_rcp_f32", "v_rcp_iflag_f32", "v_rsq_f32",        "v_rcp_f64",        "v_rsq_f64",
    "v_sqrt_f32", "v_sqrt_f64", "v_sin_f32", "v_cos_f32",       "v_rcp_f16",        "v_sqrt_f16",       "v_rsq_f16",
    "v_log_f16",  "v_exp_f16",  "v_sin_f16", "v_cos_f16",       "v_exp_legacy_f32", "v_log_legacy_f32",
};

/// Rows, columns and depth of a matrix opcode: "v_mfma_f32_32x32x8_f16".
struct Shape {
  unsigned rows = 0, depth = 0;
};

Shape shape_of(std::string_view name) {
  const std::size_t first = name.find('x');
  const std::size_t second = name.find('x', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return {};
  Shape shape;
  std::size_t begin = first;
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  std::from_chars(name.data() + begin, name.data() + first, shape.rows);
  std::from_chars(name.data() + second + 1, name.data() + name.size(), shape.depth);
  return shape;
}

/// CDNA3 ISA 7.5, the notes on passes; LLVM's SISchedule.td has the same by opcode. f64 16x16 takes 16 on gfx950.
std::uint8_t passes_of(std::string_view name) {
  const Shape shape = shape_of(name);
  if (contains(name, "f64_")) return shape.rows == 4 ? 4 : 8;
  if (name.starts_with("v_smfmac")) return shape.rows == 16 ? 4 : 8;
  if (shape.rows == 4) return 2;
  if (shape.rows == 16) return shape.depth >= 8 ? 4 : 8;
  return shape.depth >= 8 || contains(name, "xf32") ? 8 : 16;
}

std::uint8_t older_passes_of(std::string_view name) {
  const Shape shape = shape_of(name);
  if (contains(name, "f64_")) return shape.rows == 4 ? 4 : 8;
  return shape.rows == 4 ? 2 : shape.rows == 16 ? 8 : 16;
}

HazardClass matrix_class(std::string_view name) {
  HazardClass found{Kind::valu | Kind::mfma, passes_of(name), older_passes_of(name)};
  if (name.starts_with("v_smfmac")) found.kinds |= Kind::smfmac;
  if (contains(name, "f8f6f4")) found.kinds |= Kind::f8f6f4;
  if (contains(name, "mfma_f64_")) found.kinds |= Kind::dgemm;
  const bool single = name.ends_with("f32") && !name.ends_with("xf32");  // of the sources: "…_32x32x2_f32"
  if (single) found.kinds |= Kind::sgemm;
  return found;
}

std::uint32_t vector_kinds(std::string_view name) {
  std::uint32_t kinds = Kind::valu;
  const auto add = [&](bool condition, Kind kind) { kinds |= condition ? kind : 0u; };
  add(one_of(name, kTrans), Kind::trans);
  add(name.starts_with("v_dot"), Kind::dot);
  add(name == "v_cndmask_b32" || name.starts_with("v_addc_co") || name.starts_with("v_subb"), Kind::masked);
  add(name.starts_with("v_div_fmas"), Kind::div_fmas);
  add(name == "v_readlane_b32" || name == "v_writelane_b32", Kind::lane_select);
  add(name == "v_readlane_b32" || name == "v_readfirstlane_b32", Kind::reads_lane);
  add(name.starts_with("v_permlane"), Kind::permlane);
  add(name.starts_with("v_permlane") || name == "v_swap_b32", Kind::swaps);
  add(name.starts_with("v_cmpx"), Kind::writes_exec);
  add(contains(name, "sr_fp8") || contains(name, "sr_bf8"), Kind::byte_result);
  add(contains(name, "sr_pk_fp4"), Kind::keeps_result);
  return kinds;
}

std::uint32_t scalar_kinds(std::string_view name) {
  std::uint32_t kinds = Kind::scalar_unit;
  if (name.starts_with("s_setreg")) kinds |= Kind::sets_register;
  if (name.starts_with("s_getreg")) kinds |= Kind::gets_register;
  if (name.starts_with("s_movrel") || name.starts_with("s_sendmsg")) kinds |= Kind::uses_m0;
  if (contains(name, "saveexec") || contains(name, "wrexec")) kinds |= Kind::writes_exec;
  if (name == "s_nop") kinds |= Kind::nop;
  return kinds;
}

}  // namespace

HazardClass hazard_class(Format format, std::string_view name) noexcept {
  switch (format) {
    case Format::sop1:
    case Format::sop2:
    case Format::sopc:
    case Format::sopk:
    case Format::sopp: return {.kinds = scalar_kinds(name)};
    case Format::smem: return {};
    case Format::mfma:
    case Format::mfma_scale: return matrix_class(name);
    case Format::ds: return {.kinds = Kind::lds | (contains(name, "addtid") ? Kind::uses_m0 : 0u)};
    case Format::flat:
    case Format::global:
    case Format::scratch: return {.kinds = Kind::vmem | (contains(name, "_lds_") ? Kind::uses_m0 : 0u)};
    case Format::mubuf:
    case Format::mtbuf: return {.kinds = Kind::vmem};
    default: return {.kinds = vector_kinds(name)};
  }
}

}  // namespace ckgen::emu
