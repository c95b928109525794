// MoE: which routings are legal, which instances can run them, table keys, plans and runs of a user's own kernel.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <list>
#include <string>
#include <vector>

#include "counted_new.hpp"
#include "src/moe/stages.hpp"
#include "tiny_library.hpp"

namespace test_moe_plan {

using namespace ckgen;

constexpr Signature of_part(MoePart part, bool gated = false) {
  Signature s = tiny::fp16;
  s.op = Op::moe;
  s.moe = {part, gated, false};
  if (part != MoePart::down) s.epilogue.ops[0] = EpilogueOp::silu;
  return s;
}

struct Seen {
  int launches = 0;
  const MoeArgs* args = nullptr;
  Problem problem;
};

Status keep(const Launch& launch) noexcept {
  Seen& seen = *static_cast<Seen*>(launch.instance->context);
  ++seen.launches;
  seen.args = launch.moe;
  seen.problem = *launch.problem;
  return launch.args == nullptr && launch.grouped == nullptr
             ? Status::success()
             : Status::error(StatusCode::internal, "arguments of another op");
}

std::size_t room_of(const InstanceDesc&, const Problem& problem, std::uint32_t, std::uint32_t) noexcept {
  return static_cast<std::size_t>(problem.routing().experts);
}

class MoePlan : public ::testing::Test {
 protected:
  MoePlan() {
    std::uint64_t id = 1;
    for (const MoePart part : {MoePart::layer, MoePart::gate_up, MoePart::down}) {
      for (const std::int32_t block_m : {32, 64}) {
        names.push_back(std::string(name(part)) + std::to_string(block_m));
        ids.push_back(id);
        add(names.back(), id++, of_part(part), block_m);
      }
    }
    dispatcher = Dispatcher(registry, DispatcherOptions{});
  }
  void add(const std::string& of, std::uint64_t id, const Signature& signature, std::int32_t block_m) {
    InstanceDesc d = tiny::instance(of.c_str(), id, signature, {block_m, 64, 32}, {0, 8, 16, 0, 0, 1, false});
    d.constraints.atomic_split = block_m == 64;
    d.twin = keep;
    d.workspace = room_of;
    d.context = &seen;
    const Status status = registry.add(d);
    EXPECT_TRUE(status.ok()) << status.message;
  }
  static Problem problem(MoePart part) { return Problem(of_part(part)).shape(40, 64, 128).routing({8, 2}); }
  std::string chosen(const Problem& asked) const {
    const Selection selection = dispatcher.select(asked, device);
    return selection ? dispatcher.registry().instance(selection.instance).name : reason(selection);
  }
  MoeArgs args() {
    MoeArgs x{};
    x.a = x.w1 = x.w2 = x.c = memory.data();
    x.tokens = 40;
    x.lda = x.ldc = 128;
    x.topk_ids = reinterpret_cast<const std::int32_t*>(memory.data());
    x.topk_weights = reinterpret_cast<const float*>(memory.data());
    auto* entries = reinterpret_cast<std::int32_t*>(memory.data());
    x.sorted = {entries, reinterpret_cast<float*>(memory.data()), entries, entries};
    return x;
  }

