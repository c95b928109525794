// Products that share an arch and a count: which one a device is, and whose rows answer it.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <ckgen/product_data.hpp>
#include <ckgen/table_product.hpp>

#include "tiny_library.hpp"

namespace test_products {

using namespace ckgen;
using namespace ckgen::describe;

// gfx942:304, N=1024 K=2048, as tiny::table304 but for what an MI325X measured itself: 128 and 512. N=512 K=512 is its
// alone. gfx942:76 has rows of an MI325X alone.
constexpr Rung n1024[] = {rung(16, 64, 16, tiny::kSmall), rung(128, tiny::kAtomic, k_batch(4)),
                          rung(512, tiny::kMedium), rung(2048, tiny::kAtomic, k_batch(4))};
constexpr Rung n1024_external[] = {rung(96, tiny::kExtA), rung(4096, tiny::kExtB)};
constexpr Rung n512[] = {rung(64, tiny::kMedium)};
constexpr Group groups[] = {with_external<n1024_external>(ladder<n1024>(1024, 2048)), ladder<n512>(512, 512)};
constexpr auto slots = slots_of(groups);
constexpr LookupTable own304 = lookup_table(Arch::gfx942, 304, tiny::policy, groups, slots, tiny::externals);
constexpr Group groups76[] = {ladder<n512>(512, 512)};
constexpr auto slots76 = slots_of(groups76);
constexpr LookupTable own76 = lookup_table(Arch::gfx942, 76, tiny::policy, groups76, slots76);
constexpr const LookupTable* tables[] = {&tiny::table304, &own304, &tiny::table80, &own76};
constexpr TableProduct products[] = {{1, "mi325x"}, {3, "mi325x"}};

SignatureUnit unit_with(const TableProduct* said, std::uint32_t count) {
  SignatureUnit unit{"gemm_fp16_rcr", tiny::fp16, tiny::instances, 3, tables, 4, nullptr, 0, tiny::defaults, 2};
  unit.own_tables = said;
  unit.own_table_count = count;
  return unit;
}

Status add(Registry& registry, const SignatureUnit& unit) {
  static const SignatureUnit* units[1];
  units[0] = &unit;
  return registry.add(Library{"products", CKGEN_RUNTIME_ABI, 0x77, units, 1});
}

class Products : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(add(registry, unit).ok());
    dispatcher = Dispatcher(registry, DispatcherOptions{});
  }
  std::string chosen(const Device& device, std::int64_t m, std::int64_t n = 1024, std::int64_t k = 2048) const {
    const Selection s = dispatcher.select(tiny::problem(m, n, k), device);
    if (!s) return "none";
    return std::string(tier_name(s.tier)) + ' ' + registry.instance(s.instance).name + ' ' + std::to_string(s.k_batch);
  }
  std::string chosen(const char* target, std::int64_t m, std::int64_t n = 1024, std::int64_t k = 2048) const {
    return chosen(Device::simulated(target), m, n, k);
  }

  SignatureUnit unit = unit_with(products, 2);
  Registry registry;
  Dispatcher dispatcher{Registry(), DispatcherOptions{}};
};

TEST_F(Products, ARowOfAProductAnswersItAloneBeforeTheOneOfAll) {
  EXPECT_EQ(chosen("gfx942:304:mi325x", 128), "exact tiny_atomic 4");
  for (const char* other : {"gfx942:304", "gfx942:304:mi300x"}) EXPECT_EQ(chosen(other, 128), "exact tiny_medium 2");
}

TEST_F(Products, WhatItDidNotMeasureRowsOfAllAnswer) {
  for (const char* any : {"gfx942:304", "gfx942:304:mi300x", "gfx942:304:mi325x"}) {
    EXPECT_EQ(chosen(any, 32), "exact tiny_small 1") << any;
    EXPECT_EQ(chosen(any, 64, 1000), chosen("gfx942:304", 64, 1000)) << "a ladder without a row of its own: " << any;
  }
  EXPECT_EQ(chosen("gfx942:304:mi325x", 400), "near tiny_medium 1");
  EXPECT_EQ(chosen("gfx942:304", 400), "far tiny_medium 2");
}

TEST_F(Products, NoOtherCountIsAnsweredByAProduct) {
  const Dispatcher tried(registry, DispatcherOptions{});
  for (const char* target : {"gfx942:228", "gfx942:76:mi300a"}) {
    const Selection s = tried.select(tiny::problem(64, 512, 512), Device::simulated(target));
    EXPECT_EQ(s.tier, Tier::default_) << target;
  }
  EXPECT_EQ(chosen("gfx942:76:mi325x", 64, 512, 512), "exact tiny_medium 1");
}

