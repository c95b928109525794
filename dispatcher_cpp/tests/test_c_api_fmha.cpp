// Attention over the C API: every field arrives where it belongs, numbers of signatures are inverse, sizes are checked.
#include <cstddef>
#include <cstring>
#include <vector>

#include <ckgen/c_api.h>

#include "fmha_fixture.hpp"

namespace {

using ckgen::FmhaArgs;
using ckgen::FmhaShape;
using ckgen::FmhaTraits;

// What callers in other languages count on.
static_assert(sizeof(ckgen_problem_fmha) == 144);
static_assert(offsetof(ckgen_problem_fmha, heads_q) == 32);
static_assert(offsetof(ckgen_problem_fmha, corner) == 48);
static_assert(offsetof(ckgen_problem_fmha, pages) == 64);
static_assert(offsetof(ckgen_problem_fmha, page_size) == 80);
static_assert(sizeof(ckgen_problem) == 88 && offsetof(ckgen_problem, fmha) == 80);
static_assert(sizeof(ckgen_fmha_args) == 472);
static_assert(offsetof(ckgen_fmha_args, q_strides) == 96);
static_assert(offsetof(ckgen_fmha_args, lse_head_stride) == 240);
static_assert(offsetof(ckgen_fmha_args, seqstart_q) == 256);
static_assert(offsetof(ckgen_fmha_args, block_table_stride) == 296);
static_assert(offsetof(ckgen_fmha_args, scale) == 328);
static_assert(offsetof(ckgen_fmha_args, seed) == 344);

/// What the last launch was given.
struct Seen {
  FmhaArgs args;
  FmhaShape shape;
} seen;

ckgen::Status keep(const ckgen::Launch& launch) noexcept {
  seen = {*launch.fmha, launch.problem->fmha()};
  return ckgen::Status::success();
}

/// All that one signature can ask for.
constexpr ckgen::Signature kSignature = [] {
  FmhaTraits traits;
  traits.varlen = traits.masked = traits.sink = traits.lse = true;
  traits.bias = ckgen::FmhaBias::elementwise;
  traits.dropout = ckgen::FmhaDropout::randval;
  traits.quant = ckgen::FmhaQuant::kv_blockscale;
  traits.kv = ckgen::FmhaKv::block_table;
  return tiny::attention(traits, ckgen::DType::fp8_fnuz);
}();
/// With the other fields.
constexpr ckgen::Signature kOther = [] {
  FmhaTraits traits;
  traits.varlen = traits.softcap = true;
  traits.dropout = ckgen::FmhaDropout::philox;
  traits.kv = ckgen::FmhaKv::page_list;
  return tiny::attention(traits);
}();

constexpr ckgen::Signature kAppend = [] {
  FmhaTraits traits;
  traits.entry = ckgen::FmhaEntry::append;
  traits.rope = ckgen::FmhaRope::half;
  return tiny::attention(traits);
}();

class CApiFmha : public ::testing::Test {
 protected:
  void SetUp() override {
    static const ckgen::InstanceDesc descs[] = {instance("first", 1, kSignature), instance("other", 2, kOther),
                                                instance("plain", 3, tiny::attention()),
                                                instance("append", 4, kAppend)};
    static const ckgen::SignatureUnit parts[] = {
        {"first", kSignature, &descs[0], 1, nullptr, 0, nullptr, 0, tiny::fnuz_defaults, 1},
        {"other", kOther, &descs[1], 1, nullptr, 0, nullptr, 0, tiny::fnuz_defaults, 1},
        {"plain", tiny::attention(), &descs[2], 1, nullptr, 0, nullptr, 0, tiny::fnuz_defaults, 1},
        {"append", kAppend, &descs[3], 1, nullptr, 0, nullptr, 0, tiny::fnuz_defaults, 1}};
    static const ckgen::SignatureUnit* const units[] = {&parts[0], &parts[1], &parts[2], &parts[3]};
    static const ckgen::Library library{"attention", CKGEN_RUNTIME_ABI, 1, units, 4};
    ASSERT_EQ(ckgen_registry_create(&registry, message()), CKGEN_OK);
    ASSERT_EQ(ckgen_registry_add_library(registry, &library, message()), CKGEN_OK) << text;
    ckgen_options options{};
    options.size = sizeof options;
    ASSERT_EQ(ckgen_dispatcher_create(registry, &options, &dispatcher, message()), CKGEN_OK) << text;
    ASSERT_EQ(ckgen_device_simulated("gfx942:304", 0, &device, message()), CKGEN_OK) << text;
    shape.size = sizeof shape;
    ASSERT_EQ(ckgen_problem_fmha_defaults(&shape, message()), CKGEN_OK);
    shape.batch = 2;
    shape.heads_q = 4;
    shape.heads_k = 2;
    shape.seqlen_q = 8;
    shape.seqlen_k = 12;
    shape.hdim_q = 16;
    shape.hdim_v = 24;
    shape.page_size = 4;
    shape.pages = 6;
  }
  void TearDown() override {
    ckgen_plan_destroy(plan);
    ckgen_device_destroy(device);
    ckgen_dispatcher_destroy(dispatcher);
    ckgen_registry_destroy(registry);
  }
  static ckgen::InstanceDesc instance(const char* name, std::uint64_t id, const ckgen::Signature& signature) {
    ckgen::InstanceDesc d = tiny::instance(name, id, signature, {64, 64, 64}, {0, 0, 0, 0, 0, 1, false});
    d.fmha = tiny::padded(64, 64, 128, 128);
    d.fmha.max_splits = 8;
    d.twin = keep;
    d.workspace = nullptr;
    return d;
  }
  ckgen_message message() { return {text, sizeof text}; }
  ckgen_problem problem(const ckgen::Signature& signature) const {
    ckgen_problem p{};
    p.size = sizeof p;
    p.signature = signature.pack();
    p.fmha = &shape;
    return p;
  }
  void make_plan(const ckgen::Signature& signature) {
    ckgen_plan_destroy(plan);
    plan = nullptr;
    const ckgen_problem wanted = problem(signature);
    ASSERT_EQ(ckgen_plan_create(dispatcher, device, &wanted, nullptr, &plan, message()), CKGEN_OK) << text;
  }
  /// A new address for each call, on ints that are lengths of sequences that fit.
  template <class T>
  T* fresh() {
    return reinterpret_cast<T*>(memory.data() + 64 * ++used);
  }

