// Which numbers of an attention instance a registry takes: each range from its least to its most.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "fmha/fmha_fixture.hpp"

namespace test_fmha_validate {

using namespace ckgen;

class FmhaValidate : public tiny::FmhaTest {
 protected:
  /// Why an instance is refused, without its name; empty where it is taken.
  std::string refusal(const FmhaConfig& config) {
    const Status status = Registry().add(described("x", config, tiny::attention()));
    const std::string text = status.message;
    return status.ok() ? "" : text.substr(text.find(": ") + 2);
  }
  template <class Number>
  void expect_range(Number FmhaConfig::* field, Number least, Number most, const std::string& told) {
    FmhaConfig config = tiny::padded(16, 32, 64, 128);
    for (const Number inside : {least, most}) {
      config.*field = inside;
      EXPECT_EQ(refusal(config), "") << inside;
    }
    config.*field = least - 1;
    EXPECT_EQ(refusal(config), told) << config.*field;
    if (most == std::numeric_limits<Number>::max()) return;
    config.*field = most + 1;
    EXPECT_EQ(refusal(config), told) << config.*field;
  }
};

TEST_F(FmhaValidate, EveryNumberHasItsRange) {
  using Field = std::int32_t FmhaConfig::*;
  constexpr std::int32_t any = std::numeric_limits<std::int32_t>::max();
  const std::string tiles = "its attention tiles are out of range";
  for (const Field field : {&FmhaConfig::n0, &FmhaConfig::k0, &FmhaConfig::k1}) expect_range(field, 1, 4096, tiles);
  expect_range(&FmhaConfig::n1, 8, 256, tiles);  // 128 columns of V are 16 tiles of 8
  const std::string dims = "its head dimensions are out of range";
  for (const Field field : {&FmhaConfig::hdim_q, &FmhaConfig::hdim_v}) expect_range(field, 1, 256, dims);
  for (const Field field : {&FmhaConfig::d_multiple, &FmhaConfig::dv_multiple}) expect_range(field, 0, 256, dims);
  const std::string splits = "its splits, pages or rotation are out of range";
  expect_range(&FmhaConfig::max_splits, 1, 1 << 16, splits);
  expect_range(&FmhaConfig::page_multiple, 1, any, splits);
  expect_range(&FmhaConfig::rotary_multiple, 1, 256, splits);
  expect_range(&FmhaConfig::cache_limit, std::int64_t{0}, std::numeric_limits<std::int64_t>::max(), splits);
  expect_range(&FmhaConfig::max_keys, 0, any, splits);
  const std::string limits = "its limits of pages, rows or heads are below 0";
  for (const Field field :
       {&FmhaConfig::max_page, &FmhaConfig::max_rows, &FmhaConfig::max_group, &FmhaConfig::rows_together})
    expect_range(field, 0, any, limits);
}

TEST_F(FmhaValidate, RowsOfATileAreUpTo4096) {
  for (const std::int32_t m0 : {1, 4096}) EXPECT_EQ(refusal(tiny::padded(m0, 32, 64, 128)), "");
  EXPECT_EQ(refusal(tiny::padded(4097, 32, 64, 128)), "its attention tiles are out of range");
  EXPECT_EQ(refusal(tiny::padded(0, 32, 64, 128)), "its attention tiles are out of range");
}

TEST_F(FmhaValidate, OnlyAttentionHasItsTiles) {
  InstanceDesc gemm = described("x", tiny::padded(1, 32, 64, 128), tiny::attention());
  gemm.signature = tiny::fp16;
  EXPECT_STREQ(Registry().add(gemm).message, "instance x: only attention has attention's tiles");
  gemm.fmha.m0 = 0;
  EXPECT_TRUE(Registry().add(gemm).ok());
}

}  // namespace test_fmha_validate
