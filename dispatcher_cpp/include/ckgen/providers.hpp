// Vendors' libraries of matrix products as providers of kernels that tables name: cuBLASLt ("cublaslt") and hipBLASLt
// ("hipblaslt"). They are opened at run time where they are there; nothing is linked and nothing needs them
// (docs/providers.md). Registry::provide_libraries takes what tables name; these functions serve programs that look for
// algorithms themselves. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ckgen/export.h>
#include <ckgen/instance.hpp>
#include <ckgen/problem.hpp>
#include <ckgen/result.hpp>

namespace ckgen {
inline namespace v1 {

/// Bytes of workspace that every plan of a provided kernel has: what the libraries' algorithms may use at most.
inline constexpr std::size_t kProviderWorkspace = std::size_t{32} << 20;

/// The version of a library, as descriptions of its kernels begin with: "13.1.0". unsupported where no library has that
/// name; no_device where it or a device of its vendor is not here.
CKGEN_API Result<std::string> provider_version(std::string_view library) noexcept;

/// The kernels of a library for a problem without gaps between rows, on the thread's current device: at most `most`, as
/// the library's own heuristic ranks them. Their descriptions are what tables hold behind "cublaslt:".
CKGEN_API Result<std::vector<std::string>> provider_kernels(std::string_view library, const Problem& problem,
                                                            std::uint32_t most) noexcept;

/// Fills in the instance that runs such a kernel for problems of a signature, with a twin. unsupported where the
/// library has another version than the description, or computes no such signature; invalid_argument for a description
/// that is none. What `out` points to lives as long as the process.
CKGEN_API Status provider_instance(std::string_view library, const Signature& signature, std::string_view kernel,
                                   InstanceDesc& out) noexcept;

}  // namespace v1
}  // namespace ckgen