  ckgen_registry* registry = nullptr;
  ckgen_dispatcher* dispatcher = nullptr;
  ckgen_device* device = nullptr;
  ckgen_plan* plan = nullptr;
  ckgen_problem_fmha shape{};
  std::vector<char> memory = std::vector<char>(4096);
  std::size_t used = 0;
  char text[512] = {};
};

TEST_F(CApiFmha, TheMostKBatchIsThatOfSplitsOfKeys) {
  ckgen_instance_info info{};
  info.size = sizeof info;
  ASSERT_EQ(ckgen_instance(dispatcher, 0, &info, message()), CKGEN_OK) << text;
  EXPECT_EQ(info.max_k_batch, 8);
}

TEST_F(CApiFmha, NumbersOfSignaturesAreInverse) {
  for (const char* name :
       {"fmha_bf16", "fmha_bf16_append", "fmha_bf16_varlen", "fmha_fp32_vcolumn", "fmha_bf16_masked",
        "fmha_bf16_softcap", "fmha_bf16_sink", "fmha_bf16_lse", "fmha_fp16_varlen_masked_alibi_sink_lse_dropout",
        "fmha_fp8_ocp_bf16_softcap_randval_blockscale", "fmha_bf16_fp8_bf16_kvblockscale_pagelist_vectorized",
        "fmha_fp16_append_blocktable_rope_interleaved", "fmha_fp16_append_rope_half"}) {
    std::uint64_t number = 0;
    ASSERT_EQ(ckgen_parse_signature(name, &number, message()), CKGEN_OK) << text;
    ASSERT_EQ(ckgen_signature_text(number, message()), CKGEN_OK) << text;
    EXPECT_STREQ(text, name);
  }
}

TEST_F(CApiFmha, NumbersThatAreNoSignatureAreNotTakenForOne) {
  const std::uint64_t number = tiny::attention().pack();
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t other = number ^ std::uint64_t{1} << bit;
    if (ckgen_signature_text(other, message()) != CKGEN_OK) continue;
    const std::string name(text);
    std::uint64_t again = other;
    if (ckgen_parse_signature(name.c_str(), &again, message()) != CKGEN_OK) continue;
    EXPECT_EQ(again, other) << bit << name;
  }
  // The fields of other ops, values of three that are no enum's, and what is beyond all fields.
  for (const std::uint64_t wrong : {1ULL, 0x200ULL, 3ULL << 38, 3ULL << 41, 3ULL << 45, 3ULL << 47, 1ULL << 56})
    EXPECT_EQ(ckgen_signature_text(number | wrong, message()), CKGEN_INVALID_ARGUMENT) << std::hex << wrong;
}

