// The data behind a Registry: shared by its snapshots and copied before it is changed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <ckgen/library.hpp>
#include <ckgen/selection.hpp>

#include "src/gpu/device_program.hpp"

namespace ckgen::inline v1::detail {

/// A unit whose instances are numbered instance_base, instance_base + 1, …
struct UnitRef {
  const SignatureUnit* unit;
  std::uint32_t instance_base;
  std::uint32_t first_table;  // of RegistryState::table_externals
};

struct RegistryState {
  std::vector<const InstanceDesc*> instances;
  std::vector<std::shared_ptr<const InstanceDesc>> owned;  // the users' own, copied
  std::vector<std::uint32_t> user_instances;               // that are not a provider
  std::vector<UnitRef> units;
  std::vector<std::uint64_t> build_ids;
  std::vector<ExternalKernel> externals;
  std::vector<std::uint32_t> providers;                     // by external: an instance or no_index
  std::vector<std::string> unprovided;                      // by external: why a library that could does not; or ""
  std::vector<std::vector<std::uint32_t>> table_externals;  // by table: its externals as indices of `externals`
  std::unordered_map<std::uint32_t, std::shared_ptr<const DeviceProgram>> programs;  // by instance: attached GPU code
  std::unordered_map<std::string_view, std::uint32_t> by_name;
  std::unordered_map<std::uint64_t, std::uint32_t> by_id;

  std::uint32_t find(std::string_view name) const noexcept {
    const auto found = by_name.find(name);
    return found == by_name.end() ? no_index : found->second;
  }

  /// The GPU code of an instance, or null.
  const DeviceProgram* program(std::uint32_t instance) const noexcept {
    const auto found = programs.find(instance);
    return found == programs.end() ? nullptr : found->second.get();
  }
};

}  // namespace ckgen::inline v1::detail
