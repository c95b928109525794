// MoE layers on the CPU against loops written from the formulas in ckgen/moe.hpp, ckgen/gemm_types.hpp and
// backends/host/moe/quantize.hpp. Operands are small integers and scales powers of two, so that the sums of a product
// are exact and H must be the same to the bit; what is left is the rounding of few fp32 operations.
#include "backends/host/host_fixture.hpp"
#include "backends/host/moe/moe.hpp"
#include "ckgen/scales.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace test_host_moe {

using namespace host_test;

const bool kConfigured = [] { return setenv("CKGEN_NUM_THREADS", "3", 1) == 0; }();

constexpr host::TwinConfig kTile{32, 64, 32, 1, true, true, true};
constexpr DType kInt = DType::int8, kHalf = DType::bf16, kFp8 = DType::fp8_ocp, kFp4 = DType::fp4, kFloat = DType::fp32;

struct Sizes {
  std::int64_t tokens, model, inter;
  Routing routing;
};

GemmTraits traits_of(DType a, DType b, DType c, Quant quant, EpilogueOp act = EpilogueOp::relu) {
  GemmTraits t{a, b, c, a == kInt ? DType::int32 : DType::fp32, Layout::rcr, quant, false, false};
  t.epilogue.ops[0] = act;
  return t;
}

/// A matrix of small integers with scales that are powers of two, as values and as kernels read them.
struct Matrix {
  std::int64_t rows = 0, k = 0, group = 1, groups = 1, block = 1;
  std::shared_ptr<float[]> values;  // not a vector, whose zeros would be watched too
  std::vector<float> scales;        // by row block and group
  Bytes stored, codes;              // codes: e8m0 of mx
  float scale(std::int64_t row, std::int64_t g) const {
    return scales.empty() ? 1.0F : scales[static_cast<std::size_t>(row / block * groups + g)];
  }
  const void* scale_data() const {
    if (scales.empty()) return nullptr;
    return codes.empty() ? static_cast<const void*>(scales.data()) : codes.data();
  }
};

class Layer {
 public:
  Layer(const GemmTraits& t, const MoeTraits& m, const Sizes& s, unsigned seed = 1)
      : traits(t), moe(m), sizes(s), random_{seed}, scaled_a_(scales_a(t.quant, t.scale_block)) {
    const bool down = m.part == MoePart::down;
    shape = {s.tokens, down ? s.model : s.inter, down ? s.inter : s.model, s.routing, 16};
    rows = s.tokens * s.routing.top_k;
    a = matrix(t.a, down ? rows : s.tokens, shape.k, scaled_a_, 1, 1);
    const bool scaled_b = scales_b(t.quant, t.scale_block);
    if (!down) w1 = matrix(t.b, (m.gated ? 2 : 1) * s.inter, s.model, scaled_b, t.scale_block.n, s.routing.experts);
    if (m.part != MoePart::gate_up) w2 = matrix(t.b, s.model, s.inter, scaled_b, t.scale_block.n, s.routing.experts);
    for (std::int64_t r = 0; r < rows; ++r) {
      ids.push_back(static_cast<std::int32_t>(random_() % static_cast<unsigned>(s.routing.experts)));
      if (r % s.routing.top_k > 0 && ids[static_cast<std::size_t>(r - 1)] == ids.back())
        ids.back() = (ids.back() + 1) % s.routing.experts;
      weights.push_back(random_() % 2 == 0 ? 0.5F : 0.25F);
    }
    const std::int64_t c_rows = m.part == MoePart::gate_up ? rows : s.tokens;
    columns = m.part == MoePart::gate_up ? s.inter : s.model;
    ldc = columns + 3;
    c.assign(static_cast<std::size_t>(bytes_of(t.c, c_rows * ldc)), 0x5a);
    sort();
  }

  MoeArgs args() {
    MoeArgs x{};
    x.a = a.stored.data();
    x.w1 = w1.stored.data();
    x.w2 = w2.stored.data();
    x.c = c.data();
    x.a_scale = a.scale_data();
    x.w1_scale = w1.scale_data();
    x.w2_scale = w2.scale_data();
    x.tokens = sizes.tokens;
    x.lda = shape.k;
    x.ldc = ldc;
    x.topk_ids = moe.part == MoePart::layer ? ids.data() : nullptr;
    x.topk_weights = moe.part == MoePart::layer ? weights.data() : nullptr;
    x.sorted = sorted;
    x.a_scale_row_major = true;
    return x;
  }

