// What the host backend refuses of attention before it runs: tiles, sizes, lengths and pages on both sides of their
// limits. Types, options and null pointers: test_host_fmha_options.cpp.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "backends/host/fmha/check.hpp"

namespace test_host_check_fmha {

using namespace ckgen;
using namespace ckgen::host;

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

template <class Value, class Change>
Value with(Value value, Change change) {
  change(value);
  return value;
}

class HostCheckFmha : public testing::Test {
 protected:
  HostCheckFmha() {
    desc_.signature = Signature{Op::fmha, DType::bf16, DType::bf16, DType::bf16};
    desc_.fmha.m0 = desc_.fmha.n0 = 8;
    shape_.batch = 2, shape_.heads_q = 4, shape_.heads_k = 2, shape_.hdim_q = shape_.hdim_v = 16;
    shape_.seqlen_q = 5, shape_.seqlen_k = 9;
    args_.q = args_.k = args_.v = args_.o = memory_;
    args_.scale = 1.0F;
    args_.o_strides.row = 16;
  }
  template <class Change>
  std::string of_shape(Change change) const {
    return check_fmha(desc_, with(shape_, change)).message;
  }
  template <class Change>
  std::string of_instance(Change change) const {
    return check_fmha(with(desc_, change), shape_).message;
  }
  template <class Change>
  std::string of_args(Change change) const {
    return check_fmha_args(desc_.signature, shape_, with(args_, change)).message;
  }
  FmhaTraits& traits() { return desc_.signature.fmha; }

