// What comes before attention's cost: a forced instance, and rows of an override file.
#include "fmha/fmha_fixture.hpp"

#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace test_fmha_overrides {

using namespace ckgen;
using tiny::attention;
using tiny::padded;
using tiny::sizes;

constexpr const char* kOverrides = "target,signature,B,M,N,K,heads_q,heads_k,hdim_v,mask,instance,k_batch\n";

class FmhaOverrides : public tiny::FmhaTest {};

TEST_F(FmhaOverrides, AForcedInstanceAndAnOverrideComeFirst) {
  add("best", padded(64, 64, 128, 128));
  add("other", padded(128, 64, 256, 256));
  const Problem problem = Problem(attention()).fmha(sizes(2, 8, 8, 64, 512, 128, 128));
  DispatcherOptions options;
  options.force = "other";
  EXPECT_EQ(Dispatcher(registry, options).select(problem, device).tier, Tier::forced);
  const std::string path = ::testing::TempDir() + "ckgen_fmha_override_" + std::to_string(getpid()) + ".csv";
  std::ofstream(path) << kOverrides << "gfx942:304,fmha_bf16,2,64,512,128,8,8,128,none,other,1\n";
  Dispatcher own = dispatcher();
  const Status status = own.load_overrides(path.c_str());
  std::remove(path.c_str());
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(own.select(problem, device).tier, Tier::override_);
  EXPECT_EQ(own.select(problem, device).instance, 1U);
  for (const FmhaShape& another : {sizes(3, 8, 8, 64, 512, 128, 128), sizes(2, 16, 8, 64, 512, 128, 128),
                                   sizes(2, 8, 4, 64, 512, 128, 128), sizes(2, 8, 8, 64, 512, 128, 64)})
    EXPECT_EQ(own.select(Problem(attention()).fmha(another), device).tier, Tier::default_);
}

TEST_F(FmhaOverrides, AnOverrideIsOfItsMask) {
  FmhaTraits traits;
  traits.masked = true;
  add("best", padded(64, 64, 128, 128), attention(traits));
  add("other", padded(128, 64, 256, 256), attention(traits));
  const std::string path = ::testing::TempDir() + "ckgen_fmha_masks_" + std::to_string(getpid()) + ".csv";
  std::ofstream(path) << kOverrides << "gfx942:304,fmha_bf16_masked,1,64,512,128,8,8,128,b:127:0,other,1\n";
  Dispatcher own = dispatcher();
  ASSERT_TRUE(own.load_overrides(path.c_str()).ok());
  const auto tier = [&](FmhaCorner corner, std::int32_t left, std::int32_t right, std::int32_t sink_tokens) {
    FmhaShape shape = sizes(1, 8, 8, 64, 512, 128, 128);
    shape.corner = corner, shape.window_left = left, shape.window_right = right, shape.sink_tokens = sink_tokens;
    return own.select(Problem(attention(traits)).fmha(shape), device).tier;
  };
  EXPECT_EQ(tier(FmhaCorner::bottom_right, 127, 0, 0), Tier::override_);
  EXPECT_EQ(tier(FmhaCorner::top_left, 127, 0, 0), Tier::default_);
  EXPECT_EQ(tier(FmhaCorner::bottom_right, -1, 0, 0), Tier::default_);
  EXPECT_EQ(tier(FmhaCorner::bottom_right, 127, 1, 0), Tier::default_);
  EXPECT_EQ(tier(FmhaCorner::bottom_right, 127, 0, 4), Tier::default_);
  for (const char* const wrong : {"8,8,128,none", "8,8,128,b:127", "8,8,128,c:1:1", "8,8,128,b:1:1:-1", "0,8,128,b:1:1",
                                  "8,8,,b:1:1", "8,8,99999999999,b:1:1", "8,8,128,b:1:x"}) {
    std::ofstream(path) << kOverrides << "gfx942:304,fmha_bf16_masked,1,64,512,128," << wrong << ",other,1\n";
    EXPECT_FALSE(own.load_overrides(path.c_str()).ok()) << wrong;
  }
  std::ofstream(path) << "target,signature,B,M,N,K,instance,k_batch\n"
                      << "gfx942:304,fmha_bf16_masked,1,64,512,128,other,1\n";
  EXPECT_STREQ(own.load_overrides(path.c_str()).message,
               "override file: 1 row left out, first line 2: heads_q is not a size: ''");
  std::remove(path.c_str());
}

TEST_F(FmhaOverrides, AnOverridesSplitsAreTaken) {
  FmhaConfig config = padded(64, 128, 128, 128);
  config.max_splits = 128;
  add("split", config);
  const std::string path = ::testing::TempDir() + "ckgen_fmha_splits_" + std::to_string(getpid()) + ".csv";
  std::ofstream(path) << kOverrides << "gfx942:304,fmha_bf16,1,1,65536,128,8,8,128,none,split,7\n";
  Dispatcher own = dispatcher();
  const Status status = own.load_overrides(path.c_str());
  std::remove(path.c_str());
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(own.select(Problem(attention()).fmha(sizes(1, 8, 8, 1, 65536, 128, 128)), device).k_batch, 7U);
}

}  // namespace test_fmha_overrides
