// Few rows of A: the kernels of backends/host/gemm/small_m.hpp against the definition in ckgen/gemm_types.hpp, in
// double.
#include "backends/host/gemm/small_m_product.hpp"

namespace test_host_small_m {

const bool kConfigured = [] { return setenv("CKGEN_NUM_THREADS", "3", 1) == 0; }();

constexpr DType kFp8[] = {DType::fp8_ocp, DType::fp8_fnuz, DType::bf8_ocp, DType::bf8_fnuz};

GemmTraits traits_of(DType a, DType b, Quant quant = Quant::none) {
  const bool whole = a == DType::int8;
  return {a,
          b,
          whole && quant == Quant::none ? DType::int32 : DType::fp32,
          whole ? DType::int32 : DType::fp32,
          Layout::rcr,
          quant,
          false,
          false};
}

std::vector<host::Isa> levels() {
  std::vector<host::Isa> found;
  for (const host::Isa isa : {host::Isa::x86_64_v3, host::Isa::x86_64_v4, host::Isa::x86_64_v4_bf16})
    if (host::isa_available(isa)) found.push_back(isa);
  return found;
}

host::HostConfig config_of(host::Isa isa, int threads = 0) {
  return {isa, 4, isa == host::Isa::x86_64_v3 ? 16 : 32, 64, 512, 512, threads};
}

bool is_small(const Product& p, host::Isa isa) {
  const host::Blocking blocking = host::host_blocking(p.traits, config_of(isa), p.shape.k);
  return host::small_m_workspace(p.traits, blocking, {p.shape.m, p.shape.n, p.shape.k, p.shape.batch}) != 0;
}

void run(Product& p, host::Isa isa, int threads = 0) {
  const GemmArgs args = p.args();
  const host::HostConfig config = config_of(isa, threads);
  const host_test::Workspace workspace(
      host::gemm_host_workspace(p.traits, config, p.shape.m, p.shape.n, p.shape.k, p.shape.batch));
  const Status s = host::run_gemm_host(p.traits, config, args, workspace.data);
  ASSERT_TRUE(s.ok()) << s.message;
}

void run_twin(Product& p) {
  const GemmArgs args = p.args();
  const host::TwinConfig config{64, 64, 32, 0, true, true, true};
  const host_test::Workspace workspace(
      host::gemm_twin_workspace(p.traits, config, 1, p.shape.m, p.shape.n, p.shape.k, p.shape.batch));
  const Status s = host::run_gemm_twin(p.traits, config, 1, args, workspace.data);
  ASSERT_TRUE(s.ok()) << s.message;
}

struct Kinds {
  DType a, b;
  Quant quant = Quant::none;
  ScaleBlock block = {};
};

ScaleBlock block_of(int n, int k, ScaleSides sides = ScaleSides::both) {
  ScaleBlock block{};
  block.sides = sides;
  block.n = static_cast<decltype(block.n)>(n);
  block.k = static_cast<decltype(block.k)>(k);
  return block;
}

std::vector<Kinds> all_kinds() {
  std::vector<Kinds> kinds = {
      {DType::fp32, DType::fp32},
      {DType::fp16, DType::fp16},
      {DType::bf16, DType::bf16},
      {DType::fp16, DType::fp8_ocp},
      {DType::fp8_fnuz, DType::fp8_ocp, Quant::rowwise},
      {DType::int8, DType::int8},
      {DType::int8, DType::int8, Quant::rowwise},
      {DType::bf16, DType::int4},
      {DType::bf16, DType::int4, Quant::blockscale, block_of(1, 128, ScaleSides::b)},
      {DType::fp8_ocp, DType::int4, Quant::blockscale, block_of(1, 128, ScaleSides::b)},
      {DType::fp8_ocp, DType::fp8_ocp, Quant::blockscale, block_of(128, 128)},
      {DType::fp8_fnuz, DType::fp8_fnuz, Quant::blockscale, block_of(128, 128, ScaleSides::a)},
      {DType::fp8_ocp, DType::fp8_ocp, Quant::blockscale, block_of(1, 32)},
      {DType::fp4, DType::fp4, Quant::mx},
      {DType::fp8_ocp, DType::fp4, Quant::mx},
  };
  for (const DType t : kFp8) {
    kinds.push_back({t, t, Quant::mx});
    kinds.push_back({t, t});
  }
  return kinds;
}

TEST(SmallM, EveryKindOnEveryLevel) {
  constexpr Shape kShapes[] = {{1, 7, 130},  {2, 9, 64},   {3, 6, 31}, {4, 65, 257},
                               {2, 13, 289}, {3, 10, 600}, {6, 5, 1},  {16, 11, 200}};
  for (const Kinds& kind : all_kinds())
    for (const Shape& shape : kShapes) {
      GemmTraits traits = traits_of(kind.a, kind.b, kind.quant);
      if (kind.quant == Quant::blockscale) traits.scale_block = kind.block;
      Product p(traits, shape, shape.m % 2);
      p.fill(static_cast<unsigned>(shape.k));
      p.a_scale_row_major = shape.m % 2 == 0;
      if (traits.quant == Quant::blockscale && !scales_a(traits.quant, traits.scale_block))
        std::fill(p.a_scale.begin(), p.a_scale.end(), 1.0F);
      if (traits.quant == Quant::blockscale && !scales_b(traits.quant, traits.scale_block))
        std::fill(p.b_scale.begin(), p.b_scale.end(), 1.0F);
      const std::string what = std::string(name(kind.a)) + " " + std::string(name(kind.b)) + " " +
                               std::string(name(kind.quant)) + " k " + std::to_string(shape.k);
      for (const host::Isa isa : levels()) {
        ASSERT_TRUE(is_small(p, isa)) << what;
        run(p, isa);
        p.check(what + " " + host::isa_name(isa));
      }
      run_twin(p);
      p.check(what + " twin");
    }
}

// A = 1 at one place, so that C is one value of B between its scales, rounded as the definition says.
void check_codes(DType b_type, const std::vector<std::pair<int, int>>& scale_codes, std::int64_t place) {
  Product p(traits_of(DType::fp8_ocp, b_type, Quant::mx), {1, std::int64_t{1} << bits(b_type), 70});
  put_code(DType::fp8_ocp, p.a, place, encode(DType::fp8_ocp, 1.0F));
  for (std::int64_t n = 0; n < p.shape.n; ++n)
    for (std::int64_t k = 0; k < p.shape.k; ++k) {
      const auto code = static_cast<std::uint32_t>(n);
      // Infinity times the zeros of A would be NaN.
      put_code(b_type, p.b, n * p.ldb + k, k != place && std::isinf(value_of(b_type, code)) ? 0 : code);
    }
  for (const auto& [a_code, b_code] : scale_codes) {
    const std::size_t group = static_cast<std::size_t>(place / 32);
    const float a_scale = decode(DType::e8m0, static_cast<std::uint32_t>(a_code));
    const float b_scale = decode(DType::e8m0, static_cast<std::uint32_t>(b_code));
    p.a_scale[group] = a_scale;
    for (std::int64_t n = 0; n < p.shape.n; ++n) p.b_scale[static_cast<std::size_t>(n * p.groups) + group] = b_scale;
    for (const host::Isa isa : levels()) {
      run(p, isa);
      for (std::int64_t n = 0; n < p.shape.n; ++n) {
        const float want = (value_of(b_type, static_cast<std::uint32_t>(n)) * a_scale) * b_scale;
        const float got = p.c[static_cast<std::size_t>(n)];
        ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : got == want)
            << name(b_type) << " code " << n << " scales " << a_code << ", " << b_code << " at " << place << " on "
            << host::isa_name(isa) << ": " << got << " for " << want;
      }
    }
  }
}

