// What a selection asks of GEMMs; in line, since that of plain ones is the measured path.
#pragma once

#include "src/gemm/supports.hpp"
#include "src/gemm/tiling.hpp"
#include "src/operation/request.hpp"

namespace ckgen::inline v1::detail {

inline Verdict gemm_illegal(const Request& q) noexcept {
  return check(q.signature, q.sizes);
}

inline Verdict gemm_verdict(const Request& q, const InstanceDesc& instance, std::uint32_t k_batch) noexcept {
  return supports(instance.constraints, q.sizes, k_batch, q.deterministic);
}

/// Of groups and experts too.
inline bool gemm_takes_every_batch(const InstanceDesc& instance) noexcept {
  const Constraints& c = instance.constraints;
  const RoutedConstraints& r = c.routed;
  return c.m_multiple <= 1 && c.min_m <= 1 && c.max_m == 0 && !c.measured_only && r.max_routed == 0 &&
         r.few_experts == 0 && !r.presorted;
}

/// 0 where the signature is not batched.
inline std::int64_t gemm_key_batch(const Request& q) noexcept {
  return q.signature.batched ? q.sizes.batch : 0;
}

inline Sizes gemm_cost_sizes(const Request& q) noexcept {
  return q.sizes;
}

inline SplitCost gemm_cost(const Request& q, const InstanceDesc& instance, const Sizes& sizes) noexcept {
  return {default_cost(instance, sizes, q.cu_num), 1};
}

}  // namespace ckgen::inline v1::detail
