// The override file: rows that come before every table, exchangeable while select() runs.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <ckgen/status.hpp>

#include "src/registry/registry_state.hpp"
#include "src/select/supports.hpp"

namespace ckgen::inline v1::detail {

struct Override {
  std::uint32_t instance;
  std::uint32_t k_batch;
};

class OverrideTable {
 public:
  /// `shape` is read where the signature is of op fmha.
  const Override* find(const Signature& signature, Arch arch, std::uint32_t cu_num, std::int64_t batch,
                       const Sizes& sizes, const FmhaShape& shape) const noexcept {
    const auto found =
        rows_.find({signature.pack(), arch, cu_num, batch, sizes.m, sizes.n, sizes.k, attention_of(signature, shape)});
    return found == rows_.end() ? nullptr : &found->second;
  }

  /// One line of the file, comments and header apart. An empty string, or why the row was left out.
  std::string add(const RegistryState& state, const std::vector<std::string_view>& cells);

  bool empty() const noexcept { return rows_.empty(); }

 private:
  /// Heads, hdim_v and, where masked, the mask; zeros for any other op.
  using Attention = std::array<std::int64_t, 7>;
  static Attention attention_of(const Signature& signature, const FmhaShape& x) noexcept {
    if (signature.op != Op::fmha) return {};
    if (!signature.fmha.masked) return {x.heads_q, x.heads_k, x.hdim_v};
    return {x.heads_q,     x.heads_k,      x.hdim_v,     static_cast<std::int64_t>(x.corner),
            x.window_left, x.window_right, x.sink_tokens};
  }

  struct Key {
    std::uint64_t signature;
    Arch arch;
    std::uint32_t cu_num;
    std::int64_t batch, m, n, k;
    Attention attention;
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
