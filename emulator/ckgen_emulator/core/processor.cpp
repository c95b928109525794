#include "processor.hpp"

#include <utility>

#include "words.hpp"

namespace ckgen::emu {
namespace {

constexpr std::pair<std::string_view, Isa> kIsas[] = {
    {"cdna2", Isa::cdna2}, {"cdna3", Isa::cdna3}, {"cdna4", Isa::cdna4}};

Isa isa_named(std::string_view name) {
  for (const auto& [known, isa] : kIsas) {
    if (known == name) return isa;
  }
  return Isa::unknown;
}

}  // namespace

Processor take_processor(std::string_view& table, std::string& error) {
  std::string_view line = cut(table, '\n');
  const std::string whole(line);
  Processor found;
  const bool begins = cut(line, ' ') == "chip";
  found.name = cut(line, ' ');
  const bool has_machine = number(cut(line, ' '), found.machine);
  found.isa = isa_named(cut(line, ' '));
  found.fnuz = cut(line, ' ') == "fnuz";
  bool good = begins && !found.name.empty() && has_machine && found.isa != Isa::unknown;
  for (std::uint32_t* out :
       {&found.lds_banks, &found.lds_granule, &found.simd_vgprs, &found.vgpr_granule, &found.simd_waves})
    good = good && number(cut(line, ' '), *out) && *out != 0;
  if (!good || !line.empty()) error = "opcode table, line 1: " + whole;
  return found;
}

}  // namespace ckgen::emu
