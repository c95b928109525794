#include "lane_runs.hpp"

#include <immintrin.h>

#include <bit>

namespace ckgen::emu {
namespace {

/// Lanes that begin where the one below them ends.
LaneMask followers(const std::uint64_t* addresses, unsigned size) noexcept {
  LaneMask found = 0;
#ifdef __AVX512F__
  const __m512i step = _mm512_set1_epi64(size);
  __m512i before = _mm512_setzero_si512();
  for (unsigned first = 0; first < kLanes; first += 8) {
    const __m512i here = _mm512_loadu_si512(addresses + first);
    const __m512i below = _mm512_maskz_alignr_epi64(0xff, here, before, 7);
    found |= LaneMask{_mm512_cmpeq_epi64_mask(here, _mm512_add_epi64(below, step))} << first;
    before = here;
  }
#else
  for (unsigned lane = 1; lane < kLanes; ++lane)
    found |= LaneMask{addresses[lane] == addresses[lane - 1] + size} << lane;
#endif
  return found;
}

}  // namespace

LaneRuns lane_runs(const std::uint64_t* addresses, LaneMask lanes, unsigned size) noexcept {
  const LaneMask follow = followers(addresses, size) & lanes & lanes << 1;
  LaneMask starts = lanes & ~follow;
  LaneRuns runs;
  if (std::popcount(starts) > static_cast<int>(LaneRuns::kMost)) return runs;
  for (; starts != 0; starts &= starts - 1) {
    const auto first = static_cast<unsigned>(std::countr_zero(starts));
    const auto more = static_cast<unsigned>(std::countr_one(follow >> first >> 1));
    runs.add({addresses[first], std::uint64_t{more + 1} * size});
  }
  return runs;
}

}  // namespace ckgen::emu
