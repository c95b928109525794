#include "src/registry/provided.hpp"

#include <ckgen/device.hpp>

#include "src/providers/provider.hpp"

namespace ckgen::inline v1::detail {
namespace {

/// A kernel of a table that a provider may have.
struct Named {
  const LookupTable& table;
  const Signature& signature;
  std::uint32_t number;  // in the table

  const ExternalKernel& kernel() const noexcept { return table.externals[number]; }
};

/// The first size of its rows that the library does not take.
Status takes_rows(const Provider& provider, const InstanceDesc& instance, const Named& named) {
  for (std::uint32_t g = 0; g < named.table.group_count; ++g) {
    const Group& group = named.table.groups[g];
    for (std::uint32_t r = 0; r < group.external_count; ++r) {
      const Rung& rung = group.external_rungs[r];
      if (rung.choice.instance != named.number) continue;
      for (std::uint64_t m = rung.first; m <= rung.last; m += rung.step) {
        const Status status = provider.takes(instance, {static_cast<std::int64_t>(m), group.n, group.k});
        if (!status.ok())
          return Status::error(status.code, "%s (M=%llu N=%u K=%u)", status.message, static_cast<unsigned long long>(m),
                               group.n, group.k);
      }
    }
  }
  return Status::success();
}

/// Of several signatures that name one kernel, each has an external of its own: an instance is of one signature.
std::uint32_t own_external(RegistryState& state, const Named& named, std::uint32_t external) {
  const std::uint32_t provider = state.providers[external];
  if (provider == no_index || state.instances[provider]->signature == named.signature) return external;
  for (std::uint32_t i = 0; i < state.externals.size(); ++i) {
    const std::uint32_t other = state.providers[i];
    const bool is_own = other != no_index && state.instances[other]->signature == named.signature;
    if (is_own && std::string_view(state.externals[i].name) == named.kernel().name &&
        std::string_view(state.externals[i].library) == named.kernel().library)
      return i;
  }
  return append_external(state, named.kernel());
}

Status provide(RegistryState& state, AppendFn append, const Provider& provider, const Named& named,
               std::uint32_t external) {
  if (state.providers[external] != no_index) return Status::success();
  InstanceDesc instance{};
  Status status = provider.instance(named.signature, named.kernel().name, instance);
  if (status.ok() && Device::current().arch() == named.table.arch) status = takes_rows(provider, instance, named);
  state.unprovided[external] = status.ok() ? "" : status.message;
  if (!status.ok()) return Status::success();
  state.providers[external] = static_cast<std::uint32_t>(state.instances.size());
  return append(state, instance);
}

}  // namespace

std::uint32_t append_external(RegistryState& state, const ExternalKernel& kernel) {
  const bool may_be_provided = has_provider(kernel.library);
  state.externals.push_back(kernel);
  state.providers.push_back(no_index);
  state.unprovided.emplace_back(may_be_provided ? "provide_libraries() was not called" : "");
  return static_cast<std::uint32_t>(state.externals.size() - 1);
}

Status provide_libraries(RegistryState& state, AppendFn append) {
  for (const UnitRef& ref : state.units) {
    for (std::uint32_t t = 0; t < ref.unit->table_count; ++t) {
      const LookupTable& table = *ref.unit->tables[t];
      for (std::uint32_t e = 0; e < table.external_count; ++e) {
        const Provider* provider = provider_of(table.externals[e].library);
        if (provider == nullptr) continue;
        const Named named{table, ref.unit->signature, e};
        std::uint32_t& external = state.table_externals[ref.first_table + t][e];
        external = own_external(state, named, external);
        if (const Status status = provide(state, append, *provider, named, external); !status.ok()) return status;
      }
    }
  }
  return Status::success();
}

}  // namespace ckgen::inline v1::detail