  void expect_right() const {
    std::vector<float> h(static_cast<std::size_t>(rows * sizes.inter));
    if (moe.part != MoePart::down) {
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t n = 0; n < sizes.inter; ++n) h[static_cast<std::size_t>(r * sizes.inter + n)] = hidden(r, n);
    }
    if (moe.part == MoePart::gate_up) {
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t n = 0; n < sizes.inter; ++n)
          ASSERT_EQ(read(traits.c, c.data(), r * ldc + n), h[static_cast<std::size_t>(r * sizes.inter + n)])
              << "row " << r << " column " << n;
      return;
    }
    const Matrix in = moe.part == MoePart::down ? a : quantised(h);
    const double roundoff = traits.c == kHalf ? 0x1p-8 : traits.c == DType::fp16 ? 0x1p-11 : 0;
    for (std::int64_t t = 0; t < sizes.tokens; ++t)
      for (std::int64_t n = 0; n < sizes.model; ++n) {
        double sum = 0, size = 0;
        for (std::int64_t s = 0; s < sizes.routing.top_k; ++s) {
          const std::int64_t r = t * sizes.routing.top_k + s;
          const double w = moe.weight_first ? 1.0 : static_cast<double>(weights[static_cast<std::size_t>(r)]);
          const Sum y = product(in, r, w2, expert(r), n);
          sum += w * y.value;
          size += w * y.size;
        }
        ASSERT_NEAR(static_cast<double>(read(traits.c, c.data(), t * ldc + n)), sum,
                    std::fabs(sum) * roundoff + size * 0x1p-20)
            << "token " << t << " column " << n;
      }
  }

  GemmTraits traits;
  MoeTraits moe;
  Sizes sizes;
  host::MoeShape shape{};
  std::int64_t rows = 0, columns = 0, ldc = 0;
  Matrix a, w1, w2;
  std::vector<std::int32_t> ids;
  std::vector<float> weights;
  SortedTokens sorted{};
  Bytes c;

 private:
  Matrix matrix(DType type, std::int64_t n, std::int64_t k, bool scaled, std::int64_t block, std::int64_t copies) {
    Matrix m;
    m.rows = n;
    m.k = k;
    describe(m, block);
    // Each matrix begins on a row block of its own.
    m.values.reset(new float[static_cast<std::size_t>(copies * n * k)]);
    m.stored.resize(static_cast<std::size_t>(bytes_of(type, copies * n * k)));
    SmallIntegers(type).draw(m.stored.data(), copies * n * k, random_, m.values.get());
    if (!scaled) return m;
    const std::int64_t lines = traits.quant == Quant::per_tensor ? 1 : (n + m.block - 1) / m.block;
    for (std::int64_t i = 0; i < copies * lines * m.groups; ++i) {
      m.scales.push_back(random_() % 2 == 0 ? 0.5F : 2.0F);
      if (traits.quant == Quant::mx)
        m.codes.push_back(static_cast<unsigned char>(encode(DType::e8m0, m.scales.back())));
    }
    return m;
  }

  void describe(Matrix& m, std::int64_t block) const {
    const bool blocks = traits.quant == Quant::blockscale;
    m.group = blocks ? traits.scale_block.k : traits.quant == Quant::mx ? 32 : std::max<std::int64_t>(m.k, 1);
    m.groups = (m.k + m.group - 1) / m.group;
    m.block = blocks ? block : traits.quant == Quant::per_tensor ? std::max<std::int64_t>(m.rows, 1) : 1;
  }

  std::int64_t expert(std::int64_t row) const { return ids[static_cast<std::size_t>(row)]; }

  // size: of the terms without their signs, as what rounding leaves of terms that cancel out is a part of them.
  struct Sum {
    double value = 0, size = 0;
  };

  // Row r of A times row n of one expert's weights, as gemm_types.hpp scales it.
  HOST_TEST_ONE_THREAD Sum product(const Matrix& x, std::int64_t r, const Matrix& w, std::int64_t e,
                                   std::int64_t n) const {
    const std::int64_t lines = (w.rows + w.block - 1) / w.block;
    Sum all;
    const float *of_x = x.values.get() + r * x.k, *of_row = w.values.get() + (e * w.rows + n) * w.k;
    for (std::int64_t g = 0; g < w.groups; ++g) {
      const std::int64_t end = std::min((g + 1) * w.group, w.k);
      Sum sum;
      for (std::int64_t k = g * w.group; k < end; ++k) {
        const double term = static_cast<double>(of_x[k]) * static_cast<double>(of_row[k]);
        sum.value += term;
        sum.size += std::fabs(term);
      }
      const float of_w =
          w.scales.empty() ? 1.0F : w.scales[static_cast<std::size_t>((e * lines + n / w.block) * w.groups + g)];
      const double scale = static_cast<double>(x.scale(r, g)) * static_cast<double>(of_w);
      all.value += sum.value * scale;
      all.size += sum.size * scale;
    }
    return all;
  }

  float hidden(std::int64_t r, std::int64_t n) const {
    const std::int64_t t = r / sizes.routing.top_k;
    const double w = moe.weight_first ? static_cast<double>(weights[static_cast<std::size_t>(r)]) : 1.0;
    double h = product(a, t, w1, expert(r), n).value * w;
    if (!traits.epilogue.empty()) h = std::max(0.0, h);
    if (moe.gated) h *= product(a, t, w1, expert(r), sizes.inter + n).value * w;
    const auto value = static_cast<float>(h);
    return traits.c == kFloat ? value : decode(traits.c, encode(traits.c, value));
  }

  float stored(float value) const {
    if (traits.a == kInt) return std::nearbyint(std::min(127.0F, std::max(-127.0F, value)));
    return traits.a == kFloat ? value : decode(traits.a, encode(traits.a, value, Overflow::saturating));
  }

  Matrix quantised(const std::vector<float>& h) const {
    Matrix m;
    m.rows = rows;
    m.k = sizes.inter;
    describe(m, 1);
    m.values.reset(new float[h.size()]);
    float* const values = m.values.get();
    std::copy(h.begin(), h.end(), values);
    if (!scaled_a_) {
      std::transform(h.begin(), h.end(), values, [this](float v) { return stored(v); });
      return m;
    }
    const float most = traits.a == kInt ? 127.0F : max_finite(traits.a);
    const std::int64_t lines = traits.quant == Quant::per_tensor ? 1 : rows;
    const std::int64_t of_line = rows / lines;
    for (std::int64_t line = 0; line < lines; ++line)
      for (std::int64_t g = 0; g < m.groups; ++g) {
        const auto each = [&](auto&& f) {
          for (std::int64_t r = line * of_line; r < (line + 1) * of_line; ++r)
            for (std::int64_t k = g * m.group; k < std::min((g + 1) * m.group, m.k); ++k) f(values[r * m.k + k]);
        };
        float largest = 0;
        each([&](float v) { largest = std::max(largest, std::fabs(v)); });
        float scale = largest == 0 ? 1.0F : largest / most;
        if (traits.quant == Quant::mx)
          scale = largest == 0 ? 0x1p-127F : std::exp2(std::floor(std::log2(largest)) - std::floor(std::log2(most)));
        m.scales.push_back(scale);
        each([&](float& v) { v = stored(v / scale); });
      }
    return m;
  }

  void sort() {
    const std::int64_t capacity = sorted_capacity(sizes.tokens, sizes.routing, shape.block_m);
    ASSERT_GE(capacity, 0);
    token_ids_.resize(static_cast<std::size_t>(capacity));
    sorted_weights_.resize(static_cast<std::size_t>(capacity));
    expert_ids_.resize(static_cast<std::size_t>(capacity / shape.block_m));
    sorted = {token_ids_.data(), sorted_weights_.data(), expert_ids_.data(), valid_};
    ASSERT_TRUE(sort_tokens(ids.data(), weights.data(), sizes.tokens, sizes.routing, shape.block_m, sorted));
  }

  // std::minstd_rand, whose numbers it gives, would be watched by ThreadSanitizer.
  struct {
    HOST_TEST_ONE_THREAD unsigned operator()() {
      return state = static_cast<unsigned>(std::uint64_t{state} * 48271 % 2147483647);
    }
    unsigned state;
  } random_;
  bool scaled_a_;
  std::vector<std::int32_t> token_ids_, expert_ids_;
  std::vector<float> sorted_weights_;
  std::int32_t valid_[2] = {};
};