TEST(SmallM, EveryCodeBetweenEdgeScales) {
  const std::vector<std::pair<int, int>> edges = {{127, 127}, {0, 127},   {127, 0},   {0, 254},   {254, 0},
                                                  {254, 127}, {127, 254}, {254, 254}, {0, 0},     {255, 127},
                                                  {127, 255}, {60, 70},   {20, 130},  {210, 200}, {5, 120}};
  for (const DType t : kFp8)
    for (const std::int64_t place : {0, 37, 69}) check_codes(t, edges, place);
  check_codes(DType::fp4, edges, 66);
}

// Sums that cancel within a group, between scales whose product with a single term would overflow.
TEST(SmallM, LargeScalesDoNotOverflowOnTheWay) {
  for (const int b_code : {127, 250}) {
    Product p(traits_of(DType::fp8_ocp, DType::fp8_ocp, Quant::mx), {2, 3, 128});
    p.fill(5);
    for (std::int64_t k = 0; k < 32; ++k) {
      put_code(DType::fp8_ocp, p.a, k, encode(DType::fp8_ocp, k % 2 == 0 ? 256.0F : -256.0F));
      for (std::int64_t n = 0; n < 3; ++n) put_code(DType::fp8_ocp, p.b, n * p.ldb + k, encode(DType::fp8_ocp, 256.0F));
    }
    p.a_scale[0] = decode(DType::e8m0, b_code == 127 ? 250U : 140U);
    for (std::int64_t n = 0; n < 3; ++n)
      p.b_scale[static_cast<std::size_t>(n * p.groups)] = decode(DType::e8m0, static_cast<std::uint32_t>(b_code));
    for (const host::Isa isa : levels()) {
      run(p, isa);
      for (std::int64_t n = 0; n < 3; ++n) {
        double want = 0;
        for (std::int64_t g = 1; g < p.groups; ++g) {
          double part = 0;
          for (std::int64_t k = 32 * g; k < 32 * (g + 1); ++k)
            part += double{value_of(DType::fp8_ocp, p.a[static_cast<std::size_t>(k)])} *
                    double{value_of(DType::fp8_ocp, p.b[static_cast<std::size_t>(n * p.ldb + k)])};
          want += part * double{p.a_scale[static_cast<std::size_t>(g)]} *
                  double{p.b_scale[static_cast<std::size_t>(n * p.groups + g)]};
        }
        EXPECT_NEAR(p.result(0, 0, n), want, 1e-3) << host::isa_name(isa) << " " << b_code;
      }
    }
  }
}

