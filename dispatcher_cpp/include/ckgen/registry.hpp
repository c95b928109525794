// The set of instances that a Dispatcher chooses from; filled explicitly, nothing happens before main.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <ckgen/export.h>
#include <ckgen/device_code.hpp>
#include <ckgen/library.hpp>
#include <ckgen/selection.hpp>

namespace ckgen {
inline namespace v1 {

namespace detail {
struct RegistryState;
}

/// Instances of generated libraries and of users, numbered in the order of registration.
///
/// A Dispatcher keeps a snapshot: what is added to the Registry afterwards is not seen by it, and indices of a
/// Selection refer to that snapshot (they stay valid here too, as nothing is ever removed). Several registries may live
/// side by side. Errors: every `add`, `attach` and `provide` is all or nothing and says what it refused.
/// Thread-safety: const members may be called concurrently; the others need exclusive access.
class CKGEN_API Registry {
 public:
  Registry() noexcept;
  ~Registry();
  Registry(const Registry&) noexcept;
  Registry& operator=(const Registry&) noexcept;
  Registry(Registry&&) noexcept;
  Registry& operator=(Registry&&) noexcept;

  /// A generated library. Refused: another CKGEN_RUNTIME_ABI, a name that is taken, tables that point outside.
  /// The library's constants must outlive the registry and its dispatchers.
  Status add(const Library& library) noexcept;

  /// A user's own instance, copied; the strings and functions that it points to must outlive the registry.
  /// It takes part by name (forced, override, next) and as the last default of its signature on its archs.
  Status add(const InstanceDesc& instance) noexcept;

  /// Adds `instance` and lets it answer wherever a table's winner is `kernel` of `library`, a library that ckgen does
  /// not generate. Refused where no table that was added before names that kernel, or it is provided already.
  Status provide(std::string_view library, std::string_view kernel, const InstanceDesc& instance) noexcept;

  /// The same for every kernel of cublaslt and hipblaslt that tables name, where that library is here, of the version
  /// that the row names, and takes the sizes of the rows on the thread's current device (docs/providers.md). Ok where
  /// none is: why_not_provided() says why, and rows of other kernels answer. A kernel that tables of several signatures
  /// name becomes one external of each. Opens libraries.
  Status provide_libraries() noexcept;

  /// Gives instances that were added before their GPU code. Refused: another CKGEN_RUNTIME_ABI, an id that no instance
  /// has, an instance with code or a launcher already, an object for an arch that the instance does not have, two for
  /// one arch; everything (unsupported) where ckgen was built without zlib. Loads nothing and calls no GPU.
  /// The library's constants must outlive the registry and its dispatchers. A module that was loaded from them lives as
  /// long as a registry or dispatcher with it: the last of them must not go before the launches are done.
  Status attach(const DeviceLibrary& library) noexcept;

  std::uint32_t size() const noexcept;
  /// `index` must be below size().
  const InstanceDesc& instance(std::uint32_t index) const noexcept;
  /// The index of an instance, or no_index.
  std::uint32_t find(std::string_view name) const noexcept;
  std::uint32_t find_id(std::uint64_t id) const noexcept;
  /// The archs for which GPU code is attached to an instance, bit i: the Arch with value i. `index` must be below
  /// size().
  std::uint32_t device_archs(std::uint32_t index) const noexcept;

  std::uint32_t external_count() const noexcept;
  /// `index` must be below external_count(); Selection::external is such an index.
  const ExternalKernel& external(std::uint32_t index) const noexcept;
  /// The instance that provides an external kernel, or no_index.
  std::uint32_t provider(std::uint32_t external) const noexcept;
  /// Why a kernel of cublaslt or hipblaslt is not provided; "" of one that is, and of other libraries.
  const char* why_not_provided(std::uint32_t external) const noexcept;

 private:
  friend class Dispatcher;
  std::shared_ptr<const detail::RegistryState> state_;
};

}  // namespace v1
}  // namespace ckgen
