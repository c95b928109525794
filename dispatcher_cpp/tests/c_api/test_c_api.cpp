// The C API on the tiny library, and what it makes of misuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include <ckgen/c_api.h>

#include "c_api/c_api_fixture.hpp"
#include "tiny_library.hpp"

namespace test_c_api {

class CApi : public tiny::CApiFixture {
 protected:
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(open(tiny::library)); }

  static ckgen_problem problem(std::int64_t m, std::int64_t n, std::int64_t k) {
    return {sizeof(ckgen_problem), tiny::fp16.pack(), m, n, k, 1, 0, 0, nullptr, 0, 0, 0, 0, nullptr, 0, 0};
  }
  static ckgen_selection selection() {
    ckgen_selection s{};
    s.size = sizeof s;
    return s;
  }
};

TEST_F(CApi, SelectsAsTheLibraryDoes) {
  const ckgen_problem wanted = problem(128, 1024, 2048);
  ckgen_selection chosen = selection();
  ASSERT_EQ(ckgen_select(dispatcher, device, &wanted, &chosen, message()), CKGEN_OK);
  EXPECT_EQ(chosen.tier, static_cast<std::uint32_t>(ckgen::Tier::exact));
  EXPECT_EQ(chosen.k_batch, 2U);
  ckgen_instance_info info{};
  info.size = sizeof info;
  ASSERT_EQ(ckgen_instance(dispatcher, chosen.instance, &info, message()), CKGEN_OK);
  EXPECT_STREQ(info.name, "tiny_medium");
  EXPECT_EQ(info.has_twin, 1);
  EXPECT_EQ(info.has_device, 0);
}

class CApiTableKernel : public tiny::CApiFixture {};

TEST_F(CApiTableKernel, IsATextWhetherAnInstanceHasOneOrNot) {
  static ckgen::InstanceDesc instances[] = {tiny::fnuz_instances[0], tiny::fnuz_instances[0], tiny::fnuz_instances[0]};
  const char* names[] = {"named", "unnamed", "without"};
  const char* kernels[] = {"a8w8_1x2", "", nullptr};
  for (std::size_t i = 0; i < 3; ++i) {
    instances[i].name = names[i];
    instances[i].id = 100 + i;
    instances[i].table_kernel = kernels[i];
  }
  static ckgen::SignatureUnit unit = tiny::fnuz_unit;
  unit.instances = instances;
  unit.instance_count = 3;
  static const ckgen::SignatureUnit* units[] = {&unit};  // all outlive the fixture's dispatcher
  ASSERT_NO_FATAL_FAILURE(open({"named", CKGEN_RUNTIME_ABI, 1, units, 1}));
  for (std::uint32_t i = 0; i < 3; ++i) {
    ckgen_instance_info info{};
    info.size = sizeof info;
    ASSERT_EQ(ckgen_instance(dispatcher, i, &info, message()), CKGEN_OK);
    EXPECT_STREQ(info.table_kernel, kernels[i] == nullptr ? "" : kernels[i]) << info.name;
  }
}

TEST_F(CApi, SelectsManyAtOnce) {
  std::vector<ckgen_problem> problems;
  for (int m = 1; m <= 300; ++m) problems.push_back(problem(m, 1024, 2048));
  std::vector<ckgen_selection> chosen(problems.size(), selection());
  ASSERT_EQ(ckgen_select_many(dispatcher, device, problems.data(), problems.size(), chosen.data(), message()),
            CKGEN_OK);
  const ckgen::Dispatcher reference{tiny::registry(), ckgen::DispatcherOptions{}};
  for (int m = 1; m <= 300; ++m) {
    const auto expected = reference.select(tiny::problem(m, 1024, 2048), ckgen::Device::simulated("gfx942"));
    ASSERT_EQ(chosen[static_cast<std::size_t>(m - 1)].instance, expected.instance) << m;
    ASSERT_EQ(chosen[static_cast<std::size_t>(m - 1)].table_m, expected.table_m) << m;
  }
}

