// What callers get wrong: each time a status with a sentence, never a crash and never a launch.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <ckgen/c_api.h>

#include "tiny_library.hpp"

namespace test_misuse {

using namespace ckgen;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

int launches = 0;

Status counting(const Launch&) noexcept {
  ++launches;
  return Status::success();
}

std::size_t some_workspace(const InstanceDesc&, const Problem&, std::uint32_t, std::uint32_t) noexcept {
  return 256;
}

/// An instance of fp32 that only counts its launches, on GPUs and elsewhere.
InstanceDesc counter() {
  InstanceDesc own = tiny::instance("counter", 60, Signature{}, {16, 16, 16}, {0, 0, 0, 16, 0, 4, false});
  own.workspace = some_workspace;
  own.twin = own.device = counting;
  return own;
}

class Misuse : public ::testing::Test {
 protected:
  void SetUp() override {
    launches = 0;
    ASSERT_TRUE(registry.add(counter()).ok());
    dispatcher = Dispatcher(registry, DispatcherOptions{});
  }
  static Problem problem() { return Problem(Signature{}).shape(8, 8, 64); }
  GemmArgs args() {
    GemmArgs args{};
    args.a = args.b = args.c = memory;
    args.m = args.n = 8;
    args.k = args.lda = args.ldb = 64;
    args.ldc = 8;
    args.batch = 1;
    return args;
  }

  Registry registry;
  Dispatcher dispatcher{Registry(), DispatcherOptions{}};
  Device device = Device::simulated("gfx942");
  alignas(64) float memory[8 * 64] = {};
};

TEST_F(Misuse, SizesThatNoProblemHas) {
  const std::int64_t sizes[] = {0, -1, kLeast, kMost, std::int64_t{1} << 31};
  for (const std::int64_t size : sizes) {
    for (const Problem& wrong :
         {problem().shape(size, 8, 64), problem().shape(8, size, 64), problem().shape(8, 8, size)}) {
      const auto made = dispatcher.plan(wrong, device);
      EXPECT_NE(std::string(made.status().message).find("(rule gemm.shape."), std::string::npos) << size;
    }
  }
  EXPECT_NE(std::string(dispatcher.plan(problem().batch(2), device).status().message).find("not-batched"),
            std::string::npos);
}

TEST_F(Misuse, ABatchOfNothing) {
  Signature batched;
  batched.batched = true;
  ASSERT_TRUE(registry.add(tiny::instance("batched", 61, batched, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false})).ok());
  const Dispatcher with_batches{registry, DispatcherOptions{}};
  for (const std::int64_t batch : {std::int64_t{0}, std::int64_t{-3}, kLeast, kMost})
    EXPECT_NE(std::string(with_batches.plan(Problem(batched).shape(8, 8, 64).batch(batch), device).status().message)
                  .find("(rule gemm.shape.batch"),
              std::string::npos);
}

TEST_F(Misuse, AWorkspaceThatIsMissingOrMisaligned) {
  const auto made = dispatcher.plan(problem(), device);
  ASSERT_TRUE(made);
  EXPECT_STREQ(dispatcher.run(*made, args(), nullptr, nullptr).message, "workspace is null, the plan needs 256 bytes");
  EXPECT_STREQ(dispatcher.run(*made, args(), reinterpret_cast<char*>(memory) + 4, nullptr).message,
               "workspace is not aligned to 64 bytes");
  EXPECT_EQ(launches, 0);
  EXPECT_TRUE(dispatcher.run(*made, args(), memory, nullptr).ok());
  EXPECT_EQ(launches, 1);
}

TEST_F(Misuse, ASplitThatTheInstanceCannotDo) {
  Selection chosen = dispatcher.select(problem(), device);
  for (const std::uint32_t k_batch : {5U, 0xffffffffU}) {
    chosen.k_batch = k_batch;
    EXPECT_NE(std::string(dispatcher.plan(problem(), device, chosen).status().message).find("max-k-batch"),
              std::string::npos);
  }
  chosen.k_batch = 3;
  EXPECT_NE(std::string(dispatcher.plan(problem(), device, chosen).status().message).find("split-multiple"),
            std::string::npos);
}

TEST_F(Misuse, LeadingDimensionsAndStridesOfAnySize) {
  const auto made = dispatcher.plan(problem(), device);
  ASSERT_TRUE(made);
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{7}, kLeast, kMost}) {
    for (std::int64_t GemmArgs::* field : {&GemmArgs::lda, &GemmArgs::ldb, &GemmArgs::ldc}) {
      GemmArgs wrong = args();
      wrong.*field = value;
      EXPECT_EQ(dispatcher.run(*made, wrong, memory, nullptr).code, StatusCode::invalid_argument) << value;
    }
  }
  EXPECT_EQ(launches, 0);
}

