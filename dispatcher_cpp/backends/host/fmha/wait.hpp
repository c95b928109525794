// How threads of one call wait for one another.
#pragma once

#include <sched.h>

namespace ckgen {
inline namespace v1 {
namespace host {

/// Until `holds()`, which a thread that runs brings about.
template <class Predicate>
void wait_until(const Predicate& holds) noexcept {
  constexpr int kPatience = 256;  // before another thread may run
  for (int tries = 0; !holds(); ++tries) {
    if (tries < kPatience)
      __builtin_ia32_pause();
    else
      sched_yield();
  }
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
