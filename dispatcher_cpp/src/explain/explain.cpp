// The trail of a selection as text: the same lines as codegen/ckgen/plan/trail.py writes, but for what only tables
// know (their file, line and time) and what only a process knows (the kind of device, who provides an external kernel).
#include <algorithm>
#include <utility>
#include <vector>

#include "src/explain/absent.hpp"
#include "src/operation/operation.hpp"
#include "src/operation/target_text.hpp"
#include "src/select/dispatcher_impl.hpp"
#include "src/select/nearest.hpp"
#include "src/select/reason.hpp"
#include "src/select/walk.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

using detail::Candidate;
using detail::Hit;
using detail::Query;
using detail::Verdict;

constexpr Tier kTiers[] = {Tier::forced,    Tier::override_, Tier::exact,    Tier::near_,   Tier::heuristic,
                           Tier::predicted, Tier::far_,      Tier::other_cu, Tier::default_};
constexpr const char* kDetail = "\n               ";

struct Step {
  Candidate candidate;
  Verdict verdict;
};

/// Keeps every candidate up to the one that is taken.
struct Trail {
  static constexpr bool wants_rejected = true;
  std::vector<Step> steps;
  std::uint32_t external_kernel = no_index;
  Hit winner;

  bool offer(const Candidate& candidate, const Verdict& verdict) {
    steps.push_back({candidate, verdict});
    return verdict.ok();
  }
  void external(std::uint32_t index, const Hit& hit) noexcept {
    external_kernel = index;
    winner = hit;
  }
  bool taken() const noexcept { return !steps.empty() && steps.back().verdict.ok(); }
};

const char* kind_name(DeviceKind kind) noexcept {
  constexpr const char* names[] = {"unknown", "simulated", "host", "gpu"};
  return names[static_cast<unsigned>(kind)];
}

std::string title(const Query& q, const Device& device) {
  const detail::Explaining& own = q.operation().explaining;
  return own.signature(q.signature) + "  " + own.sizes(q) +
         std::string(q.batch_invariant ? " batch_invariant"
                     : q.deterministic ? " deterministic"
                                       : "") +
         (q.strategy == Strategy::any ? "" : " strategy " + std::string(name(q.strategy))) + "  on " +
         detail::target_text(device) + " (" + kind_name(device.kind()) + ")\n";
}

/// A tier's word, padded, with the mark of a candidate.
std::string label(Tier tier, const char* mark) {
  std::string text = tier_name(tier);
  text.resize(10, ' ');
  return "  " + text + ' ' + mark + ' ';
}

std::string step_text(const Query& q, const Step& step) {
  const Candidate& c = step.candidate;
  const InstanceDesc& instance = *q.state.instances[c.instance];
  std::string text = label(c.tier, step.verdict.ok() ? "✔" : "✘");
  const detail::Explaining& own = detail::operation_of(instance.signature.op).explaining;
  const std::string measured = own.measured + ('=' + std::to_string(c.table_m));
  if (c.table_m != 0) text += measured + " → ";
  text += instance.name;
  text += "   k_batch " + (c.k_batch != 0 ? std::to_string(c.k_batch) : "as the kernel decides");
  if (c.table_m != 0) {
    text += kDetail + ("measured at " + measured);
    if (c.cu_num != q.cu_num) text += " on " + std::string(arch_name(q.arch)) + ':' + std::to_string(c.cu_num);
  }
  const std::string details = own.details != nullptr ? own.details(q, instance, step.verdict.ok()) : std::string();
  if (!details.empty()) text += kDetail + details;
  const std::string demands = own.demands(instance, c.k_batch);
  text += kDetail;
  text += step.verdict.ok()
              ? "supports: ok" + (demands.empty() ? demands : " (" + demands + ')')
              : "rejected: " + detail::reason_text(step.verdict.rule, step.verdict.measured, step.verdict.limit);
  return text + '\n';
}

std::string absent_text(const Query& q, Tier tier) {
  const bool unknown = tier == Tier::forced && q.is_forced;
  return label(tier, " ") + (unknown ? "the forced instance is not registered" : detail::why_absent(q, tier)) + '\n';
}

