#include <ckgen/registry.hpp>

#include <new>

#include "src/operation/operation.hpp"
#include "src/registry/provided.hpp"
#include "src/registry/registry_state.hpp"
#include "src/registry/validate.hpp"

namespace ckgen {
inline namespace v1 {

using detail::RegistryState;

namespace {

const RegistryState& empty_state() noexcept {
  static const RegistryState state{};
  return state;
}

const RegistryState& state_of(const std::shared_ptr<const RegistryState>& state) noexcept {
  return state ? *state : empty_state();
}

Status append(RegistryState& state, const InstanceDesc& instance) {
  const auto index = static_cast<std::uint32_t>(state.instances.size());
  if (!state.by_name.emplace(instance.name, index).second)
    return Status::error(StatusCode::invalid_argument, "an instance named %s is registered already", instance.name);
  if (!state.by_id.emplace(instance.id, index).second)
    return Status::error(StatusCode::invalid_argument, "the id of %s is that of %s", instance.name,
                         state.instances[state.by_id[instance.id]]->name);
  state.instances.push_back(&instance);
  return Status::success();
}

std::uint32_t intern(RegistryState& state, const ExternalKernel& kernel) {
  for (std::uint32_t i = 0; i < state.externals.size(); ++i) {
    const ExternalKernel& known = state.externals[i];
    if (std::string_view(known.name) == kernel.name && std::string_view(known.library) == kernel.library) return i;
  }
  return detail::append_external(state, kernel);
}

Status append(RegistryState& state, const SignatureUnit& unit) {
  state.units.push_back({&unit, static_cast<std::uint32_t>(state.instances.size()),
                         static_cast<std::uint32_t>(state.table_externals.size())});
  for (std::uint32_t i = 0; i < unit.instance_count; ++i) {
    if (const Status status = append(state, unit.instances[i]); !status.ok()) return status;
  }
  for (std::uint32_t i = 0; i < unit.table_count; ++i) {
    const LookupTable& table = *unit.tables[i];
    std::vector<std::uint32_t>& externals = state.table_externals.emplace_back();
    for (std::uint32_t e = 0; e < table.external_count; ++e) externals.push_back(intern(state, table.externals[e]));
  }
  return Status::success();
}

Status append_owned(RegistryState& state, const InstanceDesc& instance) {
  if (const Status status = detail::validate(instance); !status.ok()) return status;
  const auto copy = std::make_shared<const InstanceDesc>(instance);
  state.owned.push_back(copy);
  return append(state, *copy);
}

Status attach_code(RegistryState& state, const char* library, const DeviceCode& code) {
  const auto found = state.by_id.find(code.id);
  if (found == state.by_id.end())
    return Status::error(StatusCode::invalid_argument,
                         "device library %s: no registered instance has id %016llx; add the library of its instances "
                         "first, generated from the same tables",
                         library, static_cast<unsigned long long>(code.id));
  const InstanceDesc& instance = *state.instances[found->second];
  if (state.program(found->second) != nullptr || instance.device != nullptr)
    return Status::error(StatusCode::invalid_argument, "device library %s: %s has %s already", library, instance.name,
                         instance.device != nullptr ? "a device launcher" : "GPU code");
  const auto flaw_of = detail::operation_of(instance.signature.op).registering.code_flaw;
  const char* flaw = flaw_of != nullptr ? flaw_of(code) : nullptr;
  if (flaw != nullptr)
    return Status::error(StatusCode::invalid_argument, "device library %s: the code of %s %s", library, instance.name,
                         flaw);
  for (std::uint32_t i = 0; i < code.object_count; ++i) {
    if (!runs_on(instance, code.objects[i].arch))
      return Status::error(StatusCode::invalid_argument, "device library %s: %s does not run on %s", library,
                           instance.name, arch_name(code.objects[i].arch).data());
  }
  state.programs.emplace(found->second, detail::DeviceProgram::of(code));
  return Status::success();
}

/// Runs `change` on a copy of the state and keeps the copy only if all went well.
template <class Change>
Status changed(std::shared_ptr<const RegistryState>& state, Change change) noexcept {
  try {
    auto copy = std::make_shared<RegistryState>(state_of(state));
    const Status status = change(*copy);
    if (status.ok()) state = std::move(copy);
    return status;
  } catch (const std::bad_alloc&) {
    return Status::error(StatusCode::internal, "out of memory");
  } catch (...) {
    return Status::error(StatusCode::internal, "the registry could not be changed");
  }
}

}  // namespace

Registry::Registry() noexcept = default;
Registry::~Registry() = default;
Registry::Registry(const Registry&) noexcept = default;
Registry& Registry::operator=(const Registry&) noexcept = default;
Registry::Registry(Registry&&) noexcept = default;
Registry& Registry::operator=(Registry&&) noexcept = default;

Status Registry::add(const Library& library) noexcept {
  if (const Status status = detail::validate(library); !status.ok()) return status;
  return changed(state_, [&](RegistryState& state) {
    for (std::uint32_t i = 0; i < library.unit_count; ++i) {
      if (const Status status = append(state, *library.units[i]); !status.ok()) return status;
    }
    state.build_ids.push_back(library.build_id);
    return Status::success();
  });
}

Status Registry::add(const InstanceDesc& instance) noexcept {
  return changed(state_, [&](RegistryState& state) {
    state.user_instances.push_back(static_cast<std::uint32_t>(state.instances.size()));
    return append_owned(state, instance);
  });
}

Status Registry::provide(std::string_view library, std::string_view kernel, const InstanceDesc& instance) noexcept {
  return changed(state_, [&](RegistryState& state) {
    for (std::uint32_t i = 0; i < state.externals.size(); ++i) {
      if (library != state.externals[i].library || kernel != state.externals[i].name) continue;
      if (state.providers[i] != no_index)
        return Status::error(StatusCode::invalid_argument, "%s of %s is provided by %s already",
                             state.externals[i].name, state.externals[i].library,
                             state.instances[state.providers[i]]->name);
      state.providers[i] = static_cast<std::uint32_t>(state.instances.size());
      state.unprovided[i].clear();
      return append_owned(state, instance);
    }
    return Status::error(StatusCode::invalid_argument, "no registered table names kernel %.*s of library %.*s",
                         static_cast<int>(kernel.size()), kernel.data(), static_cast<int>(library.size()),
                         library.data());
  });
}

Status Registry::provide_libraries() noexcept {
  return changed(state_, [](RegistryState& state) { return detail::provide_libraries(state, append_owned); });
}

Status Registry::attach(const DeviceLibrary& library) noexcept {
  if (const Status status = detail::validate(library); !status.ok()) return status;
  return changed(state_, [&](RegistryState& state) {
    for (std::uint32_t i = 0; i < library.count; ++i) {
      if (const Status status = attach_code(state, library.name, *library.codes[i]); !status.ok()) return status;
    }
    return Status::success();
  });
}

std::uint32_t Registry::size() const noexcept {
  return static_cast<std::uint32_t>(state_of(state_).instances.size());
}

const InstanceDesc& Registry::instance(std::uint32_t index) const noexcept {
  return *state_of(state_).instances[index];
}

std::uint32_t Registry::find(std::string_view name) const noexcept {
  return state_of(state_).find(name);
}

std::uint32_t Registry::find_id(std::uint64_t id) const noexcept {
  const RegistryState& state = state_of(state_);
  const auto found = state.by_id.find(id);
  return found == state.by_id.end() ? no_index : found->second;
}

std::uint32_t Registry::device_archs(std::uint32_t index) const noexcept {
  const detail::DeviceProgram* program = state_of(state_).program(index);
  return program != nullptr ? program->archs() : 0;
}

std::uint32_t Registry::external_count() const noexcept {
  return static_cast<std::uint32_t>(state_of(state_).externals.size());
}

const ExternalKernel& Registry::external(std::uint32_t index) const noexcept {
  return state_of(state_).externals[index];
}

std::uint32_t Registry::provider(std::uint32_t external) const noexcept {
  return state_of(state_).providers[external];
}

const char* Registry::why_not_provided(std::uint32_t external) const noexcept {
  return state_of(state_).unprovided[external].c_str();
}

}  // namespace v1
}  // namespace ckgen
