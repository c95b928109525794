// What one ladder of measured sizes offers for an M: docs/selection.md, steps 3, 4 and 7.
#pragma once

#include <bit>
#include <cstdint>

#include <ckgen/lookup.hpp>
#include <ckgen/selection.hpp>

namespace ckgen::inline v1::detail {

/// A measured size that answers, and the choice that won it. `m` 0: nothing.
struct Hit {
  std::uint64_t m = 0;
  Choice choice = {};
  Tier tier = Tier::unsupported;
  bool external = false;

  explicit operator bool() const noexcept { return m != 0; }
  /// The external of the table, where `external`.
  std::uint32_t external_kernel() const noexcept { return choice.instance; }
};

/// `group` is set where its directory can shorten the search.
struct Ladder {
  const Rung* rungs;
  std::uint32_t count;
  bool external;
  const Group* group = nullptr;

  std::uint32_t find(std::uint64_t m) const noexcept {
    return group != nullptr ? rung_at_or_above(*group, m) : rung_at_or_above(rungs, count, m);
  }
};

inline Ladder own_ladder(const Group& group) noexcept {
  return {group.rungs, group.rung_count, false, &group};
}

inline Ladder external_ladder(const Group& group) noexcept {
  return {group.external_rungs, group.external_count, true};
}

struct NearGap {
  std::uint64_t add;
  std::uint64_t factor;

  bool holds(std::uint64_t m, std::uint64_t measured) const noexcept {
    const std::uint64_t sum = m + add;
    const std::uint64_t product = m * factor;
    return measured <= (sum > product ? sum : product);
  }
};

/// Of tables that a program loads: selection_policy.json, which generated tables have too.
inline constexpr NearGap kLoadedGap{16, 2};

inline NearGap gap_of(const LookupTable& table) noexcept {
  return {table.policy->near_add, table.policy->near_factor};
}

inline Hit at_or_above(const Ladder& ladder, std::uint64_t m) noexcept {
  const std::uint32_t i = ladder.find(m);
  if (i == ladder.count) return {};
  return {measured_at_or_above(ladder.rungs[i], m), ladder.rungs[i].choice, Tier::far_, ladder.external};
}

inline Hit below(const Ladder& ladder, std::uint64_t m) noexcept {
  const std::uint32_t i = ladder.find(m);
  if (i < ladder.count && ladder.rungs[i].first < m) {
    const Rung& rung = ladder.rungs[i];
    const std::uint64_t beyond = (m - 1 - rung.first) & ~(std::uint64_t{rung.step} - 1);
    return {rung.first + beyond, rung.choice, Tier::far_, ladder.external};
  }
  if (i == 0) return {};
  return {ladder.rungs[i - 1].last, ladder.rungs[i - 1].choice, Tier::far_, ladder.external};
}

/// The rung measured at exactly m.
inline Hit exactly(const Ladder& ladder, std::uint64_t m) noexcept {
  const Hit hit = at_or_above(ladder, m);
  return hit.m == m ? hit : Hit{};
}

/// The exact or near rung.
inline Hit rounded_up(const Ladder& ladder, std::uint64_t m, NearGap gap) noexcept {
  Hit hit = at_or_above(ladder, m);
  if (!hit) return hit;
  if (hit.m == m) {
    hit.tier = Tier::exact;
    return hit;
  }
  if (!gap.holds(m, hit.m)) return {};
  hit.tier = Tier::near_;
  return hit;
}

/// The sizes beyond the near gap on either side; the nearer in ratio is the first.
struct FarHits {
  Hit first;
  Hit second;
};

inline FarHits in_ratio_order(const Hit& above, const Hit& below, std::uint64_t m) noexcept {
  if (!above) return {below, {}};
  if (!below) return {above, {}};
  return above.m * below.m <= m * m ? FarHits{above, below} : FarHits{below, above};
}

inline Hit above_gap(const Ladder& ladder, std::uint64_t m, NearGap gap) noexcept {
  const Hit above = at_or_above(ladder, m);
  return above && (above.m == m || gap.holds(m, above.m)) ? Hit{} : above;
}

inline FarHits far_rungs(const Ladder& ladder, std::uint64_t m, NearGap gap) noexcept {
  return in_ratio_order(above_gap(ladder, m, gap), below(ladder, m), m);
}

/// The rung that exact, near and far would pick if own and external rungs were one ladder; external ones win ties:
/// where both were measured, the external one is a provider's, and faster.
inline Hit table_winner(const Ladder& own, const Ladder& external, std::uint64_t m, NearGap gap) noexcept {
  const Hit own_up = rounded_up(own, m, gap);
  const Hit external_up = rounded_up(external, m, gap);
  if (own_up && (!external_up || own_up.m < external_up.m)) return own_up;
  if (external_up) return external_up;
  const Hit above[2] = {above_gap(own, m, gap), above_gap(external, m, gap)};
  const Hit under[2] = {below(own, m), below(external, m)};
  const Hit& up = above[0] && (!above[1] || above[0].m < above[1].m) ? above[0] : above[1];
  const Hit& down = under[0] && (!under[1] || under[0].m > under[1].m) ? under[0] : under[1];
  return in_ratio_order(up, down, m).first;
}

/// The size that a band makes of m.
inline std::uint64_t rounded(const RoundingBand& band, std::uint64_t m) noexcept {
  switch (band.to) {
    case RoundingBand::To::m: return m;
    case RoundingBand::To::multiple: return (m + band.of - 1) / band.of * band.of;
    case RoundingBand::To::value: return band.of;
    case RoundingBand::To::power_of_2: return std::bit_ceil(m);
  }
  return 0;
}

/// The size that a rounding gives for m, or 0 where none of its bands fits.
inline std::uint64_t rounded(const Rounding& rounding, std::uint64_t m, std::uint64_t n) noexcept {
  for (std::uint32_t i = 0; i < rounding.band_count; ++i) {
    const RoundingBand& band = rounding.bands[i];
    if (m > band.m_over && (m <= band.m_up_to || band.m_up_to == 0xffffffffU) && n > band.n_over)
      return rounded(band, m);
  }
  return 0;
}

/// The first candidate size that either kind of rung was measured at; own rungs win ties.
inline Hit aiter_winner(const Ladder& own, const Ladder& external, const Rounding* roundings, std::uint32_t count,
                        std::uint64_t m, std::uint64_t n) noexcept {
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t size = rounded(roundings[i], m, n);
    if (size == 0) continue;
    Hit hit = exactly(own, size);
    if (!hit) hit = exactly(external, size);
    if (!hit) continue;
    hit.tier = size == m ? Tier::exact : Tier::near_;
    return hit;
  }
  return {};
}

}  // namespace ckgen::inline v1::detail
