// hipBLASLt as a provider, on the mocks of the library and of the runtime: solutions by their indices.
#include "mock_hip_test.hpp"
#include "providers/provider_fixture.hpp"

namespace test_hipblaslt {

using namespace ckgen;
using provided::bf16;
using provided::fp8;
using provided::OneRow;
using provided::Operands;
using provided::says;

const int environment = [] {
  setenv("CKGEN_HIPBLASLT", CKGEN_MOCK_HIPBLASLT, 1);
  return 0;
}();

class Hipblaslt : public MockHipTest {
 protected:
  provided::MockLt lt{CKGEN_MOCK_HIPBLASLT};
};

TEST_F(Hipblaslt, SolutionsAreNamedByVersionAndIndex) {
  device(0);
  const auto found = provider_kernels("hipblaslt", Problem(bf16).shape(64, 256, 512), 8);
  ASSERT_TRUE(found) << found.status().message;
  EXPECT_EQ(*found, (std::vector<std::string>{"1.12.3_solution660", "1.12.3_solution211", "1.12.3_solution662"}));
}

TEST_F(Hipblaslt, ARowsSolutionAnswersAndComputesTheProduct) {
  const Device gpu = device(0);
  OneRow own("own", bf16, Arch::gfx942, 304, "hipblaslt", "1.12.3_solution211");
  Registry registry;
  ASSERT_TRUE(own.add_to(registry).ok());
  ASSERT_TRUE(registry.provide_libraries().ok());
  ASSERT_STREQ(registry.why_not_provided(0), "");
  const Dispatcher dispatching(registry, DispatcherOptions{});
  Operands operands(bf16, provided::kM, provided::kN, provided::kK);
  const auto plan = dispatching.plan(operands.problem(), gpu);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->selection.tier, Tier::exact);
  const Status status = dispatching.run(*plan, operands.args(), nullptr);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(operands.wrong(), 0);
  EXPECT_EQ(lt.last_product().settings.of[0], 211U);
}

TEST_F(Hipblaslt, AnIndexThatTheProductDoesNotHaveAndAnotherVersionAreNamed) {
  device(0);
  const auto why = [](const char* kernel) {
    OneRow own("own", bf16, Arch::gfx942, 304, "hipblaslt", kernel);
    Registry registry;
    EXPECT_TRUE(own.add_to(registry).ok());
    EXPECT_TRUE(registry.provide_libraries().ok());
    return std::string(registry.why_not_provided(0));
  };
  EXPECT_EQ(why("1.12.3_solution5"), "solution 5 is none of the 3 that hipBLASLt has for the product (M=8 N=32 K=192)");
  EXPECT_EQ(why("1.0.0_solution211"), "the kernel is of hipBLASLt 1.0.0, here is 1.12.3");
  EXPECT_TRUE(says(why("1.12.3_solution"), "are no settings of hipBLASLt"));
}

TEST_F(Hipblaslt, ScalesOfTensorsAreServedOthersNot) {
  const Device gpu = device(0);
  InstanceDesc instance{};
  const Signature scaled = fp8(DType::fp8_fnuz, Quant::per_tensor);
  ASSERT_TRUE(provider_instance("hipblaslt", scaled, "1.12.3_first", instance).ok());
  Registry registry;
  ASSERT_TRUE(registry.add(instance).ok());
  EXPECT_TRUE(Dispatcher(registry, DispatcherOptions{}).plan(Problem(scaled).shape(32, 64, 128), gpu));
  const Status rows = provider_instance("hipblaslt", fp8(DType::fp8_fnuz, Quant::rowwise), "1.12.3_first", instance);
  EXPECT_TRUE(says(rows.message, "hipBLASLt is not asked for gemm_fp8_fnuz_bf16_rcr_rowwise"));
}

}  // namespace test_hipblaslt
