// The words that generated units are written in: signatures, instances, decision rules and defaults by name. What is
// not said is at its default.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ckgen/library.hpp>

namespace ckgen {
inline namespace v1 {
namespace describe {

struct SignatureWords {
  Signature value;

  constexpr SignatureWords& a(DType x) noexcept { return value.a = x, *this; }
  constexpr SignatureWords& b(DType x) noexcept { return value.b = x, *this; }
  constexpr SignatureWords& c(DType x) noexcept { return value.c = x, *this; }
  constexpr SignatureWords& acc(DType x) noexcept { return value.acc = x, *this; }
  constexpr SignatureWords& scale(DType x) noexcept { return value.scale = x, *this; }
  constexpr SignatureWords& layout(Layout x) noexcept { return value.layout = x, *this; }
  constexpr SignatureWords& quant(Quant x) noexcept { return value.quant = x, *this; }
  constexpr SignatureWords& preshuffle_b(bool x = true) noexcept { return value.preshuffle_b = x, *this; }
  constexpr SignatureWords& batched(bool x = true) noexcept { return value.batched = x, *this; }
  constexpr SignatureWords& bias(bool x = true) noexcept { return value.bias = x, *this; }
  constexpr SignatureWords& epilogue(Epilogue x) noexcept { return value.epilogue = x, *this; }
  constexpr SignatureWords& a_op(OperandOp x) noexcept { return value.a_op = x, *this; }
  constexpr SignatureWords& b_op(OperandOp x) noexcept { return value.b_op = x, *this; }
  constexpr SignatureWords& scale_sides(ScaleSides x) noexcept { return value.scale_block.sides = x, *this; }
  constexpr SignatureWords& scale_block(std::uint8_t n, std::uint8_t k) noexcept {
    return value.scale_block.n = n, value.scale_block.k = k, *this;
  }
  constexpr SignatureWords& moe(MoePart x) noexcept { return value.moe.part = x, *this; }
  constexpr SignatureWords& gated(bool x = true) noexcept { return value.moe.gated = x, *this; }
  constexpr SignatureWords& weight_first(bool x = true) noexcept { return value.moe.weight_first = x, *this; }
  /// Words of an operation's own, with a `put` beside them.
  template <class Words>
  constexpr SignatureWords& own(const Words& words) noexcept {
    return put(value, words), *this;
  }
  constexpr operator Signature() const noexcept { return value; }
};
constexpr SignatureWords computes(Op op) noexcept {
  return {Signature{op}};
}

/// Words of Constraints and RoutedConstraints.
struct ConstraintWords {
  Constraints value{0, 0, 0, 0, 0, 1, false};

  constexpr ConstraintWords& m_multiple(std::int32_t x) noexcept { return value.m_multiple = x, *this; }
  constexpr ConstraintWords& n_multiple(std::int32_t x) noexcept { return value.n_multiple = x, *this; }
  constexpr ConstraintWords& k_multiple(std::int32_t x) noexcept { return value.k_multiple = x, *this; }
  constexpr ConstraintWords& k_multiple_per_split(std::int32_t x) noexcept {
    return value.k_multiple_per_split = x, *this;
  }
  constexpr ConstraintWords& min_k(std::int32_t x) noexcept { return value.min_k = x, *this; }
  constexpr ConstraintWords& max_k_batch(std::int32_t x) noexcept { return value.max_k_batch = x, *this; }
  constexpr ConstraintWords& atomic_split(bool x = true) noexcept { return value.atomic_split = x, *this; }
  constexpr ConstraintWords& split_grain(std::int32_t x) noexcept { return value.split_grain = x, *this; }
  constexpr ConstraintWords& max_ab(std::int64_t x) noexcept { return value.max_ab = x, *this; }
  constexpr ConstraintWords& max_c(std::int64_t x) noexcept { return value.max_c = x, *this; }
  constexpr ConstraintWords& split_turn(std::int32_t x) noexcept { return value.split_turn = x, *this; }
  constexpr ConstraintWords& split_lead(std::int32_t x) noexcept { return value.split_lead = x, *this; }
  constexpr ConstraintWords& max_m(std::int32_t x) noexcept { return value.max_m = x, *this; }
  constexpr ConstraintWords& min_m(std::int32_t x) noexcept { return value.min_m = x, *this; }
  constexpr ConstraintWords& measured_only(bool x = true) noexcept { return value.measured_only = x, *this; }
  constexpr ConstraintWords& min_n(std::int32_t x) noexcept { return value.routed.min_n = x, *this; }
  constexpr ConstraintWords& max_n(std::int32_t x) noexcept { return value.routed.max_n = x, *this; }
  constexpr ConstraintWords& max_k(std::int32_t x) noexcept { return value.routed.max_k = x, *this; }
  constexpr ConstraintWords& max_routed(std::int32_t x) noexcept { return value.routed.max_routed = x, *this; }
  constexpr ConstraintWords& few_experts(std::int32_t x) noexcept { return value.routed.few_experts = x, *this; }
  constexpr ConstraintWords& max_routed_few(std::int32_t x) noexcept { return value.routed.max_routed_few = x, *this; }
  constexpr ConstraintWords& presorted(bool x = true) noexcept { return value.routed.presorted = x, *this; }
  constexpr ConstraintWords& max_weights(std::int64_t x) noexcept { return value.routed.max_weights = x, *this; }
  constexpr operator Constraints() const noexcept { return value; }
};
constexpr ConstraintWords constraints() noexcept {
  return {};
}

struct TwinWords {
  TwinConfig value;

  constexpr TwinWords& k_batch_mode(std::int32_t x) noexcept { return value.k_batch_mode = x, *this; }
  constexpr TwinWords& pads(bool m, bool n, bool k) noexcept {
    return value.pad_m = m, value.pad_n = n, value.pad_k = k, *this;
  }
  constexpr operator TwinConfig() const noexcept { return value; }
};
constexpr TwinWords twin(std::int32_t tile_m, std::int32_t tile_n, std::int32_t tile_k) noexcept {
  return {{tile_m, tile_n, tile_k, 0, false, false, false}};
}

struct HostWords {
  HostConfig value;

  constexpr HostWords& register_tile(std::int32_t mr, std::int32_t nr) noexcept {
    return value.mr = mr, value.nr = nr, *this;
  }
  constexpr HostWords& blocks(std::int32_t mc, std::int32_t nc, std::int32_t kc) noexcept {
    return value.mc = mc, value.nc = nc, value.kc = kc, *this;
  }
  constexpr HostWords& threads(std::int32_t x) noexcept { return value.threads = x, *this; }
  constexpr operator HostConfig() const noexcept { return value; }
};
constexpr HostWords host(Isa isa) noexcept {
  return {{isa, 0, 0, 0, 0, 0, 0}};
}

struct InstanceWords {
  InstanceDesc value;

  constexpr InstanceWords& archs(std::uint32_t bits) noexcept { return value.archs = bits, *this; }
  constexpr InstanceWords& table_kernel(const char* name) noexcept { return value.table_kernel = name, *this; }
  constexpr InstanceWords& macro_tile(std::int32_t m, std::int32_t n, std::int32_t k) noexcept {
    return value.macro_tile = {m, n, k}, *this;
  }
  constexpr InstanceWords& asks(const ConstraintWords& words) noexcept {
    return value.constraints = words.value, *this;
  }
  /// Of one split; of more.
  constexpr InstanceWords& order(std::uint32_t whole, std::uint32_t split) noexcept {
    return value.order = {whole, split}, *this;
  }
  constexpr InstanceWords& runs_as(const TwinWords& words) noexcept { return value.twin_config = words.value, *this; }
  constexpr InstanceWords& runs_as(const HostWords& words) noexcept { return value.host_config = words.value, *this; }
  constexpr InstanceWords& launch(LaunchFn twin, WorkspaceFn workspace) noexcept {
    return value.twin = twin, value.workspace = workspace, *this;
  }
  constexpr InstanceWords& stream_k(Strategy strategy, std::int32_t blocks_per_cu) noexcept {
    return value.stream_k.strategy = strategy, value.stream_k.blocks_per_cu = blocks_per_cu, *this;
  }
  constexpr InstanceWords& parts(std::uint64_t gate_up, std::uint64_t down) noexcept {
    return value.parts[0] = gate_up, value.parts[1] = down, *this;
  }
  /// Words of an operation's own, with a `put` beside them.
  template <class Words>
  constexpr InstanceWords& own(const Words& words) noexcept {
    return put(value, words), *this;
  }
  constexpr operator InstanceDesc() const noexcept { return value; }
};
/// `id` is the content id of the name.
constexpr InstanceWords instance(const char* name, std::uint64_t id, const Signature& signature,
                                 Backend backend) noexcept {
  return {{name,
           id,
           signature,
           backend,
           0,
           "",
           {0, 0, 0},
           {0, 0, 0, 0, 0, 1, false},
           {0, 0, 0, 0, false, false, false},
           {Isa::x86_64_v3, 0, 0, 0, 0, 0, 0},
           nullptr,
           nullptr,
           nullptr,
           nullptr}};
}

/// What a DecisionNode leads to where that is a leaf.
constexpr std::int16_t leaf(std::int16_t index) noexcept {
  return static_cast<std::int16_t>(~index);
}
/// A decision rule, of one product where that is named; without nodes its one leaf answers always. Arrays must be of
/// static storage.
template <std::size_t Leaves>
constexpr Heuristic heuristic(const char* name, Arch arch, const Choice (&leaves)[Leaves],
                              const char* sku = nullptr) noexcept {
  return {name, arch, leaves, Leaves, nullptr, 0, sku};
}
template <std::size_t Leaves, std::size_t Nodes>
constexpr Heuristic heuristic(const char* name, Arch arch, const Choice (&leaves)[Leaves],
                              const DecisionNode (&nodes)[Nodes], const char* sku = nullptr) noexcept {
  return {name, arch, leaves, Leaves, nodes, Nodes, sku};
}
template <std::size_t Count>
constexpr Defaults defaults_on(Arch arch, const std::uint16_t (&instances)[Count]) noexcept {
  return {arch, instances, Count};
}
template <std::size_t Count>
constexpr Predicted predicted_on(Arch arch, const KernelWork (&works)[Count]) noexcept {
  return {arch, works, Count};
}

/// Words of a SignatureUnit. Arrays must be of static storage.
struct UnitWords {
  SignatureUnit value;

  template <std::size_t Count>
  constexpr UnitWords& instances(const InstanceDesc (&all)[Count]) noexcept {
    return value.instances = all, value.instance_count = Count, *this;
  }
  template <std::size_t Count>
  constexpr UnitWords& tables(const LookupTable* const (&all)[Count]) noexcept {
    return value.tables = all, value.table_count = Count, *this;
  }
  template <std::size_t Count>
  constexpr UnitWords& heuristics(const Heuristic (&all)[Count]) noexcept {
    return value.heuristics = all, value.heuristic_count = Count, *this;
  }
  template <std::size_t Count>
  constexpr UnitWords& defaults(const Defaults (&all)[Count]) noexcept {
    return value.defaults = all, value.default_count = Count, *this;
  }
  template <std::size_t Count>
  constexpr UnitWords& predicted(const Predicted (&all)[Count]) noexcept {
    return value.predicted = all, value.predicted_count = Count, *this;
  }
  template <class Table, std::size_t Count>
  constexpr UnitWords& own_tables(const Table (&all)[Count]) noexcept {
    return value.own_tables = all, value.own_table_count = Count, *this;
  }
  constexpr operator SignatureUnit() const noexcept { return value; }
};
/// `name` is the canonical string.
constexpr UnitWords unit_of(const char* name, const Signature& signature) noexcept {
  return {{name, signature, nullptr, 0, nullptr, 0, nullptr, 0, nullptr, 0}};
}

}  // namespace describe
}  // namespace v1
}  // namespace ckgen
