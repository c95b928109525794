// Grouped GEMM and MoE over the C API: groups, runs, tokens by expert, structs of the first version.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <ckgen/c_api.h>

#include "c_api/c_api_fixture.hpp"
#include "tiny_library.hpp"

namespace test_c_api_ops {

using ckgen::DType;
using ckgen::Op;

constexpr ckgen::Signature kGrouped = [] {
  ckgen::Signature s = tiny::fp16;
  s.op = Op::grouped_gemm;
  return s;
}();
constexpr ckgen::Signature kDown = [] {
  ckgen::Signature s = tiny::fp16;
  s.op = Op::moe;
  s.moe = {ckgen::MoePart::down, false, true};
  return s;
}();

/// What the last launch was given.
struct Seen {
  ckgen::GroupedArgs grouped;
  ckgen::GroupOperands first;
  ckgen::MoeArgs moe;
  ckgen::Routing routing;
} seen;

ckgen::Status keep(const ckgen::Launch& launch) noexcept {
  if (launch.grouped != nullptr) seen.grouped = *launch.grouped;
  if (launch.grouped != nullptr && !launch.problem->groups()->are_on_device()) seen.first = launch.grouped->operands[0];
  if (launch.moe != nullptr) seen.moe = *launch.moe;
  seen.routing = launch.problem->routing();
  return ckgen::Status::success();
}

ckgen::InstanceDesc instance(const char* name, std::uint64_t id, const ckgen::Signature& signature) {
  ckgen::InstanceDesc d = tiny::instance(name, id, signature, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false});
  d.twin = keep;
  d.workspace = nullptr;
  return d;
}

class CApiOps : public tiny::CApiFixture {
 protected:
  void SetUp() override {
    static const ckgen::InstanceDesc grouped[] = {instance("grouped", 1, kGrouped)};
    static const ckgen::InstanceDesc down[] = {instance("down", 2, kDown)};
    static const ckgen::SignatureUnit parts[] = {
        {"grouped", kGrouped, grouped, 1, nullptr, 0, nullptr, 0, tiny::fnuz_defaults, 1},
        {"down", kDown, down, 1, nullptr, 0, nullptr, 0, tiny::fnuz_defaults, 1}};
    static const ckgen::SignatureUnit* const units[] = {&parts[0], &parts[1]};
    static const ckgen::Library library{"ops", CKGEN_RUNTIME_ABI, 1, units, 2};
    ASSERT_NO_FATAL_FAILURE(open(library));
  }
  void TearDown() override {
    ckgen_plan_destroy(plan);
    ckgen_groups_destroy(groups);
    CApiFixture::TearDown();
  }
  static ckgen_problem problem(const ckgen::Signature& signature) {
    ckgen_problem p{};
    p.size = sizeof p;
    p.signature = signature.pack();
    p.batch = 1;
    return p;
  }

  ckgen_groups* groups = nullptr;
  ckgen_plan* plan = nullptr;
  std::vector<char> memory = std::vector<char>(4096);
};

TEST_F(CApiOps, NumbersOfTheirSignaturesAreInverse) {
  for (const ckgen::Signature& signature : {kGrouped, kDown}) {
    std::uint64_t number = 0;
    ASSERT_EQ(ckgen_signature_text(signature.pack(), message()), CKGEN_OK) << text;
    const std::string name = text;
    ASSERT_EQ(ckgen_parse_signature(name.c_str(), &number, message()), CKGEN_OK) << text;
    EXPECT_EQ(number, signature.pack());
  }
}