Status run_twin(Layer& layer, const MoeArgs& args) {
  const Workspace w(host::moe_twin_workspace(layer.traits, layer.moe, kTile, layer.shape));
  return host::run_moe_twin(layer.traits, layer.moe, kTile, layer.shape, args, w.data);
}

void expect_twin_right(Layer& layer) {
  const Status s = run_twin(layer, layer.args());
  ASSERT_TRUE(s.ok()) << s.message;
  layer.expect_right();
}

const Sizes kSizes[] = {{1, 128, 96, {5, 2}}, {9, 192, 64, {4, 1}}, {60, 64, 160, {3, 3}}, {40, 64, 32, {70, 4}}};

const GemmTraits kKinds[] = {
    traits_of(kHalf, kHalf, kHalf, Quant::none),
    traits_of(kFloat, kFloat, kFloat, Quant::none),
    traits_of(DType::fp16, DType::fp16, DType::fp16, Quant::none),
    traits_of(kInt, kInt, kHalf, Quant::rowwise),
    traits_of(kInt, kInt, kHalf, Quant::per_tensor),
    traits_of(kFp8, kFp8, kHalf, Quant::rowwise),
    traits_of(kFp8, kFp8, kHalf, Quant::per_tensor),
    traits_of(DType::fp8_fnuz, DType::fp8_fnuz, kHalf, Quant::blockscale),
    traits_of(kFp8, kFp8, kHalf, Quant::mx),
    traits_of(kFp4, kFp4, kHalf, Quant::mx),
};

