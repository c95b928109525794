// What a Dispatcher holds; everything but the loaded rows, what hooks count and the pool is constant after
// construction.
#pragma once

#include <ckgen/dispatcher.hpp>

#include <atomic>
#include <cstdint>

#include "src/gpu/workspace_pool.hpp"
#include "src/select/hooks.hpp"
#include "src/select/query.hpp"

namespace ckgen {
inline namespace v1 {

struct __attribute__((visibility("hidden"))) Dispatcher::Impl {
  Impl(const Registry& source, std::shared_ptr<const detail::RegistryState> snapshot, const DispatcherOptions& options);

  detail::Query query(const Problem& problem, const Device& device) const noexcept {
    return detail::query_of(*state, index, problem, device, overrides.current(), tables.current(), is_forced, forced);
  }

  Selection select(const Problem& problem, const Device& device) const noexcept;
  /// The same, said and recorded as the options ask.
  Selection hooked(const Problem& problem, const Device& device) const noexcept;

  Registry registry;
  std::shared_ptr<const detail::RegistryState> state;
  detail::Index index;
  bool is_forced = false;
  std::uint32_t forced = no_index;
  Status status = Status::success();
  detail::Exchanged<detail::OverrideTable> overrides;
  detail::Exchanged<detail::LoadedTables> tables;
  std::atomic<std::uint64_t> generation{1};  // counts the rows that were exchanged, behind each exchange
  detail::Hooks hooks;
  mutable detail::WorkspacePool pool;
};

}  // namespace v1
}  // namespace ckgen
