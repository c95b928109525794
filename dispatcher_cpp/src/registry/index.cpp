#include "src/registry/index.hpp"

#include <algorithm>

#include "src/operation/operation.hpp"

namespace ckgen::inline v1::detail {

static_assert(arch_count < 32, "an arch is a bit of InstanceDesc::archs and five bits of the index's key");

namespace {

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
    for (std::uint32_t t = 0; t < unit.table_count; ++t) {
      if (unit.tables[t]->arch == arch)
        tables_.push_back({unit.tables[t], unit.tables[t]->cu_num, ref.instance_base,
                           state.table_externals[ref.first_table + t].data()});
    }
    for (std::uint32_t t = 0; t < unit.own_table_count; ++t) {
      const OwnTable own = operation_of(signature.op).registering.own_table(unit, t);
      if (own.arch == arch) own_tables_.push_back({own.table, ref.instance_base});
    }
    for (std::uint32_t h = 0; h < unit.heuristic_count; ++h) {
      if (unit.heuristics[h].arch == arch) heuristics_.push_back({&unit.heuristics[h], ref.instance_base});
    }
  }
  std::stable_sort(tables_.begin() + entry.table_begin, tables_.end(),
                   [](const TableRef& x, const TableRef& y) { return x.cu_num < y.cu_num; });
  add_defaults(state, signature, arch);
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
