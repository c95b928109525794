// The override file: rows that come before every table, exchangeable while select() runs.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <ckgen/status.hpp>

#include "src/operation/override_row.hpp"
#include "src/operation/request.hpp"
#include "src/registry/registry_state.hpp"

namespace ckgen::inline v1::detail {

struct Override {
  std::uint32_t instance;
  std::uint32_t k_batch;
};

class OverrideTable {
 public:
  const Override* find(const Request& q, const OverrideKey& more) const noexcept {
    const auto found = rows_.find({q.signature.pack(), q.arch, q.cu_num, q.sizes.m, q.sizes.n, q.sizes.k, more});
    return found == rows_.end() ? nullptr : &found->second;
  }

  /// One line of the file, comments and header apart. An empty string, or why the row was left out.
  std::string add(const RegistryState& state, const OverrideRow& row);

  bool empty() const noexcept { return rows_.empty(); }

 private:
  struct Key {
    std::uint64_t signature;
    Arch arch;
    std::uint32_t cu_num;
    std::int64_t m, n, k;
    OverrideKey more;
    bool operator==(const Key&) const noexcept = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept;
  };
  std::unordered_map<Key, Override, Hash> rows_;
};

/// Readers take the current table without a lock; tables that were replaced live as long as the dispatcher, because a
/// reader may still be in one. Reloads are rare and rows few.
class Overrides {
 public:
  const OverrideTable* current() const noexcept { return current_.load(std::memory_order_acquire); }
  Status load(const RegistryState& state, const char* path) noexcept;

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<const OverrideTable>> tables_;
  std::atomic<const OverrideTable*> current_{nullptr};
};

}  // namespace ckgen::inline v1::detail
