// The seam to libraries whose kernels tables name, and which a process has or has not. A library is one file that
// implements it and a line in provider.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ckgen/instance.hpp>
#include <ckgen/status.hpp>

namespace ckgen::inline v1::detail {

/// Sizes of one product.
struct ProductSizes {
  std::int64_t m, n, k;
};

/// One per process and library, opened when it is first asked something. Thread-safe. Every Status names the call that
/// failed. A member may throw std::bad_alloc unless it says otherwise.
class Provider {
 public:
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;

  /// Its version as descriptions of kernels begin with; not ok where it or a device of its vendor is not here.
  virtual Status version(std::string& out) const = 0;
  /// Descriptions of its kernels for dense operands, as its heuristic ranks them; none where it has no answer.
  virtual Status kernels(const Signature& signature, const ProductSizes& sizes, std::uint32_t most,
                         std::vector<std::string>& out) const = 0;
  /// The instance that runs `kernel`; what it points to lives as long as the process.
  virtual Status instance(const Signature& signature, std::string_view kernel, InstanceDesc& out) const = 0;
  /// Whether such an instance takes dense operands of these sizes, as the library says it.
  virtual Status takes(const InstanceDesc& instance, const ProductSizes& sizes) const = 0;

 protected:
  Provider() = default;
  ~Provider() = default;
};

/// Whether kernels of `library` have a provider; opens nothing.
bool has_provider(std::string_view library) noexcept;

/// The provider of kernels of `library`, which is opened, or null.
const Provider* provider_of(std::string_view library) noexcept;

}  // namespace ckgen::inline v1::detail