  InstanceDesc desc_{};
  FmhaShape shape_;
  FmhaArgs args_;
  char memory_[16] = {};
};

TEST_F(HostCheckFmha, TilesAndOpsHaveTheirRange) {
  EXPECT_EQ(of_instance([](InstanceDesc&) {}), "");
  for (const std::int32_t rows : {1, 1 << 16}) EXPECT_EQ(of_instance([&](auto& d) { d.fmha.m0 = rows; }), "");
  for (const std::int32_t columns : {1, 256}) EXPECT_EQ(of_instance([&](auto& d) { d.fmha.n0 = columns; }), "");
  const std::string most = ": at most 65536 x 256", none = "no host kernel for a tile of ";
  EXPECT_EQ(of_instance([](auto& d) { d.fmha.m0 = 0; }), none + "0 x 8" + most);
  EXPECT_EQ(of_instance([](auto& d) { d.fmha.m0 = (1 << 16) + 1; }), none + "65537 x 8" + most);
  EXPECT_EQ(of_instance([](auto& d) { d.fmha.n0 = 0; }), none + "8 x 0" + most);
  EXPECT_EQ(of_instance([](auto& d) { d.fmha.n0 = 257; }), none + "8 x 257" + most);
  EXPECT_EQ(of_instance([](auto& d) { d.signature.op = Op::gemm; }), "the instance is not of op fmha");
  EXPECT_NE(of_instance([](auto& d) { d.signature.a = DType::int8; }), "");
  EXPECT_NE(of_instance([](auto& d) { d.signature.b = DType::int8; }), "");
  EXPECT_NE(of_instance([](auto& d) { d.signature.c = DType::int8; }), "");
  EXPECT_NE(of_instance([](auto& d) { d.signature.acc = DType::fp64; }), "");
}

TEST_F(HostCheckFmha, SizesHaveTheirRange) {
  EXPECT_EQ(of_shape([](FmhaShape& x) { x.batch = std::int64_t{1} << 31; }), "");
  EXPECT_EQ(of_shape([](FmhaShape& x) { x.batch = (std::int64_t{1} << 31) + 1; }), "batch is out of range");
  EXPECT_EQ(of_shape([](FmhaShape& x) { x.batch = 0; }), "batch is out of range");
  const std::string heads = "heads_q=";
  EXPECT_EQ(of_shape([](FmhaShape& x) { x.heads_q = 3; }), heads + "3 is not a multiple of heads_k=2");
  EXPECT_EQ(of_shape([](FmhaShape& x) { x.heads_q = 0; }), heads + "0 is not a multiple of heads_k=2");
  EXPECT_EQ(of_shape([](FmhaShape& x) { x.heads_k = 0; }), heads + "4 is not a multiple of heads_k=0");
  EXPECT_EQ(of_shape([](FmhaShape& x) { x.heads_q = x.heads_k = 1; }), "");
  for (const auto field : {&FmhaShape::hdim_q, &FmhaShape::hdim_v}) {
    for (const std::int32_t good : {1, 256}) EXPECT_EQ(of_shape([&](FmhaShape& x) { x.*field = good; }), "");
    for (const std::int32_t bad : {0, 257})
      EXPECT_NE(of_shape([&](FmhaShape& x) { x.*field = bad; }).find("is not in 1 .. 256"), std::string::npos);
  }
  const std::string length = "a length of the shape is out of range";
  for (const auto field : {&FmhaShape::seqlen_q, &FmhaShape::seqlen_k}) {
    for (const std::int64_t good : {std::int64_t{0}, kMost})
      EXPECT_EQ(of_shape([&](FmhaShape& x) { x.*field = good; }), "");
    for (const std::int64_t bad : {std::int64_t{-1}, kMost + 1})
      EXPECT_EQ(of_shape([&](FmhaShape& x) { x.*field = bad; }), length);
  }
  EXPECT_EQ(of_shape([](FmhaShape& x) { x.total_q = -1; }), length);
  traits().masked = true;
  const std::string window = "a window is below -1, or sink_tokens below 0";
  EXPECT_EQ(of_shape([](FmhaShape& x) { x.window_left = x.window_right = -1; }), "");
  EXPECT_EQ(of_shape([](FmhaShape& x) { x.window_left = -2; }), window);
  EXPECT_EQ(of_shape([](FmhaShape& x) { x.window_right = -2; }), window);
  EXPECT_EQ(of_shape([](FmhaShape& x) { x.sink_tokens = -1; }), window);
}

TEST_F(HostCheckFmha, PagesHaveTheirRange) {
  traits().kv = FmhaKv::block_table;
  shape_.page_size = 16, shape_.pages = 3;
  const std::string range = "page_size or pages is out of range";
  EXPECT_EQ(of_shape([](FmhaShape&) {}), "");
  EXPECT_EQ(of_shape([](FmhaShape& x) { x.page_size = 1, x.pages = 0; }), "");
  EXPECT_EQ(of_shape([](FmhaShape& x) { x.page_size = 0; }), range);
  EXPECT_EQ(of_shape([](FmhaShape& x) { x.pages = -1; }), range);
  EXPECT_EQ(of_shape([](FmhaShape& x) { x.pages = kMost; }), "");
  EXPECT_EQ(of_shape([](FmhaShape& x) { x.pages = kMost + 1; }), range);
  traits().kv_layout = FmhaKvLayout::vectorized;
  EXPECT_EQ(of_shape([](FmhaShape&) {}), "");
  EXPECT_EQ(of_shape([](FmhaShape& x) { x.hdim_q = 20; }), "hdim_q=20 or page_size=16 is not whole vectors of 8");
  EXPECT_EQ(of_shape([](FmhaShape& x) { x.page_size = 4; }), "hdim_q=16 or page_size=4 is not whole vectors of 8");
  traits().kv = FmhaKv::contiguous;
  EXPECT_EQ(of_shape([](FmhaShape&) {}), "only pages are vectorized");
}

TEST_F(HostCheckFmha, StridesAreNotNegativeAndRowsOfOApart) {
  EXPECT_EQ(of_args([](FmhaArgs&) {}), "");
  const std::pair<const char*, FmhaStrides FmhaArgs::*> all[] = {
      {"q", &FmhaArgs::q_strides}, {"k", &FmhaArgs::k_strides},       {"v", &FmhaArgs::v_strides},
      {"o", &FmhaArgs::o_strides}, {"bias", &FmhaArgs::bias_strides}, {"rand_val", &FmhaArgs::rand_val_strides}};
  for (const auto& [name, strides] : all)
    for (const auto field : {&FmhaStrides::row, &FmhaStrides::head, &FmhaStrides::batch})
      EXPECT_EQ(of_args([strides = strides, field](FmhaArgs& x) { x.*strides.*field = -1; }),
                std::string("a stride of ") + name + " is negative");
  EXPECT_EQ(of_args([](FmhaArgs& x) { x.lse_head_stride = -1; }), "a stride of lse is negative");
  EXPECT_EQ(of_args([](FmhaArgs& x) { x.lse_batch_stride = -1; }), "a stride of lse is negative");
  EXPECT_EQ(of_args([](FmhaArgs& x) { x.o_strides.row = 15; }), "rows of o overlap");
  shape_.seqlen_q = 1;
  EXPECT_EQ(of_args([](FmhaArgs& x) { x.o_strides.row = 15; }), "");
}

TEST_F(HostCheckFmha, LengthsAreWithinTheShape) {
  std::vector<std::int32_t> lengths{9, 0};
  args_.seqlen_k = lengths.data();
  EXPECT_EQ(of_args([](FmhaArgs&) {}), "");
  for (const std::size_t b : {0U, 1U})
    for (const std::int32_t bad : {-1, 10}) {
      lengths = {9, 0};
      lengths[b] = bad;
      EXPECT_EQ(of_args([](FmhaArgs&) {}),
                "seqlen_k of sequence " + std::to_string(b) + " is " + std::to_string(bad) + ", not in 0 .. 9");
    }
  EXPECT_EQ(of_args([&](FmhaArgs& x) { x.seqlen_k = nullptr, x.seqlen_q = lengths.data(); }),
            "seqlen_q is of varlen only");
}

TEST_F(HostCheckFmha, StartsDoNotFallAndLengthsHaveRoom) {
  traits().varlen = true;
  std::vector<std::int32_t> q{0, 5, 8}, k{0, 9, 12}, lengths{5, 3};
  args_.seqstart_q = q.data(), args_.seqstart_k = k.data();
  shape_.total_q = 8;
  EXPECT_EQ(of_args([](FmhaArgs&) {}), "");
  EXPECT_EQ(of_args([&](FmhaArgs& x) { x.seqlen_q = lengths.data(); }), "");
  lengths[1] = 4;
  EXPECT_EQ(of_args([&](FmhaArgs& x) { x.seqlen_q = lengths.data(); }), "seqlen_q of sequence 1 is 4, not in 0 .. 3");
  lengths = {-1, 3};
  EXPECT_EQ(of_args([&](FmhaArgs& x) { x.seqlen_q = lengths.data(); }), "seqlen_q of sequence 0 is -1, not in 0 .. 5");
  q = {-1, 3, 8};
  EXPECT_EQ(of_args([](FmhaArgs&) {}), "seqstart_q starts below 0");
  q = {0, 5, 4};
  EXPECT_EQ(of_args([](FmhaArgs&) {}), "seqstart_q falls at 1");
  q = {0, 6, 8};
  EXPECT_EQ(of_args([](FmhaArgs&) {}), "seqstart_q of sequence 0 is 6, not in 0 .. 5");
  q = {0, 5, 9};
  EXPECT_EQ(of_args([](FmhaArgs&) {}), "seqstart_q ends beyond total_q");
  q = {0, 5, 8};
  k = {0, 10, 12};
  EXPECT_EQ(of_args([](FmhaArgs&) {}), "seqstart_k of sequence 0 is 10, not in 0 .. 9");
  k = {1, 0, 12};
  EXPECT_EQ(of_args([](FmhaArgs&) {}), "seqstart_k falls at 0");
}

TEST_F(HostCheckFmha, RowsOfABlockTableHoldTheirPages) {
  traits().kv = FmhaKv::block_table;
  shape_.page_size = 4, shape_.pages = 3;
  std::vector<std::int32_t> table{0, 1, 2, 2, 1, 0}, lengths{9, 8};
  args_.block_table = table.data(), args_.block_table_stride = 3, args_.seqlen_k = lengths.data();
  EXPECT_EQ(of_args([](FmhaArgs&) {}), "");
  EXPECT_EQ(of_args([](FmhaArgs& x) { x.block_table_stride = 2; }),
            "a sequence has more pages than a row of block_table");
  table[5] = 99;
  EXPECT_EQ(of_args([](FmhaArgs&) {}), "") << "the second sequence has two pages";
  for (const std::int32_t bad : {-1, 3}) {
    table[4] = bad;
    EXPECT_EQ(of_args([](FmhaArgs&) {}), "page " + std::to_string(bad) + " is not in 0 .. 2");
  }
  shape_.pages = 0;
  EXPECT_EQ(of_args([](FmhaArgs&) {}), "") << "of an unknown number";
}

TEST_F(HostCheckFmha, ListsOfPagesMakeLengths) {
  traits().kv = FmhaKv::page_list;
  shape_.page_size = 4, shape_.pages = 3;
  std::vector<std::int32_t> indptr{0, 3, 3}, pages{0, 1, 2}, last{1, 0};
  args_.kv_indptr = indptr.data(), args_.kv_pages = pages.data(), args_.kv_last_page = last.data();
  EXPECT_EQ(of_args([](FmhaArgs&) {}), "");
  EXPECT_EQ(of_args([&](FmhaArgs& x) { x.seqlen_k = last.data(); }), "seqlen_k is not of pagelist");
  for (const std::int32_t bad : {0, 5}) {
    last[0] = bad;
    EXPECT_EQ(of_args([](FmhaArgs&) {}), "kv_last_page of sequence 0 is " + std::to_string(bad) + ", not in 0 .. 4");
  }
  last[0] = 2;
  EXPECT_EQ(of_args([](FmhaArgs&) {}), "the pages of sequence 0 is 10, not in 0 .. 9");
  last[0] = 1;
  pages[2] = 3;
  EXPECT_EQ(of_args([](FmhaArgs&) {}), "page 3 is not in 0 .. 2");
  pages[2] = 2;
  indptr = {0, 3, 2};
  EXPECT_EQ(of_args([](FmhaArgs&) {}), "kv_indptr falls or starts below 0");
  indptr = {-1, 2, 2};
  EXPECT_EQ(of_args([](FmhaArgs&) {}), "kv_indptr falls or starts below 0");
}

}  // namespace test_host_check_fmha
