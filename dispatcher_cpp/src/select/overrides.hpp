// The override file: rows that come before every table.
#pragma once

#include <string>
#include <unordered_map>

#include <ckgen/status.hpp>

#include "src/operation/file_row.hpp"
#include "src/operation/request.hpp"
#include "src/registry/registry_state.hpp"
#include "src/select/exchanged.hpp"

namespace ckgen::inline v1::detail {

struct Override {
  std::uint32_t instance;
  std::uint32_t k_batch;
};

class OverrideTable {
 public:
  const Override* find(const Request& q, const OverrideKey& more) const noexcept {
    const Override* const own = q.product != 0 ? find(q, more, q.product) : nullptr;
    return own != nullptr ? own : find(q, more, 0);
  }

  /// One line of the file, comments and header apart. An empty string, or why the row was left out.
  std::string add(const RegistryState& state, const FileRow& row);

  bool empty() const noexcept { return rows_.empty(); }

 private:
  struct Key {
    std::uint64_t signature;
    Arch arch;
    std::uint16_t product;  // 0: of all
    std::uint32_t cu_num;
    std::int64_t m, n, k;
    OverrideKey more;
    bool operator==(const Key&) const noexcept = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept;
  };
  const Override* find(const Request& q, const OverrideKey& more, std::uint16_t product) const noexcept {
    const auto found =
        rows_.find({q.signature.pack(), q.arch, product, q.cu_num, q.sizes.m, q.sizes.n, q.sizes.k, more});
    return found == rows_.end() ? nullptr : &found->second;
  }

  std::unordered_map<Key, Override, Hash> rows_;
};

/// Reads an override file in place of the one before, as Dispatcher::load_overrides says.
Status load_overrides(const RegistryState& state, const char* path, Exchanged<OverrideTable>& into) noexcept;

}  // namespace ckgen::inline v1::detail
