// A problem on a device, resolved: what every consumer of the walk starts from.
#pragma once

#include <ckgen/device.hpp>
#include <ckgen/problem.hpp>

#include "src/gemm/request.hpp"
#include "src/gemm/strategy.hpp"
#include "src/operation/operation.hpp"
#include "src/registry/index.hpp"
#include "src/select/overrides.hpp"
#include "src/select/tables.hpp"

namespace ckgen::inline v1::detail {

/// A Request, and what a dispatcher's options add. Plain GEMMs are answered in line: the measured path then stays
/// small.
struct Query : Request {
  const OverrideTable* overrides;  // null where there are none
  const LoadedTables* tables;      // likewise
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

  /// The operation's own search of defaults, where they are asked nothing beside what it asks them; else null.
  auto cheapest() const noexcept -> decltype(Selecting::cheapest) {
    if (is_gemm() || batch_invariant || strategy != Strategy::any) return nullptr;
    return operation().selecting.cheapest;
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

  /// Whether verdict() is that no demand fails.
  bool takes(const InstanceDesc& instance, std::uint32_t k_batch) const noexcept {
    if (is_gemm() || strategy != Strategy::any || instance.stream_k.is_used()) return verdict(instance, k_batch).ok();
    const auto own = operation().selecting.takes;
    if (own == nullptr) return verdict(instance, k_batch).ok();
    return (instance.archs & archs) != 0 && own(*this, instance, k_batch);
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

  /// For instances that come from outside the problem's own unit.
  Verdict foreign_verdict(const InstanceDesc& instance, std::uint32_t k_batch) const noexcept {
    return instance.signature == signature ? verdict(instance, k_batch) : no_instance();
  }
};

inline Query query_of(const RegistryState& state, const Index& index, const Problem& problem, const Device& device,
                      const OverrideTable* overrides, const LoadedTables* tables, bool is_forced,
                      std::uint32_t forced) noexcept {
  return {{state,
           index,
           resolved(problem.signature(), arch_info(device.arch()).fp8),
           {problem.m(), problem.n(), problem.k(), problem.batch()},
           problem.deterministic(),
           problem.batch_invariant(),
           problem.strategy(),
           device.arch(),
           device.cu_num(),
           device.product(),
           runnable_archs(device.arch()),
           problem},
          overrides,
          tables,
          is_forced,
          forced};
}

}  // namespace ckgen::inline v1::detail
