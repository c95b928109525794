#include "src/gemm/shape_list.hpp"

#include <ckgen/signature_text.hpp>

#include "src/signature/rules.hpp"

namespace ckgen::inline v1::detail {
namespace {

/// What a list has beside the sizes.
enum class Columns : std::uint8_t { sizes, weight, dense };

struct Module {
  std::string_view name;
  DType operands[2];  // of A and B
  Quant quant;
  bool preshuffle_b;
  bool batched;
  Columns columns;
};

using D = DType;

/// The peer's modules, and ours. A plain fp8 stands for both flavours; a dense list tells bias and shuffled weights by
/// columns.
constexpr Module kModules[] = {
    {"a8w8", {D::int8, D::fp8}, Quant::rowwise, false, false, Columns::weight},
    {"a8w8_bpreshuffle", {D::int8, D::fp8}, Quant::rowwise, true, false, Columns::weight},
    {"a8w8_blockscale", {D::fp8, D::fp8}, Quant::blockscale, false, false, Columns::sizes},
    {"a8w8_blockscale_bpreshuffle", {D::fp8, D::fp8}, Quant::blockscale, true, false, Columns::sizes},
    {"a4w4_blockscale", {D::fp4, D::fp4}, Quant::mx, true, false, Columns::sizes},
    {"mxfp8", {D::fp8, D::fp8}, Quant::mx, false, false, Columns::sizes},
    {"batched_a8w8", {D::int8, D::fp8}, Quant::rowwise, false, true, Columns::sizes},
    {"batched_bf16", {D::bf16, D::bf16}, Quant::none, false, true, Columns::sizes},
    {"bf16", {D::bf16, D::bf16}, Quant::none, false, false, Columns::dense},
};

constexpr DType plain(DType dtype) noexcept {
  return dtype == D::fp8_fnuz || dtype == D::fp8_ocp ? D::fp8 : dtype;
}

constexpr const char* torch_name(DType dtype) noexcept {
  switch (dtype) {
    case D::int8: return "torch.int8";
    case D::fp8_fnuz: return "torch.float8_e4m3fnuz";
    case D::fp8_ocp: return "torch.float8_e4m3fn";
    case D::bf16: return "torch.bfloat16";
    case D::fp16: return "torch.float16";
    case D::fp32: return "torch.float32";
    default: return "";
  }
}

bool admits(const Module& module, const Signature& s) noexcept {
  if (s.quant != module.quant || s.batched != module.batched) return false;
  const bool dense = module.columns == Columns::dense;
  if (!dense && (s.preshuffle_b != module.preshuffle_b || s.bias)) return false;
  if (s.c != D::bf16 && s.c != D::fp16 && !(dense && s.c == D::fp32)) return false;
  return plain(s.a) == module.operands[0] || plain(s.a) == module.operands[1];
}

/// Only the plain form of a signature has a list: the peer's shapes tell no layout, accumulator or scale type.
const Module* module_of(const Signature& s) noexcept {
  const bool is_plain =
      s.a == s.b && s.layout == Layout::rcr && s.acc == default_acc(s.a, s.b) && s.scale == default_scale(s.quant);
  if (!is_plain) return nullptr;
  for (const Module& module : kModules) {
    if (admits(module, s)) return &module;
  }
  return nullptr;
}

const char* word(bool value) noexcept {
  return value ? "True" : "False";
}

}  // namespace

ShapeList shape_list(const Signature& s, Arch arch, std::uint32_t cu_num, const Sizes& sizes) {
  const Module* module = module_of(s);
  char name[kSignatureTextSize];
  if (module == nullptr) canonical_text(s, name);
  ShapeList list{std::string(module != nullptr ? module->name : name) + "_untuned_gemm_", "M,N,K",
                 std::to_string(sizes.m) + ',' + std::to_string(sizes.n) + ',' + std::to_string(sizes.k)};
  list.file += std::string(arch_name(arch)) + '_' + std::to_string(cu_num) + ".csv";
  if (s.batched) {
    list.header = "B," + list.header;
    list.line = std::to_string(sizes.batch) + ',' + list.line;
  }
  const Columns columns = module != nullptr ? module->columns : Columns::sizes;
  if (columns == Columns::weight) {
    list.header += ",q_dtype_w";
    list.line += std::string(",") + torch_name(s.b);
  } else if (columns == Columns::dense) {
    list.header += ",bias,dtype,outdtype,scaleAB,bpreshuffle";
    list.line += std::string(",") + word(s.bias) + ',' + torch_name(s.a) + ',' + torch_name(s.c) + ",False," +
                 word(s.preshuffle_b);
  }
  return list;
}

}  // namespace ckgen::inline v1::detail
