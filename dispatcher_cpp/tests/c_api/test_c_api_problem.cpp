// Problems of the C API, of which each thread keeps the last: nothing of it is left to the next one.
#include <gtest/gtest.h>

#include <cstddef>
#include <thread>
#include <tuple>
#include <vector>

#include <ckgen/c_api.h>
#include <ckgen/c_api_fmha.h>

#include "src/c_api/support.hpp"
#include "tiny_library.hpp"

namespace test_c_api_problem {

/// All that a problem says.
auto said(const ckgen_problem& problem) {
  const ckgen::Problem& p = ckgen::detail::problem_of(problem);
  return std::make_tuple(p.signature().pack(), p.m(), p.n(), p.k(), p.batch(), p.deterministic(), p.batch_invariant(),
                         p.strategy(), p.num_threads(), p.groups(), p.routing().experts, p.routing().top_k, p.block_m(),
                         p.fmha().seqlen_q, p.fmha().hdim_v);
}

/// The same where nothing was asked before.
auto said_first(const ckgen_problem& problem) {
  decltype(said(problem)) found;
  std::thread([&] { found = said(problem); }).join();
  return found;
}

ckgen_problem plain(std::int64_t m) {
  ckgen_problem made{};
  made.size = sizeof made;
  made.signature = tiny::fp16.pack();
  made.m = m, made.n = 64, made.k = 128, made.batch = 2;
  return made;
}

TEST(CApiProblem, SaysTheSameWhateverWasAskedBefore) {
  ckgen_groups* groups = nullptr;
  const ckgen_group_size sizes[] = {{5, 6, 7}, {8, 9, 10}};
  ASSERT_EQ(ckgen_groups_create(sizes, 2, &groups, {nullptr, 0}), CKGEN_OK);
  ckgen_problem_fmha fmha{};
  fmha.size = sizeof fmha;
  fmha.seqlen_q = 11, fmha.hdim_v = 12;

  std::vector<ckgen_problem> kinds(11, plain(3));
  kinds[1].m = 4;
  kinds[2].signature = tiny::fnuz_instances[0].signature.pack();
  kinds[3].deterministic = 1;
  kinds[4].strategy = 2;
  kinds[5].batch_invariant = 1;
  kinds[6].experts = 4, kinds[6].top_k = 2;
  kinds[7].block_m = 32;
  kinds[8].num_threads = 3;
  kinds[9].groups = groups;
  kinds[10].fmha = &fmha;
  kinds.push_back(kinds[8]);  // the first version's struct, behind which is what the caller has there
  kinds.back().size = offsetof(ckgen_problem, groups);
  kinds.back().experts = 9;

  for (const ckgen_problem& before : kinds) {
    for (const ckgen_problem& now : kinds) {
      said(before);
      EXPECT_EQ(said(now), said_first(now)) << &before - kinds.data() << ", then " << &now - kinds.data();
    }
  }
  EXPECT_EQ(said(kinds[0]), said(kinds[11]));
  for (std::size_t i = 1; i < 11; ++i) EXPECT_NE(said(kinds[0]), said(kinds[i])) << i;
  ckgen_groups_destroy(groups);
}

}  // namespace test_c_api_problem
