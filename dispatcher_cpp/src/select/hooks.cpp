#include "src/select/hooks.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <ckgen/signature_text.hpp>

#include "src/operation/operation.hpp"
#include "src/operation/target_text.hpp"

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
  line += target_text(device) + ',';
  line += operation_of(problem.signature().op).explaining.brief(problem);
  line += ',';
  line += tier_name(selection.tier);
  line += ',';
  line += selection ? registry.instance(selection.instance).name : "-";
  line += ',' + std::to_string(selection.k_batch) + ',' + (why.empty() ? "-" : why) + '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);  // one call: lines of several threads stay whole
}

}  // namespace

void Hooks::selected(const Registry& registry, const Query* query, const Problem& problem, const Device& device,
                     const Selection& selection) const noexcept {
  if (tally_ != nullptr) tally_->add(selection.tier);
  try {
    if (verbose_) say(registry, problem, device, selection);
    if (recorder_ != nullptr && query != nullptr && is_missed(selection.tier)) recorder_->record(*query);
  } catch (...) {
    // Out of memory: the selection itself stands.
  }
}

Counters Hooks::counters() const noexcept {
  Counters counters;
  if (tally_ != nullptr) tally_->sum(counters);
  if (recorder_ != nullptr) {
    counters.recorded = recorder_->shapes();
    counters.unrecorded = recorder_->beyond();
  }
  return counters;
}

}  // namespace ckgen::inline v1::detail

namespace ckgen {
inline namespace v1 {

DispatcherOptions DispatcherOptions::from_environment() {
  const auto text = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
  };
  const auto is_set = [&text](const char* name) {
    const std::string value = text(name);
    return !value.empty() && value != "0";
  };
  return {is_set("CKGEN_VERBOSE"), text("CKGEN_FORCE"),   text("CKGEN_RECORD"),
          text("CKGEN_OVERRIDE"),  is_set("CKGEN_COUNT"), text("CKGEN_TABLES")};
}

}  // namespace v1
}  // namespace ckgen
