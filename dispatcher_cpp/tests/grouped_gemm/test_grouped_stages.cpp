// The table of groups on the mock HIP runtime: what travels with which launch, where the kernel finds it, what is
// reset.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "counted_new.hpp"
#include "mock_hip_test.hpp"
#include "stage_words.hpp"
#include "tiny_device.hpp"
#include "tiny_library.hpp"

namespace test_grouped_stages {

using namespace ckgen;
using tiny::Code;

constexpr Signature kGrouped = [] {
  Signature s = tiny::fp16;
  s.op = Op::grouped_gemm;
  return s;
}();
constexpr std::uint64_t kId = 7;

/// A table of ours: 8 bytes per group, M and a counter.
struct Row {
  std::int32_t m;
  std::int32_t number;
};

struct KernelArgs {
  void* table;
  void* workspace;
  std::int64_t tiles;
};

std::uint64_t table_bytes(const InstanceDesc&, const Problem& problem, std::uint32_t) noexcept {
  return static_cast<std::uint64_t>(problem.groups()->count()) * sizeof(Row);
}

Status fill_table(const Launch& launch, Arch, std::uint32_t, TableCursor& cursor, void* out,
                  std::uint32_t bytes) noexcept {
  auto* rows = static_cast<Row*>(out);
  for (std::uint32_t i = 0; i < bytes / sizeof(Row); ++i, ++cursor.group) {
    if (launch.grouped->operands[cursor.group].lda == 13) return Status::error(StatusCode::unsupported, "an lda of 13");
    rows[i] = {static_cast<std::int32_t>(launch.grouped->sizes[cursor.group].m),
               static_cast<std::int32_t>(cursor.group)};
  }
  cursor.offset += bytes;
  return Status::success();
}

Status build_table(const Launch& launch, Arch, std::uint32_t, KernelCall& out) noexcept {
  tiny::expect_reset(out);
  return device::fill(
      out, "build", {1}, {64}, 0,
      KernelArgs{launch.group_table, const_cast<GroupSize*>(launch.grouped->sizes), launch.grouped->count});
}

Status prepare(const Launch& launch, Arch, std::uint32_t, KernelCall& out) noexcept {
  tiny::expect_reset(out);
  const Groups& groups = *launch.problem->groups();
  const KernelArgs own{launch.group_table, launch.workspace, groups.tiles(16, 16)};
  const Status status = device::fill(out, "grouped", {static_cast<std::uint64_t>(own.tiles)}, {256}, 0, own);
  if (status.ok() && launch.k_batch > 1) device::clear_c(out, launch);
  return status;
}

std::size_t scratch(const InstanceDesc&, const Problem&, std::uint32_t, Arch, std::uint32_t) noexcept {
  return 100;
}

constexpr GroupTableCode kTable{table_bytes, fill_table, "upload", build_table};

class GroupedStages : public MockHipTest {
 protected:
  GroupedStages() {
    InstanceDesc d = tiny::instance("grouped", kId, kGrouped, {16, 16, 16}, {0, 0, 0, 0, 0, 4, true});
    EXPECT_TRUE(registry.add(d).ok());
    code.add(kId, {Arch::gfx942}, prepare, {"grouped", "upload", "build"});
    code.code(0).groups = &kTable;
    code.code(0).workspace = scratch;
  }
  Dispatcher dispatcher() {
    const Status status = registry.attach(code.library());
    EXPECT_TRUE(status.ok()) << status.message;
    return Dispatcher(registry, DispatcherOptions{});
  }
  GroupedArgs args() const {
    return {operands.data(), sizes.data(), static_cast<std::int64_t>(sizes.size()), false, false, 1.0F};
  }
  /// `count` groups of rising M, each with a C of its own.
  void make(std::int64_t count) {
    c.assign(static_cast<std::size_t>(count) * 512, 0xffff);
    for (std::int64_t i = 0; i < count; ++i) {
      sizes.push_back({i % 5, 24, 64});
      GroupOperands x{};
      x.a = x.b = c.data();
      x.c = c.data() + i * 512;
      x.lda = x.ldb = 64;
      x.ldc = 32;
      operands.push_back(x);
    }
  }
  unsigned char* workspace(std::uint64_t size) {
    room.assign(size + 64, 0xab);
    return room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64) % 64;
  }
  static KernelArgs arrived(const MockLaunch& launch) {
    KernelArgs own;
    EXPECT_EQ(launch.args_size, sizeof own);
    std::memcpy(&own, launch.args, sizeof own);
    return own;
  }

