// Tuned tables that a running program loads: rows beside the compiled ones.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include <ckgen/selection.hpp>
#include <ckgen/status.hpp>

#include "src/operation/file_row.hpp"
#include "src/operation/request.hpp"
#include "src/operation/shape.hpp"
#include "src/registry/registry_state.hpp"
#include "src/select/exchanged.hpp"

namespace ckgen::inline v1::detail {

struct LoadedRow {
  std::array<std::int64_t, 2> sizes;  // MeasuredKey::sizes
  std::uint32_t instance;
  std::uint32_t k_batch;
  std::uint32_t file;
};

/// A row that answers, or null.
struct LoadedHit {
  const LoadedRow* row = nullptr;
  Tier tier = Tier::unsupported;
  std::uint64_t table_m = 0;

  explicit operator bool() const noexcept { return row != nullptr; }
};

class LoadedTables {
 public:
  /// The exact row, or the next measured one within the near gap. Neither allocates nor throws.
  LoadedHit find(const Request& request) const noexcept;

  /// One line of a file, of which there are numbers from 0 on, in order. An empty string, or why the row was left out.
  std::string add(const RegistryState& state, const Index& index, std::uint32_t file, const FileRow& row);
  /// The bytes of a file.
  void digest(std::string_view bytes) noexcept;

  std::uint64_t digest() const noexcept { return digest_.value(); }

 private:
  struct Key {
    std::uint64_t signature;
    Arch arch;
    std::uint16_t product;  // 0: of all
    std::uint32_t cu_num;
    std::array<std::int64_t, 10> same;
    bool operator==(const Key&) const noexcept = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept;
  };

  LoadedHit find(const Request& request, const MeasuredKey& wanted, std::uint16_t product) const noexcept;

  std::unordered_map<Key, std::vector<LoadedRow>, Hash> ladders_;  // ascending by sizes
  ShapeHash digest_;
};

/// Reads the files of `paths` in place of those before, as Dispatcher::load_tables says.
Status load_tables(const RegistryState& state, const Index& index, const char* paths,
                   Exchanged<LoadedTables>& into) noexcept;

/// Dispatcher::tables_digest. `loaded` may be null.
std::uint64_t tables_digest(const RegistryState& state, const LoadedTables* loaded) noexcept;

}  // namespace ckgen::inline v1::detail
