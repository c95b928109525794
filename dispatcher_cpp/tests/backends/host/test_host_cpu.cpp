// Which CPU this is, against what the kernel says of it, and what the environment may change.
#include "backends/host/cpu_features.hpp"
#include "backends/host/gemm/gemm.hpp"

#include <gtest/gtest.h>

#include <ckgen/device.hpp>
#include <ckgen/product_data.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <thread>

namespace test_host_cpu {

using namespace ckgen;

/// The first value of a key of /proc/cpuinfo; empty where it has none.
std::string of_cpu(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.compare(0, key.size(), key) == 0) return line.erase(0, line.find(':') + 2);
  return {};
}

struct FakeCpu {
  static inline unsigned features, osxsave, state;
  static host::CpuidRegisters cpuid(unsigned leaf, unsigned subleaf) {
    if (leaf == 7 && subleaf == 0) return {0, 0, 0, features};
    if (leaf == 1) return {0, 0, osxsave, 0};
    return {};
  }
  static unsigned saved() {
    EXPECT_NE(osxsave, 0U) << "xgetbv would trap";
    return state;
  }
  static bool has_amx(unsigned with, unsigned xsave, unsigned saves) {
    features = with, osxsave = xsave, state = saves;
    return host::has_amx(cpuid, saved);
  }
};

TEST(HostCpu, HasTilesThatTheSystemSaves) {
  const unsigned all = 1U << 22 | 1U << 24 | 1U << 25, xsave = 1U << 27, state = 3U << 17;
  EXPECT_TRUE(FakeCpu::has_amx(all, xsave, state));
  EXPECT_TRUE(FakeCpu::has_amx(~0U, ~0U, ~0U));
  for (const int bit : {22, 24, 25}) EXPECT_FALSE(FakeCpu::has_amx(~(1U << bit), ~0U, ~0U)) << bit;
  EXPECT_FALSE(FakeCpu::has_amx(all, 0, ~0U));
  EXPECT_FALSE(FakeCpu::has_amx(all, ~xsave, ~0U));
  for (const int bit : {17, 18}) EXPECT_FALSE(FakeCpu::has_amx(~0U, ~0U, ~(1U << bit))) << bit;
}

TEST(HostCpu, ItsModelIsThatOfTheKernelAndTellsTheProduct) {
  const auto of = [](unsigned version) {
    static unsigned told;
    told = version;
    return std::string(host::CpuModel([](unsigned leaf, unsigned) -> host::CpuidRegisters {
                         return leaf == 0 ? host::CpuidRegisters{0, 0x756E6547, 0x6C65746E, 0x49656E69}
                                          : host::CpuidRegisters{told, 0, 0, 0};
                       }).text);
  };
  EXPECT_EQ(of(0xC06F2), "GenuineIntel 6 207");
  EXPECT_EQ(of(0x806F8), "GenuineIntel 6 143");
  EXPECT_EQ(of(0xA10F11), "GenuineIntel 25 17") << "as AMD counts";
  EXPECT_EQ(host::cpu_model(), of_cpu("vendor_id") + ' ' + of_cpu("cpu family") + ' ' + of_cpu("model\t"));
  const Device host = Device::host();
  EXPECT_EQ(host.product(), find_product_of_driver(host.arch(), host.cu_num(), host::cpu_model()));
}

TEST(HostCpu, HasWhatTheKernelSays) {
  std::istringstream flags(of_cpu("flags"));
  const std::set<std::string> known{std::istream_iterator<std::string>(flags), {}};
  if (known.empty()) GTEST_SKIP() << "no /proc/cpuinfo";
  const auto has = [&](std::initializer_list<const char*> names) {
    return std::all_of(names.begin(), names.end(), [&](const char* one) { return known.count(one) != 0; });
  };
  const bool v3 = has({"avx2", "fma", "f16c"}), v4 = v3 && has({"avx512f", "avx512bw", "avx512vl", "avx512dq"});
  const bool bf16 = v4 && has({"avx512_bf16", "avx512_vnni", "avx512vbmi"});
  EXPECT_EQ(host::isa_available(Isa::x86_64_v3), v3);
  EXPECT_EQ(host::isa_available(Isa::x86_64_v4), v4);
  EXPECT_EQ(host::isa_available(Isa::x86_64_v4_bf16), bf16);
  EXPECT_EQ(host::isa_available(Isa::x86_64_amx), bf16 && has({"amx_bf16", "amx_tile", "amx_int8"}));
  EXPECT_FALSE(host::isa_available(static_cast<Isa>(4)));
}

TEST(HostCpu, HasTheNameThatTheKernelSays) {
  const std::string name = of_cpu("model name");
  if (name.empty()) GTEST_SKIP() << "no /proc/cpuinfo";
  EXPECT_EQ(host::cpu_brand(), name);
}

TEST(HostCpu, LevelsHaveNames) {
  EXPECT_STREQ(host::isa_name(Isa::x86_64_v3), "x86_64_v3");
  EXPECT_STREQ(host::isa_name(Isa::x86_64_v4), "x86_64_v4");
  EXPECT_STREQ(host::isa_name(Isa::x86_64_v4_bf16), "x86_64_v4_bf16");
  EXPECT_STREQ(host::isa_name(Isa::x86_64_amx), "x86_64_amx");
  EXPECT_STREQ(host::isa_name(static_cast<Isa>(4)), "unknown");
}

TEST(HostCpu, CoresAreThoseOfTheProcess) {
  EXPECT_EQ(host::core_count(), static_cast<int>(std::thread::hardware_concurrency()));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // under which a process takes seconds to start

// Both are read once: each is asked in a process of its own.
class HostCpuEnvironment : public testing::Test {
 protected:
  HostCpuEnvironment() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

[[noreturn]] void exit_with(const char* variable, const char* value, bool (*holds)(int), int wanted) {
  setenv(variable, value, 1);
  std::exit(holds(wanted) ? 0 : 1);
}

TEST_F(HostCpuEnvironment, SaysHowManyThreadsACallMayUse) {
  const auto is = [](int wanted) { return host::thread_count() == (wanted == 0 ? host::core_count() : wanted); };
  for (const auto& [text, wanted] :
       {std::pair{"1", 1}, std::pair{"1024", 1024}, std::pair{"7", 7}, std::pair{"1025", 0}, std::pair{"0", 0},
        std::pair{"-3", 0}, std::pair{"7x", 0}, std::pair{"", 0}})
    EXPECT_EXIT(exit_with("CKGEN_NUM_THREADS", text, is, wanted), testing::ExitedWithCode(0), "") << text;
}

TEST_F(HostCpuEnvironment, LimitsTheLevel) {
  const auto is = [](int most) {
    for (; most > 0 && !host::isa_available(static_cast<Isa>(most)); --most) {
    }
    return host::detect_isa() == static_cast<Isa>(most);
  };
  for (const auto& [text, most] : {std::pair{"x86_64_v3", 0}, std::pair{"x86_64_v4", 1}, std::pair{"x86_64_v4_bf16", 2},
                                   std::pair{"x86_64_amx", 3}, std::pair{"x86_64", 3}, std::pair{"", 3}})
    EXPECT_EXIT(exit_with("CKGEN_HOST_ISA", text, is, most), testing::ExitedWithCode(0), "") << text;
}

#endif

}  // namespace test_host_cpu
