// What a ladder offers against the plain list of its measured sizes, and a peer's roundings of M.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "src/select/ladder.hpp"
#include "tiny_library.hpp"

namespace test_ladder {

using namespace ckgen;
using namespace ckgen::describe;
using detail::Hit;

constexpr detail::NearGap kGap{16, 2};

bool is_near(std::uint64_t m, std::uint64_t measured) {
  return measured > m && (measured - m <= 16 || measured <= 2 * m);
}

/// At most `most` rungs of one to five sizes each, less than `apart` from each other, and the same as M -> choice.
struct Drawn {
  std::vector<Rung> rungs;
  std::map<std::uint64_t, std::uint32_t> sizes;

  Drawn(std::mt19937& random, std::uint32_t most, std::uint32_t apart = 60) {
    const auto below = [&random](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
    std::uint32_t at = 0;
    for (std::uint16_t choice = 0, count = static_cast<std::uint16_t>(below(most + 1)); choice < count; ++choice) {
      const std::uint32_t first = at + 1 + below(apart), step = 1U << below(6);
      const std::uint32_t last = first + below(5) * step;
      rungs.push_back({first, last, first == last ? 1 : step, {choice, 1}});
      for (std::uint32_t m = first; m <= last; m += step) sizes[m] = choice;
      at = last;
    }
  }
  detail::Ladder ladder(bool external) const {
    return {rungs.data(), static_cast<std::uint32_t>(rungs.size()), external};
  }
};

void expect_hit(const Hit& hit, std::uint64_t m, const std::map<std::uint64_t, std::uint32_t>& sizes, Tier tier) {
  ASSERT_EQ(hit.m, m);
  if (m == 0) return;
  EXPECT_EQ(hit.choice.instance, sizes.at(m));
  EXPECT_EQ(hit.tier, tier);
}

TEST(Ladder, OffersTheNeighboursOfThePlainList) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const Drawn drawn(random, 5);
    const std::uint64_t top = drawn.sizes.empty() ? 10 : 2 * drawn.sizes.rbegin()->first;
    for (std::uint64_t m = 1; m <= top; ++m) {
      SCOPED_TRACE(testing::Message() << "M = " << m << ", round " << round);
      const auto at = drawn.sizes.lower_bound(m);
      const std::uint64_t above = at != drawn.sizes.end() ? at->first : 0;
      const std::uint64_t below = at != drawn.sizes.begin() ? std::prev(at)->first : 0;
      const bool is_close = above == m || is_near(m, above);
      expect_hit(detail::rounded_up(drawn.ladder(false), m, kGap), is_close ? above : 0, drawn.sizes,
                 above == m ? Tier::exact : Tier::near_);
      const std::uint64_t far = is_close ? 0 : above;
      const bool up_first = far != 0 && (below == 0 || far * below <= m * m);
      const detail::FarHits hits = detail::far_rungs(drawn.ladder(false), m, kGap);
      expect_hit(hits.first, up_first ? far : below, drawn.sizes, Tier::far_);
      expect_hit(hits.second, up_first ? below : below != 0 ? far : 0, drawn.sizes, Tier::far_);
      if (HasFailure()) return;
    }
  }
}

