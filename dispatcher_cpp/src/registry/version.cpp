#include <ckgen/version.hpp>

namespace ckgen {
inline namespace v1 {

const char* version() noexcept {
  return CKGEN_VERSION_TEXT;
}

}  // namespace v1
}  // namespace ckgen
