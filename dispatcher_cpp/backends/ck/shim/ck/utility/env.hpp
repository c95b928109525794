// In place of CK's environment variables: none is set, so that its checks neither read the environment nor log.
#pragma once

#include <cstdint>
#include <string>

#define CK_DECLARE_ENV_VAR(name, type, default_val)       \
  namespace ck::env {                                     \
  struct name {                                           \
    using value_type = type;                              \
    static constexpr type value() { return default_val; } \
  };                                                      \
  }
#define CK_DECLARE_ENV_VAR_BOOL(name) CK_DECLARE_ENV_VAR(name, bool, false)
#define CK_DECLARE_ENV_VAR_UINT64(name) CK_DECLARE_ENV_VAR(name, std::uint64_t, 0)
#define CK_ENV(name) \
  ck::env::name {}

namespace ck {

template <class Variable>
constexpr bool EnvIsEnabled(Variable) {
  return Variable::value();
}
template <class Variable>
constexpr bool EnvIsDisabled(Variable) {
  return false;
}
template <class Variable>
constexpr std::uint64_t EnvValue(Variable) {
  return Variable::value();
}
template <class Variable>
constexpr bool EnvIsUnset(Variable) {
  return true;
}

}  // namespace ck

CK_DECLARE_ENV_VAR_BOOL(CK_LOGGING)
