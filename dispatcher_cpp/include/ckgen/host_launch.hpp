// Launchers of host kernels, as generated descriptors name them. Thread-safe; they block until C is written.
#pragma once

#include <cstddef>

#include <ckgen/export.h>
#include <ckgen/instance.hpp>

namespace ckgen {
inline namespace v1 {

/// A GPU instance's twin: InstanceDesc::twin_config, or stream-K over Launch::workgroups. A k_batch of 0 runs unsplit.
CKGEN_API Status launch_gemm_twin(const Launch& launch) noexcept;
CKGEN_API std::size_t gemm_twin_workspace_of(const InstanceDesc& instance, const Problem& problem,
                                             std::uint32_t k_batch, std::uint32_t workgroups) noexcept;

/// An instance of the CPU itself: InstanceDesc::host_config; it splits K by stream-K only.
CKGEN_API Status launch_gemm_host(const Launch& launch) noexcept;
CKGEN_API std::size_t gemm_host_workspace_of(const InstanceDesc& instance, const Problem& problem,
                                             std::uint32_t k_batch, std::uint32_t workgroups) noexcept;

/// The same of op grouped_gemm, over the groups of the problem.
CKGEN_API Status launch_grouped_gemm_twin(const Launch& launch) noexcept;
CKGEN_API std::size_t grouped_gemm_twin_workspace_of(const InstanceDesc& instance, const Problem& problem,
                                                     std::uint32_t k_batch, std::uint32_t workgroups) noexcept;
CKGEN_API Status launch_grouped_gemm_host(const Launch& launch) noexcept;
CKGEN_API std::size_t grouped_gemm_host_workspace_of(const InstanceDesc& instance, const Problem& problem,
                                                     std::uint32_t k_batch, std::uint32_t workgroups) noexcept;

/// The same of op moe: a layer, its gate_up or its down. K is never split.
CKGEN_API Status launch_moe_twin(const Launch& launch) noexcept;
CKGEN_API std::size_t moe_twin_workspace_of(const InstanceDesc& instance, const Problem& problem, std::uint32_t k_batch,
                                            std::uint32_t workgroups) noexcept;
CKGEN_API Status launch_moe_host(const Launch& launch) noexcept;
CKGEN_API std::size_t moe_host_workspace_of(const InstanceDesc& instance, const Problem& problem, std::uint32_t k_batch,
                                            std::uint32_t workgroups) noexcept;

/// Both of op fmha: k_batch splits of KV.
CKGEN_API Status launch_fmha(const Launch& launch) noexcept;
CKGEN_API std::size_t fmha_workspace_of(const InstanceDesc& instance, const Problem& problem, std::uint32_t k_batch,
                                        std::uint32_t workgroups) noexcept;

/// The traits that the host kernels take for a signature.
constexpr GemmTraits traits_of(const Signature& s) noexcept {
  return GemmTraits{s.a,    s.b,        s.c,    s.acc,  s.layout,     s.quant, s.preshuffle_b,
                    s.bias, s.epilogue, s.a_op, s.b_op, s.scale_block};
}

}  // namespace v1
}  // namespace ckgen
