// The C API's description of a registry.
#include <ckgen/registry_json.hpp>

#include "src/c_api/support.hpp"

extern "C" ckgen_status ckgen_registry_json(const ckgen_registry* registry, ckgen_message text, size_t* needed) {
  if (!ckgen::detail::given(text, registry)) return CKGEN_INVALID_ARGUMENT;
  return ckgen::detail::guarded(text, [&] {
    const std::string document = ckgen::to_json(registry->value);
    if (needed != nullptr) *needed = document.size() + 1;
    ckgen::detail::write(text, document);
    return CKGEN_OK;
  });
}
