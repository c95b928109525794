// Where a choice came from, and what it is.
#pragma once

#include <cstdint>

#include <ckgen/words.hpp>

namespace ckgen {
inline namespace v1 {

/// The tier's word: "forced", "override", "exact", "near", …
constexpr const char* tier_name(Tier tier) noexcept {
  return name(tier).data();
}

inline constexpr std::uint32_t no_index = 0xffffffffU;

/// A small value. `instance` indexes the registry (no_index when unsupported); `k_batch` 0 means that the kernel
/// decides. `table_m` is the measured M that answered (0 when no row did). `external` indexes Registry::external(): the
/// kernel of another library that the table's winner names, no_index when there is none. `rule` and its numbers say why
/// not.
struct Selection {
  std::uint32_t instance = no_index;
  std::uint32_t k_batch = 1;
  std::uint64_t table_m = 0;
  std::uint32_t external = no_index;
  Tier tier = Tier::unsupported;
  std::uint16_t rule = 0;  // index into problem_rules.hpp, 0: none
  std::int64_t measured = 0;
  std::int64_t limit = 0;

  explicit operator bool() const noexcept { return instance != no_index; }
};

}  // namespace v1
}  // namespace ckgen
