// cuBLASLt as a provider, on the mocks of the library and of the driver.
#include <array>
#include <cstring>
#include <thread>

#include <ckgen/c_api.h>

#include "mock_cuda/mock_cuda.hpp"
#include "providers/provider_fixture.hpp"

namespace test_cublaslt {

using namespace ckgen;
using provided::bf16;
using provided::fp8;
using provided::OneRow;
using provided::Operands;
using provided::says;

// Ahead of everything that opens a library.
const int environment = [] {
  setenv("CKGEN_HIP_LIBRARY", "/no/such/library.so", 1);
  setenv("CKGEN_CUDA_LIBRARY", CKGEN_MOCK_CUDA, 1);
  setenv("CKGEN_CUBLASLT", CKGEN_MOCK_CUBLASLT, 1);
  setenv("CKGEN_HIPBLASLT", "/no/such/hipblaslt.so", 1);
  return 0;
}();

const char* const kFirst = "13.1.0_algo66_tile24_stages35_splits1_reduction0_swizzle1_custom5_inner4_cluster3";
const char* const kSplit = "13.1.0_algo21_tile20_stages12_splits3_reduction2_swizzle0_custom0_inner0_cluster0";
const char* const kThird = "13.1.0_algo66_tile700_stages36_splits1_reduction0_swizzle0_custom0_inner0_cluster11";

constexpr Signature fp16{Op::gemm, DType::fp16, DType::fp16, DType::fp16, DType::fp32, DType::none};

class Cublaslt : public ::testing::Test {
 protected:
  void TearDown() override {
    mock.fail("", 0);
    mock.version(0);
  }
  static OneRow row(const Signature& signature, const std::string& kernel, const char* library = "cublaslt") {
    return OneRow("own", signature, Arch::sm_90a, 132, library, kernel);
  }
  static Registry registry(OneRow& row) {
    Registry registry;
    EXPECT_TRUE(row.add_to(registry).ok());
    const Status status = registry.provide_libraries();
    EXPECT_TRUE(status.ok()) << status.message;
    return registry;
  }
  static Dispatcher dispatcher(const Registry& registry) { return Dispatcher(registry, DispatcherOptions{}); }
  /// That of a provided kernel, whatever tables say.
  static Status run(const Signature& signature, const std::string& kernel, Operands& operands,
                    Stream stream = nullptr) {
    InstanceDesc instance{};
    if (const Status status = provider_instance("cublaslt", signature, kernel, instance); !status.ok()) return status;
    Registry registry;
    EXPECT_TRUE(registry.add(instance).ok());
    const Dispatcher own = dispatcher(registry);
    const auto plan = own.plan(operands.problem(), Device::current());
    if (!plan) return plan.status();
    return own.run(*plan, operands.args(), stream);
  }

  provided::MockLt mock{CKGEN_MOCK_CUBLASLT};
};

TEST_F(Cublaslt, KernelsAreNamedByVersionAndSettingsInTheHeuristicsOrder) {
  const auto found = provider_kernels("cublaslt", Problem(bf16).shape(64, 256, 512), 8);
  ASSERT_TRUE(found) << found.status().message;
  EXPECT_EQ(*found, (std::vector<std::string>{kFirst, kSplit, kThird}));
  EXPECT_EQ(provider_kernels("cublaslt", Problem(bf16).shape(64, 256, 512), 2)->size(), 2U);
  EXPECT_EQ(*provider_version("cublaslt"), "13.1.0");
}

TEST_F(Cublaslt, ARowsKernelAnswersWhereTheLibraryIsAndComputesTheProduct) {
  OneRow own = row(bf16, kThird);
  const Registry with = registry(own);
  const Dispatcher dispatching = dispatcher(with);
  Operands operands(bf16, provided::kM, provided::kN, provided::kK);
  const Selection selection = dispatching.select(operands.problem(), Device::current());
  EXPECT_EQ(selection.tier, Tier::exact);
  ASSERT_NE(selection.instance, no_index);
  EXPECT_EQ(with.instance(selection.instance).name, "gemm_bf16_rcr_cublaslt_" + std::string(kThird));
  const auto plan = dispatching.plan(operands.problem(), Device::current());
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->workspace_size, kProviderWorkspace);
  int stream = 0;
  const Status status = dispatching.run(*plan, operands.args(), &stream);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(operands.wrong(), 0);
  const MockLtProduct product = mock.last_product();
  EXPECT_EQ(product.stream, &stream);
  EXPECT_EQ(product.workspace_bytes, kProviderWorkspace);
  EXPECT_EQ(std::memcmp(&product.settings, &kMockAlgorithms[2], sizeof product.settings), 0);
  EXPECT_TRUE(says(dispatching.explain(operands.problem(), Device::current()), "provided by gemm_bf16_rcr_cublaslt_"));
}

