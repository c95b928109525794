// A problem on a device, resolved: what every consumer of the walk starts from.
#pragma once

#include <ckgen/device.hpp>
#include <ckgen/problem.hpp>

#include "src/fmha/rules.hpp"
#include "src/registry/index.hpp"
#include "src/select/op_rules.hpp"
#include "src/select/overrides.hpp"
#include "src/select/strategy.hpp"

namespace ckgen::inline v1::detail {

constexpr DType resolved(DType dtype, Fp8Flavour flavour) noexcept {
  if (flavour == Fp8Flavour::none) return dtype;
  const bool fnuz = flavour == Fp8Flavour::fnuz;
  if (dtype == DType::fp8) return fnuz ? DType::fp8_fnuz : DType::fp8_ocp;
  if (dtype == DType::bf8) return fnuz ? DType::bf8_fnuz : DType::bf8_ocp;
  return dtype;
}

/// Plain fp8 and bf8 of A, B and C in the arch's flavour. Built field by field: a copy that is changed afterwards costs
/// select() a store-forwarding stall.
constexpr Signature resolved(const Signature& s, Arch arch) noexcept {
  const Fp8Flavour flavour = arch_info(arch).fp8;
  return {s.op,
          resolved(s.a, flavour),
          resolved(s.b, flavour),
          resolved(s.c, flavour),
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

struct Query {
  const RegistryState& state;
  const Index& index;
  const OverrideTable* overrides;  // null where there are none
  bool is_forced;
  std::uint32_t forced;  // no_index where the forced name is unknown
  Signature signature;
  Sizes sizes;
  bool deterministic;
  Strategy strategy;
  Arch arch;
  std::uint32_t cu_num;
  std::uint32_t archs;     // runnable_archs(arch)
  const Problem& problem;  // the caller's

  /// The batch of table keys: 0 where the signature is not batched; of op moe the routing. Of op fmha there are no
  /// tables, and an override's key has the batch, both lengths and hdim_q.
  std::int64_t key_batch() const noexcept {
    if (signature.op != Op::gemm) [[unlikely]]
      return key_batch_for_op();
    return signature.batched ? sizes.batch : 0;
  }

  /// The sizes that costs are counted with: of other ops than gemm a batch that is alike.
  Sizes cost_sizes() const noexcept {
    return signature.op == Op::grouped_gemm || signature.op == Op::moe ? alike(problem) : sizes;
  }

  /// The first rule that makes the problem illegal.
  Verdict illegal() const noexcept {
    if (signature.op != Op::gemm) [[unlikely]]
      return illegal_for_op();
    return check(signature, sizes);
  }

  /// Why a legal problem is refused of which no instance was tried.
  Verdict untried() const noexcept {
    if (signature.op == Op::fmha) [[unlikely]]
      return no_fmha_instance(signature.fmha, problem.fmha());
    return no_instance();
  }

  Verdict verdict(const InstanceDesc& instance, std::uint32_t k_batch) const noexcept {
    if ((instance.archs & archs) == 0) return no_instance();
    if (strategy != Strategy::any || instance.stream_k.is_used()) [[unlikely]] {
      const Verdict verdict = strategy_verdict(instance, sizes, strategy, deterministic, cu_num);
      if (!verdict.ok()) return verdict;
    }
    if (signature.op != Op::gemm) [[unlikely]]
      return verdict_for_op(instance, k_batch);
    return supports(instance.constraints, sizes, k_batch, deterministic);
  }

  /// For instances that come from outside the problem's own unit.
  Verdict foreign_verdict(const InstanceDesc& instance, std::uint32_t k_batch) const noexcept {
    return instance.signature == signature ? verdict(instance, k_batch) : no_instance();
  }

 private:
  // What a plain GEMM does not need is kept out of line: the measured path then stays small enough to inline.
  [[gnu::noinline]] std::int64_t key_batch_for_op() const noexcept {
    if (signature.op == Op::moe) return problem.routing().key();
    return signature.batched || signature.op == Op::fmha ? sizes.batch : 0;
  }

  [[gnu::noinline]] Verdict illegal_for_op() const noexcept {
    if (signature.op == Op::grouped_gemm) return check_groups(signature, problem.groups());
    if (signature.op == Op::moe) return check_routing(signature, sizes, problem.routing());
    if (signature.op == Op::fmha) return check_fmha(signature, problem.fmha());
    return check(signature, sizes);
  }

  [[gnu::noinline]] Verdict verdict_for_op(const InstanceDesc& instance, std::uint32_t k_batch) const noexcept {
    if (signature.op == Op::grouped_gemm)
      return supports_groups(instance.constraints, *problem.groups(), k_batch, deterministic);
    if (signature.op == Op::moe) return supports_routing(instance, sizes, problem, k_batch);
    if (signature.op == Op::fmha) return supports_fmha(instance.fmha, signature.fmha, problem.fmha(), k_batch);
    return supports(instance.constraints, sizes, k_batch, deterministic);
  }
};

}  // namespace ckgen::inline v1::detail
