// Attention over the C API: a registry of four signatures whose launches only note what they are given.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include <ckgen/c_api.h>

#include "c_api/c_api_fixture.hpp"
#include "fmha/fmha_fixture.hpp"

namespace c_api_fmha {

using ckgen::FmhaArgs;
using ckgen::FmhaShape;
using ckgen::FmhaTraits;

/// What the last launch was given.
struct Seen {
  FmhaArgs args;
  FmhaShape shape;
};
inline Seen seen;

inline ckgen::Status keep(const ckgen::Launch& launch) noexcept {
  seen = {*launch.fmha, launch.problem->fmha()};
  return ckgen::Status::success();
}

/// All that one signature can ask for.
inline constexpr ckgen::Signature kSignature = [] {
  FmhaTraits traits;
  traits.varlen = traits.masked = traits.sink = traits.lse = true;
  traits.bias = ckgen::FmhaBias::elementwise;
  traits.dropout = ckgen::FmhaDropout::randval;
  traits.quant = ckgen::FmhaQuant::kv_blockscale;
  traits.kv = ckgen::FmhaKv::block_table;
  return tiny::attention(traits, ckgen::DType::fp8_fnuz);
}();
/// With the other fields.
inline constexpr ckgen::Signature kOther = [] {
  FmhaTraits traits;
  traits.varlen = traits.softcap = true;
  traits.dropout = ckgen::FmhaDropout::philox;
  traits.kv = ckgen::FmhaKv::page_list;
  return tiny::attention(traits);
}();

inline constexpr ckgen::Signature kAppend = [] {
  FmhaTraits traits;
  traits.entry = ckgen::FmhaEntry::append;
  traits.rope = ckgen::FmhaRope::half;
  return tiny::attention(traits);
}();

class CApiFmha : public tiny::CApiFixture {
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
    ASSERT_NO_FATAL_FAILURE(open(library));
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
    CApiFixture::TearDown();
  }
  static ckgen::InstanceDesc instance(const char* name, std::uint64_t id, const ckgen::Signature& signature) {
    ckgen::InstanceDesc d = tiny::instance(name, id, signature, {64, 64, 64}, {0, 0, 0, 0, 0, 1, false});
    d.fmha = tiny::padded(64, 64, 128, 128);
    d.fmha.max_splits = 8;
    d.twin = keep;
    d.workspace = nullptr;
    return d;
  }
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

  ckgen_plan* plan = nullptr;
  ckgen_problem_fmha shape{};
};

}  // namespace c_api_fmha
