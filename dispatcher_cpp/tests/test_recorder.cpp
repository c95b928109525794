// Missed shapes on disk, and the verbose line.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "src/gemm/shape_list.hpp"
#include "tiny_library.hpp"

namespace {

using namespace ckgen;

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

class RecorderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder = (std::filesystem::temp_directory_path() / ("ckgen_record_" + std::to_string(getpid()))).string();
    std::filesystem::remove_all(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  Dispatcher recording() const { return Dispatcher(tiny::registry(), DispatcherOptions{false, "", folder, ""}); }
  std::string file() const { return folder + "/gemm_fp16_rcr_untuned_gemm_gfx942_304.csv"; }

  std::string folder;
  Device device = Device::simulated("gfx942");
};

TEST_F(RecorderTest, RecordsWhatWasMissedOnceInTheTunersFormat) {
  const Dispatcher dispatcher = recording();
  for (int repeat = 0; repeat < 3; ++repeat) {
    dispatcher.select(tiny::problem(300, 300, 100), device);    // default
    dispatcher.select(tiny::problem(600, 1024, 2048), device);  // far
    dispatcher.select(tiny::problem(128, 1024, 2048), device);  // exact: known
    dispatcher.select(tiny::problem(100, 1024, 2048), device);  // near: close enough
    dispatcher.select(tiny::problem(0, 300, 100), device);      // illegal: nothing to tune
  }
  EXPECT_EQ(lines_of(file()), (std::vector<std::string>{"M,N,K", "300,300,100", "600,1024,2048"}));
}

TEST_F(RecorderTest, DoesNotRepeatWhatTheFileHolds) {
  std::filesystem::create_directories(folder);
  std::ofstream(file()) << "M,N,K\n300, 300, 100\n7,8,9";
  const Dispatcher dispatcher = recording();
  dispatcher.select(tiny::problem(300, 300, 100), device);
  dispatcher.select(tiny::problem(301, 300, 100), device);
  EXPECT_EQ(lines_of(file()), (std::vector<std::string>{"M,N,K", "300, 300, 100", "7,8,9", "301,300,100"}));
}

TEST_F(RecorderTest, BatchedSignaturesHaveAColumnMore) {
  Signature batched = tiny::fp16;
  batched.batched = true;
  Registry registry;
  ASSERT_TRUE(registry.add(tiny::instance("batched", 9, batched, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false})).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{false, "", folder, ""}};
  dispatcher.select(Problem(batched).shape(3, 4, 5).batch(2), device);
  EXPECT_EQ(lines_of(folder + "/gemm_fp16_rcr_batched_untuned_gemm_gfx942_304.csv"),
            (std::vector<std::string>{"B,M,N,K", "2,3,4,5"}));
}

TEST_F(RecorderTest, EachTargetHasItsOwnList) {
  const Dispatcher dispatcher = recording();
  for (const char* target : {"gfx942:304", "gfx942:80", "gfx942:304"})
    dispatcher.select(tiny::problem(300, 300, 100), Device::simulated(target));
  for (const char* target : {"gfx942_304", "gfx942_80"})
    EXPECT_EQ(lines_of(folder + "/gemm_fp16_rcr_untuned_gemm_" + target + ".csv"),
              (std::vector<std::string>{"M,N,K", "300,300,100"}));
}

TEST_F(RecorderTest, AFileWithOtherColumnsIsLeftAlone) {
  std::filesystem::create_directories(folder);
  std::ofstream(file()) << "B,M,N,K\n1,2,3,4\n";
  const Dispatcher dispatcher = recording();
  ::testing::internal::CaptureStderr();
  dispatcher.select(tiny::problem(300, 300, 100), device);
  dispatcher.select(tiny::problem(301, 300, 100), device);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("its columns are not M,N,K\n"), std::string::npos) << said;
  EXPECT_EQ(lines_of(file()), (std::vector<std::string>{"B,M,N,K", "1,2,3,4"}));
}

struct Expected {
  const char* signature;
  const char* file;
  const char* header;
  const char* line;
};

