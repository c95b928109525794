// One kernel that can be chosen: its signature, what it supports as numbers, and how it is launched.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ckgen/arch_data.hpp>
#include <ckgen/fmha.hpp>
#include <ckgen/gemm_types.hpp>
#include <ckgen/grouped.hpp>
#include <ckgen/moe.hpp>
#include <ckgen/problem.hpp>
#include <ckgen/signature.hpp>
#include <ckgen/status.hpp>
#include <ckgen/strategy.hpp>

namespace ckgen {
inline namespace v1 {

/// An opaque stream of the device (hipStream_t, CUstream); null is the default stream.
using Stream = void*;

struct Tile {
  std::int32_t m;
  std::int32_t n;
  std::int32_t k;
};

/// In which order and grouping an instance adds up one element of its result. Two instances with one number add up
/// alike: `whole` without splits, `split` with equally many splits. 0: the order depends on M, or is not known.
struct OrderClass {
  std::uint32_t whole = 0;
  std::uint32_t split = 0;
};

/// What an instance of op moe may ask of a problem's sizes beside Constraints. Zero means: not asked.
struct RoutedConstraints {
  std::int32_t min_n = 0;
  std::int32_t max_n = 0;
  std::int32_t max_k = 0;
  std::int32_t max_routed = 0;   // routed rows: tokens * top_k
  std::int32_t few_experts = 0;  // with fewer than these the most routed rows are max_routed_few
  std::int32_t max_routed_few = 0;
  bool presorted = false;        // only tokens that the caller sorted
  std::int64_t max_weights = 0;  // elements of one product's weights, of all experts; with it goes a max_ab
};

/// What a problem must satisfy, as integers; the same numbers are evaluated in Python. Zero means: not asked.
struct Constraints {
  std::int32_t m_multiple;
  std::int32_t n_multiple;
  std::int32_t k_multiple;            // of K
  std::int32_t k_multiple_per_split;  // of K / k_batch, where k_batch > 1; the splits are then equal
  std::int32_t min_k;
  std::int32_t max_k_batch;  // at least 1
  bool atomic_split;         // each split is added once to zero: from three on (experts of a MoE layer's down: always)
                             // the order of workgroups counts
  // Not 0: K may also be cut into parts of whole grains, all equal but the last, which may be shorter but not empty.
  // One main loop runs them all. Of a part's tiles (k_multiple_per_split each, rounded up) split_lead + 1 are outside
  // of it, and a turn takes split_turn; the last part may not leave more tiles over than the first. Where
  // k_multiple_per_split is 0, any parts do.
  std::int32_t split_grain = 0;
  std::int64_t max_ab = 0;  // elements of A and of B
  std::int64_t max_c = 0;   // elements of C
  std::int32_t split_turn = 0;
  std::int32_t split_lead = 0;
  std::int32_t max_m = 0;      // the largest M
  std::int32_t min_m = 0;      // the least M
  bool measured_only = false;  // as a default the instance answers nothing
  RoutedConstraints routed = {};
};

struct InstanceDesc;

/// Arguments that were checked and a plan that fits them; the launcher neither allocates nor synchronises. Exactly one
/// of `args`, `grouped`, `moe` and `fmha` is set, as the op of the instance's signature says.
struct Launch {
  const InstanceDesc* instance;
  const Problem* problem;  // of op grouped_gemm with its groups(); of op moe with routing() and the block_m() in use
  std::uint32_t k_batch;
  const GemmArgs* args;
  void* workspace;
  Stream stream;
  std::uint32_t workgroups = 0;  // of a stream-K instance, see stream_k.hpp; 0: as many as there are tiles and splits
  const GroupedArgs* grouped = nullptr;
  const MoeArgs* moe = nullptr;
  void* group_table = nullptr;     // of a grouped kernel of attached GPU code, see GroupTableCode
  const FmhaArgs* fmha = nullptr;  // the problem has its shape; k_batch: splits of KV
};
using LaunchFn = Status (*)(const Launch&) noexcept;
using WorkspaceFn = std::size_t (*)(const InstanceDesc&, const Problem&, std::uint32_t k_batch,
                                    std::uint32_t workgroups) noexcept;

/// A constant per instance, emitted by the generator or filled by a user. Names live as long as the registry.
/// `device` launches on a GPU of one of `archs`, `twin` is the host kernel of the same contract; either may be null.
struct InstanceDesc {
  const char* name;
  std::uint64_t id;  // content id: a hash of the name
  Signature signature;
  Backend backend;
  std::uint32_t archs;       // bit i: Arch with value i
  const char* table_kernel;  // the peer's own name, or ""
  Tile macro_tile;
  Constraints constraints;
  TwinConfig twin_config;
  HostConfig host_config;
  WorkspaceFn workspace;
  LaunchFn device;
  LaunchFn twin;
  void* context;  // a user's own, passed through Launch::instance
  StreamK stream_k = {};
  // Of a MoE layer: the ids of the instances of gate_up and down that a GPU runs one after the other where the layer
  // has no GPU code of its own. Of the layer's macro tile in M, registered with it. 0, 0: none.
  std::uint64_t parts[2] = {0, 0};
  FmhaConfig fmha = {};
  OrderClass order = {};
};

/// The workgroups of a stream-K instance on a device with so many compute units, or, of a host instance, its threads;
/// 0 for any other.
constexpr std::uint32_t stream_k_workgroups(const InstanceDesc& instance, std::uint32_t cu_num) noexcept {
  if (!instance.stream_k.is_used()) return 0;
  if (instance.host_config.threads > 0) return static_cast<std::uint32_t>(instance.host_config.threads);
  return (cu_num == 0 ? 1 : cu_num) * static_cast<std::uint32_t>(instance.stream_k.blocks_per_cu);
}

/// Whether `arch` is one of the instance's.
constexpr bool runs_on(const InstanceDesc& instance, Arch arch) noexcept {
  return (instance.archs >> static_cast<unsigned>(arch) & 1U) != 0;
}

}  // namespace v1
}  // namespace ckgen
