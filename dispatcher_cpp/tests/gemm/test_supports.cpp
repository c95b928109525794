// Which problems are legal, and what an instance demands of them: the cases of
// tests/families/test_gemm_problem_rules.py, asked of C++.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <ckgen/ckgen.hpp>

#include "src/gemm/supports.hpp"
#include "src/grouped_gemm/rules.hpp"

namespace test_supports {

using namespace ckgen;
using detail::Sizes;
using detail::supports;
using detail::Verdict;

constexpr auto kTaken = static_cast<ProblemRule>(0);

struct Case {
  Sizes sizes;
  std::uint32_t k_batch;
  bool deterministic;
  ProblemRule rule;
  std::int64_t measured, limit;
};

void expect(const Constraints& c, const Case& x) {
  const Verdict found = supports(c, x.sizes, x.k_batch, x.deterministic);
  EXPECT_TRUE(found.rule == static_cast<std::uint16_t>(x.rule) && found.measured == x.measured &&
              found.limit == x.limit)
      << x.sizes.m << 'x' << x.sizes.n << 'x' << x.sizes.k << " in " << x.k_batch << ": rule " << found.rule << " with "
      << found.measured << " and " << found.limit;
}

TEST(Check, AnIllegalProblemSaysItsRuleAndNumbers) {
  const Dispatcher dispatcher{Registry(), DispatcherOptions{}};
  const auto said = [&](const char* alias, const Sizes& sizes) {
    const Problem problem = gemm(alias).shape(sizes.m, sizes.n, sizes.k).batch(sizes.batch);
    return reason(dispatcher.select(problem, Device::simulated("gfx950")));
  };
  constexpr std::int64_t over = std::int64_t{1} << 31;
  struct Illegal {
    const char* alias;
    Sizes sizes;
    const char* text;
  };
  for (const Illegal& x : {
           Illegal{"fp16", {0, 1, 1, 1}, "M = 0 is below 1 (rule gemm.shape.m)"},
           Illegal{"fp16", {1, -3, 1, 1}, "N = -3 is below 1 (rule gemm.shape.n)"},
           Illegal{"fp16", {1, 1, 0, 1}, "K = 0 is below 1 (rule gemm.shape.k)"},
           Illegal{"fp16", {over, 1, 1, 1}, "M = 2147483648 is above 2147483647 (rule gemm.shape.m-max)"},
           Illegal{"fp16", {1, over, 1, 1}, "N = 2147483648 is above 2147483647 (rule gemm.shape.n-max)"},
           Illegal{"fp16", {1, 1, over, 1}, "K = 2147483648 is above 2147483647 (rule gemm.shape.k-max)"},
           Illegal{"fp16", {1, 1, 1, 2}, "batch = 2 for a signature that is not batched (rule gemm.shape.not-batched)"},
           Illegal{"batched_bf16", {1, 1, 1, 0}, "batch = 0 is below 1 (rule gemm.shape.batch)"},
           Illegal{
               "a8w8_blockscale", {1, 1, 2050, 1}, "K = 2050 is not a multiple of 128 (rule gemm.blockscale.k-group)"},
           Illegal{"gemm_fp8_ocp_bf16_rcr_blockscale_scales_both_128x64",
                   {1, 1, 96, 1},
                   "K = 96 is not a multiple of 64 (rule gemm.blockscale.k-group)"},
           Illegal{"mxfp8", {1, 1, 33, 1}, "K = 33 is not a multiple of 32 (rule gemm.mx.k-group)"},
           Illegal{"a8w8_bpreshuffle", {1, 24, 32, 1}, "N = 24 is not a multiple of 16 (rule gemm.preshuffle.n-rows)"},
           Illegal{"a8w8_bpreshuffle", {1, 16, 48, 1}, "K = 48 is not a multiple of 32 (rule gemm.preshuffle.k-chunk)"},
           Illegal{"gemm_bf16_rcr_preshuffle",
                   {1, 16, 24, 1},
                   "K = 24 is not a multiple of 16 (rule gemm.preshuffle.k-chunk)"},
           Illegal{"a4w4_blockscale", {1, 16, 96, 1}, "K = 96 is not a multiple of 64 (rule gemm.preshuffle.k-chunk)"},
       })
    EXPECT_EQ(said(x.alias, x.sizes), x.text) << x.alias;
  const std::string nothing = "no instance of this signature was built for this device (rule gemm.no-instance)";
  EXPECT_EQ(said("fp16", {over - 1, 1, over - 1, 1}), nothing);
  EXPECT_EQ(said("batched_bf16", {1, 1, 1, 1}), nothing);
  EXPECT_EQ(said("a8w8_blockscale", {1, 1, 128, 1}), nothing);
  EXPECT_EQ(said("gemm_fp8_ocp_bf16_rcr_blockscale_scales_both_128x64", {1, 1, 64, 1}), nothing);
  EXPECT_EQ(said("mxfp8", {7, 5, 32, 1}), nothing);
  EXPECT_EQ(said("a8w8_bpreshuffle", {1, 16, 32, 1}), nothing);
  EXPECT_EQ(said("gemm_bf16_rcr_preshuffle", {1, 16, 16, 1}), nothing);
  EXPECT_EQ(said("a4w4_blockscale", {1, 16, 64, 1}), nothing);
}

TEST(Check, AScaleBlockOfNoSizeDividesEveryK) {
  Signature signature = gemm("a8w8_blockscale").signature();
  EXPECT_FALSE(detail::check(signature, {1, 1, 100, 0}).ok());
  signature.scale_block.k = 0;
  EXPECT_TRUE(detail::check(signature, {1, 1, 100, 0}).ok());
}

TEST(Supports, EachDemandIsRefusedWithItsNumbers) {
  constexpr Constraints all{2, 8, 16, 64, 128, 4, true};
  for (const Case& x : {
           Case{{2, 8, 1024, 0}, 4, false, kTaken, 0, 0},
           Case{{2, 8, 1024, 0}, 0, true, kTaken, 0, 0},
           Case{{2, 8, 128, 0}, 1, true, kTaken, 0, 0},
           Case{{2, 8, 512, 0}, 4, false, kTaken, 0, 0},
           Case{{3, 8, 1024, 0}, 1, false, ProblemRule::gemm_instance_m_multiple, 3, 2},
           Case{{2, 9, 1024, 0}, 1, false, ProblemRule::gemm_instance_n_multiple, 9, 8},
           Case{{2, 8, 1023, 0}, 1, false, ProblemRule::gemm_instance_k_multiple, 1023, 16},
           Case{{2, 8, 4096, 0}, 8, false, ProblemRule::gemm_instance_max_k_batch, 8, 4},
           Case{{2, 8, 1024, 0}, 2, true, kTaken, 0, 0},
           Case{{2, 8, 1024, 0}, 4, true, ProblemRule::gemm_instance_atomic_split, 4, 2},
           Case{{2, 8, 1040, 0}, 2, false, ProblemRule::gemm_instance_split_multiple, 1040, 128},
           Case{{2, 8, 1024, 0}, 3, false, ProblemRule::gemm_instance_split_multiple, 1024, 192},
           Case{{2, 8, 128, 0}, 4, false, ProblemRule::gemm_instance_split_multiple, 128, 256},
           Case{{2, 8, 256, 0}, 4, false, ProblemRule::gemm_instance_min_k, 64, 128},
           Case{{2, 8, 112, 0}, 1, false, ProblemRule::gemm_instance_min_k, 112, 128},
       })
    expect(all, x);
  constexpr Constraints odd{0, 0, 0, 0, 0, 4, false};
  expect(odd, {{1, 1, 1, 0}, 4, true, kTaken, 0, 0});
  constexpr Constraints many{0, 0, 0, 64, 0, 1 << 30, false};  // 2^26 + 1 splits of 64 are 64 in 32 bits
  expect(many, {{1, 1, 128, 0}, (1U << 26) + 1, false, ProblemRule::gemm_instance_split_multiple, 128, 4294967360});
  constexpr Constraints grains{0, 0, 0, 0, 9, 8, false, 3};  // one split is all of K and no whole grain
  expect(grains, {{1, 1, 8, 0}, 1, false, ProblemRule::gemm_instance_min_k, 8, 9});
  constexpr Constraints of_48{0, 48, 0, 0, 0, 1, false};  // no power of two
  expect(of_48, {{1, 96, 1, 0}, 1, false, kTaken, 0, 0});
  expect(of_48, {{1, 64, 1, 0}, 1, false, ProblemRule::gemm_instance_n_multiple, 64, 48});
}

TEST(Supports, UnevenSplitsAndSizesHaveTheirBounds) {
  constexpr Constraints uneven{0, 0, 16, 0, 257, 128, true, 16, 9000, 64, 0, 0, 8};
  for (const Case& x : {
           Case{{1, 1, 528, 0}, 2, false, kTaken, 0, 0},
           Case{{1, 1, 272, 0}, 1, false, kTaken, 0, 0},
           Case{{1, 1, 512, 0}, 2, false, ProblemRule::gemm_instance_min_k, 256, 257},
           Case{{1, 1, 8704, 0}, 32, false, kTaken, 0, 0},
           Case{{1, 1, 8192, 0}, 32, false, ProblemRule::gemm_instance_min_k, 256, 257},
           Case{{1, 1, 4624, 0}, 18, false, ProblemRule::gemm_instance_empty_split, 4624, 4624},
           Case{{1, 1, 4640, 0}, 18, false, kTaken, 0, 0},
           Case{{1, 1, 5168, 0}, 24, false, ProblemRule::gemm_instance_min_k, 224, 257},
           Case{{8, 8, 1120, 0}, 1, false, kTaken, 0, 0},
           Case{{1, 8, 1136, 0}, 1, false, ProblemRule::gemm_instance_matrix_size, 9088, 9000},
           Case{{8, 1, 1136, 0}, 1, false, ProblemRule::gemm_instance_matrix_size, 9088, 9000},
           Case{{9, 1, 512, 0}, 1, false, ProblemRule::gemm_instance_max_m, 9, 8},
           Case{{8, 9, 272, 0}, 1, false, ProblemRule::gemm_instance_matrix_size, 72, 64},
           Case{{5, 13, 512, 0}, 1, false, ProblemRule::gemm_instance_matrix_size, 65, 64},
       })
    expect(uneven, x);
  constexpr Constraints few{0, 0, 0, 0, 0, 1, false, 0, 0, 0, 0, 0, 4, 3};
  expect(few, {{3, 1, 1, 0}, 1, false, kTaken, 0, 0});
  expect(few, {{4, 1, 1, 0}, 1, false, kTaken, 0, 0});
  expect(few, {{2, 1, 1, 0}, 1, false, ProblemRule::gemm_instance_min_m, 2, 3});
  expect(few, {{5, 1, 1, 0}, 1, false, ProblemRule::gemm_instance_max_m, 5, 4});
  constexpr Constraints exact{0, 0, 0, 0, 0, 1, false, 0, 100, 64};
  expect(exact, {{10, 1, 10, 0}, 1, false, kTaken, 0, 0});
  expect(exact, {{64, 1, 1, 0}, 1, false, kTaken, 0, 0});
}

/// Parts of K dealt grain by grain, and their main loops turned one by one, without the formulas of supports().
///
/// A kernel is built for what the first part has left after its turns: 1 to `split_turn` tiles. It is right for a part
/// with at most as many left, and for one that never enters the loop.
ProblemRule split_refusal(const Constraints& c, std::int64_t k, std::int64_t splits) {
  const std::int64_t step = c.k_multiple_per_split;
  if (step != 0 && k % (splits * step) == 0) return kTaken;
  if (step != 0 && c.split_grain == 0) return ProblemRule::gemm_instance_split_multiple;
  std::vector<std::int64_t> parts(static_cast<std::size_t>(splits), 0);
  while (parts.front() * splits < k) parts.front() += c.split_grain;
  for (std::size_t i = 1; i < parts.size(); ++i)
    parts[i] =
        i + 1 < parts.size() ? parts.front() : k - std::accumulate(parts.begin(), parts.end() - 1, std::int64_t{0});
  const std::int64_t first = parts.front(), last = parts.back();
  if (step == 0)
    return last <= 0         ? ProblemRule::gemm_instance_empty_split
           : first < c.min_k ? ProblemRule::gemm_instance_min_k
                             : kTaken;
  const auto tiles_left = [&](std::int64_t part) {
    std::int64_t left = -c.split_lead;
    for (std::int64_t at = 0; at < part; at += step) ++left;
    while (left > c.split_turn) left -= c.split_turn;
    return left;
  };
  const bool fits = last > 0 && (tiles_left(last) <= 0 || tiles_left(last) <= tiles_left(first));
  return fits ? kTaken : ProblemRule::gemm_instance_split_multiple;
}

TEST(Supports, SplitsAreTakenWhereOneKernelFitsAllParts) {
  struct Splits {
    std::int32_t step, grain, turn, lead;
    int taken;
  };
  for (const Splits& x : {Splits{4, 0, 0, 0, 102}, Splits{4, 1, 2, 3, 1396}, Splits{4, 2, 3, 2, 1260},
                          Splits{8, 8, 2, 3, 976}, Splits{6, 4, 4, 4, 1290}, Splits{0, 3, 0, 0, 1365}}) {
    Constraints c{0, 0, 0, x.step, x.step != 0 ? 0 : 9, 8, false, x.grain};
    c.split_turn = x.turn;
    c.split_lead = x.lead;
    int taken = 0;
    for (std::int64_t k = 1; k <= 240; ++k)
      for (std::uint32_t splits = 2; splits <= 8; ++splits) {
        const Verdict found = supports(c, {1, 1, k, 0}, splits, false);
        ASSERT_EQ(found.rule, static_cast<std::uint16_t>(split_refusal(c, k, splits)))
            << "K = " << k << " in " << splits << " parts, tiles of " << x.step << ", grains of " << x.grain;
        taken += found.ok() ? 1 : 0;
      }
    EXPECT_EQ(taken, x.taken) << x.step << ' ' << x.grain << ' ' << x.turn << ' ' << x.lead;
  }
}

TEST(Supports, GroupsAreHeldToTheLeastAndTheMostOfThem) {
  const GroupSize sizes[] = {{8, 64, 128}, {40, 32, 256}};
  const Groups groups(sizes, 2);
  const auto refused = [&](auto member, auto limit, ProblemRule rule, std::int64_t measured) {
    Constraints c{0, 0, 0, 0, 0, 1, false};
    c.*member = limit;
    const Verdict found = supports(c, detail::AllGroups(groups), 1, false);
    EXPECT_TRUE(found.rule == static_cast<std::uint16_t>(rule) && found.measured == measured && found.limit == limit)
        << "rule " << found.rule << " with " << found.measured << " and " << found.limit;
  };
  refused(&Constraints::min_m, 9, ProblemRule::gemm_instance_min_m, 8);
  refused(&Constraints::max_m, 39, ProblemRule::gemm_instance_max_m, 40);
  refused(&Constraints::max_ab, 40 * 256 - 1, ProblemRule::gemm_instance_matrix_size, 40 * 256);
  refused(&Constraints::max_c, 40 * 32 - 1, ProblemRule::gemm_instance_matrix_size, 40 * 32);
  refused(&Constraints::m_multiple, 16, ProblemRule::gemm_instance_m_multiple, 8);
  refused(&Constraints::n_multiple, 64, ProblemRule::gemm_instance_n_multiple, 32);
  refused(&Constraints::k_multiple, 256, ProblemRule::gemm_instance_k_multiple, 128);
  refused(&Constraints::min_k, 129, ProblemRule::gemm_instance_min_k, 128);
}

}  // namespace test_supports
