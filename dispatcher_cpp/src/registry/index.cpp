#include "src/registry/index.hpp"

#include <algorithm>

#include <ckgen/product_data.hpp>

#include "src/operation/operation.hpp"
#include "src/registry/table_products.hpp"

namespace ckgen::inline v1::detail {

static_assert(arch_count < 32, "an arch is a bit of InstanceDesc::archs and five bits of the index's key");

namespace {

constexpr std::uint16_t no_slots[2] = {};
constexpr LadderPolicy no_policy{};
/// That of a count at which a unit has tables of single products alone.
constexpr LookupTable no_rows{Arch::unknown, 0, no_slots, 1, nullptr, 0, nullptr, 0, &no_policy};

/// Whether a user's instance is a default there.
bool answers(const InstanceDesc& instance, const Signature& signature, Arch arch) noexcept {
  return instance.signature == signature && (instance.archs & runnable_archs(arch)) != 0;
}

}  // namespace

Index::Index(const RegistryState& state) {
  std::vector<Signature> signatures;
  const auto note = [&](const Signature& signature) {
    if (std::find(signatures.begin(), signatures.end(), signature) == signatures.end()) signatures.push_back(signature);
  };
  for (const UnitRef& unit : state.units) note(unit.unit->signature);
  for (const std::uint32_t user : state.user_instances) note(state.instances[user]->signature);
  for (const Signature& signature : signatures) {
    for (std::size_t arch = 1; arch <= arch_count; ++arch) add_entry(state, signature, static_cast<Arch>(arch));
  }
  fill_slots();
}

void Index::add_entry(const RegistryState& state, const Signature& signature, Arch arch) {
  Entry entry{};
  entry.key = key_of(signature, arch);
  entry.table_begin = static_cast<std::uint32_t>(tables_.size());
  entry.heuristic_begin = static_cast<std::uint32_t>(heuristics_.size());
  entry.default_begin = static_cast<std::uint32_t>(defaults_.size());
  entry.own_table_begin = static_cast<std::uint32_t>(own_tables_.size());
  entry.predicted_begin = static_cast<std::uint32_t>(predicted_.size());
  for (const UnitRef& ref : state.units) {
    const SignatureUnit& unit = *ref.unit;
    if (unit.signature != signature) continue;
    add_tables(state, ref, arch);
    const auto own_table = operation_of(signature.op).registering.own_table;
    for (std::uint32_t t = 0; own_table != nullptr && t < unit.own_table_count; ++t) {
      const OwnTable own = own_table(unit, t);
      if (own.arch == arch) own_tables_.push_back({own.table, ref.instance_base});
    }
    for (std::uint32_t h = 0; h < unit.heuristic_count; ++h) {
      if (unit.heuristics[h].arch == arch) heuristics_.push_back({&unit.heuristics[h], ref.instance_base});
    }
  }
  std::stable_partition(heuristics_.begin() + entry.heuristic_begin, heuristics_.end(),
                        [](const HeuristicRef& one) { return one.heuristic->sku != nullptr; });
  std::stable_sort(tables_.begin() + entry.table_begin, tables_.end(),
                   [](const TableRef& x, const TableRef& y) { return x.cu_num < y.cu_num; });
  add_defaults(state, signature, arch);
  add_notes(state, signature, entry);
  add_predicted(state, signature, arch);
  entry.table_end = static_cast<std::uint32_t>(tables_.size());
  entry.heuristic_end = static_cast<std::uint32_t>(heuristics_.size());
  entry.default_end = static_cast<std::uint32_t>(defaults_.size());
  entry.own_table_end = static_cast<std::uint32_t>(own_tables_.size());
  entry.predicted_end = static_cast<std::uint32_t>(predicted_.size());
  if (entry.table_begin != entry.table_end || entry.own_table_begin != entry.own_table_end ||
      entry.heuristic_begin != entry.heuristic_end || entry.predicted_begin != entry.predicted_end ||
      entry.default_begin != entry.default_end)
    entries_.push_back(entry);
}

/// Those of all products, each with those of single ones at its count behind it.
void Index::add_tables(const RegistryState& state, const UnitRef& ref, Arch arch) {
  const SignatureUnit& unit = *ref.unit;
  const auto ref_of = [&](std::uint32_t t) {
    const std::uint32_t* externals = state.table_externals[ref.first_table + t].data();
    return TableRef{unit.tables[t], unit.tables[t]->cu_num, ref.instance_base, externals, 0, 0};
  };
  const std::size_t begin = tables_.size();
  std::vector<const char*> skus(unit.table_count, nullptr);
  for (const TableProduct& one : table_products(unit)) skus[one.table] = one.sku;
  for (std::uint32_t t = 0; t < unit.table_count; ++t) {
    if (unit.tables[t]->arch == arch && skus[t] == nullptr) tables_.push_back(ref_of(t));
  }
  const auto has_count = [&](std::uint32_t cu_num) {
    return std::any_of(tables_.begin() + static_cast<std::ptrdiff_t>(begin), tables_.end(),
                       [&](const TableRef& one) { return one.cu_num == cu_num; });
  };
  for (std::uint32_t t = 0; t < unit.table_count; ++t) {
    const LookupTable& table = *unit.tables[t];
    if (table.arch == arch && !has_count(table.cu_num))
      tables_.push_back({&no_rows, table.cu_num, ref.instance_base, nullptr, 0, 0});
  }
  for (std::size_t i = begin; i < tables_.size(); ++i) {
    TableRef& every = tables_[i];
    every.product_begin = static_cast<std::uint32_t>(products_.size());
    for (std::uint32_t t = 0; t < unit.table_count; ++t) {
      const LookupTable& table = *unit.tables[t];
      if (skus[t] != nullptr && table.arch == arch && table.cu_num == every.cu_num)
        products_.push_back({find_product(arch, table.cu_num, skus[t]), ref_of(t)});
    }
    every.product_end = static_cast<std::uint32_t>(products_.size());
  }
}

bool Index::has_rows(std::uint32_t table, std::uint16_t product) const noexcept {
  const TableRef& every = tables_[table];
  const auto first = products_.begin() + every.product_begin, last = products_.begin() + every.product_end;
  return every.table != &no_rows ||
         std::any_of(first, last, [&](const ProductRef& one) { return one.product == product; });
}

/// The arch's own list; on a CPU that of the highest level at or below it that has any. Then the users' instances.
void Index::add_defaults(const RegistryState& state, const Signature& signature, Arch arch) {
  const std::size_t begin = defaults_.size();
  for (Arch level = arch; level != Arch::unknown && defaults_.size() == begin; level = lower_level(level)) {
    for (const UnitRef& ref : state.units) {
      if (ref.unit->signature != signature) continue;
      for (std::uint32_t d = 0; d < ref.unit->default_count; ++d) {
        const Defaults& list = ref.unit->defaults[d];
        if (list.arch != level) continue;
        for (std::uint32_t i = 0; i < list.count; ++i) defaults_.push_back(ref.instance_base + list.instances[i]);
      }
    }
  }
  for (const std::uint32_t user : state.user_instances) {
    if (answers(*state.instances[user], signature, arch)) defaults_.push_back(user);
  }
}

void Index::add_notes(const RegistryState& state, const Signature& signature, Entry& entry) {
  entry.note_begin = static_cast<std::uint32_t>(notes_.size());
  const auto note = operation_of(signature.op).selecting.note;
  if (note == nullptr) return;
  for (std::size_t i = entry.default_begin; i < defaults_.size(); ++i)
    notes_.push_back(note(*state.instances[defaults_[i]]));
}

void Index::add_predicted(const RegistryState& state, const Signature& signature, Arch arch) {
  for (const std::uint32_t user : state.user_instances) {
    if (answers(*state.instances[user], signature, arch)) return;
  }
  for (const UnitRef& ref : state.units) {
    if (ref.unit->signature != signature) continue;
    for (std::uint32_t p = 0; p < ref.unit->predicted_count; ++p) {
      const Predicted& list = ref.unit->predicted[p];
      if (list.arch != arch) continue;
      for (std::uint32_t i = 0; i < list.count; ++i)
        predicted_.push_back({&list.works[i], ref.instance_base + list.works[i].instance});
    }
  }
}

void Index::fill_slots() {
  std::size_t size = 8;
  while (size < 4 * entries_.size()) size *= 2;
  slots_.assign(size, 0);
  mask_ = size - 1;
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    std::uint64_t slot = hash(entries_[i].key);
    while (slots_[slot & mask_] != 0) ++slot;
    slots_[slot & mask_] = i + 1;
  }
}

}  // namespace ckgen::inline v1::detail
