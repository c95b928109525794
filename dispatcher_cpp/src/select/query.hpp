// A problem on a device, resolved: what every consumer of the walk starts from.
#pragma once

#include <ckgen/device.hpp>
#include <ckgen/problem.hpp>

#include "src/gemm/request.hpp"
#include "src/gemm/strategy.hpp"
#include "src/operation/operation.hpp"
#include "src/registry/index.hpp"
#include "src/select/overrides.hpp"

namespace ckgen::inline v1::detail {

/// Plain fp8 and bf8 of A, B and C in the arch's flavour. Built field by field: a copy that is changed afterwards costs
/// select() a store-forwarding stall.
constexpr Signature resolved(const Signature& s, Arch arch) noexcept {
  const Fp8Flavour flavour = arch_info(arch).fp8;
  return {s.op,
          resolve(s.a, flavour),
          resolve(s.b, flavour),
          resolve(s.c, flavour),
          s.acc,
          s.scale,
          s.layout,
          s.quant,
          s.preshuffle_b,
          s.batched,
          s.bias,
          s.epilogue,
          s.a_op,
          s.b_op,
          s.scale_block,
          s.moe,
          s.fmha};
}

/// A Request, and what a dispatcher's options add. Plain GEMMs are answered in line: the measured path then stays
/// small.
struct Query : Request {
  const OverrideTable* overrides;  // null where there are none
  bool is_forced;
  std::uint32_t forced;  // no_index where the forced name is unknown

  bool is_gemm() const noexcept { return signature.op == Op::gemm; }
  const Operation& operation() const noexcept { return operation_of(signature.op); }

  /// The batch of table keys.
  std::int64_t key_batch() const noexcept {
    if (!is_gemm()) [[unlikely]]
      return operation().selecting.key_batch(*this);
    return gemm_key_batch(*this);
  }

  Sizes cost_sizes() const noexcept {
    return is_gemm() ? gemm_cost_sizes(*this) : operation().selecting.cost_sizes(*this);
  }

  /// What an instance costs by those sizes, with the k_batch that suits it best.
  SplitCost cost(const InstanceDesc& instance, const Sizes& of) const noexcept {
    if (!is_gemm()) [[unlikely]]
      return operation().selecting.cost(*this, instance, of);
    return gemm_cost(*this, instance, of);
  }

  /// The first rule that makes the problem illegal.
  Verdict illegal() const noexcept {
    if (!is_gemm()) [[unlikely]]
      return operation().selecting.illegal(*this);
    return gemm_illegal(*this);
  }

  /// Why a legal problem is refused of which no instance was tried.
  Verdict untried() const noexcept {
    const auto own = operation().selecting.untried;
    return own != nullptr ? own(*this) : no_instance();
  }

  Verdict verdict(const InstanceDesc& instance, std::uint32_t k_batch) const noexcept {
    if ((instance.archs & archs) == 0) return no_instance();
    if (strategy != Strategy::any || instance.stream_k.is_used()) [[unlikely]] {
      const Verdict verdict = strategy_verdict(instance, sizes, strategy, deterministic, cu_num);
      if (!verdict.ok()) return verdict;
    }
    if (!is_gemm()) [[unlikely]]
      return operation().selecting.verdict(*this, instance, k_batch);
    return gemm_verdict(*this, instance, k_batch);
  }

  /// Whether a rejection is a better reason than the one before it (0: none): not if it only says that another kernel
  /// is meant. That a table stands in the way of a kernel which could run is the best reason.
  [[gnu::noinline]] bool outweighs(const Verdict& verdict, std::uint16_t before) const noexcept {
    if (verdict.ok() || before == 0 || before == no_instance().rule) return true;
    const auto rule = static_cast<ProblemRule>(verdict.rule), known = static_cast<ProblemRule>(before);
    if (known == ProblemRule::gemm_instance_declined || known == ProblemRule::gemm_instance_untuned ||
        known == ProblemRule::moe_declined)
      return false;
    if (rule == ProblemRule::gemm_stream_k_strategy || rule == ProblemRule::gemm_instance_min_m) return false;
    const auto means_another = operation().selecting.means_another;
    return means_another == nullptr || !means_another(rule);
  }

  /// For instances that come from outside the problem's own unit.
  Verdict foreign_verdict(const InstanceDesc& instance, std::uint32_t k_batch) const noexcept {
    return instance.signature == signature ? verdict(instance, k_batch) : no_instance();
  }
};

}  // namespace ckgen::inline v1::detail