TEST(SmallM, BlockScalesBeyondTrustAreApplied) {
  GemmTraits traits = traits_of(DType::fp8_ocp, DType::fp8_ocp, Quant::blockscale);
  for (const float large : {0x1p100F, -0x1p95F, 0x1p-120F}) {
    Product p(traits, {3, 5, 300});
    p.fill(3);
    p.a_scale[1] = large;
    p.b_scale[1] = large > 1 || large < 0 ? 0x1p-100F : 0x1p100F;
    for (const host::Isa isa : levels()) {
      run(p, isa);
      p.check(std::string("scale ") + host::isa_name(isa));
    }
  }
}

TEST(SmallM, BatchesScalesAndBias) {
  for (const Quant quant : {Quant::mx, Quant::rowwise, Quant::blockscale})
    for (const bool shuffled : {false, true}) {
      if (shuffled && quant != Quant::mx) continue;
      GemmTraits traits = traits_of(DType::fp8_ocp, DType::fp8_ocp, quant);
      traits.bias = true;
      Product p(traits, {3, 37, 300, 5}, 3);
      p.fill(11);
      p.mx_scale_shuffled = shuffled;
      for (const host::Isa isa : levels()) {
        run(p, isa);
        p.check(std::string(name(quant)) + " batched " + host::isa_name(isa));
      }
    }
}

TEST(SmallM, ThreadsDoNotChangeABit) {
  Product p(traits_of(DType::fp8_ocp, DType::fp4, Quant::mx), {4, 1500, 512});
  p.fill(13);
  for (const host::Isa isa : levels()) {
    run(p, isa, 1);
    const std::vector<float> alone = p.c;
    run(p, isa, 3);
    EXPECT_EQ(std::memcmp(alone.data(), p.c.data(), p.c.size() * sizeof(float)), 0) << host::isa_name(isa);
  }
}

// fp32 FMA sums the same lanes everywhere: what has no bf16 products is the same on every level.
TEST(SmallM, LevelsOfFmaGiveTheSameBits) {
  for (const Kinds& kind :
       {Kinds{DType::fp16, DType::fp8_ocp}, Kinds{DType::fp32, DType::fp4}, Kinds{DType::fp16, DType::int4},
        Kinds{DType::fp16, DType::bf8_fnuz}, Kinds{DType::fp32, DType::bf16}}) {
    Product p(traits_of(kind.a, kind.b), {3, 10, 333});
    p.fill(17);
    std::vector<float> first;
    for (const host::Isa isa : levels()) {
      run(p, isa);
      if (first.empty()) first = p.c;
      EXPECT_EQ(std::memcmp(first.data(), p.c.data(), p.c.size() * sizeof(float)), 0)
          << name(kind.a) << " " << name(kind.b) << " " << host::isa_name(isa);
    }
  }
}

TEST(SmallM, WhatItDoesNotTake) {
  const auto takes = [](GemmTraits t, Shape s, std::int64_t split) {
    host::Blocking blocking = host::host_blocking(t, config_of(host::Isa::x86_64_v3), s.k);
    blocking.split = split;
    return host::small_m_workspace(t, blocking, {s.m, s.n, s.k, 1}) != 0;
  };
  const GemmTraits mx = traits_of(DType::fp8_ocp, DType::fp8_ocp, Quant::mx);
  EXPECT_TRUE(takes(mx, {host::kSmallRows, 64, 256}, 256));
  EXPECT_FALSE(takes(mx, {host::kSmallRows + 1, 64, 256}, 256));
  EXPECT_FALSE(takes(mx, {1, 64, 256}, 128)) << "K split";
  EXPECT_FALSE(takes(mx, {1, 64, 0}, 1));
  GemmTraits other = mx;
  other.layout = Layout::rrr;
  EXPECT_FALSE(takes(other, {1, 64, 256}, 256));
  other = mx;
  other.preshuffle_b = true;
  EXPECT_FALSE(takes(other, {1, 64, 256}, 256));
  other = traits_of(DType::fp8_ocp, DType::fp8_ocp, Quant::blockscale);
  other.scale_block = block_of(128, 16);
  EXPECT_FALSE(takes(other, {1, 64, 256}, 256));
}

// Rows of nibbles that start within a byte are not for these kernels, but computed all the same.
TEST(SmallM, RowsWithinABytePassOn) {
  Product p(traits_of(DType::bf16, DType::fp4), {2, 4, 32});
  p.ldb = 33;
  p.b.resize(static_cast<std::size_t>(bytes_of(DType::fp4, 3 * 33 + 32)));
  p.fill(19);
  for (const host::Isa isa : levels()) {
    run(p, isa);
    p.check(host::isa_name(isa));
  }
}

}  // namespace test_host_small_m
