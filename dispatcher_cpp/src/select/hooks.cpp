#include "src/select/hooks.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <ckgen/signature_text.hpp>

#include "src/operation/operation.hpp"
#include "src/select/query.hpp"

namespace ckgen::inline v1::detail {
namespace {

void say(const Registry& registry, const Problem& problem, const Device& device, const Selection& selection) {
  char signature[kSignatureTextSize] = "-";
  if (problem.status().ok()) canonical_text(resolved(problem.signature(), arch_info(device.arch()).fp8), signature);
  std::string why = problem.status().ok() ? reason(selection) : problem.status().message;
  std::replace(why.begin(), why.end(), ',', ';');
  std::string line = "ckgen_verbose,v1,select,";
  line += signature;
  line += ',';
  line += device.gfx();
  line += ':' + std::to_string(device.cu_num()) + ',';
  line += operation_of(problem.signature().op).explaining.brief(problem);
  line += ',';
  line += tier_name(selection.tier);
  line += ',';
  line += selection ? registry.instance(selection.instance).name : "-";
  line += ',' + std::to_string(selection.k_batch) + ',' + (why.empty() ? "-" : why) + '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);  // one call: lines of several threads stay whole
}

bool is_missed(Tier tier) noexcept {
  return tier == Tier::heuristic || tier == Tier::far_ || tier == Tier::other_cu || tier == Tier::default_;
}

}  // namespace

void Hooks::selected(const Registry& registry, const Problem& problem, const Device& device,
                     const Selection& selection) noexcept {
  try {
    if (verbose_) say(registry, problem, device, selection);
    const auto list_of = operation_of(problem.signature().op).listing.shape_list;
    if (recorder_ && is_missed(selection.tier) && list_of != nullptr)
      recorder_->record(list_of(resolved(problem.signature(), arch_info(device.arch()).fp8), device.arch(),
                                device.cu_num(), {problem.m(), problem.n(), problem.k(), problem.batch()}));
  } catch (...) {
    // Out of memory: the selection itself stands.
  }
}

}  // namespace ckgen::inline v1::detail

namespace ckgen {
inline namespace v1 {

DispatcherOptions DispatcherOptions::from_environment() {
  const auto text = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
  };
  const std::string verbose = text("CKGEN_VERBOSE");
  return {!verbose.empty() && verbose != "0", text("CKGEN_FORCE"), text("CKGEN_RECORD"), text("CKGEN_OVERRIDE")};
}

}  // namespace v1
}  // namespace ckgen
