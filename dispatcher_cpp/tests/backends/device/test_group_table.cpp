// The table of groups as the host writes it: what a kernel finds there, in whatever pieces it travels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include <backends/device/grouped_call.hpp>

namespace test_group_table {

using namespace ckgen;

constexpr std::int64_t kTileM = 64, kTileN = 32, kSplits = 3;
const std::vector<GroupSize> kSizes = {{70, 33, 128}, {0, 64, 64}, {5, 0, 8}, {64, 32, 0}, {1, 1, 8}};
const std::vector<std::int32_t> kFirst = {0, 12, 12, 12, 15, 18};  // 2 x 2, none, none, 1 and 1 tiles

struct Operands {
  std::vector<GroupOperands> each;
  GroupedArgs args{};

  Operands() {
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      GroupOperands one{};
      one.a = &kSizes[i];  // any address, of each group another
      one.b_scale = &kFirst[i];
      one.lda = static_cast<std::int64_t>(100 + i);
      one.ldd[1] = static_cast<std::int64_t>(7 * i);
      each.push_back(one);
    }
    args.operands = each.data();
    args.sizes = kSizes.data();
    args.count = static_cast<std::int64_t>(kSizes.size());
  }
};

std::vector<unsigned char> table_in_pieces(const Operands& operands, std::uint32_t piece) {
  const std::size_t size = device::group_table_bytes(operands.args.count);
  std::vector<unsigned char> table(size + 16, 0xee);
  TableCursor cursor;
  while (cursor.offset < size) {
    const auto bytes = static_cast<std::uint32_t>(std::min<std::size_t>(piece, size - cursor.offset));
    const std::uint64_t at = cursor.offset;
    device::fill_group_table(operands.args, kTileM, kTileN, kSplits, cursor, table.data() + at, bytes);
    EXPECT_EQ(cursor.offset, at + bytes);
  }
  EXPECT_EQ(table[size], 0xee) << "bytes behind the table";
  table.resize(size);
  return table;
}

TEST(GroupTable, HoldsTheWorkBeforeEachGroupAndItsOperands) {
  const Operands operands;
  const auto table = table_in_pieces(operands, 1 << 20);
  std::vector<std::int32_t> first(kFirst.size());
  std::memcpy(first.data(), table.data(), first.size() * sizeof first[0]);
  EXPECT_EQ(first, kFirst);
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    device::GroupEntry entry;
    std::memcpy(&entry, table.data() + device::entries_offset(operands.args.count) + i * sizeof entry, sizeof entry);
    EXPECT_EQ(entry.a, operands.each[i].a);
    EXPECT_EQ(entry.b_scale, operands.each[i].b_scale);
    EXPECT_EQ(entry.m, kSizes[i].m);
    EXPECT_EQ(entry.n, kSizes[i].n);
    EXPECT_EQ(entry.k, kSizes[i].k);
    EXPECT_EQ(entry.lda, operands.each[i].lda);
    EXPECT_EQ(entry.ldd[1], operands.each[i].ldd[1]);
  }
}

TEST(GroupTable, IsTheSameInPiecesOfAnySize) {
  const Operands operands;
  const auto whole = table_in_pieces(operands, 1 << 20);
  for (const std::uint32_t piece : {16u, 48u, 64u, 96u, 112u, kUploadBytes})
    EXPECT_EQ(table_in_pieces(operands, piece), whole);
}

TEST(GroupTable, EachBusyGroupIsAskedAboutOnceAndOneWithoutKAsOfATile) {
  const Operands operands;
  const Groups groups(kSizes.data(), static_cast<std::int64_t>(kSizes.size()));
  const Problem problem = grouped_gemm("fp16").groups(groups);
  Launch launch{};
  launch.problem = &problem;
  launch.grouped = &operands.args;
  std::vector<std::int64_t> depths;
  const auto take = [&](const GemmArgs& one) {
    depths.push_back(one.k);
    return Status::success();
  };
  EXPECT_TRUE(device::check_each_group(launch, 16, take).ok());
  EXPECT_EQ(depths, (std::vector<std::int64_t>{128, 16, 8}));
  const auto refuse = [](const GemmArgs& one) {
    return one.m == 1 ? Status::error(StatusCode::unsupported, "too small") : Status::success();
  };
  const Status refused = device::check_each_group(launch, 16, refuse);
  EXPECT_EQ(refused.code, StatusCode::unsupported);
  EXPECT_STREQ(refused.message, "group 4: too small");
}

TEST(GroupTable, OfGroupsOnTheDeviceTheLargestIsAskedAbout) {
  const Groups groups = Groups::on_device(9, 77, 64, 32);
  const Problem problem = grouped_gemm("fp16").groups(groups);
  const GroupedArgs args{nullptr, nullptr, 9, false, false, 1.0f};
  Launch launch{};
  launch.problem = &problem;
  launch.grouped = &args;
  int asked = 0;
  const auto take = [&](const GemmArgs& one) {
    ++asked;
    EXPECT_EQ(one.m, 77);
    EXPECT_EQ(one.lda, 32);
    EXPECT_EQ(one.ldb, 32);
    EXPECT_EQ(one.ldc, 64);
    return Status::success();
  };
  EXPECT_TRUE(device::check_each_group(launch, 16, take).ok());
  EXPECT_EQ(asked, 1);
}

}  // namespace test_group_table