TEST_F(Cublaslt, AnInstanceHasATwinForSimulatedDevices) {
  OneRow own = row(bf16, kFirst);
  const Dispatcher dispatching = dispatcher(registry(own));
  Operands operands(bf16, provided::kM, provided::kN, provided::kK);
  const auto plan = dispatching.plan(operands.problem(), Device::simulated("sm_90a:132"));
  ASSERT_TRUE(plan);
  const int before = mock.counts().products;
  ASSERT_TRUE(dispatching.run(*plan, operands.args(), nullptr).ok());
  EXPECT_EQ(mock.counts().products, before);
  EXPECT_EQ(operands.wrong(), 0);
}

TEST_F(Cublaslt, SidesAndScalesOfAllSignaturesAreThoseOfTheDefinition) {
  const Signature signatures[] = {fp16, bf16, fp8(DType::fp8_ocp, Quant::per_tensor),
                                  fp8(DType::fp8_ocp, Quant::rowwise), fp8(DType::fp8_ocp, Quant::blockscale)};
  for (const Signature& signature : signatures) {
    Operands operands(signature, 12, 256, 512);
    const Status status = run(signature, kFirst, operands);
    char text[kSignatureTextSize];
    canonical_text(signature, text);
    ASSERT_TRUE(status.ok()) << text << ": " << status.message;
    EXPECT_EQ(operands.wrong(), 0) << text;
  }
}

TEST_F(Cublaslt, WhatTheLibraryIsNotAskedForIsNamed) {
  InstanceDesc instance{};
  Signature biased = bf16;
  biased.bias = true;
  const Signature others[] = {biased, fp8(DType::bf8_ocp, Quant::rowwise), fp8(DType::fp8_ocp, Quant::none)};
  for (const Signature& other : others)
    EXPECT_TRUE(
        says(provider_instance("cublaslt", other, kFirst, instance).message, "cuBLASLt is not asked for gemm_"));
  EXPECT_TRUE(says(provider_instance("cublas", bf16, kFirst, instance).message, "no provider is named cublas"));
}

TEST_F(Cublaslt, AnotherVersionLeavesTheRowToOthersAndSaysSo) {
  mock.version(130200);
  OneRow own = row(bf16, kFirst);
  const Registry with = registry(own);
  EXPECT_STREQ(with.why_not_provided(0), "the kernel is of cuBLASLt 13.1.0, here is 13.2.0");
  const Dispatcher dispatching = dispatcher(with);
  const Problem problem = Problem(bf16).shape(provided::kM, provided::kN, provided::kK);
  const Selection selection = dispatching.select(problem, Device::current());
  EXPECT_EQ(selection.tier, Tier::default_);
  EXPECT_STREQ(with.instance(selection.instance).name, "own");
  EXPECT_STREQ(with.external(selection.external).library, "cublaslt");
  const std::string text = dispatching.explain(problem, Device::current());
  EXPECT_TRUE(says(text, "external     exact M=8: cublaslt 13.1.0_algo66")) << text;
  EXPECT_TRUE(says(text, "not provided: the kernel is of cuBLASLt 13.1.0, here is 13.2.0")) << text;
}

TEST_F(Cublaslt, ALibraryThatIsNotThereIsNamed) {
  OneRow own = row(bf16, "1.0.0_first", "hipblaslt");
  const Registry with = registry(own);
  EXPECT_TRUE(says(with.why_not_provided(0), "no hipBLASLt: /no/such/hipblaslt.so")) << with.why_not_provided(0);
}