TEST(ShapeList, IsTheOneThatTheModulesTunerReads) {
  constexpr const char* kDense = "M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle";
  constexpr Expected expected[] = {
      {"a8w8:int8", "a8w8", "M,N,K,q_dtype_w", "2,3,4,torch.int8"},
      {"a8w8:int8:fp16", "a8w8", "M,N,K,q_dtype_w", "2,3,4,torch.int8"},
      {"a8w8:fp8_fnuz", "a8w8", "M,N,K,q_dtype_w", "2,3,4,torch.float8_e4m3fnuz"},
      {"a8w8:fp8_ocp", "a8w8", "M,N,K,q_dtype_w", "2,3,4,torch.float8_e4m3fn"},
      {"a8w8_bpreshuffle:fp8_ocp", "a8w8_bpreshuffle", "M,N,K,q_dtype_w", "2,3,4,torch.float8_e4m3fn"},
      {"a8w8_blockscale:fp8_fnuz", "a8w8_blockscale", "M,N,K", "2,3,4"},
      {"a8w8_blockscale_bpreshuffle:fp8_ocp", "a8w8_blockscale_bpreshuffle", "M,N,K", "2,3,4"},
      {"a4w4_blockscale", "a4w4_blockscale", "M,N,K", "2,3,4"},
      {"batched_a8w8", "batched_a8w8", "B,M,N,K", "5,2,3,4"},
      {"batched_bf16", "batched_bf16", "B,M,N,K", "5,2,3,4"},
      {"bf16", "bf16", kDense, "2,3,4,False,torch.bfloat16,torch.bfloat16,False,False"},
      {"bf16:fp32:bias", "bf16", kDense, "2,3,4,True,torch.bfloat16,torch.float32,False,False"},
      {"gemm_bf16_rcr_preshuffle", "bf16", kDense, "2,3,4,False,torch.bfloat16,torch.bfloat16,False,True"},
      {"bf16:rrr", "gemm_bf16_rrr", "M,N,K", "2,3,4"},
      {"a8w8:int8:bias", "gemm_int8_bf16_rcr_rowwise_bias", "M,N,K", "2,3,4"},
      {"fp16", "gemm_fp16_rcr", "M,N,K", "2,3,4"},
      {"bf8_ocp", "gemm_bf8_ocp_bf16_rcr", "M,N,K", "2,3,4"},
  };
  for (const Expected& e : expected) {
    const Result<Signature> signature = parse_signature(e.signature);
    ASSERT_TRUE(signature) << e.signature;
    const detail::ShapeList list = detail::shape_list(*signature, Arch::gfx942, 80, {2, 3, 4, 5});
    EXPECT_EQ(list.file, std::string(e.file) + "_untuned_gemm_gfx942_80.csv") << e.signature;
    EXPECT_EQ(list.header, e.header) << e.signature;
    EXPECT_EQ(list.line, e.line) << e.signature;
  }
}

TEST_F(RecorderTest, StopsAtItsBound) {
  const Dispatcher dispatcher = recording();
  for (int m = 1; m <= 10'050; ++m) dispatcher.select(tiny::problem(m, 300, 100), device);
  EXPECT_EQ(lines_of(file()).size(), 10'001U);
}

TEST_F(RecorderTest, ProcessesShareAFile) {
  constexpr int kProcesses = 4;
  constexpr int kShapes = 50;
  for (int p = 0; p < kProcesses; ++p) {
    if (fork() != 0) continue;
    const Dispatcher dispatcher = recording();
    for (int i = 0; i < kShapes; ++i) dispatcher.select(tiny::problem(1000 + i + p * kShapes / 2, 300, 100), device);
    _exit(0);
  }
  for (int p = 0; p < kProcesses; ++p) {
    int status = 0;
    ASSERT_GT(wait(&status), 0);
    EXPECT_EQ(status, 0);
  }
  const std::vector<std::string> lines = lines_of(file());
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "M,N,K"), 1);
  EXPECT_EQ(lines.size(), 1U + kShapes + (kProcesses - 1) * kShapes / 2);
  EXPECT_EQ(std::set<std::string>(lines.begin(), lines.end()).size(), lines.size());
}

TEST_F(RecorderTest, AFolderThatCannotBeWrittenIsSaidOnce) {
  const Dispatcher dispatcher{tiny::registry(), DispatcherOptions{false, "", "/proc/nonexistent/folder", ""}};
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(dispatcher.select(tiny::problem(300, 300, 100), device));
  EXPECT_TRUE(dispatcher.select(tiny::problem(301, 300, 100), device));
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(RecorderTest, TheVerboseLineIsVersionedAndAReproducer) {
  setenv("CKGEN_VERBOSE", "1", 1);
  const Dispatcher dispatcher{tiny::registry()};
  unsetenv("CKGEN_VERBOSE");
  ::testing::internal::CaptureStderr();
  dispatcher.select(tiny::problem(128, 1024, 2048), device);
  dispatcher.select(gemm("a8w8_blockscale").shape(1, 2, 2050).deterministic(), device);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "ckgen_verbose,v1,select,gemm_fp16_rcr,gfx942:304,b0m128n1024k2048,exact,tiny_medium,2,-\n"
            "ckgen_verbose,v1,select,gemm_fp8_fnuz_bf16_rcr_blockscale,gfx942:304,b0m1n2k2050d,unsupported,-,1,"
            "K = 2050 is not a multiple of 128 (rule gemm.blockscale.k-group)\n");
}

}  // namespace
