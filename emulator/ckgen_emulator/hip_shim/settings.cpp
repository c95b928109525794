#include "settings.hpp"

#include <charconv>
#include <ckgen/arch_data.hpp>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace ckgen::shim {
namespace {

std::string variable(const char* name, bool required) {
  const char* value = std::getenv(name);
  if (value != nullptr && *value != '\0') return value;
  if (required) throw std::runtime_error(std::string(name) + " is not set");
  return {};
}

std::uint64_t number(std::string_view text, const std::string& what) {
  std::uint64_t found = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), found);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    throw std::runtime_error(what + ": '" + std::string(text) + "' is no number");
  return found;
}

Target target_of(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  for (const ArchInfo& info : arch_table) {
    if (info.name != name || info.kind != ArchKind::gpu || info.wave_size != 64) continue;
    Target target;
    target.arch = info.name;
    const auto count = static_cast<std::uint64_t>(info.default_cu_num);
    const std::uint64_t asked =
        colon == std::string_view::npos ? count : number(text.substr(colon + 1), "CKGEN_EMULATOR_TARGET");
    if (asked == 0 || asked > 4096) throw std::runtime_error("CKGEN_EMULATOR_TARGET: a device of no such size");
    target.compute_units = static_cast<std::uint32_t>(asked);
    target.xcds = static_cast<std::uint32_t>(info.xcds);
    for (const SkuInfo& sku : sku_table) {
      if (sku.arch == info.arch && static_cast<std::uint64_t>(sku.cu_num) == asked)
        target.xcds = static_cast<std::uint32_t>(sku.xcds);
    }
    target.lds_bytes = static_cast<std::uint32_t>(info.lds_bytes);
    target.max_threads = static_cast<std::uint32_t>(info.max_threads_per_block);
    target.l2_bytes = static_cast<std::uint64_t>(info.l2_bytes_per_xcd);
    return target;
  }
  throw std::runtime_error("CKGEN_EMULATOR_TARGET: '" + std::string(text) + "' is no arch whose code is executed");
}

RunOptions options_of(std::string_view text) {
  RunOptions options;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view entry = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const std::size_t equals = entry.find('=');
    const std::string_view key = entry.substr(0, equals);
    const std::string_view given = equals == std::string_view::npos ? std::string_view() : entry.substr(equals + 1);
    const std::uint64_t value = number(given, "CKGEN_EMULATOR_OPTIONS: " + std::string(key));
    if (key == "checked") {
      options.checked = value != 0;
    } else if (key == "seed") {
      options.seed = value;
    } else if (key == "threads") {
      options.threads = static_cast<std::uint32_t>(value);
    } else if (key == "most_instructions") {
      options.most_instructions = value;
    } else if (key == "most_findings") {
      options.most_findings = static_cast<std::uint32_t>(value);
    } else if (key == "findings_fail") {
      options.findings_fail = value != 0;
    } else {
      throw std::runtime_error("CKGEN_EMULATOR_OPTIONS: no option '" + std::string(key) + "'");
    }
  }
  return options;
}

}  // namespace

Settings read_settings() {
  Settings settings;
  settings.library = variable("CKGEN_EMULATOR", true);
  settings.table = variable("CKGEN_EMULATOR_TABLE", true);
  settings.report = variable("CKGEN_EMULATOR_REPORT", false);
  settings.target = target_of(variable("CKGEN_EMULATOR_TARGET", true));
  settings.options = options_of(variable("CKGEN_EMULATOR_OPTIONS", false));
  settings.options.trace = variable("CKGEN_EMULATOR_TRACE", false);
  return settings;
}

}  // namespace ckgen::shim
