// Lines of C that the sums of a tile go to.
#pragma once

#include <cstdint>
#include <numeric>

namespace ckgen {
inline namespace v1 {
namespace host {

/// Asks for the line of an address, to be written: it is taken from the other cores, which a store would wait for. CPUs
/// that do not know the instruction do nothing; the address may be any.
[[gnu::always_inline]] inline void ask_to_write(std::uintptr_t address) noexcept {
  asm volatile("prefetchw (%0)" : : "r"(address));
}

/// Whether so many rows of C find room in a first-level cache of eight ways, whose sets come again after a page: a
/// tile's sums may then lie in C while they grow.
constexpr bool stays_in_cache(std::int64_t rows, std::int64_t row_bytes) noexcept {
  constexpr std::int64_t kWays = 8, kBytesOfSets = 4096;
  const std::int64_t sets = kBytesOfSets / std::gcd(row_bytes, kBytesOfSets);
  return (rows + sets - 1) / sets < kWays;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
