// Hints of what memory is needed soon.
#pragma once

#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

// The line of an address, to be written: it is taken from the other cores, which a store would wait for. CPUs that do
// not know the instruction do nothing; the address may be any.
[[gnu::always_inline]] inline void ask_to_write(std::uintptr_t address) noexcept {
  asm volatile("prefetchw (%0)" : : "r"(address));
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