TEST(Ladder, TheTablesWinnerIsThatOfBothKindsTogetherAndTheExternalOneWinsTies) {
  std::mt19937 random(8);
  int external = 0, ties = 0;
  for (int round = 0; round < 100; ++round) {
    const std::uint32_t apart = round % 2 == 0 ? 60 : 3;
    const Drawn own(random, 3, apart), other(random, 3, apart);
    std::map<std::uint64_t, bool> both;  // M -> is external
    for (const auto& [m, choice] : own.sizes) both[m] = false;
    for (const auto& [m, choice] : other.sizes) {
      ties += both.count(m) != 0 ? 1 : 0;
      both[m] = true;
    }
    for (std::uint64_t m = 1; m <= (both.empty() ? 1 : 2 * both.rbegin()->first); ++m) {
      const auto at = both.lower_bound(m);
      const bool has_above = at != both.end(), has_below = at != both.begin();
      const bool is_close = has_above && (at->first == m || is_near(m, at->first));
      const bool up = is_close || (has_above && (!has_below || at->first * std::prev(at)->first <= m * m));
      const Hit hit = detail::table_winner(own.ladder(false), other.ladder(true), m, kGap);
      ASSERT_EQ(static_cast<bool>(hit), !both.empty());
      if (!hit) continue;
      const auto expected = up ? at : std::prev(at);
      ASSERT_EQ(hit.m, expected->first) << "M = " << m << ", round " << round;
      ASSERT_EQ(hit.external, expected->second) << "M = " << m << ", round " << round;
      ASSERT_EQ(hit.choice.instance, (hit.external ? other : own).sizes.at(hit.m));
      ASSERT_EQ(hit.tier, !is_close ? Tier::far_ : hit.m == m ? Tier::exact : Tier::near_);
      external += hit.external ? 1 : 0;
    }
  }
  EXPECT_GT(external, 1000);
  EXPECT_GT(ties, 20);
}

using To = RoundingBand::To;
constexpr RoundingBand kSteps[] = {{To::m, 0, 0, 8, 0},
                                   {To::multiple, 16, 8, 64, 0},
                                   {To::value, 500, 64, 300, 100},
                                   {To::power_of_2, 0, 300, 0xffffffff, 0}};

TEST(Rounding, TheFirstBandThatFitsRounds) {
  const auto rounded = [](std::uint64_t m, std::uint64_t n) {
    return detail::rounded(Rounding{kSteps, std::size(kSteps)}, m, n);
  };
  const std::map<std::uint64_t, std::uint64_t> expected{{1, 1},     {8, 8},     {9, 16},     {16, 16},
                                                        {17, 32},   {64, 64},   {65, 500},   {300, 500},
                                                        {301, 512}, {512, 512}, {513, 1024}, {1ULL << 32, 1ULL << 32}};
  for (const auto& [m, size] : expected) EXPECT_EQ(rounded(m, 101), size) << m;
  EXPECT_EQ(rounded(65, 100), 0U) << "N is not over 100";
  EXPECT_EQ(rounded(64, 100), 64U);
  const Rounding one{kSteps + 2, 1};
  EXPECT_EQ(detail::rounded(one, 64, 101), 0U);
  EXPECT_EQ(detail::rounded(one, 65, 101), 500U);
  EXPECT_EQ(detail::rounded(one, 301, 101), 0U);
}

// A peer that tries M itself, then the next multiple of 16, beyond 1500 then 256, and takes K splits from the next
// power of two. Own kernels at 48, 64, 112, 256, and at 92 once more; external ones at 96, 128, 4096.
namespace peer {
constexpr InstanceDesc own(const char* name, std::uint64_t id) {
  return tiny::instance(name, id, tiny::fp16, {16, 16, 16}, {0, 0, 0, 0, 0, 16, false});
}
constexpr InstanceDesc instances[] = {own("48", 21), own("64", 22), own("112", 23), own("256", 24)};
constexpr RoundingBand itself[] = {band(To::m)};
constexpr RoundingBand by_16[] = {band(To::multiple, 16)};
constexpr RoundingBand to_256[] = {band(To::value, 256).m_over(1500)};
constexpr RoundingBand by_power[] = {band(To::power_of_2)};
constexpr Rounding kernel_m[] = {rounding(itself), rounding(by_16), rounding(to_256)};
constexpr Rounding split_k_m[] = {rounding(by_power)};
constexpr LadderPolicy policy = ladder_policy().near_add(16).near_factor(2).kernel_m(kernel_m).split_k_m(split_k_m);
constexpr Rung rungs[] = {rung(48, 0, k_batch(2)), rung(64, 1, k_batch(3)), rung(92, 1, k_batch(3)),
                          rung(112, 2, k_batch(4)), rung(256, 3, k_batch(5))};
constexpr Rung external_rungs[] = {rung(96, tiny::kExtA), rung(128, tiny::kExtB), rung(4096, tiny::kExtB)};
constexpr Group groups[] = {with_external<external_rungs>(ladder<rungs>(64, 64))};
constexpr Choice leaves[] = {{0, 1}};
constexpr DecisionNode not_64[] = {{{Feature::m, Compare::ne, 64}, leaf(0), no_leaf}};
constexpr Heuristic heuristics[] = {heuristic("peer", Arch::gfx942, leaves, not_64)};
constexpr auto slots = slots_of(groups);
constexpr LookupTable table = lookup_table(Arch::gfx942, 304, policy, groups, slots, tiny::externals);
constexpr const LookupTable* tables[] = {&table};
constexpr SignatureUnit unit{"gemm_fp16_rcr", tiny::fp16, instances, 4, tables, 1, nullptr, 0, nullptr, 0};
constexpr SignatureUnit with_heuristic{"gemm_fp16_rcr", tiny::fp16, instances, 4, tables, 1, heuristics, 1, nullptr, 0};
constexpr const SignatureUnit* units[] = {&unit};
constexpr const SignatureUnit* units_with_heuristic[] = {&with_heuristic};
constexpr Library library_with_heuristic{"peer", CKGEN_RUNTIME_ABI, 0x97, units_with_heuristic, 1};
constexpr Library library{"peer", CKGEN_RUNTIME_ABI, 0x98, units, 1};
}  // namespace peer