TEST_F(Cublaslt, InCARegistryIsToldToo) {
  OneRow own = row(bf16, kFirst);
  const ckgen_message nowhere{nullptr, 0};
  ckgen_registry* registry = nullptr;
  ASSERT_EQ(ckgen_registry_create(&registry, nowhere), CKGEN_OK);
  ASSERT_EQ(ckgen_registry_add_library(registry, &own.library(), nowhere), CKGEN_OK);
  ASSERT_EQ(ckgen_registry_provide_libraries(registry, nowhere), CKGEN_OK);
  std::uint32_t size = 0;
  ASSERT_EQ(ckgen_registry_size(registry, &size, nowhere), CKGEN_OK);
  EXPECT_EQ(size, 2U) << "its own instance, and the library's";
  EXPECT_EQ(ckgen_registry_provide_libraries(nullptr, nowhere), CKGEN_INVALID_ARGUMENT);
  ckgen_registry_destroy(registry);
}

TEST(CublasltUnasked, NothingIsOpenedUnlessItIsAskedFor) {
  const auto is_open = [] { return dlopen(CKGEN_MOCK_CUBLASLT, RTLD_NOW | RTLD_NOLOAD) != nullptr; };
  if (is_open()) GTEST_SKIP() << "another test of this process asked";
  OneRow own("own", bf16, Arch::sm_90a, 132, "cublaslt", kFirst);
  Registry registry;
  ASSERT_TRUE(own.add_to(registry).ok());
  EXPECT_STREQ(registry.why_not_provided(0), "provide_libraries() was not called");
  EXPECT_EQ(registry.provider(0), no_index);
  EXPECT_FALSE(is_open());
  ASSERT_TRUE(registry.provide_libraries().ok());
  EXPECT_TRUE(is_open());
}

TEST_F(Cublaslt, ARowWhoseSizesTheLibraryDoesNotTakeIsLeftOutWithTheCall) {
  mock.fail("MatmulAlgoCheck", 15);
  OneRow own = row(fp16, kSplit);  // of no other test: what is prepared is kept
  EXPECT_STREQ(registry(own).why_not_provided(0),
               "cublasLtMatmulAlgoCheck answered with cuBLASLt error 15 (M=8 N=32 K=192)");
  mock.fail("", 0);
  OneRow unknown = row(bf16, "13.1.0_algo7_tile24_stages35_splits1_reduction0_swizzle1_custom5_inner4_cluster3");
  EXPECT_TRUE(says(registry(unknown).why_not_provided(0), "cublasLtMatmulAlgoInit answered with cuBLASLt error 15"));
}

TEST_F(Cublaslt, ANameThatIsNoneIsToldFromALibraryThatCannot) {
  for (const char* settings :
       {"algo66", "algo66_tile24_stages35_splits1_reduction0_swizzle1_custom5_inner4_cluster3_x1",
        "algo66_tile24_stages35_splits1_reduction0_swizzle1_custom5_inner4_cluster3_",
        "algo66_tile24_stages35_splits1_reduction0_swizzle1_custom5_inner4_cluster65536",
        "tile24_algo66_stages35_splits1_reduction0_swizzle1_custom5_inner4_cluster3"}) {
    OneRow own = row(bf16, std::string("13.1.0_") + settings);
    EXPECT_TRUE(says(registry(own).why_not_provided(0), "are no settings of cuBLASLt")) << settings;
  }
  OneRow bare = row(bf16, "13.1.0");
  EXPECT_TRUE(says(registry(bare).why_not_provided(0), "has no settings"));
}

TEST_F(Cublaslt, TheFirstAnswerIsAskedForEachProduct) {
  Operands operands(bf16, 32, 64, 128);  // too short for three splits
  ASSERT_TRUE(run(bf16, "13.1.0_first", operands).ok());
  EXPECT_EQ(operands.wrong(), 0);
  EXPECT_EQ(mock.last_product().settings.of[1], 24U);
  Operands one(bf16, 1, 64, 128);
  const Status none = run(bf16, "13.1.0_first", one);
  EXPECT_STREQ(none.message, "cublasLtMatmulAlgoGetHeuristic answered with cuBLASLt error 15");
  EXPECT_EQ(none.code, StatusCode::unsupported);
  EXPECT_TRUE(provider_kernels("cublaslt", one.problem(), 8)->empty());
}