TEST_F(CApi, ANumberMeansTheSameWhateverItsThreadAskedBefore) {
  const ckgen::Signature fnuz = tiny::fnuz_instances[0].signature, fp32{};
  const ckgen::Signature signatures[] = {tiny::fp16, fnuz, fp32};
  const ckgen::Dispatcher reference{tiny::registry(), ckgen::DispatcherOptions{}};
  const ckgen::Device simulated = ckgen::Device::simulated("gfx942");
  std::vector<ckgen::Selection> expected;
  for (const ckgen::Signature& s : signatures)
    expected.push_back(reference.select(ckgen::Problem(s).shape(128, 1024, 2048), simulated));
  ASSERT_NE(expected[0].instance, expected[1].instance);
  const auto ask = [&](unsigned turn, unsigned& wrong) {
    for (unsigned call = 0; call < 10000; ++call) {
      const unsigned at = (turn + call * (call % 5)) % 3;  // the same one again, another, and one of before
      ckgen_problem wanted = problem(128, 1024, 2048);
      wanted.signature = signatures[at].pack();
      ckgen_selection chosen = selection();
      const bool done = ckgen_select(dispatcher, device, &wanted, &chosen, {nullptr, 0}) == CKGEN_OK;
      const ckgen::Selection& right = expected[at];
      wrong += !done || chosen.instance != right.instance || chosen.tier != static_cast<std::uint32_t>(right.tier) ||
               chosen.rule != right.rule;
    }
  };
  unsigned wrong[8] = {};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 8; ++i) threads.emplace_back([&, i] { ask(i, wrong[i]); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::count(std::begin(wrong), std::end(wrong), 0U), 8);
}

TEST_F(CApi, SaysReasonsAndTrails) {
  const ckgen_problem wanted = problem(0, 1, 1);
  ckgen_selection chosen = selection();
  ASSERT_EQ(ckgen_select(dispatcher, device, &wanted, &chosen, message()), CKGEN_OK);
  EXPECT_EQ(chosen.instance, CKGEN_NO_INDEX);
  ASSERT_EQ(ckgen_reason(&chosen, message()), CKGEN_OK);
  EXPECT_STREQ(text, "M = 0 is below 1 (rule gemm.shape.m)");
  size_t needed = 0;
  char tiny_room[8];
  ASSERT_EQ(ckgen_explain(dispatcher, device, &wanted, {tiny_room, sizeof tiny_room}, &needed), CKGEN_OK);
  EXPECT_STREQ(tiny_room, "gemm fp");
  std::vector<char> room(needed);
  ASSERT_EQ(ckgen_explain(dispatcher, device, &wanted, {room.data(), room.size()}, &needed), CKGEN_OK);
  EXPECT_EQ(std::string(room.data()).size() + 1, needed);
}