  Code code;
  Registry registry;
  std::vector<GroupSize> sizes;
  std::vector<GroupOperands> operands;
  std::vector<std::uint16_t> c;
  std::vector<unsigned char> room;
};

TEST_F(GroupedStages, TheTableTravelsWithLaunchesAheadOfTheKernel) {
  constexpr std::int64_t count = 250;  // 2000 bytes: 896, 896, 208
  make(count);
  const Dispatcher own = dispatcher();
  const Groups groups(sizes.data(), count);
  const auto plan = own.plan(Problem(kGrouped).groups(groups), device(0));
  ASSERT_TRUE(plan) << plan.status().message;
  ASSERT_TRUE(plan->launchable.ok()) << plan->launchable.message;
  EXPECT_EQ(tests::stages(*plan, {"upload"}), "upload kernel");
  EXPECT_EQ(plan->stages[0].output_offset, 0U);
  EXPECT_EQ(plan->stages[1].workspace_offset, 2048U);
  EXPECT_EQ(plan->workspace_size, 2148U);
  unsigned char* begin = workspace(plan->workspace_size);
  const int before = mock.counts().launches;
  int stream = 0;
  const Status status = own.run(*plan, args(), begin, &stream);
  ASSERT_TRUE(status.ok()) << status.message;
  ASSERT_EQ(mock.counts().launches, before + 4);
  std::vector<Row> table(count);
  for (int i = 0; i < 3; ++i) {
    const MockLaunch launch = mock.launch(before + i);
    EXPECT_STREQ(launch.symbol, "upload");
    EXPECT_EQ(launch.grid[0], 1U);
    EXPECT_EQ(launch.block[0], kUploadLanes);
    EXPECT_EQ(launch.stream, &stream);
    Upload upload;
    ASSERT_EQ(launch.args_size, sizeof upload);
    std::memcpy(&upload, launch.args, sizeof upload);
    EXPECT_EQ(upload.words, i < 2 ? 224U : 52U);
    EXPECT_EQ(reinterpret_cast<unsigned char*>(upload.to), begin + i * 896);
    std::memcpy(reinterpret_cast<unsigned char*>(table.data()) + i * 896, upload.payload, upload.words * 4U);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    ASSERT_EQ(table[static_cast<std::size_t>(i)].m, i % 5);
    ASSERT_EQ(table[static_cast<std::size_t>(i)].number, i);
  }
  const KernelArgs kernel = arrived(mock.launch(before + 3));
  EXPECT_EQ(kernel.table, begin);
  EXPECT_EQ(kernel.workspace, begin + 2048);
  EXPECT_EQ(kernel.tiles, groups.tiles(16, 16));
}

TEST_F(GroupedStages, LaunchingAgainAllocatesNothing) {
  make(200);
  const Dispatcher own = dispatcher();
  const Groups groups(sizes.data(), 200);
  const auto plan = own.plan(Problem(kGrouped).groups(groups), device(0));
  unsigned char* begin = workspace(plan->workspace_size);
  const GroupedArgs mine = args();
  ASSERT_TRUE(own.run(*plan, mine, begin, nullptr).ok());
  const long before = allocations();
  const bool good = own.run(*plan, mine, begin, nullptr).ok();
  EXPECT_EQ(allocations(), before);
  EXPECT_TRUE(good);
}

TEST_F(GroupedStages, SizesOnTheDeviceAreDescribedThere) {
  const Dispatcher own = dispatcher();
  const Groups groups = Groups::on_device(40, 64, 32, 128);
  const auto plan = own.plan(Problem(kGrouped).groups(groups), device(0));
  ASSERT_TRUE(plan) << plan.status().message;
  ASSERT_TRUE(plan->launchable.ok()) << plan->launchable.message;
  unsigned char* begin = workspace(plan->workspace_size);
  const auto* on_device = reinterpret_cast<const GroupSize*>(std::uintptr_t{4096});
  const GroupedArgs mine{reinterpret_cast<const GroupOperands*>(std::uintptr_t{64}), on_device, 40, false, false, 1.0F};
  const int before = mock.counts().launches;
  const Status status = own.run(*plan, mine, begin, nullptr);
  ASSERT_TRUE(status.ok()) << status.message;
  ASSERT_EQ(mock.counts().launches, before + 2);
  EXPECT_STREQ(mock.launch(before).symbol, "build");
  EXPECT_EQ(arrived(mock.launch(before)).table, begin);
  EXPECT_EQ(arrived(mock.launch(before)).workspace, on_device);
  EXPECT_STREQ(mock.launch(before + 1).symbol, "grouped");
}

