// What ck_tile's attention kernels refuse, rule by rule: their class judges nothing itself.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

#include <backends/ck_tile/fmha_limits.hpp>

namespace ckgen::tile {
namespace test_fmha_limits {

alignas(16) unsigned char memory[64];
std::int32_t numbers[4];
float floats[4];

/// A legal problem of a padded kernel with vectors, over 2 x 4 heads of 64; its memory is not looked at.
struct Case {
  FmhaLimits limits{DType::bf16, DType::bf16, DType::bf16, {}, 128, 64, 64, 64, true, true, true, true, true, true};
  FmhaShape shape;
  FmhaArgs args;

  Case() {
    shape.batch = 2;
    shape.heads_q = 4;
    shape.heads_k = 2;
    shape.seqlen_q = 130;
    shape.seqlen_k = 70;
    shape.hdim_q = shape.hdim_v = 64;
    args.q = args.k = args.v = args.o = memory;
    args.q_strides = args.o_strides = {256, 64, 256 * 130};
    args.k_strides = args.v_strides = {128, 64, 128 * 70};
    args.scale = 0.125F;
  }
  Status status() const { return check_fmha(limits, shape, args); }
};

struct Refusal {
  const char* name;
  std::function<void(Case&)> change;
  StatusCode code;
  const char* words;
};

void unpad(Case& c) {
  c.limits.pad_q = c.limits.pad_k = c.limits.pad_hdim_q = c.limits.pad_hdim_v = false;
  c.shape.seqlen_q = 256;
  c.shape.seqlen_k = 128;
}
void with_slopes(Case& c) {
  c.limits.traits.bias = FmhaBias::alibi;
  c.args.bias = floats;
  c.args.bias_strides = {0, 1, 4};
}

/// K and V in pages of one step.
void with_pages(Case& c) {
  c.limits.traits.kv = FmhaKv::block_table;
  c.shape.page_size = 64;
  c.args.block_table = c.args.seqlen_k = numbers;
  c.args.block_table_stride = 2;
}

/// K and V in 8 pages of 16 rows, by a list, with the rows one after the other.
void with_list(Case& c) {
  c.limits.traits.kv = FmhaKv::page_list;
  c.limits.gathers = true;
  c.shape.page_size = 16;
  c.shape.pages = 8;
  c.args.k_strides.batch = c.args.v_strides.batch = 16 * 128;
  c.args.kv_indptr = c.args.kv_pages = c.args.kv_last_page = numbers;
}

constexpr auto kUnsupported = StatusCode::unsupported;
constexpr auto kInvalid = StatusCode::invalid_argument;
const Refusal kRefusals[] = {
    {"wide_head", [](Case& c) { c.shape.hdim_q = 72; }, kUnsupported, "head dims of 72 and 64"},
    {"head_of_vectors", [](Case& c) { c.shape.hdim_v = 60; }, kUnsupported, "head dims of 64 and 60"},
    {"head_without_padding", [](Case& c) { unpad(c), c.shape.hdim_q = 56; }, kUnsupported, "head dims of 56 and 64"},
    {"no_rows", [](Case& c) { c.shape.seqlen_q = 0; }, kUnsupported, "no row of Q"},
    {"rest_of_q", [](Case& c) { unpad(c), c.shape.seqlen_q = 130; }, kUnsupported, "130 rows of Q"},
    {"rest_of_k", [](Case& c) { unpad(c), c.shape.seqlen_k = 70; }, kUnsupported, "70 keys are no whole"},
    {"no_keys_without_padding", [](Case& c) { unpad(c), c.shape.seqlen_k = 0; }, kUnsupported, "0 keys are no whole"},
    {"lengths_without_padding", [](Case& c) { unpad(c), c.args.seqlen_k = numbers; }, kUnsupported, "128 keys at most"},
    {"sink_tokens", [](Case& c) { c.limits.traits.masked = true, c.shape.sink_tokens = 4; }, kUnsupported,
     "no sink tokens"},
    {"negative_scale", [](Case& c) { c.args.scale = -1.0F; }, kUnsupported, "a scale of -1"},
    {"no_softcap", [](Case& c) { c.limits.traits.softcap = true; }, kInvalid, "softcap of 0"},
    {"p_drop", [](Case& c) { c.limits.traits.dropout = FmhaDropout::philox, c.args.p_drop = 1.0F; }, kInvalid,
     "p_drop = 1"},
    {"far_slopes", [](Case& c) { with_slopes(c), c.shape.seqlen_k = 65537; }, kUnsupported, "distances of 16 bits"},
    {"slopes_from_top_left",
     [](Case& c) { with_slopes(c), c.limits.traits.masked = true, c.shape.corner = FmhaCorner::top_left; },
     kUnsupported, "from the top left"},
    {"slopes_apart", [](Case& c) { with_slopes(c), c.args.bias_strides.head = 2; }, kUnsupported, "lie together"},
    {"no_slopes", [](Case& c) { with_slopes(c), c.args.bias = nullptr; }, kInvalid, "slopes are null"},
    {"no_k", [](Case& c) { c.args.k = nullptr; }, kInvalid, "K is null"},
    {"no_lse", [](Case& c) { c.limits.traits.lse = true; }, kInvalid, "lse is null"},
    {"no_bias", [](Case& c) { c.limits.traits.bias = FmhaBias::elementwise; }, kInvalid, "bias is null"},
    {"odd_stride", [](Case& c) { c.args.v_strides.row = 132; }, kUnsupported, "a stride of V of 132"},
    {"odd_address", [](Case& c) { c.args.o = memory + 8; }, kUnsupported, "O is not aligned"},
    {"long_stride", [](Case& c) { c.args.q_strides.batch = std::int64_t{1} << 31; }, kUnsupported, "32 bits"},
    {"negative_stride", [](Case& c) { c.args.q_strides.head = -64; }, kUnsupported, "a stride of Q of -64"},
    {"many_bytes", [](Case& c) { c.shape.seqlen_k = 1 << 23; }, kUnsupported, "2 GiB or more"},
    {"no_starts", [](Case& c) { c.limits.traits.varlen = true; }, kInvalid, "seqstart_q or seqstart_k"},
    {"pages_of_half_a_step", [](Case& c) { with_pages(c), c.shape.page_size = 32; }, kUnsupported,
     "pages of 32 rows are no whole steps of 64 keys"},
    {"no_table", [](Case& c) { with_pages(c), c.args.block_table = nullptr; }, kInvalid, "block_table or seqlen_k"},
    {"no_lengths", [](Case& c) { with_pages(c), c.args.seqlen_k = nullptr; }, kInvalid, "block_table or seqlen_k"},
    {"wide_table", [](Case& c) { with_pages(c), c.args.block_table_stride = std::int64_t{1} << 30; }, kUnsupported,
     "2 rows of block_table, 1073741824 apart"},
    {"rows_of_q_with_gaps", [](Case& c) { with_pages(c), c.args.seqlen_q = numbers; }, kUnsupported,
     "seqstart_q alone"},
    {"long_page", [](Case& c) { with_pages(c), c.args.k_strides.row = 1 << 25; }, kUnsupported, "K: 64 rows"},
    {"far_pages", [](Case& c) { with_pages(c), c.args.v_strides.batch = std::int64_t{1} << 31; }, kUnsupported,
     "a stride of V of 2147483648"},
    {"no_list", [](Case& c) { with_list(c), c.args.kv_pages = nullptr; }, kInvalid, "kv_pages or kv_last_page"},
    {"no_pages", [](Case& c) { with_list(c), c.shape.page_size = 0; }, kInvalid, "pages of 0 rows"},
    {"unknown_pages", [](Case& c) { with_list(c), c.shape.pages = 0; }, kUnsupported, "a cache of 0 pages"},
    {"pages_between_rows", [](Case& c) { with_list(c), c.args.k_strides.batch += 8; }, kUnsupported, "whole rows"},
    {"other_pages_of_v", [](Case& c) { with_list(c), c.args.v_strides.batch *= 2; }, kUnsupported, "whole rows"},
    {"many_pages", [](Case& c) { with_list(c), c.shape.pages = 1 << 20; }, kUnsupported, "2 GiB or more"},
    {"very_many_pages", [](Case& c) { with_list(c), c.shape.pages = std::int64_t{1} << 30; }, kUnsupported,
     "1073741824 pages of 16 rows"},
    {"list_and_rows_of_q_with_gaps", [](Case& c) { with_list(c), c.args.seqlen_q = numbers; }, kUnsupported,
     "seqstart_q"},
    {"no_descale", [](Case& c) { c.limits.traits.quant = FmhaQuant::per_tensor; }, kInvalid, "descale is null"},
};

class FmhaLimitsRefuse : public testing::TestWithParam<Refusal> {};

TEST_P(FmhaLimitsRefuse, WithTheRuleThatIsBroken) {
  Case broken;
  ASSERT_TRUE(broken.status().ok()) << broken.status().message;
  GetParam().change(broken);
  const Status status = broken.status();
  EXPECT_EQ(status.code, GetParam().code);
  EXPECT_NE(std::string(status.message).find(GetParam().words), std::string::npos) << status.message;
}

INSTANTIATE_TEST_SUITE_P(Rules, FmhaLimitsRefuse, testing::ValuesIn(kRefusals),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(FmhaLimits, WholeTilesNeedNoPadding) {
  Case whole;
  unpad(whole);
  EXPECT_TRUE(whole.status().ok()) << whole.status().message;
}

TEST(FmhaLimits, HeadsThatPassRegistersMayHaveAnySizeAndPlace) {
  Case any;
  any.limits.vector_q = any.limits.vector_v = false;
  any.shape.hdim_q = any.shape.hdim_v = 61;
  any.args.q = memory + 2;
  any.args.k_strides.row = 131;
  EXPECT_TRUE(any.status().ok()) << any.status().message;
}

TEST(FmhaLimits, SlopesCountFromTheTopLeftOfASquare) {
  Case square;
  with_slopes(square);
  square.limits.traits.masked = true;
  square.shape.corner = FmhaCorner::top_left;
  square.shape.seqlen_k = square.shape.seqlen_q;
  EXPECT_TRUE(square.status().ok()) << square.status().message;
}

TEST(FmhaLimits, OfPagesOneIsWithin32BitsAndSequencesAreAsLongAsTheyAre) {
  Case paged;
  with_pages(paged);
  paged.limits.traits.varlen = true;
  paged.args.seqstart_q = numbers;
  paged.shape.seqlen_k = 1 << 23;
  paged.args.k_strides.batch = paged.args.v_strides.batch = (std::int64_t{1} << 31) - 8;
  EXPECT_TRUE(paged.status().ok()) << paged.status().message;
}

TEST(FmhaLimits, PagesOfARowAreAsFarApartAsTheyAre) {
  Case rows;
  with_list(rows);
  rows.shape.page_size = 1;
  rows.args.k_strides = {8, 64, 256};
  rows.args.v_strides = {8, 64, 128};
  EXPECT_TRUE(rows.status().ok()) << rows.status().message;
  const FmhaCacheRows found = cache_rows(rows.shape, rows.args);
  EXPECT_EQ(found.per_page, 1);
  EXPECT_EQ(found.stride_k, 256);
  EXPECT_EQ(found.stride_v, 128);
}

TEST(FmhaLimits, RowsAreNotedToTheEndOfTheLastStepAndWhatIsReadAhead) {
  FmhaShape shape;
  for (const std::int64_t keys : {0, 1, 128, 129}) {
    shape.seqlen_k = keys;
    const std::int64_t noted = noted_rows(shape, 128, 32), steps = (keys + 127) / 128;
    EXPECT_EQ(noted, steps * 128 + 128 + 32);
  }
}

TEST(FmhaLimits, WithoutKeysThereNeedBeNoKAndV) {
  Case none;
  none.shape.seqlen_k = 0;
  none.args.k = none.args.v = nullptr;
  EXPECT_TRUE(none.status().ok()) << none.status().message;
}

TEST(FmhaLimits, StridesOfOneRowOrHeadOrSequenceDoNotMatter) {
  Case one;
  one.shape.batch = one.shape.heads_q = one.shape.heads_k = 1;
  one.shape.seqlen_q = 1;
  one.args.q_strides = {3, -5, std::int64_t{1} << 40};
  EXPECT_TRUE(one.status().ok()) << one.status().message;
}

}  // namespace test_fmha_limits
}  // namespace ckgen::tile
