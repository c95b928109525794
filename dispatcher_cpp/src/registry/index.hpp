// (signature, arch) -> tables, heuristics and defaults: built once, read without locks.
#pragma once

#include <cstdint>
#include <vector>

#include "src/operation/cost.hpp"
#include "src/registry/registry_state.hpp"

namespace ckgen::inline v1::detail {

/// A table of a unit for all products, which has no rows where the unit has tables of single products alone; these are
/// products of the Index.
struct TableRef {
  const LookupTable* table;
  std::uint32_t cu_num;  // the table's
  std::uint32_t instance_base;
  const std::uint32_t* externals;  // the table's externals as registry indices
  std::uint32_t product_begin, product_end;
};

/// A table of one product: Device::product.
struct ProductRef {
  std::uint16_t product;
  TableRef ref;
};

/// The ladder that answers a problem of some N, K and batch, and its table. Null: the table has none.
struct MeasuredGroup {
  const TableRef* ref;
  const Group* group;
};

/// A table of an operation's own kind: only that one knows what it is.
struct OwnTableRef {
  const void* table;
  std::uint32_t instance_base;
};

struct HeuristicRef {
  const Heuristic* heuristic;
  std::uint32_t instance_base;
};

struct WorkRef {
  const KernelWork* work;
  std::uint32_t instance;  // registry index
};

/// Everything known of one (signature, arch): ranges of the Index's arrays.
struct Entry {
  std::uint64_t key;
  std::uint32_t table_begin, table_end;          // ascending by CU count
  std::uint32_t heuristic_begin, heuristic_end;  // those of single products first
  std::uint32_t default_begin, default_end;      // registry indices of instances, in order of preference
  std::uint32_t own_table_begin, own_table_end;
  std::uint32_t note_begin;                      // of defaults, where the operation keeps some
  std::uint32_t predicted_begin, predicted_end;  // none beside an instance of a user's, which has no work
};

/// The next lower x86 level, or Arch::unknown.
constexpr Arch lower_level(Arch arch) noexcept {
  switch (arch) {
    case Arch::x86_64_amx: return Arch::x86_64_v4_bf16;
    case Arch::x86_64_v4_bf16: return Arch::x86_64_v4;
    case Arch::x86_64_v4: return Arch::x86_64_v3;
    default: return Arch::unknown;
  }
}

/// Bit i: Arch with value i. An x86 level also runs what was built for the levels that it contains.
constexpr std::uint32_t runnable_archs(Arch arch) noexcept {
  std::uint32_t mask = 0;
  for (; arch != Arch::unknown; arch = lower_level(arch)) mask |= 1U << static_cast<unsigned>(arch);
  return mask;
}

class Index {
 public:
  explicit Index(const RegistryState& state);

  const Entry* find(const Signature& signature, Arch arch) const noexcept {
    const std::uint64_t key = key_of(signature, arch);
    for (std::uint64_t slot = hash(key);; ++slot) {
      const std::uint32_t entry = slots_[slot & mask_];
      if (entry == 0) return nullptr;
      if (entries_[entry - 1].key == key) return &entries_[entry - 1];
    }
  }

  const TableRef& table(std::uint32_t i) const noexcept { return tables_[i]; }
  /// That of a device's product, else of all.
  MeasuredGroup group(std::uint32_t table, std::uint16_t product, std::uint64_t n, std::uint64_t k,
                      std::uint64_t batch) const noexcept {
    const TableRef& every = tables_[table];
    for (std::uint32_t i = every.product_begin; i < every.product_end; ++i) {
      const ProductRef& one = products_[i];
      if (one.product != product) continue;
      if (const Group* group = find_group(*one.ref.table, n, k, batch)) return {&one.ref, group};
    }
    return {&every, find_group(*every.table, n, k, batch)};
  }
  /// Whether a table has rows for devices of a product.
  bool has_rows(std::uint32_t table, std::uint16_t product) const noexcept;
  const OwnTableRef& own_table(std::uint32_t i) const noexcept { return own_tables_[i]; }
  const HeuristicRef& heuristic(std::uint32_t i) const noexcept { return heuristics_[i]; }
  std::uint32_t default_instance(std::uint32_t i) const noexcept { return defaults_[i]; }
  /// Those of an entry's defaults, in their order.
  const DefaultNote* notes(const Entry& entry) const noexcept { return notes_.data() + entry.note_begin; }
  const WorkRef& predicted(std::uint32_t i) const noexcept { return predicted_[i]; }

 private:
  static constexpr int kArchBits = 5;
  static_assert(key_bits::signature + kArchBits <= 64);
  static std::uint64_t key_of(const Signature& signature, Arch arch) noexcept {
    return signature.pack() << kArchBits | static_cast<std::uint64_t>(arch);
  }
  static std::uint64_t hash(std::uint64_t key) noexcept { return key * 0x9e3779b97f4a7c15ULL >> 40; }
  void add_tables(const RegistryState& state, const UnitRef& ref, Arch arch);
  void add_entry(const RegistryState& state, const Signature& signature, Arch arch);
  void add_defaults(const RegistryState& state, const Signature& signature, Arch arch);
  /// Of the defaults that were added last.
  void add_notes(const RegistryState& state, const Signature& signature, Entry& entry);
  void add_predicted(const RegistryState& state, const Signature& signature, Arch arch);
  void fill_slots();

  std::vector<Entry> entries_;
  std::vector<TableRef> tables_;
  std::vector<ProductRef> products_;
  std::vector<OwnTableRef> own_tables_;
  std::vector<HeuristicRef> heuristics_;
  std::vector<std::uint32_t> defaults_;
  std::vector<DefaultNote> notes_;
  std::vector<WorkRef> predicted_;
  std::vector<std::uint32_t> slots_;
  std::uint64_t mask_ = 0;
};

}  // namespace ckgen::inline v1::detail