TEST_F(GroupedStages, SplitsResetTheCOfEveryGroup) {
  make(8);
  const Dispatcher own = dispatcher();
  const Groups groups(sizes.data(), 8);
  const Problem problem = Problem(kGrouped).groups(groups);
  Selection selection = own.select(problem, device(0));
  selection.k_batch = 2;
  const auto plan = own.plan(problem, device(0), selection);
  ASSERT_TRUE(plan) << plan.status().message;
  ASSERT_EQ(plan->stage_count, 3U);
  EXPECT_EQ(plan->stages[1].kind, StageKind::reset_output);
  unsigned char* begin = workspace(plan->workspace_size);
  ASSERT_TRUE(own.run(*plan, args(), begin, nullptr).ok());
  for (std::size_t i = 0; i < c.size(); ++i) {
    const std::size_t group = i / 512, row = i % 512 / 32, column = i % 32;
    const bool inside = row < group % 5 && column < 24;
    ASSERT_EQ(c[i], inside ? 0 : 0xffff) << i;
  }
  EXPECT_LT(mock.last_clear().sequence, mock.last_launch().sequence);
}

TEST_F(GroupedStages, WhatFillRefusesLeavesCAlone) {
  make(8);
  for (GroupSize& size : sizes) size.k = 8;
  operands[6].lda = 13;
  const Dispatcher own = dispatcher();
  const Groups groups(sizes.data(), 8);
  const Problem problem = Problem(kGrouped).groups(groups);
  Selection selection = own.select(problem, device(0));
  selection.k_batch = 2;
  const auto plan = own.plan(problem, device(0), selection);
  ASSERT_TRUE(plan) << plan.status().message;
  const int before = mock.counts().launches;
  EXPECT_STREQ(own.run(*plan, args(), workspace(plan->workspace_size), nullptr).message, "an lda of 13");
  EXPECT_EQ(mock.counts().launches, before);
  EXPECT_TRUE(std::all_of(c.begin(), c.end(), [](std::uint16_t x) { return x == 0xffff; }));
}

TEST_F(GroupedStages, WhatCannotGetToTheDeviceIsSaidByThePlan) {
  const Groups on_device = Groups::on_device(4, 64, 32, 128);
  make(4);
  const Groups known(sizes.data(), 4);
  static constexpr GroupTableCode host_only{table_bytes, fill_table, "upload", nullptr};
  code.code(0).groups = &host_only;
  const Dispatcher first = dispatcher();
  EXPECT_STREQ(first.plan(Problem(kGrouped).groups(on_device), device(0))->launchable.message,
               "grouped takes sizes of groups from the host only");
  EXPECT_TRUE(first.plan(Problem(kGrouped).groups(known), device(0))->launchable.ok());
  static constexpr GroupTableCode device_only{table_bytes, nullptr, nullptr, build_table};
  code.code(0).groups = &device_only;
  EXPECT_STREQ(first.plan(Problem(kGrouped).groups(known), device(0))->launchable.message,
               "grouped reads sizes of groups from the device only");
  Selection split = first.select(Problem(kGrouped).groups(on_device), device(0));
  split.k_batch = 2;
  EXPECT_STREQ(first.plan(Problem(kGrouped).groups(on_device), device(0), split)->launchable.message,
               "grouped adds to C, and sizes on the device do not say what to reset");
}

TEST_F(GroupedStages, CodeWithoutATableIsNotAttached) {
  code.code(0).groups = nullptr;
  EXPECT_STREQ(registry.attach(code.library()).message,
               "device library tiny_gpu: the code of grouped says no table of groups");
  const auto flaw = [&](const GroupTableCode& table) {
    code.code(0).groups = &table;
    return std::string(registry.attach(code.library()).message);
  };
  EXPECT_NE(flaw({nullptr, fill_table, "upload", nullptr}).find("its table of groups has no size"), std::string::npos);
  EXPECT_NE(flaw({table_bytes, fill_table, nullptr, nullptr}).find("only one of fill and upload"), std::string::npos);
  EXPECT_NE(flaw({table_bytes, nullptr, nullptr, nullptr}).find("nothing makes its table"), std::string::npos);
}

}  // namespace test_grouped_stages