TEST_F(Cublaslt, OneKernelInTablesOfTwoSignaturesIsAnInstanceOfEach) {
  OneRow wide("wide", bf16, Arch::sm_90a, 132, "cublaslt", kFirst);
  OneRow half("half", fp16, Arch::sm_90a, 132, "cublaslt", kFirst);
  Registry registry;
  ASSERT_TRUE(wide.add_to(registry).ok() && half.add_to(registry).ok());
  for (int again = 0; again < 2; ++again) ASSERT_TRUE(registry.provide_libraries().ok());
  EXPECT_EQ(registry.external_count(), 2U);
  const Dispatcher dispatching = dispatcher(registry);
  for (const Signature& signature : {bf16, fp16}) {
    Operands operands(signature, provided::kM, provided::kN, provided::kK);
    const auto plan = dispatching.plan(operands.problem(), Device::current());
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->selection.tier, Tier::exact);
    ASSERT_TRUE(dispatching.run(*plan, operands.args(), nullptr).ok());
    EXPECT_EQ(operands.wrong(), 0);
  }
}

TEST_F(Cublaslt, AProductThatWasRunIsNotPreparedAgainAndFailuresLeaveNothing) {
  Operands operands(bf16, 24, 64, 192);
  mock.fail("MatrixLayoutCreate", 3);
  const int live = mock.counts().live;
  EXPECT_STREQ(run(bf16, kFirst, operands).message, "cublasLtMatrixLayoutCreate answered with cuBLASLt error 3");
  EXPECT_EQ(mock.counts().live, live);
  mock.fail("", 0);
  ASSERT_TRUE(run(bf16, kFirst, operands).ok());
  const MockLtCounts before = mock.counts();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(run(bf16, kFirst, operands).ok());
  EXPECT_EQ(mock.counts().descriptions, before.descriptions);
  EXPECT_EQ(mock.counts().checks, before.checks);
  EXPECT_EQ(mock.counts().products, before.products + 3);
  mock.fail("Matmul", 13);
  const Status failed = run(bf16, kFirst, operands);
  EXPECT_STREQ(failed.message, "cublasLtMatmul answered with cuBLASLt error 13");
  EXPECT_EQ(failed.code, StatusCode::internal);
}

TEST_F(Cublaslt, ThreadsWithScalesOfTheirOwnDoNotMixThem) {
  const Signature signature = fp8(DType::fp8_ocp, Quant::rowwise);
  InstanceDesc instance{};
  ASSERT_TRUE(provider_instance("cublaslt", signature, kFirst, instance).ok());
  Registry registry;
  ASSERT_TRUE(registry.add(instance).ok());
  const Dispatcher dispatching = dispatcher(registry);
  const Device device = Device::current();
  std::array<int, 4> wrong{};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([&, i] {
      Operands operands(signature, 8, 16, 64);
      operands.scale_all(static_cast<int>(i));
      const auto plan = dispatching.plan(operands.problem(), device);
      for (int again = 0; again < 20; ++again) {
        operands.clear();
        if (!plan || !dispatching.run(*plan, operands.args(), &wrong[i]).ok()) ++wrong[i];
        wrong[i] += operands.wrong();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<int, 4>{}));
}

TEST_F(Cublaslt, RowsBetweenAccessesAndScalesInAnotherOrderAreRefused) {
  InstanceDesc instance{};
  const Signature signature = fp8(DType::fp8_ocp, Quant::blockscale);
  ASSERT_TRUE(provider_instance("cublaslt", signature, kFirst, instance).ok());
  Registry registry;
  ASSERT_TRUE(registry.add(instance).ok());
  const Dispatcher dispatching = dispatcher(registry);
  Operands operands(signature, 8, 128, 512);
  const auto plan = dispatching.plan(operands.problem(), Device::current());
  ASSERT_TRUE(plan);
  GemmArgs args = operands.args();
  args.a_scale_row_major = true;
  EXPECT_TRUE(says(dispatching.run(*plan, args, nullptr).message, "not a_scale_row_major"));
  args = operands.args();
  args.c = static_cast<char*>(args.c) + 2;
  EXPECT_TRUE(says(dispatching.run(*plan, args, nullptr).message, "rows begin at multiples of 16 bytes"));
  EXPECT_FALSE(dispatching.plan(Problem(signature).shape(8, 128, 384), Device::current()))
      << "the library pads rows of B's scales to four";
  EXPECT_FALSE(dispatching.plan(Problem(signature).shape(6, 128, 512), Device::current()));
}

}  // namespace test_cublaslt
