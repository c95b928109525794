#include "src/select/hooks.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <ckgen/signature_text.hpp>

#include "src/fmha/explain.hpp"
#include "src/select/query.hpp"

namespace ckgen::inline v1::detail {
namespace {

/// As in "b0m1n2k3", each size behind its letter.
std::string sizes_text(const Problem& problem) {
  const long long batch = problem.signature().batched ? problem.batch() : 0;
  std::string text = 'b' + std::to_string(batch) + 'm' + std::to_string(problem.m()) + 'n' +
                     std::to_string(problem.n()) + 'k' + std::to_string(problem.k());
  if (const Groups* groups = problem.groups())
    text += (groups->are_on_device() ? 'G' : 'g') + std::to_string(groups->count());
  if (problem.routing().key() != 0)
    text += 'e' + std::to_string(problem.routing().experts) + 't' + std::to_string(problem.routing().top_k);
  if (problem.block_m() != 0) text += 's' + std::to_string(problem.block_m());
  if (problem.deterministic()) text += 'd';
  if (problem.strategy() != Strategy::any) text += '/' + std::string(name(problem.strategy()));
  return text;
}

std::string fmha_text(const Problem& problem) {
  std::string text = fmha_sizes(problem.signature().fmha, problem.fmha());
  std::replace(text.begin(), text.end(), ',', ';');
  if (problem.deterministic()) text += " deterministic";
  if (problem.strategy() != Strategy::any) text += " strategy=" + std::string(name(problem.strategy()));
  return text;
}

void say(const Registry& registry, const Problem& problem, const Device& device, const Selection& selection) {
  char signature[kSignatureTextSize] = "-";
  if (problem.status().ok()) canonical_text(resolved(problem.signature(), device.arch()), signature);
  std::string why = problem.status().ok() ? reason(selection) : problem.status().message;
  std::replace(why.begin(), why.end(), ',', ';');
  std::string line = "ckgen_verbose,v1,select,";
  line += signature;
  line += ',';
  line += device.gfx();
  line += ':' + std::to_string(device.cu_num()) + ',';
  line += problem.signature().op == Op::fmha ? fmha_text(problem) : sizes_text(problem);
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
    if (recorder_ && is_missed(selection.tier) && problem.signature().op == Op::gemm)
      recorder_->record(resolved(problem.signature(), device.arch()), device.arch(), device.cu_num(),
                        {problem.m(), problem.n(), problem.k(), problem.batch()});
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
