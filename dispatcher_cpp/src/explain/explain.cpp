// The trail of a selection as text: the same lines as codegen/ckgen/plan/trail.py writes, but for what only tables
// know (their file, line and time) and what only a process knows (the kind of device, who provides an external kernel).
#include <vector>

#include <ckgen/signature_text.hpp>

#include "src/explain/absent.hpp"
#include "src/fmha/explain.hpp"
#include "src/select/dispatcher_impl.hpp"
#include "src/select/reason.hpp"
#include "src/select/walk.hpp"
#include "src/signature/rules.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

using detail::Candidate;
using detail::Hit;
using detail::Query;
using detail::Verdict;

constexpr Tier kTiers[] = {Tier::forced,    Tier::override_, Tier::exact,    Tier::near_,
                           Tier::heuristic, Tier::far_,      Tier::other_cu, Tier::default_};
constexpr const char* kDetail = "\n               ";

struct Step {
  Candidate candidate;
  Verdict verdict;
};

/// Keeps every candidate up to the one that is taken.
struct Trail {
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

/// As in " epi add relu", or nothing.
std::string extras_of(const Signature& s) {
  std::string text;
  if (s.a_op != OperandOp::none) text += " a " + std::string(name(s.a_op));
  if (s.b_op != OperandOp::none) text += " b " + std::string(name(s.b_op));
  if (!s.epilogue.empty()) text += " epi";
  for (const EpilogueOp op : s.epilogue.ops) {
    if (op != EpilogueOp::none) text += ' ' + std::string(name(op));
  }
  if (s.scale_block.is_usual()) return text;
  return text + " scales " + std::string(name(s.scale_block.sides)) + ' ' + std::to_string(s.scale_block.n) + 'x' +
         std::to_string(s.scale_block.k);
}

/// As in "a8w8_blockscale fp8_fnuz·fp8_fnuz→bf16 rcr".
std::string described(const Signature& s) {
  if (s.op == Op::fmha) return detail::fmha_described(s);
  std::string text(detail::alias_of(s));
  if (text.empty()) {
    text = detail::name_of(s.op);
    if (s.quant != Quant::none) text += '_' + std::string(name(s.quant));
    if (s.preshuffle_b) text += "_preshuffle";
    if (s.batched) text += "_batched";
  }
  text += ' ' + std::string(name(s.a)) + "·" + std::string(name(s.b)) + "→" + std::string(name(s.c));
  text += ' ' + std::string(name(s.layout));
  if (s.bias) text += " bias";
  if (s.op == Op::moe) text += ' ' + std::string(name(s.moe.part));
  if (s.moe.gated) text += " gated";
  if (s.moe.weight_first) text += " weightfirst";
  text += extras_of(s);
  if (s.acc != detail::default_acc(s.a, s.b)) text += " acc " + std::string(name(s.acc));
  if (s.scale != detail::default_scale(s.quant)) text += " scale " + std::string(name(s.scale));
  return text;
}

/// As in "4 groups of up to 64x1024x512".
std::string groups_text(const Groups& groups) {
  const GroupSize& size = groups.largest();
  return std::to_string(groups.count()) + (groups.are_on_device() ? " groups of at most " : " groups of up to ") +
         std::to_string(size.m) + 'x' + std::to_string(size.n) + 'x' + std::to_string(size.k) +
         (groups.are_on_device() ? " on the device" : "");
}

/// As in " E=256 top_k=8 block_m=64".
std::string routing_text(const Problem& problem) {
  const Routing routing = problem.routing();
  return " E=" + std::to_string(routing.experts) + " top_k=" + std::to_string(routing.top_k) +
         (problem.block_m() != 0 ? " block_m=" + std::to_string(problem.block_m()) : "");
}

std::string sizes_text(const Query& q) {
  if (q.signature.op == Op::grouped_gemm && q.problem.groups() != nullptr) return groups_text(*q.problem.groups());
  if (q.signature.op == Op::fmha) return detail::fmha_sizes(q.signature.fmha, q.problem.fmha());
  const bool has_batch = q.signature.batched ? q.sizes.batch != 0 : q.sizes.batch > 1;
  return (has_batch ? "B=" + std::to_string(q.sizes.batch) + ' ' : "") + "M=" + std::to_string(q.sizes.m) +
         " N=" + std::to_string(q.sizes.n) + " K=" + std::to_string(q.sizes.k) +
         (q.signature.op == Op::moe ? routing_text(q.problem) : "");
}

std::string title(const Query& q, const Device& device) {
  return (q.signature.op == Op::gemm ? "gemm " : "") + described(q.signature) + "  " + sizes_text(q) +
         (q.deterministic ? " deterministic" : "") +
         (q.strategy == Strategy::any ? "" : " strategy " + std::string(name(q.strategy))) + "  on " + device.gfx() +
         ':' + std::to_string(device.cu_num()) + " (" + kind_name(device.kind()) + ")\n";
}

/// A tier's word, padded, with the mark of a candidate.
std::string label(Tier tier, const char* mark) {
  std::string text = tier_name(tier);
  text.resize(10, ' ');
  return "  " + text + ' ' + mark + ' ';
}

/// What an instance asked of the problem and got, as in " (N % 8 = 0, K % 128 = 0)".
std::string demands(const InstanceDesc& instance, std::uint32_t k_batch) {
  if (instance.signature.op == Op::fmha) return " (" + detail::fmha_demands(instance.fmha) + ')';
  const Constraints& c = instance.constraints;
  std::string text;
  const auto add = [&text](const std::string& demand) { text += (text.empty() ? "" : ", ") + demand; };
  if (c.m_multiple > 1) add("M % " + std::to_string(c.m_multiple) + " = 0");
  if (c.n_multiple > 1) add("N % " + std::to_string(c.n_multiple) + " = 0");
  if (c.k_multiple > 1) add("K % " + std::to_string(c.k_multiple) + " = 0");
  if (k_batch > 1 && c.split_grain != 0 && c.k_multiple_per_split == 0)
    add("splits of whole " + std::to_string(c.split_grain));
  else if (k_batch > 1 && c.k_multiple_per_split != 0)
    add("K % (" + std::to_string(k_batch) + " · " + std::to_string(c.k_multiple_per_split) + ") = 0" +
        (c.split_grain != 0 ? " or parts that one main loop fits" : ""));
  if (c.min_k != 0) add("K / k_batch ≥ " + std::to_string(c.min_k));
  return text.empty() ? text : " (" + text + ')';
}

/// As in "stream-K linear: 9 tiles of 81 iterations of K on 80 workgroups".
std::string partition_text(const Query& q, const InstanceDesc& instance) {
  const std::uint32_t workgroups = stream_k_workgroups(instance, q.cu_num);
  const StreamKPartition p = detail::partition_of(instance, q.sizes, workgroups);
  std::string text = "stream-K " + std::string(name(instance.stream_k.strategy)) + ": " + std::to_string(p.num_tiles) +
                     " tiles of " + std::to_string(p.iters_per_tile) + " iterations of K on " +
                     std::to_string(workgroups) + " workgroups";
  if (p.dp_tiles > 0) text += ", " + std::to_string(p.dp_tiles) + " data-parallel";
  return text;
}

std::string step_text(const Query& q, const Step& step) {
  const Candidate& c = step.candidate;
  const InstanceDesc& instance = *q.state.instances[c.instance];
  std::string text = label(c.tier, step.verdict.ok() ? "✔" : "✘");
  const std::string measured = (instance.signature.op == Op::fmha ? "seqlen_k=" : "M=") + std::to_string(c.table_m);
  if (c.table_m != 0) text += measured + " → ";
  text += instance.name;
  text += "   k_batch " + (c.k_batch != 0 ? std::to_string(c.k_batch) : "as the kernel decides");
  if (c.table_m != 0) {
    text += kDetail + ("measured at " + measured);
    if (c.cu_num != q.cu_num) text += " on " + std::string(arch_name(q.arch)) + ':' + std::to_string(c.cu_num);
  }
  if (instance.stream_k.is_used()) text += kDetail + partition_text(q, instance);
  if (instance.fmha.max_splits > 1 && step.verdict.ok())
    text += kDetail + detail::fmha_splits(instance.fmha, q.signature.fmha, q.problem.fmha(), q.cu_num);
  text += kDetail;
  text += step.verdict.ok()
              ? "supports: ok" + demands(instance, c.k_batch)
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
  return std::string("  external     ") + tier_name(trail.winner.tier) + " M=" + std::to_string(trail.winner.m) + ": " +
         kernel.library + ' ' + name +
         (provider == no_index ? "" : std::string("  provided by ") + q.state.instances[provider]->name) + '\n';
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
  Verdict last = detail::no_instance();
  for (const Step& step : trail.steps) {
    if (detail::outweighs(step.verdict, last.rule)) last = step.verdict;
  }
  if (last.rule == detail::no_instance().rule) last = q.untried();
  return text + ending(not_tried, external_text(q, trail), taken ? nullptr : &last);
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