TEST(PeerPolicy, TheFirstRoundingWithARowAnswersAndSplitsComeFromAnother) {
  Registry registry;
  ASSERT_TRUE(registry.add(peer::library).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const auto answer = [&](std::int64_t m) {
    const Selection s = dispatcher.select(tiny::problem(m, 64, 64), Device::simulated("gfx942:304"));
    const std::string external = s.external != no_index ? dispatcher.registry().external(s.external).name : "";
    return s ? std::string(tier_name(s.tier)) + ' ' + dispatcher.registry().instance(s.instance).name + " k_batch " +
                   std::to_string(s.k_batch) + (external.empty() ? "" : " instead of " + external)
             : "-";
  };
  EXPECT_EQ(answer(64), "exact 64 k_batch 3");
  EXPECT_EQ(answer(60), "near 64 k_batch 3");
  EXPECT_EQ(answer(48), "exact 48 k_batch 3") << "the splits of 64";
  EXPECT_EQ(answer(40), "near 48 k_batch 3");
  EXPECT_EQ(answer(100), "near 112 k_batch 4") << "128 is external: the kernel's own splits";
  EXPECT_EQ(answer(112), "exact 112 k_batch 4");
  EXPECT_EQ(answer(250), "near 256 k_batch 5");
  EXPECT_EQ(answer(93), "far 64 k_batch 3 instead of ext_a") << "no step of the peer's but far";
  EXPECT_EQ(answer(90), "far 64 k_batch 3 instead of ext_a") << "92 is nearer, but no rounding of 90";
  EXPECT_EQ(answer(70), "far 64 k_batch 3") << "80 has no row";
}

TEST(PeerPolicy, AProviderAnswersFarWhereNoRoundingHasARow) {
  Registry registry;
  ASSERT_TRUE(registry.add(peer::library_with_heuristic).ok());
  ASSERT_TRUE(registry.provide("flydsl", "ext_b", peer::own("mine", 29)).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const auto tried = [&](std::int64_t m) {
    const Problem problem = tiny::problem(m, 64, 64);
    const Device device = Device::simulated("gfx942:304");
    std::vector<std::string> found;
    for (Selection s = dispatcher.select(problem, device); s && found.size() < 9;
         s = dispatcher.next(problem, device, s))
      found.push_back(std::string(tier_name(s.tier)) + ' ' + registry.instance(s.instance).name);
    return found;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(tried(1100), (Names{"heuristic 48", "far mine", "far 256"})) << "4096 is nearer than 256";
  EXPECT_EQ(tried(1000), (Names{"heuristic 48", "far 256"}));
  EXPECT_EQ(tried(1600), (Names{"near 256", "heuristic 48", "far 256"}))
      << "a rounding has a row, and so is the winner";
  EXPECT_EQ(tried(128), (Names{"exact mine", "heuristic 48", "far 112"}));
}

}  // namespace test_ladder