TEST_F(CApiFmha, TheDefaultsAreThoseOfAShape) {
  ckgen_problem_fmha x{};
  x.size = sizeof x;
  x.page_size = x.sink_tokens = 77;
  ASSERT_EQ(ckgen_problem_fmha_defaults(&x, message()), CKGEN_OK);
  EXPECT_EQ(x.size, sizeof x);
  EXPECT_EQ(x.batch, 1);
  EXPECT_EQ(x.heads_k, 1);
  EXPECT_EQ(x.corner, 1);
  EXPECT_EQ(x.window_left, -1);
  EXPECT_EQ(x.window_right, 0);
  EXPECT_EQ(x.page_size + x.sink_tokens + x.min_seqlen_k, 0);
  x.size = 8;
  EXPECT_EQ(ckgen_problem_fmha_defaults(&x, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_problem_fmha_defaults(nullptr, message()), CKGEN_INVALID_ARGUMENT);
}

TEST_F(CApiFmha, EverySizeArrives) {
  shape.corner = 0;
  shape.window_left = 5;
  shape.window_right = 6;
  shape.sink_tokens = 7;
  shape.total_q = 15;
  shape.min_seqlen_k = 3;
  shape.finite_kv = 1;
  shape.gaps_q = 1;
  make_plan(kSignature);
  ckgen_fmha_args args{};
  args.size = sizeof args;
  // Refused before the launch: the sizes are read from the trail instead.
  EXPECT_EQ(ckgen_run_fmha(dispatcher, plan, &args, nullptr, nullptr, message()), CKGEN_INVALID_ARGUMENT);
  const ckgen_problem wanted = problem(kSignature);
  std::vector<char> trail(4096);
  ASSERT_EQ(ckgen_explain(dispatcher, device, &wanted, {trail.data(), trail.size()}, nullptr), CKGEN_OK);
  EXPECT_NE(std::string(trail.data())
                .find("batch=2 heads_q=4 heads_k=2 seqlen_q=8 seqlen_k=12 hdim_q=16 hdim_v=24 mask=t:5,6,7 "
                      "page_size=4 pages=6 total_q=15 min_seqlen_k=3 finite_kv=1 gaps_q=1"),
            std::string::npos)
      << trail.data();
}

TEST_F(CApiFmha, EveryFieldOfTheArgumentsArrives) {
  make_plan(kSignature);
  ckgen_fmha_args x{};
  x.size = sizeof x;
  x.q = fresh<char>();
  x.k = fresh<char>();
  x.v = fresh<char>();
  x.o = fresh<char>();
  x.lse = fresh<float>();
  x.bias = fresh<char>();
  x.sink = fresh<float>();
  x.rand_val = fresh<std::uint8_t>();
  x.q_descale = fresh<float>();
  x.k_descale = fresh<float>();
  x.v_descale = fresh<float>();
  std::int64_t next = 1000;
  for (ckgen_fmha_strides* strides :
       {&x.q_strides, &x.k_strides, &x.v_strides, &x.o_strides, &x.bias_strides, &x.rand_val_strides}) {
    strides->row = ++next;
    strides->head = 100 * ++next;
    strides->batch = 10000 * ++next;
  }
  x.lse_head_stride = ++next;
  x.lse_batch_stride = ++next;
  x.seqstart_q = fresh<std::int32_t>();
  x.seqlen_q = fresh<std::int32_t>();
  x.seqlen_k = fresh<std::int32_t>();
  x.block_table = fresh<std::int32_t>();
  x.block_table_stride = ++next;
  x.scale = 0.5F;
  x.p_drop = 0.25F;
  ASSERT_EQ(ckgen_run_fmha(dispatcher, plan, &x, nullptr, nullptr, message()), CKGEN_OK) << text;
  const FmhaArgs& y = seen.args;
  EXPECT_EQ(std::vector<const void*>({x.q, x.k, x.v, x.o, x.lse, x.bias, x.sink, x.rand_val, x.q_descale, x.k_descale,
                                      x.v_descale, x.seqstart_q, x.seqlen_q, x.seqlen_k, x.block_table}),
            std::vector<const void*>({y.q, y.k, y.v, y.o, y.lse, y.bias, y.sink, y.rand_val, y.q_descale, y.k_descale,
                                      y.v_descale, y.seqstart_q, y.seqlen_q, y.seqlen_k, y.block_table}));
  const auto same = [](const ckgen_fmha_strides& a, const ckgen::FmhaStrides& b) {
    return a.row == b.row && a.head == b.head && a.batch == b.batch;
  };
  EXPECT_TRUE(same(x.q_strides, y.q_strides) && same(x.k_strides, y.k_strides) && same(x.v_strides, y.v_strides));
  EXPECT_TRUE(same(x.o_strides, y.o_strides) && same(x.bias_strides, y.bias_strides) &&
              same(x.rand_val_strides, y.rand_val_strides));
  EXPECT_EQ(x.lse_head_stride, y.lse_head_stride);
  EXPECT_EQ(x.lse_batch_stride, y.lse_batch_stride);
  EXPECT_EQ(x.block_table_stride, y.block_table_stride);
  EXPECT_EQ(x.scale, y.scale);
  EXPECT_EQ(x.p_drop, y.p_drop);
  EXPECT_EQ(seen.shape.window_left, -1);

  make_plan(kOther);
  ckgen_fmha_args z = x;
  z.lse = nullptr;
  z.bias = nullptr;
  z.sink = z.q_descale = z.k_descale = z.v_descale = nullptr;
  z.rand_val = nullptr;
  z.seqlen_k = z.block_table = nullptr;
  z.kv_indptr = fresh<std::int32_t>();
  z.kv_pages = fresh<std::int32_t>();
  z.kv_last_page = fresh<std::int32_t>();
  z.softcap = 20;
  z.seed = 123456789012345ULL;
  z.offset = 54321;
  ASSERT_EQ(ckgen_run_fmha_pooled(dispatcher, plan, &z, nullptr, message()), CKGEN_OK) << text;
  EXPECT_EQ(y.kv_indptr, z.kv_indptr);
  EXPECT_EQ(y.kv_pages, z.kv_pages);
  EXPECT_EQ(y.kv_last_page, z.kv_last_page);
  EXPECT_EQ(y.softcap, 20);
  EXPECT_EQ(y.seed, z.seed);
  EXPECT_EQ(y.offset, z.offset);

  make_plan(tiny::attention());
  ckgen_fmha_args p{};
  p.size = sizeof p;
  p.q = p.k = p.v = p.o = memory.data();
  p.q_strides = p.k_strides = p.v_strides = p.o_strides = {24, 1000, 10000};
  p.scale = 1;
  ckgen_bench_result timed{};
  timed.size = sizeof timed;
  EXPECT_EQ(ckgen_bench_fmha(dispatcher, plan, &p, 0, 2, &timed, message()), CKGEN_OK) << text;
  EXPECT_EQ(timed.runs, 2);
  p.seqstart_k = fresh<std::int32_t>();
  EXPECT_EQ(ckgen_run_fmha_pooled(dispatcher, plan, &p, nullptr, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_STREQ(text, "seqstart_k is given, and the plan has no use for it");
}

TEST_F(CApiFmha, WhatAppendIsGivenArrives) {
  shape.seqlen_new = 8;
  shape.rotary_dim = 6;
  make_plan(kAppend);
  ckgen_fmha_args x{};
  x.size = sizeof x;
  x.q = fresh<char>();
  x.o = fresh<char>();
  x.k_cache = fresh<char>();
  x.v_cache = fresh<char>();
  x.k_new = fresh<char>();
  x.v_new = fresh<char>();
  x.rotary_cos = fresh<char>();
  x.rotary_sin = fresh<char>();
  x.seqlen_k = fresh<std::int32_t>();
  x.q_strides = x.o_strides = x.k_strides = x.v_strides = {100, 25, 10000};
  x.k_new_strides = {101, 26, 20000};
  x.v_new_strides = {102, 27, 30000};
  ASSERT_EQ(ckgen_run_fmha(dispatcher, plan, &x, nullptr, nullptr, message()), CKGEN_OK) << text;
  const FmhaArgs& y = seen.args;
  EXPECT_EQ(std::vector<const void*>({x.k_cache, x.v_cache, x.k_new, x.v_new, x.rotary_cos, x.rotary_sin, x.o}),
            std::vector<const void*>({y.k_cache, y.v_cache, y.k_new, y.v_new, y.rotary_cos, y.rotary_sin, y.o}));
  EXPECT_EQ(y.k_new_strides.row + y.k_new_strides.head + y.k_new_strides.batch, 101 + 26 + 20000);
  EXPECT_EQ(y.v_new_strides.row + y.v_new_strides.head + y.v_new_strides.batch, 102 + 27 + 30000);
  EXPECT_EQ(seen.shape.seqlen_new, 8);
  EXPECT_EQ(seen.shape.rotary_dim, 6);
}

TEST_F(CApiFmha, StructsOfAnEarlierVersionAreTold) {
  ckgen_problem wanted = problem(tiny::attention());
  ckgen_selection chosen{};
  chosen.size = sizeof chosen;
  ASSERT_EQ(ckgen_select(dispatcher, device, &wanted, &chosen, message()), CKGEN_OK) << text;
  EXPECT_EQ(chosen.instance, 2U);
  shape.size = sizeof shape - 8;
  EXPECT_EQ(ckgen_select(dispatcher, device, &wanted, &chosen, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_STREQ(text, "a struct's size field is smaller than the struct");
  EXPECT_EQ(ckgen_plan_create(dispatcher, device, &wanted, nullptr, &plan, message()), CKGEN_INVALID_ARGUMENT);
  wanted.size = offsetof(ckgen_problem, fmha);  // a caller that knows nothing of attention: the pointer is not followed
  ASSERT_EQ(ckgen_select(dispatcher, device, &wanted, &chosen, message()), CKGEN_OK) << text;
  ASSERT_EQ(ckgen_reason(&chosen, message()), CKGEN_OK);
  EXPECT_STREQ(text, "head dimension = 0 is not within 1 to 256 (rule fmha.shape.hdim)");
  shape.size = sizeof shape;
  make_plan(tiny::attention());
  ckgen_fmha_args args{};
  args.size = sizeof args - 8;
  EXPECT_EQ(ckgen_run_fmha(dispatcher, plan, &args, nullptr, nullptr, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_run_fmha(dispatcher, plan, nullptr, nullptr, nullptr, message()), CKGEN_INVALID_ARGUMENT);
}

}  // namespace
