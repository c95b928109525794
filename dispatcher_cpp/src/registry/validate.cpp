#include "src/registry/validate.hpp"

#include <algorithm>

#include <ckgen/product_data.hpp>

#include "src/gpu/unpack.hpp"
#include "src/operation/operation.hpp"
#include "src/registry/table_products.hpp"

namespace ckgen::inline v1::detail {
namespace {

Status refuse(const Library& library, const SignatureUnit& unit, const char* what) noexcept {
  return Status::error(StatusCode::invalid_argument, "library %s, signature %s: %s", library.name,
                       unit.name != nullptr ? unit.name : "?", what);
}

constexpr bool is_power_of_two(std::uint32_t x) noexcept {
  return x != 0 && (x & (x - 1)) == 0;
}

const char* flaw(const SignatureUnit& unit, const LookupTable& table) noexcept {
  if (table.policy == nullptr) return "a table has no policy";
  if (table.slots == nullptr || (table.slot_mask & (table.slot_mask + 1)) != 0)
    return "a table's slots are no power of two";
  bool empty = false;
  for (std::uint32_t i = 0; i <= table.slot_mask; ++i) {
    empty = empty || table.slots[i] == 0;
    if (table.slots[i] > table.group_count) return "a slot points outside the groups";
  }
  if (!empty) return "a table has no empty slot";
  for (std::uint32_t g = 0; g < table.group_count; ++g) {
    const Group& group = table.groups[g];
    for (std::uint32_t r = 0; r < group.rung_count; ++r) {
      const Rung& rung = group.rungs[r];
      if (!is_power_of_two(rung.step)) return "a rung's step is no power of two";
      if (rung.choice.instance >= unit.instance_count) return "a choice points outside the instances";
    }
    if (group.order.instance != no_choice && group.order.instance >= unit.instance_count)
      return "an order of additions points outside the instances";
    for (std::uint32_t r = 0; r < group.external_count; ++r) {
      const Rung& rung = group.external_rungs[r];
      if (!is_power_of_two(rung.step)) return "an external rung's step is no power of two";
      if (rung.choice.instance >= table.external_count) return "an external rung points outside the externals";
    }
  }
  return nullptr;
}

/// What an instance's operation says of it, and any other of what it has of theirs.
const char* op_flaw(const InstanceDesc& instance) noexcept {
  for (const Operation* one : operations) {
    const bool is_own = one->op == instance.signature.op;
    const auto flaw_of = is_own ? one->registering.instance_flaw : one->registering.foreign_instance_flaw;
    if (flaw_of == nullptr) continue;
    if (const char* what = flaw_of(instance)) return what;
  }
  return nullptr;
}

const char* op_flaw(const SignatureUnit& unit) noexcept {
  const Registering& own = operation_of(unit.signature.op).registering;
  for (const TableProduct& one : table_products(unit)) {
    if (one.table >= unit.table_count) return "a product is said of no table";
    const LookupTable& table = *unit.tables[one.table];
    if (one.sku == nullptr || find_product(table.arch, table.cu_num, one.sku) == 0)
      return "a table is of a product that is not known with its arch and count";
  }
  return own.unit_flaw != nullptr ? own.unit_flaw(unit) : nullptr;
}

/// Nodes lead to later ones only, so that every walk ends.
const char* heuristic_flaw(const Heuristic& rule, std::uint32_t instance_count) noexcept {
  if (rule.leaf_count == 0) return "a decision rule has no leaf";
  const auto is_its_product = [&](const ProductInfo& one) {
    return one.arch == rule.arch && rule.sku == std::string_view(one.sku);
  };
  if (rule.sku != nullptr && std::none_of(std::begin(product_table), std::end(product_table), is_its_product))
    return "a decision rule is of a product that is not known with its arch";
  for (std::uint32_t i = 0; i < rule.leaf_count; ++i) {
    if (rule.leaves[i].instance >= instance_count) return "a leaf points outside the instances";
    if (rule.leaves[i].k_batch == 0) return "a leaf splits by 0";
  }
  for (std::uint32_t i = 0; i < rule.node_count; ++i) {
    const DecisionNode& node = rule.nodes[i];
    if (node.condition.tile_m < 1 || node.condition.tile_n < 1) return "a condition's tile is not positive";
    for (const std::int64_t next : {node.then, node.otherwise}) {
      const bool ends = next == no_leaf || (next < 0 && ~next < rule.leaf_count);
      if (!ends && (next <= i || next >= rule.node_count)) return "a decision rule leads to no later node and no leaf";
    }
  }
  return nullptr;
}

const char* flaw(const SignatureUnit& unit) noexcept {
  if (unit.name == nullptr) return "it has no name";
  for (std::uint32_t i = 0; i < unit.instance_count; ++i) {
    const InstanceDesc& instance = unit.instances[i];
    if (!validate(instance).ok()) return "an instance has no name or no arch, or a number out of range";
    if (instance.signature != unit.signature) return "an instance is of another signature";
  }
  for (std::uint32_t i = 0; i < unit.table_count; ++i) {
    if (const char* what = flaw(unit, *unit.tables[i])) return what;
  }
  if (const char* what = op_flaw(unit)) return what;
  for (std::uint32_t i = 0; i < unit.heuristic_count; ++i) {
    if (const char* what = heuristic_flaw(unit.heuristics[i], unit.instance_count)) return what;
  }
  for (std::uint32_t i = 0; i < unit.default_count; ++i) {
    for (std::uint32_t d = 0; d < unit.defaults[i].count; ++d) {
      if (unit.defaults[i].instances[d] >= unit.instance_count) return "a default points outside the instances";
    }
  }
  for (std::uint32_t i = 0; i < unit.predicted_count; ++i) {
    for (std::uint32_t w = 0; w < unit.predicted[i].count; ++w) {
      const KernelWork& work = unit.predicted[i].works[w];
      if (work.instance >= unit.instance_count) return "a predicted work points outside the instances";
      if (work.tile_m == 0 || work.tile_n == 0 || work.tile_k == 0 || work.cluster == 0 || work.resident == 0)
        return "a predicted work has no tile, no workgroup of a cluster or no resident one";
    }
  }
  return nullptr;
}

const char* flaw(const DeviceCode* code) noexcept {
  if (code == nullptr) return "an entry is null";
  if (code->prepare == nullptr) return "it has no function that prepares a launch";
  if (code->objects == nullptr || code->object_count == 0) return "it has no code object";
  for (const Operation* one : operations) {
    if (one->registering.stages_flaw == nullptr) continue;
    if (const char* what = one->registering.stages_flaw(*code)) return what;
  }
  for (std::uint32_t i = 0; i < code->object_count; ++i) {
    const CodeObject& object = code->objects[i];
    if (object.arch == Arch::unknown || arch_info(object.arch).kind != ArchKind::gpu)
      return "a code object is for no known GPU arch";
    const auto same = std::count_if(code->objects, code->objects + i,
                                    [&object](const CodeObject& other) { return other.arch == object.arch; });
    if (same >= kMaxCodeObjects) return "three code objects are for one arch";
    if (object.bytes == nullptr || object.size == 0 || object.unpacked_size == 0) return "a code object is empty";
  }
  return nullptr;
}

/// Whether constants of `kind` named `name` were made for this runtime.
Status check_abi(const char* kind, const char* name, std::uint32_t abi) noexcept {
  if (name == nullptr) return Status::error(StatusCode::invalid_argument, "the %s has no name", kind);
  if (abi == CKGEN_RUNTIME_ABI) return Status::success();
  return Status::error(StatusCode::unsupported,
                       "%s %s was generated for runtime ABI %u, this is %u: generate and build it again", kind, name,
                       abi, static_cast<unsigned>(CKGEN_RUNTIME_ABI));
}

}  // namespace

Status validate(const Library& library) noexcept {
  if (const Status status = check_abi("library", library.name, library.abi); !status.ok()) return status;
  for (std::uint32_t i = 0; i < library.unit_count; ++i) {
    if (const char* what = flaw(*library.units[i])) return refuse(library, *library.units[i], what);
  }
  return Status::success();
}

Status validate(const DeviceLibrary& library) noexcept {
  if (const Status status = check_abi("device library", library.name, library.abi); !status.ok()) return status;
  if (!unpacks())
    return Status::error(StatusCode::unsupported,
                         "device library %s: ckgen was built without zlib (CKGEN_DEVICE_CODE=OFF) and cannot unpack "
                         "GPU code",
                         library.name);
  if (library.codes == nullptr && library.count != 0)
    return Status::error(StatusCode::invalid_argument, "device library %s has no codes", library.name);
  for (std::uint32_t i = 0; i < library.count; ++i) {
    if (const char* what = flaw(library.codes[i]))
      return Status::error(StatusCode::invalid_argument, "device library %s, code of id %016llx: %s", library.name,
                           static_cast<unsigned long long>(library.codes[i] != nullptr ? library.codes[i]->id : 0),
                           what);
  }
  return Status::success();
}

Status validate(const InstanceDesc& instance) noexcept {
  if (instance.name == nullptr || instance.name[0] == '\0')
    return Status::error(StatusCode::invalid_argument, "an instance needs a name");
  if (instance.archs == 0)
    return Status::error(StatusCode::invalid_argument, "instance %s runs on no arch", instance.name);
  if (instance.constraints.max_k_batch < 1)
    return Status::error(StatusCode::invalid_argument, "instance %s: max_k_batch must be at least 1", instance.name);
  if (instance.stream_k.strategy == Strategy::any || instance.stream_k.strategy > Strategy::tree ||
      instance.stream_k.blocks_per_cu < 1)
    return Status::error(StatusCode::invalid_argument, "instance %s: its strategy or blocks per CU are out of range",
                         instance.name);
  if (instance.stream_k.is_used() && instance.constraints.max_k_batch != 1)
    return Status::error(StatusCode::invalid_argument, "instance %s: stream-K takes no k_batch", instance.name);
  if (!is_operation(instance.signature.op))
    return Status::error(StatusCode::invalid_argument, "instance %s: no such operation", instance.name);
  if (const char* what = op_flaw(instance))
    return Status::error(StatusCode::invalid_argument, "instance %s: %s", instance.name, what);
  if (instance.macro_tile.m < 1 || instance.macro_tile.n < 1 || instance.macro_tile.k < 1)
    return Status::error(StatusCode::invalid_argument, "instance %s: its macro tile is empty", instance.name);
  return Status::success();
}

}  // namespace ckgen::inline v1::detail