TEST_F(CApiOps, GroupsArePlannedAndRun) {
  std::vector<ckgen_group_size> sizes{{2, 3, 4}, {0, 3, 4}};
  ASSERT_EQ(ckgen_groups_create(sizes.data(), 2, &groups, message()), CKGEN_OK);
  ckgen_problem wanted = problem(kGrouped);
  wanted.groups = groups;
  ASSERT_EQ(ckgen_plan_create(dispatcher, device, &wanted, nullptr, &plan, message()), CKGEN_OK) << text;
  ckgen_group_operands operands[2] = {};
  operands[0].a = operands[0].b = operands[0].c = memory.data();
  operands[0].lda = operands[0].ldb = 4;
  operands[0].ldc = 3;
  operands[0].ldd[1] = 77;
  ckgen_grouped_args args{};
  args.size = sizeof args;
  args.operands = operands;
  args.sizes = sizes.data();
  args.count = 2;
  args.alpha = 2.5F;
  ASSERT_EQ(ckgen_run_grouped(dispatcher, plan, &args, nullptr, nullptr, message()), CKGEN_OK) << text;
  ASSERT_EQ(ckgen_run_grouped_pooled(dispatcher, plan, &args, nullptr, message()), CKGEN_OK) << text;
  EXPECT_EQ(seen.grouped.count, 2);
  EXPECT_EQ(seen.grouped.alpha, 2.5F);
  EXPECT_EQ(seen.grouped.sizes[0].n, 3);
  EXPECT_FALSE(seen.grouped.a_scale_row_major || seen.grouped.mx_scale_shuffled);
  EXPECT_EQ(seen.first.c, memory.data());
  EXPECT_EQ(seen.first.ldc, 3);
  EXPECT_EQ(seen.first.ldd[1], 77);
  ckgen_bench_result timed{};
  timed.size = sizeof timed;
  EXPECT_EQ(ckgen_bench_grouped(dispatcher, plan, &args, 0, 2, &timed, message()), CKGEN_OK);
  EXPECT_EQ(timed.runs, 2);
  args.a_scale_row_major = 1;
  ASSERT_EQ(ckgen_run_grouped_pooled(dispatcher, plan, &args, nullptr, message()), CKGEN_OK) << text;
  EXPECT_TRUE(seen.grouped.a_scale_row_major && !seen.grouped.mx_scale_shuffled);
  args.a_scale_row_major = 0;
  args.mx_scale_shuffled = 1;
  ASSERT_EQ(ckgen_run_grouped_pooled(dispatcher, plan, &args, nullptr, message()), CKGEN_OK) << text;
  EXPECT_TRUE(!seen.grouped.a_scale_row_major && seen.grouped.mx_scale_shuffled);
  args.mx_scale_shuffled = 0;
  args.a_scale_stride = 7;
  EXPECT_EQ(ckgen_run_grouped_pooled(dispatcher, plan, &args, nullptr, message()), CKGEN_INVALID_ARGUMENT)
      << "fp16 has no scales";
  args.size = offsetof(ckgen_grouped_args, a_scale_stride);
  EXPECT_EQ(ckgen_run_grouped_pooled(dispatcher, plan, &args, nullptr, message()), CKGEN_OK) << text;
  EXPECT_EQ(seen.grouped.a_scale_stride, 0);
  sizes[0].k = 5;
  EXPECT_EQ(ckgen_run_grouped_pooled(dispatcher, plan, &args, nullptr, message()), CKGEN_INVALID_ARGUMENT)
      << "the groups are a copy";
  args.size = 8;
  EXPECT_EQ(ckgen_run_grouped_pooled(dispatcher, plan, &args, nullptr, message()), CKGEN_INVALID_ARGUMENT);
}

