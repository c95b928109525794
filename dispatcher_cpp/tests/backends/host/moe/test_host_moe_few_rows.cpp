// Which rows of an expert of a MoE layer on the CPU go by the kernels of small_m.hpp: their sums have the bits that a
// single token has, those of packed operands have not.
#include "backends/host/host_fixture.hpp"
#include "backends/host/moe/moe.hpp"

#include <random>

namespace host_test {
namespace test_host_moe_few_rows {

/// A layer of one expert, whose operands are any numbers.
class OneExpert {
 public:
  explicit OneExpert(DType type)
      : traits{type, type, DType::fp32, DType::fp32, Layout::rcr, Quant::none, false, false} {
    traits.epilogue.ops[0] = EpilogueOp::relu;
    std::mt19937 random(1);
    const auto fill = [&](std::int64_t n) {
      Bytes bytes(static_cast<std::size_t>(bytes_of(type, n)));
      for (std::int64_t i = 0; i < n; ++i) write(type, bytes.data(), i, std::normal_distribution<float>()(random));
      return bytes;
    };
    a = fill(40 * kModel), w1 = fill(kInter * kModel), w2 = fill(kModel * kInter);
  }

  /// C of `tokens` tokens from `first` on.
  std::vector<float> run(std::int64_t first, std::int64_t tokens, const host::HostConfig& config = kConfig) const {
    std::vector<float> c(static_cast<std::size_t>(tokens * kModel));
    const std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens), 0);
    const std::vector<float> weights(static_cast<std::size_t>(tokens), 1.0F);
    MoeArgs x{};
    x.a = a.data() + bytes_of(traits.a, first * kModel), x.w1 = w1.data(), x.w2 = w2.data(), x.c = c.data();
    x.tokens = tokens, x.lda = x.ldc = kModel;
    x.topk_ids = ids.data(), x.topk_weights = weights.data();
    const host::MoeShape shape{tokens, kInter, kModel, {1, 1}, 16};
    const Workspace w(host::moe_host_workspace(traits, {}, config, shape));
    const Status s = host::run_moe_host(traits, {}, config, shape, x, w.data);
    EXPECT_TRUE(s.ok()) << s.message;
    return c;
  }

  static constexpr std::int64_t kModel = 200, kInter = 96;
  static constexpr host::HostConfig kConfig{host::Isa::x86_64_v3, 6, 16, 64, 64, 256, 1};
  GemmTraits traits;
  Bytes a, w1, w2;
};

TEST(HostMoeFewRows, TwoPanelsOfSixteenBitWeightsElseOne) {
  for (const auto& [type, most] :
       {std::pair{DType::bf16, 32}, std::pair{DType::fp16, 32}, std::pair{DType::fp32, 16}}) {
    const OneExpert layer(type);
    std::vector<float> single;
    for (std::int64_t t = 0; t < 40; ++t) {
      const std::vector<float> one = layer.run(t, 1);
      single.insert(single.end(), one.begin(), one.end());
    }
    for (const int tokens : {1, 3, 15, 16, 17, 18, 31, 32, 33, 40}) {
      const std::vector<float> all = layer.run(0, tokens);
      EXPECT_EQ(std::equal(all.begin(), all.end(), single.begin()), tokens <= most)
          << name(type) << " " << tokens << " tokens";
    }
  }
}

TEST(HostMoeFewRows, FourWhereTilesMultiplyMore) {
  if (!host::isa_available(host::Isa::x86_64_amx)) GTEST_SKIP() << host::cpu_brand();
  constexpr host::HostConfig kTiles{host::Isa::x86_64_amx, 32, 32, 64, 64, 256, 1};
  const OneExpert layer(DType::bf16);
  std::vector<float> single;
  for (std::int64_t t = 0; t < 33; ++t) {
    const std::vector<float> one = layer.run(t, 1, kTiles);
    single.insert(single.end(), one.begin(), one.end());
  }
  for (const int tokens : {1, 4, 5, 16, 33}) {
    const std::vector<float> all = layer.run(0, tokens, kTiles);
    EXPECT_EQ(std::equal(all.begin(), all.end(), single.begin()), tokens <= 4) << tokens << " tokens";
  }
}

}  // namespace test_host_moe_few_rows
}  // namespace host_test