std::string words(const Layer& x) {
  return std::string(name(x.moe.part)) + (x.moe.gated ? " gated" : "") + (x.moe.weight_first ? " first" : "") + " of " +
         std::string(name(x.traits.a)) + ' ' + std::string(name(x.traits.quant)) + ", " +
         std::to_string(x.sizes.tokens) + " tokens";
}

TEST(HostMoe, EveryPartOfEveryKind) {
  ASSERT_TRUE(kConfigured);
  for (const GemmTraits& kind : kKinds)
    for (const Sizes& sizes : kSizes)
      for (const MoePart part : {MoePart::layer, MoePart::gate_up, MoePart::down})
        for (const bool gated : {false, true})
          for (const bool first : {false, true}) {
            if (part == MoePart::down && gated) continue;
            GemmTraits t = kind;
            if (part == MoePart::down) t.epilogue = {};
            Layer layer(t, {part, gated, first}, sizes);
            SCOPED_TRACE(words(layer));
            expect_twin_right(layer);
            if (HasFatalFailure()) return;
          }
}

TEST(HostMoe, ARawProductIsAGateUpWithoutAGateAndAnActivation) {
  for (const GemmTraits& kind : kKinds)
    for (const bool first : {false, true}) {
      GemmTraits raw = kind;
      raw.epilogue = {};
      Layer product(raw, {MoePart::gate_up, false, first}, {9, 192, 64, {4, 2}});
      SCOPED_TRACE(words(product));
      expect_twin_right(product);
      if (HasFatalFailure()) return;
      for (const MoeTraits& other :
           {MoeTraits{MoePart::gate_up, true, first}, MoeTraits{MoePart::layer, false, first}}) {
        Layer wrong(kind, other, {9, 192, 64, {4, 2}});
        wrong.traits.epilogue = {};
        EXPECT_EQ(run_twin(wrong, wrong.args()).code, StatusCode::unsupported);
      }
    }
}

TEST(HostMoe, SortedTokensAreAsGoodAsIds) {
  for (const Sizes& sizes : kSizes) {
    Layer by_id(kKinds[0], {MoePart::layer, true, false}, sizes),
        sorted(kKinds[0], {MoePart::layer, true, false}, sizes);
    expect_twin_right(by_id);
    MoeArgs args = sorted.args();
    args.topk_ids = nullptr;
    args.topk_weights = nullptr;
    const Status s = run_twin(sorted, args);
    ASSERT_TRUE(s.ok()) << s.message;
    EXPECT_EQ(sorted.c, by_id.c);
  }
}

