#include "src/gemm/explain.hpp"

#include "src/gemm/strategy.hpp"
#include "src/signature/rules.hpp"

namespace ckgen::inline v1::detail {
namespace {

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

}  // namespace

std::string described(const Signature& s, const std::string& words) {
  std::string text(alias_of(s));
  if (text.empty()) {
    text = name(s.op);
    if (s.quant != Quant::none) text += '_' + std::string(name(s.quant));
    if (s.preshuffle_b) text += "_preshuffle";
    if (s.batched) text += "_batched";
  }
  text += ' ' + std::string(name(s.a)) + "·" + std::string(name(s.b)) + "→" + std::string(name(s.c));
  text += ' ' + std::string(name(s.layout));
  if (s.bias) text += " bias";
  text += words + extras_of(s);
  if (s.acc != default_acc(s.a, s.b)) text += " acc " + std::string(name(s.acc));
  if (s.scale != default_scale(s.quant)) text += " scale " + std::string(name(s.scale));
  return text;
}

std::string sizes_text(const Request& q) {
  const bool has_batch = q.signature.batched ? q.sizes.batch != 0 : q.sizes.batch > 1;
  return (has_batch ? "B=" + std::to_string(q.sizes.batch) + ' ' : "") + "M=" + std::to_string(q.sizes.m) +
         " N=" + std::to_string(q.sizes.n) + " K=" + std::to_string(q.sizes.k);
}

std::string brief_text(const Problem& problem, const std::string& own) {
  const long long batch = problem.signature().batched ? problem.batch() : 0;
  std::string text = 'b' + std::to_string(batch) + 'm' + std::to_string(problem.m()) + 'n' +
                     std::to_string(problem.n()) + 'k' + std::to_string(problem.k()) + own;
  if (problem.deterministic()) text += problem.batch_invariant() ? 'i' : 'd';
  if (problem.strategy() != Strategy::any) text += '/' + std::string(name(problem.strategy()));
  return text;
}

std::string demands_text(const InstanceDesc& instance, std::uint32_t k_batch) {
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
  return text;
}

std::string partition_text(const Request& q, const InstanceDesc& instance, bool) {
  if (!instance.stream_k.is_used()) return {};
  const std::uint32_t workgroups = stream_k_workgroups(instance, q.cu_num);
  const StreamKPartition p = partition_of(instance, q.sizes, workgroups);
  std::string text = "stream-K " + std::string(name(instance.stream_k.strategy)) + ": " + std::to_string(p.num_tiles) +
                     " tiles of " + std::to_string(p.iters_per_tile) + " iterations of K on " +
                     std::to_string(workgroups) + " workgroups";
  if (p.dp_tiles > 0) text += ", " + std::to_string(p.dp_tiles) + " data-parallel";
  return text;
}

}  // namespace ckgen::inline v1::detail