TEST_F(CApiOps, GroupsOnTheDeviceAreToo) {
  ASSERT_EQ(ckgen_groups_on_device(3, 64, 16, 32, &groups, message()), CKGEN_OK);
  ckgen_problem wanted = problem(kGrouped);
  EXPECT_EQ(ckgen_plan_create(dispatcher, device, &wanted, nullptr, &plan, message()), CKGEN_UNSUPPORTED);
  EXPECT_STREQ(text, "a grouped GEMM needs its groups (rule grouped.no-groups)");
  wanted.groups = groups;
  ASSERT_EQ(ckgen_plan_create(dispatcher, device, &wanted, nullptr, &plan, message()), CKGEN_OK) << text;
  EXPECT_EQ(ckgen_groups_create(nullptr, 1, &groups, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_groups_on_device(1, 1, 1, 1, nullptr, message()), CKGEN_INVALID_ARGUMENT);
  ckgen_groups_destroy(nullptr);
}

TEST_F(CApiOps, PartsOfALayerArePlannedAndRun) {
  ckgen_problem wanted = problem(kDown);
  wanted.m = 10;
  wanted.n = wanted.k = 16;
  wanted.experts = 0x10008;
  wanted.top_k = 2;
  EXPECT_EQ(ckgen_plan_create(dispatcher, device, &wanted, nullptr, &plan, message()), CKGEN_UNSUPPORTED)
      << "experts are not cut to 16 bits";
  wanted.experts = 8;
  wanted.block_m = 32;
  EXPECT_EQ(ckgen_plan_create(dispatcher, device, &wanted, nullptr, &plan, message()), CKGEN_UNSUPPORTED);
  wanted.block_m = 0;
  ASSERT_EQ(ckgen_plan_create(dispatcher, device, &wanted, nullptr, &plan, message()), CKGEN_OK) << text;
  std::int32_t block_m = 0;
  ASSERT_EQ(ckgen_plan_block_m(plan, &block_m, message()), CKGEN_OK);
  EXPECT_EQ(block_m, 16);
  ckgen_moe_args args{};
  args.size = sizeof args;
  args.a = args.w2 = args.c = memory.data();
  args.tokens = 10;
  args.lda = args.ldc = 16;
  auto* entries = reinterpret_cast<std::int32_t*>(memory.data());
  args.sorted = {entries, reinterpret_cast<float*>(entries), entries + 8, entries + 16};
  ASSERT_EQ(ckgen_run_moe(dispatcher, plan, &args, nullptr, nullptr, message()), CKGEN_OK) << text;
  ASSERT_EQ(ckgen_run_moe_pooled(dispatcher, plan, &args, nullptr, message()), CKGEN_OK) << text;
  EXPECT_EQ(seen.moe.w2, memory.data());
  EXPECT_FALSE(seen.moe.a_scale_row_major || seen.moe.mx_scale_shuffled);
  EXPECT_EQ(seen.moe.tokens, 10);
  EXPECT_EQ(seen.moe.sorted.valid, entries + 16);
  EXPECT_EQ(seen.routing.lookup_key(), 0x80002U);
  ckgen_bench_result timed{};
  timed.size = sizeof timed;
  EXPECT_EQ(ckgen_bench_moe(dispatcher, plan, &args, 0, 1, &timed, message()), CKGEN_OK);
  args.a_scale_row_major = 1;
  ASSERT_EQ(ckgen_run_moe_pooled(dispatcher, plan, &args, nullptr, message()), CKGEN_OK) << text;
  EXPECT_TRUE(seen.moe.a_scale_row_major && !seen.moe.mx_scale_shuffled);
  args.a_scale_row_major = 0;
  args.mx_scale_shuffled = 1;
  ASSERT_EQ(ckgen_run_moe_pooled(dispatcher, plan, &args, nullptr, message()), CKGEN_OK) << text;
  EXPECT_TRUE(!seen.moe.a_scale_row_major && seen.moe.mx_scale_shuffled);
  args.a = nullptr;
  EXPECT_EQ(ckgen_run_moe_pooled(dispatcher, plan, &args, nullptr, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_STREQ(text, "A is null");
}

TEST_F(CApiOps, TokensAreSortedAndBack) {
  const std::int32_t ids[] = {2, 0, 1, 2, 2, 1};
  const float weights[] = {1, 2, 3, 4, 5, 6};
  const std::int64_t capacity = ckgen_sorted_capacity(3, 4, 2, 4);
  ASSERT_EQ(capacity, 16);
  std::vector<std::int32_t> entries(16), experts(4), valid(2), back(6);
  std::vector<float> sorted_weights(16), back_weights(6);
  const ckgen_sorted_tokens sorted{entries.data(), sorted_weights.data(), experts.data(), valid.data()};
  ASSERT_EQ(ckgen_sort_tokens(ids, weights, 3, 4, 2, 4, &sorted, message()), CKGEN_OK) << text;
  EXPECT_EQ(experts, (std::vector<std::int32_t>{0, 1, 2, -1}));
  EXPECT_EQ(entries[0], 1 << 24 | 0);
  ASSERT_EQ(ckgen_unsort_tokens(&sorted, 3, 4, 2, 4, back.data(), back_weights.data(), message()), CKGEN_OK);
  EXPECT_TRUE(std::equal(back.begin(), back.end(), ids));
  EXPECT_TRUE(std::equal(back_weights.begin(), back_weights.end(), weights));
  EXPECT_EQ(ckgen_sort_tokens(ids, weights, 3, 2, 2, 4, &sorted, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_STREQ(text, "an id is no expert");
  EXPECT_EQ(ckgen_sort_tokens(ids, weights, 3, 4, 5, 4, &sorted, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_sort_tokens(nullptr, weights, 3, 4, 2, 4, &sorted, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_sorted_capacity(3, 0x10004, 2, 4), -1);
  valid[0] = 4;
  EXPECT_EQ(ckgen_unsort_tokens(&sorted, 3, 4, 2, 4, back.data(), back_weights.data(), message()),
            CKGEN_INVALID_ARGUMENT);
}

TEST_F(CApiOps, AProblemMeansTheSameWhateverItsThreadAskedBefore) {
  const std::vector<ckgen_group_size> sizes{{64, 48, 64}, {0, 48, 64}};
  ASSERT_EQ(ckgen_groups_create(sizes.data(), 2, &groups, message()), CKGEN_OK);
  ckgen_problem_fmha attention{};
  attention.size = sizeof attention;
  ASSERT_EQ(ckgen_problem_fmha_defaults(&attention, message()), CKGEN_OK) << text;
  attention.batch = attention.seqlen_q = attention.seqlen_k = 7;
  ckgen::Signature of_attention{};
  of_attention.op = Op::fmha;
  std::vector<ckgen_problem> asked;
  for (const ckgen::Signature& signature : {kGrouped, kDown, tiny::fp16, of_attention}) {
    ckgen_problem plain = problem(signature);
    plain.m = plain.n = plain.k = 32;
    asked.push_back(plain);
    for (ckgen_problem one : {plain, plain, plain, plain}) {
      const std::size_t which = asked.size() % 5;
      if (which == 1) one.groups = groups, one.fmha = &attention;
      if (which == 2) one.experts = 8, one.top_k = 2, one.block_m = 16;
      if (which == 3) one.deterministic = one.batch_invariant = 1, one.strategy = 2;
      if (which == 4) one.size = offsetof(ckgen_problem, groups), one.experts = 8, one.batch = 3;
      asked.push_back(one);
    }
  }
  const auto answer = [&](const ckgen_problem& one) {
    std::vector<char> trail(1 << 16);
    EXPECT_EQ(ckgen_explain(dispatcher, device, &one, {trail.data(), trail.size()}, nullptr), CKGEN_OK);
    ckgen_selection chosen{};
    chosen.size = sizeof chosen;
    EXPECT_EQ(ckgen_select(dispatcher, device, &one, &chosen, {nullptr, 0}), CKGEN_OK);
    EXPECT_EQ(ckgen_reason(&chosen, {text, sizeof text}), CKGEN_OK);
    return std::string(trail.data()) + text;
  };
  std::vector<std::string> alone;
  for (const ckgen_problem& one : asked) std::thread([&] { alone.push_back(answer(one)); }).join();
  EXPECT_GT(std::set<std::string>(alone.begin(), alone.end()).size(), 12U) << "they are told apart";
  for (const ckgen_problem& before : asked) {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      static_cast<void>(answer(before));
      EXPECT_EQ(answer(asked[i]), alone[i]);
    }
  }
}

TEST_F(CApiOps, ProblemsOfTheFirstVersionAreRead) {
  constexpr std::size_t first = offsetof(ckgen_problem, groups);
  ckgen_problem whole = problem(kDown);
  whole.size = first;
  whole.m = whole.n = whole.k = 16;
  whole.experts = 8;  // beyond what such a caller has: not read
  whole.top_k = 2;
  ckgen_selection chosen{};
  chosen.size = sizeof chosen;
  ASSERT_EQ(ckgen_select(dispatcher, device, &whole, &chosen, message()), CKGEN_OK);
  ASSERT_EQ(ckgen_reason(&chosen, message()), CKGEN_OK);
  EXPECT_STREQ(text, "experts = 0 is below 1 (rule moe.experts)");
  whole.size = first - 8;
  EXPECT_EQ(ckgen_select(dispatcher, device, &whole, &chosen, message()), CKGEN_INVALID_ARGUMENT);
  // An array of them lies without gaps.
  std::vector<char> array(2 * first);
  ckgen_problem two[] = {problem(tiny::fp16), problem(tiny::fp16)};
  for (std::size_t i = 0; i < 2; ++i) {
    two[i].size = first;
    two[i].m = static_cast<std::int64_t>(i);
    std::memcpy(array.data() + i * first, &two[i], first);
  }
  ckgen_selection out[2] = {chosen, chosen};
  ASSERT_EQ(
      ckgen_select_many(dispatcher, device, reinterpret_cast<const ckgen_problem*>(array.data()), 2, out, message()),
      CKGEN_OK)
      << text;
  EXPECT_EQ(out[0].limit, 1) << "M = 0";
  EXPECT_EQ(out[0].measured, 0);
  ASSERT_EQ(ckgen_reason(&out[1], message()), CKGEN_OK);
  EXPECT_NE(std::string(text).find("N = 0"), std::string::npos) << text;
}

}  // namespace test_c_api_ops