TEST(HostMoe, WeightsInEveryForm) {
  for (const Quant quant : {Quant::none, Quant::rowwise, Quant::mx}) {
    const DType type = quant == Quant::none ? kHalf : quant == Quant::rowwise ? kInt : kFp4;
    Layer layer(traits_of(type, type, kHalf, quant), {MoePart::layer, true, false}, {20, 128, 64, {6, 2}});
    layer.traits.preshuffle_b = true;
    MoeArgs args = layer.args();
    Bytes w1(layer.w1.stored.size()), w2(layer.w2.stored.size());
    ASSERT_TRUE(preshuffle_b(args.w1, bytes_of(type, 128), w1.data(), 6 * 128, bytes_of(type, 128)));
    ASSERT_TRUE(preshuffle_b(args.w2, bytes_of(type, 64), w2.data(), 6 * 128, bytes_of(type, 64)));
    args.w1 = w1.data();
    args.w2 = w2.data();
    const Status s = run_twin(layer, args);
    ASSERT_TRUE(s.ok()) << s.message;
    layer.expect_right();
  }
}

TEST(HostMoe, ShuffledScalesOfEachExpert) {
  const Routing routing{3, 2};
  Layer layer(traits_of(kFp4, kFp4, kHalf, Quant::mx), {MoePart::layer, true, false}, {40, 128, 96, routing});
  MoeArgs args = layer.args();
  std::vector<Bytes> held;
  const auto shuffled = [&](const Bytes& plain, std::int64_t rows, std::int64_t groups, std::int64_t copies) {
    const std::int64_t one = shuffled_mx_scale_bytes(rows, groups);
    held.emplace_back(static_cast<std::size_t>(one * copies));
    for (std::int64_t i = 0; i < copies; ++i)
      EXPECT_TRUE(
          shuffle_mx_scale(plain.data() + i * rows * groups, groups, held.back().data() + i * one, rows, groups));
    return held.back().data();
  };
  args.mx_scale_shuffled = true;
  args.a_scale = shuffled(layer.a.codes, 40, 4, 1);
  args.w1_scale = shuffled(layer.w1.codes, 192, 4, routing.experts);
  args.w2_scale = shuffled(layer.w2.codes, 128, 3, routing.experts);
  const Status s = run_twin(layer, args);
  ASSERT_TRUE(s.ok()) << s.message;
  layer.expect_right();
}

TEST(HostMoe, SmallScaleBlocksAndOneSide) {
  for (const ScaleSides sides : {ScaleSides::both, ScaleSides::b}) {
    const DType a = sides == ScaleSides::b ? kHalf : kFp8;
    GemmTraits t = traits_of(a, kFp8, kHalf, Quant::blockscale);
    t.scale_block = {sides, 32, 64};
    Layer layer(t, {MoePart::layer, true, false}, {30, 128, 96, {4, 2}});
    expect_twin_right(layer);
  }
}

TEST(HostMoe, InstancesOfTheCpuItself) {
  for (const GemmTraits& t : kKinds)
    for (const Sizes& sizes : kSizes) {
      host::RegisterTile tiles[32];
      const host::Isa isa = host::detect_isa();
      const int count = host::host_register_tiles(t, isa, tiles, 32);
      ASSERT_GT(count, 0);
      const host::RegisterTile& last = tiles[count - 1];  // of tile instructions where there are such
      const host::HostConfig config{isa, last.mr, last.nr, 32, 64, 64, 0};
      Layer layer(t, {MoePart::layer, true, false}, sizes);
      SCOPED_TRACE(words(layer));
      const Workspace w(host::moe_host_workspace(t, layer.moe, config, layer.shape) + 16);
      auto* at_16 = static_cast<unsigned char*>(w.data) + 16;  // the least alignment that is asked for
      const Status s = host::run_moe_host(t, layer.moe, config, layer.shape, layer.args(), at_16);
      ASSERT_TRUE(s.ok()) << s.message;
      layer.expect_right();
      if (HasFatalFailure()) return;
    }
}