  Seen seen;
  std::list<std::string> names;
  std::vector<std::uint64_t> ids;
  std::vector<char> memory = std::vector<char>(64);
  Registry registry;
  Dispatcher dispatcher{Registry(), DispatcherOptions{}};
  Device device = Device::simulated("gfx942");
};

TEST_F(MoePlan, IllegalRoutingsAreRefusedWithTheirRule) {
  const auto with = [&](std::int64_t tokens, Routing routing) {
    return chosen(Problem(of_part(MoePart::gate_up)).shape(tokens, 64, 128).routing(routing));
  };
  EXPECT_EQ(with(40, {0, 1}), "experts = 0 is below 1 (rule moe.experts)");
  EXPECT_EQ(with(40, {8, 0}), "top_k = 0 is below 1 (rule moe.top-k)");
  EXPECT_EQ(with(40, {8, 9}), "top_k = 9 is above 8 (rule moe.top-k-max)");
  EXPECT_EQ(with(40, {1000, 256}), "top_k = 256 is above 255 (rule moe.top-k-max)");
  EXPECT_EQ(with(0, {8, 2}), "M = 0 is below 1 (rule gemm.shape.m)");
  EXPECT_EQ(with(1 << 24, {8, 2}), "tokens = 16777216 is above 16777215 (rule moe.tokens-max)");
  EXPECT_NE(with((1 << 24) - 1, {256, 255}).find("(rule moe.sorted-rows)"), std::string::npos);
  EXPECT_NE(with((1 << 24) - 1, {256, 8}).find("gate_up"), std::string::npos);
}

TEST_F(MoePlan, ALayersInnerSizeIsDownsK) {
  Signature s = of_part(MoePart::layer);
  s.a = s.b = DType::fp8_fnuz;
  s.c = DType::bf16;
  s.quant = Quant::mx;
  s.scale = DType::e8m0;
  EXPECT_EQ(chosen(Problem(s).shape(4, 48, 64).routing({8, 2})),
            "K = 48 is not a multiple of 32 (rule gemm.mx.k-group)");
}

TEST_F(MoePlan, AQuantisedDownHasRoomForTheScalesOfItsKindAndNoMore) {
  const auto scale_bytes = [](Quant quant, ScaleBlock block) {
    Signature s = of_part(MoePart::down);
    s.a = s.b = DType::fp8_fnuz;
    s.quant = quant;
    s.scale_block = block;
    const auto layout = detail::QuantisedLayout::of(Problem(s).shape(40, 128, 96).routing({8, 2}).block_m(32));
    EXPECT_EQ(layout.scales, 80U * 96U);
    return layout.bytes - layout.scales;
  };
  const ScaleBlock both{ScaleSides::both, 128, 64};
  EXPECT_EQ(scale_bytes(Quant::none, both), 0U);
  EXPECT_EQ(scale_bytes(Quant::per_tensor, both), 4U);
  EXPECT_EQ(scale_bytes(Quant::rowwise, both), 80U * 4U);
  EXPECT_EQ(scale_bytes(Quant::blockscale, both), 80U * 2U * 4U);
  EXPECT_EQ(scale_bytes(Quant::blockscale, {ScaleSides::b, 128, 64}), 0U);
  EXPECT_EQ(scale_bytes(Quant::mx, both), 320U * 8U) << "of 320 sorted rows, whose three groups are padded to eight";
}

TEST_F(MoePlan, ACallerThatHasSortedGetsItsBlocks) {
  for (const MoePart part : {MoePart::layer, MoePart::gate_up, MoePart::down}) {
    const std::string word(name(part));
    EXPECT_EQ(chosen(problem(part).block_m(32)), word + "32");
    EXPECT_EQ(chosen(problem(part).block_m(64)), word + "64");
    EXPECT_EQ(chosen(problem(part).block_m(16)),
              "tokens sorted in blocks of 16 rows were given, the instance takes blocks of 32 (rule moe.block-m)");
  }
  const auto plan = dispatcher.plan(problem(MoePart::gate_up), device);
  ASSERT_TRUE(plan) << plan.status().message;
  EXPECT_EQ(plan->problem.block_m(), plan->stages[0].instance->macro_tile.m) << "what the caller is to sort with";
}

TEST_F(MoePlan, AtomicSumsAreNotDeterministic) {
  EXPECT_EQ(chosen(problem(MoePart::down).block_m(64).deterministic()),
            "2 experts add to a token's row in no fixed order, and a deterministic result was asked for (rule "
            "moe.atomic)");
  EXPECT_EQ(chosen(problem(MoePart::layer).block_m(64).deterministic()).find("2 experts"), 0U);
  EXPECT_EQ(chosen(problem(MoePart::gate_up).block_m(64).deterministic()), "gate_up64");
  EXPECT_EQ(chosen(problem(MoePart::down).deterministic()), "down32");
}

TEST_F(MoePlan, FewRowsPerExpertTakeSmallBlocks) {
  const auto with = [&](std::int64_t tokens, Routing routing) {
    return chosen(Problem(of_part(MoePart::gate_up)).shape(tokens, 1024, 128).routing(routing));
  };
  EXPECT_EQ(with(128, {128, 2}), "gate_up32") << "two rows per expert";
  EXPECT_EQ(with(8192, {128, 2}), "gate_up64") << "128 rows per expert";
}

TEST_F(MoePlan, TablesAreKeyedByTheRouting) {
  static constexpr Signature s = of_part(MoePart::gate_up);
  static const InstanceDesc built[] = {tiny::instance("first", 101, s, {32, 64, 32}, {0, 0, 0, 0, 0, 1, false}),
                                       tiny::instance("second", 102, s, {64, 64, 32}, {0, 0, 0, 0, 0, 1, false})};
  static constexpr Rung first[] = {describe::rung(64, 0)};
  static constexpr Rung second[] = {describe::rung(64, 1)};
  static constexpr Group groups[] = {describe::ladder<first>(1024, 2048, Routing{8, 2}.lookup_key()),
                                     describe::ladder<second>(1024, 2048, Routing{256, 8}.lookup_key())};
  static constexpr auto slots = describe::slots_of(groups);
  static constexpr LookupTable table = describe::lookup_table(Arch::gfx942, 304, tiny::policy, groups, slots);
  static constexpr const LookupTable* tables[] = {&table};
  static const SignatureUnit unit{"moe", s, built, 2, tables, 1, nullptr, 0, nullptr, 0};
  static const SignatureUnit* const units[] = {&unit};
  Registry tabled;
  const Status status = tabled.add(Library{"moe", CKGEN_RUNTIME_ABI, 1, units, 1});
  ASSERT_TRUE(status.ok()) << status.message;
  const Dispatcher own(tabled, DispatcherOptions{});
  const auto select = [&](Routing routing) {
    return own.select(Problem(s).shape(64, 1024, 2048).routing(routing), device);
  };
  EXPECT_EQ(select({8, 2}).tier, Tier::exact);
  EXPECT_EQ(select({8, 2}).instance, 0U);
  EXPECT_EQ(select({256, 8}).instance, 1U);
  EXPECT_FALSE(select({8, 3}));
  const std::string trail = own.explain(Problem(s).shape(64, 1024, 2048).routing({8, 3}), device);
  EXPECT_NE(trail.find("no rows for experts=8 top_k=3 N=1024 K=2048"), std::string::npos) << trail;
  EXPECT_EQ(trail.find("B="), std::string::npos) << trail;
}

TEST_F(MoePlan, ARuleThatOnlyMeansAnotherKernelIsNotTheReason) {
  const Signature s = of_part(MoePart::gate_up);
  InstanceDesc whole = tiny::instance("whole", 201, s, {32, 64, 32}, {0, 0, 64, 0, 0, 1, false});
  InstanceDesc wide = tiny::instance("wide", 202, s, {32, 64, 32}, {0, 0, 0, 0, 0, 1, false});
  wide.constraints.routed.min_n = 4096;
  Registry both, one;
  ASSERT_TRUE(both.add(whole).ok() && both.add(wide).ok() && one.add(wide).ok());
  const auto rule = [&](const Registry& given) {
    const Dispatcher own(given, DispatcherOptions{});
    return static_cast<ProblemRule>(own.select(Problem(s).shape(8, 64, 96).routing({8, 2}), device).rule);
  };
  EXPECT_EQ(rule(one), ProblemRule::moe_n_min);
  EXPECT_EQ(rule(both), ProblemRule::gemm_instance_k_multiple);
}

TEST_F(MoePlan, OverridesAreKeyedByTheRoutingToo) {
  const std::string path = ::testing::TempDir() + "ckgen_moe_override_" + std::to_string(getpid()) + ".csv";
  std::ofstream(path) << "target,signature,B,M,N,K,instance,k_batch,experts,top_k\n"
                      << "gfx942:304,moe_fp16_rcr_gate_up_epi_silu,,40,64,128,gate_up32,1,8,2\n";
  const Status status = dispatcher.load_overrides(path.c_str());
  EXPECT_TRUE(status.ok()) << status.message;
  std::remove(path.c_str());
  EXPECT_EQ(dispatcher.select(problem(MoePart::gate_up), device).tier, Tier::override_);
  EXPECT_EQ(chosen(problem(MoePart::gate_up)), "gate_up32");
  EXPECT_EQ(dispatcher.select(problem(MoePart::gate_up).routing({8, 1}), device).tier, Tier::default_);
}

TEST_F(MoePlan, ARowOfAnOverrideFileNeedsARouting) {
  const std::string path = ::testing::TempDir() + "ckgen_moe_override_" + std::to_string(getpid()) + ".csv";
  const auto refusal = [&](const char* columns, const char* cells) {
    std::ofstream(path) << "target,signature,B,M,N,K,instance,k_batch" << columns
                        << "\ngfx942:304,moe_fp16_rcr_gate_up_epi_silu,524290,40,64,128,gate_up32,1" << cells << '\n';
    const std::string message = dispatcher.load_overrides(path.c_str()).message;
    std::remove(path.c_str());
    return message.substr(message.rfind("2: ") + 3);
  };
  EXPECT_EQ(refusal("", ""), "experts is not a size: ''");
  EXPECT_EQ(refusal(",top_k,experts", ",2"), "experts is not a size: ''");
  EXPECT_EQ(refusal(",top_k,experts", ",0,8"), "top_k is not a size: '0'");
  EXPECT_EQ(refusal(",experts,top_k", ",65536,2"), "experts is above 65535: '65536'");
}

TEST_F(MoePlan, SelectionAndPlansDoNotAllocate) {
  const Problem problems[] = {problem(MoePart::layer), problem(MoePart::down).block_m(32), problem(MoePart::gate_up)};
  const long before = allocations();
  for (const Problem& one : problems) static_cast<void>(dispatcher.plan(one, device));
  EXPECT_EQ(allocations(), before);
}

TEST_F(MoePlan, ALayerIsOneKernelOfItsTwin) {
  const auto plan = dispatcher.plan(problem(MoePart::layer), device);
  ASSERT_TRUE(plan) << plan.status().message;
  ASSERT_TRUE(plan->launchable.ok()) << plan->launchable.message;
  EXPECT_EQ(plan->stage_count, 1U);
  EXPECT_EQ(plan->workspace_size, 8U);
  const MoeArgs own = args();
  const Status status = dispatcher.run(*plan, own, nullptr);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(seen.args, &own);
  EXPECT_EQ(seen.problem.routing().experts, 8);
  EXPECT_EQ(seen.problem.block_m(), plan->stages[0].instance->macro_tile.m);
  EXPECT_TRUE(dispatcher.bench(*plan, own, {0, 1}));
  EXPECT_FALSE(dispatcher.run(*plan, GemmArgs{}, nullptr).ok());
}

TEST_F(MoePlan, ArgumentsThatDoNotFitAreRefusedByName) {
  const auto refusal = [&](MoePart part, auto change) {
    const auto plan = dispatcher.plan(problem(part), device);
    EXPECT_TRUE(plan) << plan.status().message;
    MoeArgs x = args();
    change(x);
    return std::string(dispatcher.run(*plan, x, nullptr).message);
  };
  const MoePart layer = MoePart::layer, gate_up = MoePart::gate_up, down = MoePart::down;
  for (const MoePart part : {layer, gate_up, down}) EXPECT_EQ(refusal(part, [](MoeArgs&) {}), "");
  EXPECT_EQ(refusal(layer, [](MoeArgs& x) { x.tokens = 4; }), "the arguments are of 4 tokens, the plan of 40");
  EXPECT_EQ(refusal(layer, [](MoeArgs& x) { x.a = nullptr; }), "A is null");
  EXPECT_EQ(refusal(layer, [](MoeArgs& x) { x.w1 = nullptr; }), "W1 is null");
  EXPECT_EQ(refusal(layer, [](MoeArgs& x) { x.w2 = nullptr; }), "W2 is null");
  EXPECT_EQ(refusal(gate_up, [](MoeArgs& x) { x.w2 = nullptr; }), "");
  EXPECT_EQ(refusal(down, [](MoeArgs& x) { x.w1 = nullptr; }), "");
  EXPECT_EQ(refusal(layer, [](MoeArgs& x) { x.ldc = 127; }), "the leading dimension of C = 127 is below 128");
  EXPECT_EQ(refusal(gate_up, [](MoeArgs& x) { x.ldc = 63; }), "the leading dimension of C = 63 is below 64");
  EXPECT_EQ(refusal(down, [](MoeArgs& x) { x.lda = 127; }), "the leading dimension of A = 127 is below 128");
  EXPECT_EQ(refusal(layer, [](MoeArgs& x) { x.topk_weights = nullptr; }), "topk_weights is null");
  EXPECT_EQ(refusal(layer, [](MoeArgs& x) { x.topk_ids = nullptr; }), "") << "the sorted form is there";
  EXPECT_EQ(refusal(layer, [](MoeArgs& x) { x.topk_ids = nullptr, x.sorted.valid = nullptr; }),
            "neither topk_ids nor the four arrays of sorted tokens were given");
  EXPECT_EQ(refusal(gate_up, [](MoeArgs& x) { x.sorted.weights = nullptr; }), "an array of the sorted tokens is null");
  EXPECT_EQ(refusal(layer, [](MoeArgs& x) { x.lda = std::int64_t{1} << 62; }),
            "A has more bits than 64-bit integers count");
}

TEST_F(MoePlan, ScalesOfEachMatrixAreAskedFor) {
  Signature s = of_part(MoePart::layer);
  s.a = s.b = DType::fp8_fnuz;
  s.c = DType::bf16;
  s.quant = Quant::rowwise;
  s.scale = DType::fp32;
  add("scaled", 90, s, 32);
  const Dispatcher own(registry, DispatcherOptions{});
  const auto plan = own.plan(Problem(s).shape(40, 64, 128).routing({8, 2}), device);
  ASSERT_TRUE(plan) << plan.status().message;
  const auto refusal = [&](auto change) {
    MoeArgs x = args();
    x.a_scale = x.w1_scale = x.w2_scale = memory.data();
    change(x);
    return std::string(own.run(*plan, x, nullptr).message);
  };
  EXPECT_EQ(refusal([](MoeArgs&) {}), "");
  EXPECT_EQ(refusal([](MoeArgs& x) { x.a_scale = nullptr; }), "a_scale is null");
  EXPECT_EQ(refusal([](MoeArgs& x) { x.w1_scale = nullptr; }), "w1_scale is null");
  EXPECT_EQ(refusal([](MoeArgs& x) { x.w2_scale = nullptr; }), "w2_scale is null");
}

TEST_F(MoePlan, WeightsThat64BitsDoNotCountAreRefused) {
  const Problem huge = Problem(of_part(MoePart::layer)).shape(1, 2147483640, 2147483632).routing({65535, 1});
  EXPECT_EQ(dispatcher.plan(huge, device).status().code, StatusCode::invalid_argument);
}

TEST_F(MoePlan, TheTrailNamesTheRouting) {
  const std::string text = dispatcher.explain(problem(MoePart::gate_up).block_m(32), device);
  EXPECT_NE(
      text.find("moe fp16·fp16→fp16 rcr gate_up epi silu  M=40 N=64 K=128 experts=8 top_k=2 block_m=32  on gfx942"),
      std::string::npos)
      << text;
}

TEST_F(MoePlan, PartsAreTwoOfALayer) {
  InstanceDesc d = tiny::instance("parts", 91, of_part(MoePart::layer), {32, 64, 32}, {0, 0, 0, 0, 0, 1, false});
  d.parts[0] = 3;
  EXPECT_STREQ(registry.add(d).message, "instance parts: parts are two, and of a MoE layer");
  d.parts[1] = 5;
  EXPECT_TRUE(registry.add(d).ok());
  d.signature = of_part(MoePart::down);
  EXPECT_FALSE(registry.add(d).ok());
}

}  // namespace test_moe_plan
