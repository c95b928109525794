// What a generated tree hands to a Registry: constants only, one SignatureUnit per signature.
#pragma once

#include <cstdint>

#include <ckgen/instance.hpp>
#include <ckgen/lookup.hpp>

/// Raised whenever the layout of generated constants changes.
#define CKGEN_RUNTIME_ABI 22

namespace ckgen {
inline namespace v1 {

/// What a condition looks at. rows: those of one product, which are a busy expert's or a group's, M of a GEMM; cus: the
/// device's compute units. Of output tiles of a condition's size: tiles cover rows x N; waves of one tile per CU do
/// them all; fill is the share of the CUs of those waves that has a tile, pad the tiles' rows over `rows`, in
/// thousandths.
enum class Feature : std::uint8_t { m, n, k, mn, rows, cus, tiles, waves, fill, pad };
enum class Compare : std::uint8_t { le, lt, eq, ne };

/// One condition of a decision rule, e.g. MN <= 307200; the tile is of those features that have one.
struct Condition {
  Feature feature;
  Compare compare;
  std::int64_t value;
  std::int32_t tile_m = 1, tile_n = 1;
};

/// Where a condition leads to: a later node if not negative, else the leaf ~value, or no answer.
struct DecisionNode {
  Condition condition;
  std::int16_t then, otherwise;
};
inline constexpr std::int16_t no_leaf = INT16_MIN;

/// A decision rule for one (signature, arch): its leaves are instances of the same unit. The first node is the root;
/// without any the first leaf answers. With a sku, the third part of a target, it answers that product alone and is
/// asked before one without.
struct Heuristic {
  const char* name;
  Arch arch;
  const Choice* leaves;
  std::uint32_t leaf_count;
  const DecisionNode* nodes;
  std::uint32_t node_count;
  const char* sku = nullptr;
};

/// What an instance asks of a compute unit, by which its time is predicted, in ticks of 1/256 clock.
///
/// `cluster` workgroups start together and cover tile_m x tile_n; 1024 units hold `slots` of them, one workgroup each.
/// Per step of tile_k, of each workgroup: matrix, alone (over the workgroups that a unit holds together), cache, lds;
/// of each round of residents: latency. Per tile: `tile` of each round, `store` of each workgroup. Once: launch.
/// `loaded` are bits of A and B per step, `memory` ticks per 65,536 bits, `apart`, `reload` and `outside` parts of
/// 1024.
struct KernelWork {
  std::uint32_t instance;
  std::uint32_t tile_m, tile_n, tile_k, cluster, slots, resident;
  std::uint32_t matrix, alone, cache, lds, latency, tile, store, launch;
  std::uint32_t loaded, memory, apart, reload, outside;
  std::uint32_t a_bits, b_bits, c_bits;
};

/// The instances of one arch that predicted times choose among where neither tables nor rules answer.
struct Predicted {
  Arch arch;
  const KernelWork* works;
  std::uint32_t count;
};

/// The instances of one arch that answer where nothing else does, in order of preference.
struct Defaults {
  Arch arch;
  const std::uint16_t* instances;
  std::uint32_t count;
};

/// Everything about one signature. Tables, heuristics, works and defaults index `instances`; several units may have one
/// table.
struct SignatureUnit {
  const char* name;  // the canonical string
  Signature signature;
  const InstanceDesc* instances;
  std::uint32_t instance_count;
  const LookupTable* const* tables;
  std::uint32_t table_count;
  const Heuristic* heuristics;
  std::uint32_t heuristic_count;
  const Defaults* defaults;
  std::uint32_t default_count;
  const void* own_tables = nullptr;  // an array of a type of the operation's own, such as FmhaTable, beside `tables`
  std::uint32_t own_table_count = 0;
  const Predicted* predicted = nullptr;
  std::uint32_t predicted_count = 0;
};

/// A generated library. `build_id` is a digest of its name, ckgen's version and its signatures.
struct Library {
  const char* name;
  std::uint32_t abi;
  std::uint64_t build_id;
  const SignatureUnit* const* units;
  std::uint32_t unit_count;
};

}  // namespace v1
}  // namespace ckgen
