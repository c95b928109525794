// Kernels of other libraries that a registry's tables name, and which of them a library that is here provides.
#pragma once

#include <ckgen/instance.hpp>
#include <ckgen/lookup.hpp>

#include "src/registry/registry_state.hpp"

namespace ckgen::inline v1::detail {

/// The index of a kernel that nobody provides.
std::uint32_t append_external(RegistryState& state, const ExternalKernel& kernel);

/// Adds an instance of the state's own.
using AppendFn = Status (*)(RegistryState& state, const InstanceDesc& instance);

/// Registry::provide_libraries.
Status provide_libraries(RegistryState& state, AppendFn append);

}  // namespace ckgen::inline v1::detail