TEST_F(Products, ExplainNamesTheProductAndTheTablesThatItHas) {
  const auto text = [&](const char* target, std::int64_t m) {
    return dispatcher.explain(tiny::problem(m, 512, 512), Device::simulated(target));
  };
  EXPECT_NE(text("gfx942:304:mi325x", 64).find("on gfx942:304:mi325x (simulated)"), std::string::npos);
  EXPECT_NE(text("gfx942:76:mi325x", 9999).find("no row for M=9999 (ladder 64 of 1)"), std::string::npos);
  EXPECT_NE(text("gfx942:76:mi300a", 64).find("no table for gfx942:76:mi300a"), std::string::npos);
  EXPECT_NE(text("gfx942:76:mi300a", 64).find("at 80, 304 CUs"), std::string::npos);
  EXPECT_NE(text("gfx942:304", 64).find("at 80 CUs"), std::string::npos) << "76 is of one product alone";
}

TEST_F(Products, TheDigestTellsWhoseATableIs) {
  Registry of_all, of_another;
  constexpr static TableProduct others[] = {{1, "mi300x"}, {3, "mi325x"}};
  const SignatureUnit plain = unit_with(nullptr, 0), another = unit_with(others, 2);
  ASSERT_TRUE(add(of_all, plain).ok());
  ASSERT_TRUE(add(of_another, another).ok());
  const auto digest = [](const Registry& of) { return Dispatcher(of, DispatcherOptions{}).tables_digest(); };
  EXPECT_NE(digest(registry), digest(of_all));
  EXPECT_NE(digest(registry), digest(of_another));
}

TEST_F(Products, ATableIsOfAProductThatIsKnownOrTheLibraryIsRefused) {
  const auto refusal = [](TableProduct said) {
    Registry own;
    const SignatureUnit wrong = unit_with(&said, 1);
    return std::string(add(own, wrong).message);
  };
  const std::string unknown = "a table is of a product that is not known with its arch and count";
  EXPECT_NE(refusal({1, "h200"}).find(unknown), std::string::npos);
  EXPECT_NE(refusal({2, "mi325x"}).find(unknown), std::string::npos) << "80 CUs";
  EXPECT_NE(refusal({4, "mi325x"}).find("a product is said of no table"), std::string::npos);
}

TEST_F(Products, LoadedRowsOfAProductStandBeforeThoseOfAllOfTheirSize) {
  const std::string path = ::testing::TempDir() + "ckgen_products_" + std::to_string(getpid()) + ".csv";
  std::ofstream(path) << "gfx,cu_num,sku,signature,B,M,N,K,kernelName,splitK\n"
                         "gfx942,304,,gemm_fp16_rcr,0,48,1024,2048,tiny_medium,1\n"
                         "gfx942,304,mi325x,gemm_fp16_rcr,0,48,1024,2048,tiny_medium,2\n"
                         "gfx942,304,mi325x,gemm_fp16_rcr,0,56,1024,2048,tiny_small,1\n"
                         "gfx942,304,,gemm_fp16_rcr,0,52,1024,2048,tiny_small,2\n"
                         "gfx942,304,h200,gemm_fp16_rcr,0,48,1024,2048,tiny_medium,4\n";
  const Status status = dispatcher.load_tables(path.c_str());
  std::filesystem::remove(path);
  EXPECT_STREQ(status.message, "table: 1 row left out, first line 6: unknown target 'gfx942:304:h200'");
  EXPECT_EQ(chosen("gfx942:304:mi325x", 48), "exact tiny_medium 2");
  EXPECT_EQ(chosen("gfx942:304:mi300x", 48), "exact tiny_medium 1");
  EXPECT_EQ(chosen("gfx942:304:mi325x", 52), "exact tiny_small 2") << "exact of all before near of its own";
  EXPECT_EQ(chosen("gfx942:304:mi325x", 54), "near tiny_small 1");
  EXPECT_EQ(chosen("gfx942:304:mi300x", 54), chosen("gfx942:304", 54));
}

TEST_F(Products, ARowOfALaterFileStandsBeforeOneOfItsSizeWhoseverItIs) {
  const std::string head = "gfx,cu_num,sku,signature,B,M,N,K,kernelName,splitK\n";
  const std::string folder = ::testing::TempDir() + "ckgen_products_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  const std::string own = folder + "/own.csv", every = folder + "/every.csv";
  std::ofstream(own) << head << "gfx942,304,mi325x,gemm_fp16_rcr,0,128,1024,2048,tiny_small,2\n";
  std::ofstream(every) << head << "gfx942,304,,gemm_fp16_rcr,0,128,1024,2048,tiny_small,4\n";
  const auto with = [&](const std::string& paths) {
    EXPECT_TRUE(dispatcher.load_tables(paths.c_str()).ok());
    return chosen("gfx942:304:mi325x", 128);
  };
  EXPECT_EQ(with(own + ':' + every), "exact tiny_small 4");
  EXPECT_EQ(with(every + ':' + own), "exact tiny_small 2");
  EXPECT_EQ(with(every), "exact tiny_small 4") << "before the compiled row of its own";
  std::filesystem::remove_all(folder);
}