TEST(HostMoe, OneExpertOfManyRowsAndIdleExperts) {
  Layer layer(kKinds[0], {MoePart::layer, true, false}, {1300, 16, 16, {9, 1}});
  std::fill(layer.ids.begin(), layer.ids.end(), 5);
  expect_twin_right(layer);
}

TEST(HostMoe, NothingToDo) {
  Layer none(kKinds[0], {MoePart::layer, true, false}, {0, 16, 16, {4, 2}});
  EXPECT_EQ(host::moe_twin_workspace(none.traits, none.moe, kTile, none.shape), 0U);
  EXPECT_TRUE(host::run_moe_twin(none.traits, none.moe, kTile, none.shape, none.args(), nullptr).ok());
  Layer narrow(kKinds[0], {MoePart::layer, true, false}, {5, 16, 0, {4, 2}});  // C is a sum of nothing
  expect_twin_right(narrow);
}

TEST(HostMoe, WhatIsWrongIsRefusedAndNothingWritten) {
  const auto refused = [](auto&& spoil) {
    Layer layer(kKinds[5], {MoePart::layer, true, false}, {9, 64, 32, {4, 2}});
    MoeArgs args = layer.args();
    spoil(layer, args);
    const Workspace w(std::max<std::size_t>(64, host::moe_twin_workspace(layer.traits, layer.moe, kTile, layer.shape)));
    const Status s = host::run_moe_twin(layer.traits, layer.moe, kTile, layer.shape, args, w.data);
    EXPECT_TRUE(std::all_of(layer.c.begin(), layer.c.end(), [](unsigned char x) { return x == 0x5a; }));
    EXPECT_NE(s.message[0], '\0');
    return s.code;
  };
  const StatusCode invalid = StatusCode::invalid_argument, unsupported = StatusCode::unsupported;
  EXPECT_EQ(refused([](Layer& x, MoeArgs&) { x.ids[3] = 4; }), invalid);
  EXPECT_EQ(refused([](Layer& x, MoeArgs&) { x.ids[3] = -1; }), invalid);
  EXPECT_EQ(refused([](Layer&, MoeArgs& p) { p.topk_weights = nullptr; }), invalid);
  EXPECT_EQ(refused([](Layer&, MoeArgs& p) { p.topk_ids = nullptr, p.sorted.valid = nullptr; }), invalid);
  EXPECT_EQ(refused([](Layer&, MoeArgs& p) { p.topk_ids = nullptr, p.sorted.expert_ids[0] = 9; }), invalid);
  EXPECT_EQ(refused([](Layer&, MoeArgs& p) { p.w1 = nullptr; }), invalid);
  EXPECT_EQ(refused([](Layer&, MoeArgs& p) { p.w2_scale = nullptr; }), invalid);
  EXPECT_EQ(refused([](Layer&, MoeArgs& p) { p.a_scale = nullptr; }), invalid);
  EXPECT_EQ(refused([](Layer&, MoeArgs& p) { p.ldc = 63; }), invalid);
  EXPECT_EQ(refused([](Layer&, MoeArgs& p) { p.lda = 63; }), invalid);
  EXPECT_EQ(refused([](Layer&, MoeArgs& p) { p.tokens = 8; }), invalid);
  EXPECT_EQ(refused([](Layer& x, MoeArgs&) { x.shape.routing.top_k = 5; }), invalid);
  EXPECT_EQ(refused([](Layer& x, MoeArgs&) { x.traits.epilogue = {}; }), unsupported);
  EXPECT_EQ(refused([](Layer& x, MoeArgs&) { x.traits.layout = Layout::rrr; }), unsupported);
  EXPECT_EQ(refused([](Layer& x, MoeArgs&) { x.traits.bias = true; }), unsupported);
}

TEST(HostMoe, CallersInSeveralThreads) {
  std::vector<std::thread> callers;
  for (unsigned i = 0; i < 3; ++i)
    callers.emplace_back([i] {
      Layer layer(kKinds[5], {MoePart::layer, true, false}, {60, 64, 160, {3, 3}}, i);
      expect_twin_right(layer);
    });
  for (std::thread& caller : callers) caller.join();
}

}  // namespace test_host_moe