TEST_F(Misuse, APlanOfAnotherGpu) {
  setenv("CKGEN_HIP_LIBRARY", CKGEN_MOCK_HIP, 1);
  void* library = dlopen(CKGEN_MOCK_HIP, RTLD_NOW);
  ASSERT_NE(library, nullptr);
  const auto set_device = reinterpret_cast<int (*)(int)>(dlsym(library, "hipSetDevice"));
  ASSERT_EQ(set_device(1), 0);
  const auto made = dispatcher.plan(problem(), Device::current());
  ASSERT_TRUE(made && made->launchable.ok()) << made.status().message;
  EXPECT_TRUE(dispatcher.run(*made, args(), memory, nullptr).ok());
  ASSERT_EQ(set_device(0), 0);
  EXPECT_STREQ(dispatcher.run(*made, args(), memory, nullptr).message,
               "the plan is for HIP device 1, the current one is 0");
  EXPECT_EQ(launches, 1);
}

TEST_F(Misuse, TablesWithoutAPolicyOrWithOddStepsAreRefused) {
  const auto refusal = [](const LookupTable& table) {
    const LookupTable* tables[] = {&table};
    SignatureUnit unit = tiny::unit;
    unit.tables = tables;
    unit.table_count = 1;
    const SignatureUnit* units[] = {&unit};
    return std::string(Registry().add(Library{"broken", CKGEN_RUNTIME_ABI, 0, units, 1}).message);
  };
  LookupTable table = tiny::table80;
  table.policy = nullptr;
  EXPECT_NE(refusal(table).find("no policy"), std::string::npos);
  const Rung odd[] = {{16, 22, 6, {0, 1}}};
  Group group = tiny::groups80[0];
  group.rungs = odd;
  table = tiny::table80;
  table.groups = &group;
  EXPECT_NE(refusal(table).find("no power of two"), std::string::npos);
}

TEST_F(Misuse, TwoDispatchersBesideEachOtherDoNotMeet) {
  const Dispatcher other{tiny::registry(), DispatcherOptions{}};
  std::thread own([&] {
    for (int i = 0; i < 2000; ++i) ASSERT_EQ(dispatcher.select(problem(), device).instance, 0U);
  });
  for (int i = 0; i < 2000; ++i) {
    ASSERT_FALSE(other.select(problem(), device));
    ASSERT_EQ(other.select(tiny::problem(128, 1024, 2048), device).instance, 1U);
  }
  ASSERT_TRUE(registry.add(tiny::library).ok());  // the dispatchers hold their own snapshots
  own.join();
  EXPECT_FALSE(dispatcher.select(tiny::problem(128, 1024, 2048), device));
}

TEST(CApiMisuse, NumbersThatAreNoSignatureAreNotTakenForOne) {
  char text[256];
  const ckgen_message message{text, sizeof text};
  EXPECT_EQ(ckgen_signature_text(tiny::fp16.pack(), message), CKGEN_OK);
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t number = tiny::fp16.pack() ^ std::uint64_t{1} << bit;
    if (ckgen_signature_text(number, message) != CKGEN_OK) continue;
    const std::string name(text);
    std::uint64_t again = number;
    if (ckgen_parse_signature(name.c_str(), &again, message) != CKGEN_OK) continue;
    EXPECT_EQ(again, number) << bit << name;
  }
  const int unused[] = {38, 41, 56, 59, 60, 61, 62, 63};  // steps behind a gap, a scale block's size, beyond all fields
  for (const int bit : unused)
    EXPECT_EQ(ckgen_signature_text(tiny::fp16.pack() | std::uint64_t{1} << bit, message), CKGEN_INVALID_ARGUMENT)
        << bit;
}

TEST(CApiMisuse, ACutTextIsStillUtf8) {
  ckgen_registry* registry = nullptr;
  ckgen_dispatcher* dispatcher = nullptr;
  ckgen_device* device = nullptr;
  ASSERT_EQ(ckgen_registry_create(&registry, {nullptr, 0}), CKGEN_OK);
  ASSERT_EQ(ckgen_dispatcher_create(registry, nullptr, &dispatcher, {nullptr, 0}), CKGEN_OK);
  ASSERT_EQ(ckgen_device_simulated("gfx942", 0, &device, {nullptr, 0}), CKGEN_OK);
  const ckgen_problem problem{sizeof problem, tiny::fp16.pack(), 1, 2, 3, 1, 0, 0, nullptr, 0, 0, 0, 0, nullptr, 0, 0};
  std::vector<char> whole(4096);
  ASSERT_EQ(ckgen_explain(dispatcher, device, &problem, {whole.data(), whole.size()}, nullptr), CKGEN_OK);
  for (size_t room = 1; room < 40; ++room) {
    std::vector<char> text(room, 'x');
    ASSERT_EQ(ckgen_explain(dispatcher, device, &problem, {text.data(), room}, nullptr), CKGEN_OK);
    const std::string cut(text.data());
    ASSERT_TRUE(cut.size() < room && cut.size() + 3 >= room) << room;
    ASSERT_NE(whole[cut.size()] & 0xC0, 0x80) << "cut inside a character at " << room;
  }
  ckgen_device_destroy(device);
  ckgen_dispatcher_destroy(dispatcher);
  ckgen_registry_destroy(registry);
}

}  // namespace test_misuse