TEST_F(CApi, ParsesSignatures) {
  std::uint64_t number = 0;
  ASSERT_EQ(ckgen_parse_signature("a8w8:int8", &number, message()), CKGEN_OK);
  ASSERT_EQ(ckgen_signature_text(number, message()), CKGEN_OK);
  EXPECT_STREQ(text, "gemm_int8_bf16_rcr_rowwise");
  EXPECT_EQ(ckgen_parse_signature("nonsense", &number, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_signature_text(~std::uint64_t{0}, message()), CKGEN_INVALID_ARGUMENT);
}

TEST_F(CApi, PlansRunsAndCounts) {
  const ckgen_problem wanted = problem(64, 1024, 2048);
  ckgen_plan* plan = nullptr;
  ASSERT_EQ(ckgen_plan_create(dispatcher, device, &wanted, nullptr, &plan, message()), CKGEN_OK) << text;
  EXPECT_EQ(ckgen_plan_launchable(plan, message()), CKGEN_OK);
  std::uint64_t bytes = 1;
  EXPECT_EQ(ckgen_plan_workspace(plan, &bytes, message()), CKGEN_OK);
  ckgen_gemm_args args{};
  args.size = sizeof args;
  EXPECT_EQ(ckgen_run_pooled(dispatcher, plan, &args, nullptr, message()), CKGEN_INVALID_ARGUMENT);
  ckgen_plan_destroy(plan);
  size_t count = 0;
  ckgen_selection found[2] = {selection(), selection()};
  ASSERT_EQ(ckgen_enumerate(dispatcher, device, &wanted, found, 2, &count, message()), CKGEN_OK);
  EXPECT_EQ(count, 3U);
  EXPECT_EQ(found[1].instance, 1U);
}

TEST_F(CApi, NullsAreRefused) {
  const ckgen_problem wanted = problem(1, 1, 1);
  ckgen_selection chosen = selection();
  std::uint32_t index = 0;
  EXPECT_EQ(ckgen_registry_create(nullptr, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_registry_add_library(registry, nullptr, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_registry_add_library(nullptr, &tiny::library, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_select(nullptr, device, &wanted, &chosen, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_select(dispatcher, nullptr, &wanted, &chosen, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_select(dispatcher, device, nullptr, &chosen, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_select(dispatcher, device, &wanted, nullptr, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_find_instance(dispatcher, "nonsense", &index, {nullptr, 0}), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_instance(dispatcher, 99, nullptr, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_plan_create(dispatcher, device, &wanted, nullptr, nullptr, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_run(dispatcher, nullptr, nullptr, nullptr, nullptr, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_reason(nullptr, message()), CKGEN_INVALID_ARGUMENT);
  ckgen_registry_destroy(nullptr);
  ckgen_plan_destroy(nullptr);
}

TEST_F(CApi, StructsOfAnotherSizeAreRefused) {
  ckgen_problem wanted = problem(1, 1, 1);
  ckgen_selection chosen = selection();
  wanted.size = 8;
  EXPECT_EQ(ckgen_select(dispatcher, device, &wanted, &chosen, message()), CKGEN_INVALID_ARGUMENT);
  wanted.size = sizeof wanted;
  chosen.size = 0;
  EXPECT_EQ(ckgen_select(dispatcher, device, &wanted, &chosen, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_STREQ(text, "a struct's size field is smaller than the struct");
  ckgen_problem two[2] = {problem(1, 1, 1), problem(1, 1, 1)};
  ckgen_selection out[2] = {selection(), selection()};
  two[1].size += 8;
  EXPECT_EQ(ckgen_select_many(dispatcher, device, two, 2, out, message()), CKGEN_INVALID_ARGUMENT);
  two[1].size -= 16;
  EXPECT_EQ(ckgen_select_many(dispatcher, device, two, 2, out, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_STREQ(text, "the structs of an array must have one size, selections this version's");
  ckgen_options options{};
  ckgen_dispatcher* made = nullptr;
  EXPECT_EQ(ckgen_dispatcher_create(registry, &options, &made, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(made, nullptr);
}

TEST_F(CApi, EverySelectionOfAnArrayHasThisVersionsSize) {
  const ckgen_problem three[] = {problem(16, 1024, 2048), problem(128, 1024, 2048), problem(2048, 1024, 2048)};
  for (const std::size_t other : {std::size_t{0}, sizeof(ckgen_selection) - 8, sizeof(ckgen_selection) + 8})
    for (int i = 0; i < 3; ++i) {
      ckgen_selection out[] = {selection(), selection(), selection()};
      out[i].size = other;
      out[i].instance = 77;
      EXPECT_EQ(ckgen_select_many(dispatcher, device, three, 3, out, message()), CKGEN_INVALID_ARGUMENT) << i;
      EXPECT_NE(std::string(text), "");
      EXPECT_EQ(out[i].instance, 77U) << "a struct of " << other << " bytes was written, number " << i;
    }
  ckgen_selection out[] = {selection(), selection(), selection()};
  ASSERT_EQ(ckgen_select_many(dispatcher, device, three, 3, out, message()), CKGEN_OK) << text;
  EXPECT_EQ(out[2].table_m, 2048U);
}

/// One problem and one selection alone may be of a later version: what this one does not know is left as it is.
TEST_F(CApi, StructsOfALaterVersionAreRead) {
  struct LaterProblem {
    ckgen_problem known;
    std::uint64_t more;
  };
  struct LaterSelection {
    ckgen_selection known;
    std::uint64_t more;
  };
  LaterProblem wanted[] = {{problem(16, 1024, 2048), ~0ULL}, {problem(128, 1024, 2048), ~0ULL}};
  for (LaterProblem& each : wanted) each.known.size = sizeof each;
  LaterSelection one{selection(), 5};
  one.known.size = sizeof one;
  ASSERT_EQ(ckgen_select(dispatcher, device, &wanted[1].known, &one.known, message()), CKGEN_OK) << text;
  EXPECT_EQ(one.known.table_m, 128U);
  EXPECT_EQ(one.more, 5U);
  ckgen_selection out[] = {selection(), selection()};
  ASSERT_EQ(ckgen_select_many(dispatcher, device, &wanted[0].known, 2, out, message()), CKGEN_OK) << text;
  EXPECT_EQ(out[0].table_m, 16U);
  EXPECT_EQ(out[1].table_m, 128U);
}

TEST_F(CApi, OptionsThatCannotBeHonouredAreSaid) {
  ckgen_options options{};
  options.size = sizeof options;
  options.force = "nonsense";
  ckgen_dispatcher* made = nullptr;
  EXPECT_EQ(ckgen_dispatcher_create(registry, &options, &made, message()), CKGEN_INVALID_ARGUMENT);
  ASSERT_NE(made, nullptr);
  EXPECT_STREQ(text, "the forced instance nonsense is not registered");
  ckgen_dispatcher_destroy(made);
}

TEST_F(CApi, OptionsOfTheFirstVersionAreTaken) {
  ckgen_options options{};
  options.size = offsetof(ckgen_options, tables);
  options.tables = "/nonexistent";  // behind what the caller's version has
  ckgen_dispatcher* made = nullptr;
  EXPECT_EQ(ckgen_dispatcher_create(registry, &options, &made, message()), CKGEN_OK) << text;
  ckgen_dispatcher_destroy(made);
  options.size = sizeof options;
  EXPECT_EQ(ckgen_dispatcher_create(registry, &options, &made, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_NE(std::string(text).find("table /nonexistent cannot be read"), std::string::npos) << text;
  ckgen_dispatcher_destroy(made);
}

TEST_F(CApi, CountersAndWhatIsTunedAreTold) {
  ckgen_options options{};
  options.size = sizeof options;
  options.count = 1;
  ckgen_dispatcher* counting = nullptr;
  ASSERT_EQ(ckgen_dispatcher_create(registry, &options, &counting, message()), CKGEN_OK) << text;
  const ckgen_problem exact = problem(128, 1024, 2048), far = problem(600, 1024, 2048);
  ckgen_selection out = selection();
  for (const ckgen_problem* wanted : {&exact, &far, &far})
    ASSERT_EQ(ckgen_select(counting, device, wanted, &out, message()), CKGEN_OK);
  int32_t tuned = -1;
  ASSERT_EQ(ckgen_is_tuned(counting, device, &exact, &tuned, message()), CKGEN_OK);
  EXPECT_EQ(tuned, 1);
  ASSERT_EQ(ckgen_is_tuned(counting, device, &far, &tuned, message()), CKGEN_OK);
  EXPECT_EQ(tuned, 0);
  ckgen_counters counters{};
  EXPECT_EQ(ckgen_read_counters(counting, &counters, message()), CKGEN_INVALID_ARGUMENT);
  counters.size = sizeof counters;
  ASSERT_EQ(ckgen_read_counters(counting, &counters, message()), CKGEN_OK) << text;
  EXPECT_EQ(counters.tiers[2], 1U);
  EXPECT_EQ(counters.tiers[6], 2U);
  EXPECT_EQ(counters.hits, 1U);
  EXPECT_EQ(counters.misses, 2U);
  uint64_t digest = 0;
  ASSERT_EQ(ckgen_tables_digest(counting, &digest, message()), CKGEN_OK);
  EXPECT_NE(digest, 0U);
  ASSERT_EQ(ckgen_loaded_tables_digest(counting, &digest, message()), CKGEN_OK);
  EXPECT_EQ(digest, 0U);
  EXPECT_EQ(ckgen_load_tables(counting, "/nonexistent", message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_load_tables(counting, "", message()), CKGEN_OK);
  for (const auto refused :
       {ckgen_load_tables(nullptr, "", message()), ckgen_load_tables(counting, nullptr, message()),
        ckgen_tables_digest(counting, nullptr, message()), ckgen_loaded_tables_digest(nullptr, &digest, message()),
        ckgen_read_counters(nullptr, &counters, message()),
        ckgen_is_tuned(counting, device, nullptr, &tuned, message()),
        ckgen_is_tuned(counting, device, &exact, nullptr, message())})
    EXPECT_EQ(refused, CKGEN_INVALID_ARGUMENT);
  ckgen_dispatcher_destroy(counting);
}

}  // namespace test_c_api