std::string external_text(const Query& q, const Trail& trail) {
  if (trail.external_kernel == no_index) return {};
  const ExternalKernel& kernel = q.state.externals[trail.external_kernel];
  const std::uint32_t provider = q.state.providers[trail.external_kernel];
  const std::string name = kernel.name[0] != '\0' ? kernel.name : "-";
  const std::string& why_not = q.state.unprovided[trail.external_kernel];
  return std::string("  external     ") + tier_name(trail.winner.tier) + " M=" + std::to_string(trail.winner.m) + ": " +
         kernel.library + ' ' + name +
         (provider == no_index ? "" : std::string("  provided by ") + q.state.instances[provider]->name) + '\n' +
         (why_not.empty() ? "" : kDetail + 1 + ("not provided: " + why_not) + '\n');
}

/// The candidate that the problem is nearest to, and what the others said; null where no rule was said of any.
const Step* nearest_of(const std::vector<Step>& steps) {
  const Step* nearest = nullptr;
  for (const Step& step : steps) {
    if (nearest == nullptr || detail::outweighs(step.verdict, nearest->verdict)) nearest = &step;
  }
  return nearest;
}

std::string nearest_text(const Query& q, const Trail& trail, const Step& nearest) {
  std::string text = std::string("  nearest      ") + q.state.instances[nearest.candidate.instance]->name;
  std::vector<std::pair<std::uint16_t, std::size_t>> said;
  for (const Step& step : trail.steps) {
    if (&step == &nearest) continue;
    const auto same = [&](const auto& one) { return one.first == step.verdict.rule; };
    const auto known = std::find_if(said.begin(), said.end(), same);
    if (known == said.end())
      said.emplace_back(step.verdict.rule, 1);
    else
      ++known->second;
  }
  if (said.empty()) return text + '\n';
  text += "\n  others       " + std::to_string(trail.steps.size() - 1) + ": ";
  for (const auto& [rule, count] : said)
    text +=
        (&rule == &said.front().first ? "" : ", ") + std::string(problem_rules[rule].id) + ' ' + std::to_string(count);
  return text + '\n';
}

std::string ending(const std::string& not_tried, const std::string& external, const Verdict* refusal) {
  std::string text;
  if (!not_tried.empty()) text += "  not tried    " + not_tried + '\n';
  text += external;
  if (refusal != nullptr)
    text += "  unsupported  " + detail::reason_text(refusal->rule, refusal->measured, refusal->limit) + '\n';
  return text;
}

std::string trail_text(const Query& q, const Trail& trail) {
  const bool taken = trail.taken();
  std::string text;
  std::string not_tried;
  bool done = false;
  for (const Tier tier : kTiers) {
    bool any = false;
    for (const Step& step : trail.steps) {
      if (step.candidate.tier != tier) continue;
      any = true;
      text += step_text(q, step);
    }
    if (!any && !done) text += absent_text(q, tier);
    if (!any && done) not_tried += (not_tried.empty() ? "" : ", ") + std::string(tier_name(tier));
    done = done || (taken && trail.steps.back().candidate.tier == tier) || (tier == Tier::forced && q.is_forced);
  }
  if (taken) return text + ending(not_tried, external_text(q, trail), nullptr);
  const Step* const nearest = nearest_of(trail.steps);
  Verdict last = nearest != nullptr ? nearest->verdict : detail::no_instance();
  if (last.rule == detail::no_instance().rule) last = q.untried();
  text += ending(not_tried, external_text(q, trail), &last);
  return nearest != nullptr ? text + nearest_text(q, trail, *nearest) : text;
}

std::string illegal_text(const Verdict& verdict) {
  std::string all;
  for (const Tier tier : kTiers) all += (all.empty() ? "" : ", ") + std::string(tier_name(tier));
  return ending(all, {}, &verdict);
}

}  // namespace

std::string Dispatcher::explain(const Problem& problem, const Device& device) const noexcept {
  try {
    if (!impl_) return std::string(status().message) + '\n';
    if (!problem.status().ok()) return std::string(problem.status().message) + '\n';
    if (!device) return std::string(device.status().message) + '\n';
    const Query q = impl_->query(problem, device);
    std::string text = title(q, device);
    if (device.note()[0] != '\0') text += std::string("  note         ") + device.note() + '\n';
    if (const Verdict illegal = q.illegal(); !illegal.ok()) return text + illegal_text(illegal);
    Trail trail;
    detail::walk(q, trail);
    return text + trail_text(q, trail);
  } catch (...) {
    return {};
  }
}

}  // namespace v1
}  // namespace ckgen
