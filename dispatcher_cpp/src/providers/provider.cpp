#include "src/providers/provider.hpp"

#include <ckgen/providers.hpp>

#include "src/providers/cublaslt.hpp"
#include "src/providers/hipblaslt.hpp"

namespace ckgen {
inline namespace v1 {
namespace detail {

namespace {

struct Known {
  std::string_view name;
  const Provider& (*open)() noexcept;
};
constexpr Known kProviders[] = {{kCublasLtName, cublaslt}, {kHipblasLtName, hipblaslt}};

const Known* known(std::string_view library) noexcept {
  for (const Known& one : kProviders)
    if (one.name == library) return &one;
  return nullptr;
}

}  // namespace

bool has_provider(std::string_view library) noexcept {
  return known(library) != nullptr;
}

const Provider* provider_of(std::string_view library) noexcept {
  const Known* const one = known(library);
  return one != nullptr ? &one->open() : nullptr;
}

namespace {

/// What `ask` answers of the provider of that name.
template <class Ask>
Status asked(std::string_view library, Ask ask) noexcept {
  const Provider* provider = provider_of(library);
  if (provider == nullptr)
    return Status::error(StatusCode::unsupported, "no provider is named %.*s", static_cast<int>(library.size()),
                         library.data());
  try {
    return ask(*provider);
  } catch (...) {
    return Status::error(StatusCode::internal, "out of memory");
  }
}

}  // namespace
}  // namespace detail

Result<std::string> provider_version(std::string_view library) noexcept {
  std::string version;
  const Status status =
      detail::asked(library, [&](const detail::Provider& provider) { return provider.version(version); });
  if (!status.ok()) return status;
  return version;
}

Result<std::vector<std::string>> provider_kernels(std::string_view library, const Problem& problem,
                                                  std::uint32_t most) noexcept {
  if (!problem.status().ok()) return problem.status();
  std::vector<std::string> kernels;
  const Status status = detail::asked(library, [&](const detail::Provider& provider) {
    return provider.kernels(problem.signature(), {problem.m(), problem.n(), problem.k()}, most, kernels);
  });
  if (!status.ok()) return status;
  return kernels;
}

Status provider_instance(std::string_view library, const Signature& signature, std::string_view kernel,
                         InstanceDesc& out) noexcept {
  return detail::asked(library,
                       [&](const detail::Provider& provider) { return provider.instance(signature, kernel, out); });
}

}  // namespace v1
}  // namespace ckgen
