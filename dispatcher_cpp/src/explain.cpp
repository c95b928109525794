// The trail of a selection as text, tier by tier, in the order of the walk.
#include <iterator>
#include <vector>

#include <ckgen/signature_text.hpp>

#include "dispatcher_impl.hpp"
#include "reason.hpp"
#include "walk.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

using detail::Candidate;
using detail::Verdict;

constexpr Tier kTiers[] = {Tier::forced,    Tier::override_, Tier::exact,    Tier::near_,
                           Tier::heuristic, Tier::far_,      Tier::other_cu, Tier::default_};
constexpr std::size_t kLadderSizes = 4;

struct Step {
  Candidate candidate;
  Verdict verdict;
};

/// Keeps every candidate up to the one that is taken.
struct Trail {
  std::vector<Step> steps;
  std::uint32_t winner = no_index;

  bool offer(const Candidate& candidate, const Verdict& verdict) {
    steps.push_back({candidate, verdict});
    return verdict.ok();
  }
  void external(std::uint32_t index) noexcept { winner = index; }
};

const char* kind_name(DeviceKind kind) noexcept {
  constexpr const char* names[] = {"unknown", "simulated", "host", "gpu"};
  return names[static_cast<unsigned>(kind)];
}

std::string sizes_text(const detail::Query& q) {
  std::string text = q.signature.batched ? "B=" + std::to_string(q.sizes.batch) + ' ' : "";
  return text + "M=" + std::to_string(q.sizes.m) + " N=" + std::to_string(q.sizes.n) +
         " K=" + std::to_string(q.sizes.k);
}

std::string header(const detail::Query& q, const Device& device) {
  char signature[kSignatureTextSize];
  canonical_text(q.signature, signature);
  return std::string(signature) + "  " + sizes_text(q) + (q.deterministic ? " deterministic" : "") + "  on " +
         device.gfx() + ':' + std::to_string(device.cu_num()) + " (" + kind_name(device.kind()) + ")\n";
}

/// The measured sizes of the device's own table for this (N, K), as in "ladder 16, 32, 64, 128, … of 681".
std::string ladder_text(const detail::Query& q) {
  const detail::Entry* entry = q.index.find(q.signature, q.arch);
  if (entry == nullptr) return "nothing was built for this signature and arch";
  for (std::uint32_t i = entry->table_begin; i < entry->table_end; ++i) {
    const LookupTable& table = *q.index.table(i).table;
    if (table.cu_num != q.cu_num) continue;
    const Group* group = find_group(table, static_cast<std::uint64_t>(q.sizes.n), static_cast<std::uint64_t>(q.sizes.k),
                                    static_cast<std::uint64_t>(q.key_batch()));
    if (group == nullptr) return "no rows for N=" + std::to_string(q.sizes.n) + " K=" + std::to_string(q.sizes.k);
    std::string text;
    std::uint64_t count = 0;
    for (std::uint32_t r = 0; r < group->rung_count; ++r) {
      const Rung& rung = table.rungs[group->rung_begin + r];
      for (std::uint64_t m = rung.first; m <= rung.last; m += rung.step, ++count) {
        if (count < kLadderSizes) text += (count == 0 ? "" : ", ") + std::to_string(m);
      }
    }
    if (count > kLadderSizes) text += ", … of " + std::to_string(count);
    return "no row for M=" + std::to_string(q.sizes.m) + " (ladder " + (count == 0 ? "empty" : text) + ")";
  }
  return "no table for this CU count";
}

std::string empty_tier(const detail::Query& q, Tier tier) {
  if (tier == Tier::exact) return ladder_text(q);
  if (tier == Tier::forced && q.is_forced) return "the forced instance is not registered";
  return "–";
}

std::string label(Tier tier, const char* mark) {
  std::string text = "  ";
  text += tier_name(tier);
  text.append(text.size() < 12 ? 12 - text.size() : 1, ' ');
  return text + mark + "  ";
}

std::string step_text(const detail::Query& q, const Step& step) {
  std::string text = step.candidate.table_m != 0 ? "M=" + std::to_string(step.candidate.table_m) + " → " : "";
  text += q.state.instances[step.candidate.instance]->name;
  text += "   k_batch " + std::to_string(step.candidate.k_batch);
  if (!step.verdict.ok())
    text += "\n                 " + detail::reason_text(step.verdict.rule, step.verdict.measured, step.verdict.limit);
  return text;
}

std::string external_text(const detail::Query& q, std::uint32_t winner) {
  if (winner == no_index) return {};
  const ExternalKernel& kernel = q.state.externals[winner];
  const char* how = q.state.providers[winner] == no_index ? "nobody provided it" : "provided";
  return std::string("  external       the table's winner is ") + kernel.name + " of " + kernel.library + " (" + how +
         ")\n";
}

std::string trail_text(const detail::Query& q, const Trail& trail) {
  const bool taken = !trail.steps.empty() && trail.steps.back().verdict.ok();
  std::string text;
  std::string not_tried;
  bool done = false;
  for (const Tier tier : kTiers) {
    bool any = false;
    for (const Step& step : trail.steps) {
      if (step.candidate.tier != tier) continue;
      any = true;
      text += label(tier, step.verdict.ok() ? "✔" : "✘") + step_text(q, step) + '\n';
    }
    if (!any && !done) text += label(tier, " ") + empty_tier(q, tier) + '\n';
    if (!any && done) not_tried += (not_tried.empty() ? "" : ", ") + std::string(tier_name(tier));
    done = done || (taken && trail.steps.back().candidate.tier == tier) || (tier == Tier::forced && q.is_forced);
  }
  text += external_text(q, trail.winner);
  if (!not_tried.empty()) text += "  not tried      " + not_tried + '\n';
  if (taken) return text;
  const Verdict last = trail.steps.empty() ? detail::no_instance() : trail.steps.back().verdict;
  return text + "  unsupported    " + detail::reason_text(last.rule, last.measured, last.limit) + '\n';
}

}  // namespace

std::string Dispatcher::explain(const Problem& problem, const Device& device) const noexcept {
  try {
    if (!impl_) return std::string(status().message) + '\n';
    if (!problem.status().ok()) return std::string(problem.status().message) + '\n';
    if (!device) return std::string(device.status().message) + '\n';
    const detail::Query q = impl_->query(problem, device);
    std::string text = header(q, device);
    if (device.note()[0] != '\0') text += std::string("  note           ") + device.note() + '\n';
    if (const Verdict illegal = detail::check(q.signature, q.sizes); !illegal.ok())
      return text + "  illegal        " + detail::reason_text(illegal.rule, illegal.measured, illegal.limit) + '\n';
    Trail trail;
    detail::walk(q, trail);
    return text + trail_text(q, trail);
  } catch (...) {
    return {};
  }
}

}  // namespace v1
}  // namespace ckgen
