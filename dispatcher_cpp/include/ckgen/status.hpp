// The outcome of a call: a stable code and a short message; trivially copyable, never allocates, never throws.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <type_traits>

namespace ckgen {
inline namespace v1 {

enum class StatusCode : std::int32_t {
  ok = 0,
  unsupported = 1,       // legal, but this instance, CPU or build cannot do it
  invalid_argument = 2,  // the caller's sizes, strides or pointers contradict each other
  no_device = 3,
  internal = 4,
};

struct Status {
  StatusCode code;
  char message[240];  // NUL-terminated; empty when ok

  constexpr bool ok() const noexcept { return code == StatusCode::ok; }
  /// Only the first character of the message is set: a run makes a dozen, and clearing all takes longer than the rest.
  static Status success() noexcept {
    Status s;
    s.code = StatusCode::ok;
    s.message[0] = '\0';
    return s;
  }

#if defined(__GNUC__)
  __attribute__((format(printf, 2, 3)))
#endif
  static Status error(StatusCode code, const char* format, ...) noexcept {
    Status s{code, {}};
    std::va_list ap;
    va_start(ap, format);
    std::vsnprintf(s.message, sizeof s.message, format, ap);
    va_end(ap);
    return s;
  }
};

static_assert(std::is_trivially_copyable<Status>::value, "Status crosses the C ABI by value");

}  // namespace v1
}  // namespace ckgen