TEST_F(Products, AnOverrideMayBeOfOneProduct) {
  const std::string path = ::testing::TempDir() + "ckgen_override_" + std::to_string(getpid()) + ".csv";
  std::ofstream(path) << "target,signature,B,M,N,K,instance,k_batch\n"
                         "gfx942:304,gemm_fp16_rcr,0,32,1024,2048,tiny_medium,2\n"
                         "gfx942:304:mi325x,gemm_fp16_rcr,0,32,1024,2048,tiny_medium,4\n";
  const Status status = dispatcher.load_overrides(path.c_str());
  std::filesystem::remove(path);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(chosen("gfx942:304:mi325x", 32), "override tiny_medium 4");
  EXPECT_EQ(chosen("gfx942:304:mi300x", 32), "override tiny_medium 2");
}

TEST_F(Products, ARealDeviceIsToldByTheNameThatItsRuntimeGives) {
  setenv("CKGEN_HIP_LIBRARY", CKGEN_MOCK_HIP, 1);
  void* library = dlopen(CKGEN_MOCK_HIP, RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto set_device = reinterpret_cast<int (*)(int)>(dlsym(library, "hipSetDevice"));
  struct Case {
    int id;
    const char *sku, *chosen;
  };
  for (const Case& x : {Case{0, "", "exact tiny_medium 2"}, Case{5, "mi325x", "exact tiny_atomic 4"},
                        Case{6, "mi300x", "exact tiny_medium 2"}}) {
    ASSERT_EQ(set_device(x.id), 0);
    const Device device = Device::current();
    EXPECT_EQ(device.cu_num(), 304U);
    EXPECT_STREQ(device.sku(), x.sku) << device.brand();
    EXPECT_EQ(chosen(device, 128), x.chosen) << device.brand();
  }
  set_device(0);
}

// Two cores of x86_64_amx: a row of one model, and a default for all.
constexpr std::uint32_t kAmx = tiny::bit(Arch::x86_64_amx);
constexpr InstanceDesc cpu_instances[] = {
    tiny::instance("cpu_usual", 21, tiny::fp16, {16, 64, 32}, {0, 0, 0, 0, 0, 1, false}, kAmx),
    tiny::instance("cpu_tuned", 22, tiny::fp16, {32, 64, 32}, {0, 0, 0, 0, 0, 1, false}, kAmx)};
constexpr Rung cpu_rungs[] = {rung(64, 1)};
constexpr Group cpu_groups[] = {ladder<cpu_rungs>(512, 512)};
constexpr auto cpu_slots = slots_of(cpu_groups);
constexpr LookupTable cpu_table = lookup_table(Arch::x86_64_amx, 2, tiny::policy, cpu_groups, cpu_slots);
constexpr const LookupTable* cpu_tables[] = {&cpu_table};
constexpr TableProduct cpu_products[] = {{0, "emeraldrapids"}};
constexpr std::uint16_t cpu_usual[] = {0};
constexpr Defaults cpu_defaults[] = {{Arch::x86_64_amx, cpu_usual, 1}};

TEST(ProductsOfCpus, ARowAnswersItsModelWithItsCoresAlone) {
  SignatureUnit unit{"gemm_fp16_rcr", tiny::fp16, cpu_instances, 2, cpu_tables, 1, nullptr, 0, cpu_defaults, 1};
  unit.own_tables = cpu_products;
  unit.own_table_count = 1;
  Registry registry;
  ASSERT_TRUE(add(registry, unit).ok());
  const Dispatcher dispatcher(registry, DispatcherOptions{});
  const auto tier = [&](const char* target) {
    return dispatcher.select(tiny::problem(64, 512, 512), Device::simulated(target)).tier;
  };
  EXPECT_EQ(tier("x86_64_amx:2:emeraldrapids"), Tier::exact);
  for (const char* other : {"x86_64_amx:2", "x86_64_amx:2:sapphirerapids", "x86_64_amx:4:emeraldrapids"})
    EXPECT_EQ(tier(other), Tier::default_) << other;
}

TEST(ProductData, EveryNameOfADriverIsAProductOfItsArch) {
  for (const DriverName& one : driver_name_table) {
    bool known = false;
    for (const ProductInfo& info : product_table)
      known = known || (info.arch == one.arch && info.sku == std::string_view(one.sku));
    EXPECT_TRUE(known) << one.name;
  }
}

}  // namespace test_products
