// Missed problems on disk, answers counted, and the verbose line.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tiny_library.hpp"

namespace test_recorder {

using namespace ckgen;

using Lines = std::vector<std::string>;

constexpr const char* kColumns = "gfx,cu_num,sku,signature,B,M,N,K,experts,top_k,sizes,count";

Lines lines_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  Lines lines;
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

  Dispatcher recording(const Registry& registry = tiny::registry()) const {
    return Dispatcher(registry, DispatcherOptions{false, "", folder, ""});
  }

  /// Of all files, whose names are of this form; files beginning with a dot are not finished.
  std::vector<Lines> files() const {
    std::vector<Lines> found;
    if (!std::filesystem::exists(folder)) return found;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      const std::string name = file.path().filename().string();
      if (name.front() == '.') continue;
      EXPECT_EQ(name.rfind("ckgen_record_", 0), 0U) << name;
      found.push_back(lines_of(file.path()));
    }
    return found;
  }

  /// The lines of the only file, whose first are the columns.
  Lines rows() const {
    const std::vector<Lines> all = files();
    if (all.size() != 1 || all[0].empty() || all[0][0] != kColumns) return {"not one list"};
    return {all[0].begin() + 1, all[0].end()};
  }

  std::string folder;
  Device device = Device::simulated("gfx942");
};

TEST_F(RecorderTest, EachMissedProblemIsRecordedOnceAndCountedAtTheEnd) {
  {
    const Dispatcher dispatcher = recording();
    EXPECT_TRUE(files().empty());
    for (int repeat = 0; repeat < 3; ++repeat) {
      dispatcher.select(tiny::problem(300, 300, 100), device);    // default
      dispatcher.select(tiny::problem(600, 1024, 2048), device);  // far
      dispatcher.select(tiny::problem(128, 1024, 2048), device);  // exact: known
      dispatcher.select(tiny::problem(100, 1024, 2048), device);  // near: close enough
      dispatcher.select(tiny::problem(0, 300, 100), device);      // illegal: nothing to tune
    }
    dispatcher.select(tiny::problem(600, 1024, 2048), device);
    const Lines at_once = {"gfx942,304,,gemm_fp16_rcr,0,300,300,100,0,0,,1",
                           "gfx942,304,,gemm_fp16_rcr,0,600,1024,2048,0,0,,1"};
    EXPECT_EQ(rows(), at_once);
  }
  const Lines at_the_end = {"gfx942,304,,gemm_fp16_rcr,0,300,300,100,0,0,,3",
                            "gfx942,304,,gemm_fp16_rcr,0,600,1024,2048,0,0,,4"};
  EXPECT_EQ(rows(), at_the_end);
}

TEST_F(RecorderTest, AProblemThatNothingAnswersIsAMiss) {
  const Dispatcher dispatcher = recording();
  Signature bf16 = tiny::fp16;
  bf16.a = bf16.b = bf16.c = DType::bf16;
  EXPECT_FALSE(dispatcher.select(Problem(bf16).shape(3, 4, 5), device));
  EXPECT_EQ(rows(), Lines{"gfx942,304,,gemm_bf16_rcr,0,3,4,5,0,0,,1"});
  dispatcher.select(gemm("nonsense").shape(3, 4, 5), device);
  dispatcher.select(tiny::problem(3, 4, 5), Device::simulated("gfx000"));
  EXPECT_EQ(rows().size(), 1U);
}

TEST_F(RecorderTest, ForcedAndOverriddenProblemsAreNoMisses) {
  const Dispatcher dispatcher{tiny::registry(), DispatcherOptions{false, "tiny_small", folder, ""}};
  EXPECT_EQ(dispatcher.select(tiny::problem(300, 300, 100), device).tier, Tier::forced);
  EXPECT_TRUE(files().empty());
}

TEST_F(RecorderTest, TargetsAndBatchesAreToldApart) {
  Signature batched = tiny::fp16;
  batched.batched = true;
  const Dispatcher dispatcher = recording();
  for (const char* target : {"gfx942:304", "gfx942:80", "gfx942:304", "gfx942:304:mi325x"})
    dispatcher.select(tiny::problem(300, 300, 100), Device::simulated(target));
  dispatcher.select(Problem(batched).shape(3, 4, 5).batch(2), device);
  dispatcher.select(Problem(batched).shape(3, 4, 5).batch(6), device);
  EXPECT_EQ(
      rows(),
      (Lines{"gfx942,304,,gemm_fp16_rcr,0,300,300,100,0,0,,1", "gfx942,80,,gemm_fp16_rcr,0,300,300,100,0,0,,1",
             "gfx942,304,mi325x,gemm_fp16_rcr,0,300,300,100,0,0,,1", "gfx942,304,,gemm_fp16_rcr_batched,2,3,4,5,0,0,,1",
             "gfx942,304,,gemm_fp16_rcr_batched,6,3,4,5,0,0,,1"}));
}

TEST_F(RecorderTest, ExpertsHaveTheirRouting) {
  const Dispatcher dispatcher = recording();
  for (const std::uint16_t top_k : {std::uint16_t{2}, std::uint16_t{3}, std::uint16_t{2}})
    dispatcher.select(moe("bf16:gated:silu").shape(16, 64, 128).routing({8, top_k}), device);
  EXPECT_EQ(rows(), (Lines{"gfx942,304,,moe_bf16_rcr_layer_gated_epi_silu,0,16,64,128,8,2,,1",
                           "gfx942,304,,moe_bf16_rcr_layer_gated_epi_silu,0,16,64,128,8,3,,1"}));
}

TEST_F(RecorderTest, GroupsHaveAllTheirSizes) {
  const Dispatcher dispatcher = recording();
  const GroupSize sizes[] = {{64, 512, 1024}, {64, 512, 1024}, {32, 512, 1024}, {0, 512, 1024}};
  const GroupSize turned[] = {{32, 512, 1024}, {64, 512, 1024}};
  const Groups four(sizes, 4), three(sizes, 3), two(turned, 2), back(sizes + 1, 2);
  const Groups on_device = Groups::on_device(8, 64, 512, 1024);
  for (const Groups* groups : {&four, &three, &two, &back, &on_device, &four})
    dispatcher.select(grouped_gemm("bf16").groups(*groups), device);
  EXPECT_EQ(rows(), (Lines{"gfx942,304,,grouped_gemm_bf16_rcr,0,64,512,1024,0,0,2*64x512x1024;32x512x1024;0x512x1024,1",
                           "gfx942,304,,grouped_gemm_bf16_rcr,0,64,512,1024,0,0,2*64x512x1024;32x512x1024,1",
                           "gfx942,304,,grouped_gemm_bf16_rcr,0,64,512,1024,0,0,32x512x1024;64x512x1024,1",
                           "gfx942,304,,grouped_gemm_bf16_rcr,0,64,512,1024,0,0,64x512x1024;32x512x1024,1",
                           "gfx942,304,,grouped_gemm_bf16_rcr,0,64,512,1024,0,0,on_device 8*64x512x1024,1"}));
}

TEST_F(RecorderTest, AttentionHasTheWordsOfAVerboseLine) {
  FmhaShape shape;
  shape.batch = 2;
  shape.heads_q = 32;
  shape.heads_k = 8;
  shape.seqlen_q = 128;
  shape.seqlen_k = 4096;
  shape.hdim_q = shape.hdim_v = 128;
  const Dispatcher dispatcher = recording();
  dispatcher.select(fmha("bf16_masked").fmha(shape), device);
  shape.window_left = 64;
  dispatcher.select(fmha("bf16_masked").fmha(shape), device);
  dispatcher.select(fmha("bf16").fmha(shape), device);
  shape.window_left = 63;  // of a signature that has no mask
  dispatcher.select(fmha("bf16").fmha(shape), device);
  const std::string words = "batch=2 heads_q=32 heads_k=8 seqlen_q=128 seqlen_k=4096 hdim_q=128 hdim_v=128";
  EXPECT_EQ(rows(), (Lines{"gfx942,304,,fmha_bf16_masked,0,0,0,0,0,0," + words + " mask=b:-1;0,1",
                           "gfx942,304,,fmha_bf16_masked,0,0,0,0,0,0," + words + " mask=b:64;0,1",
                           "gfx942,304,,fmha_bf16,0,0,0,0,0,0," + words + ",1"}));
}

TEST_F(RecorderTest, BeyondItsBoundMissesAreOnlyCounted) {
  std::optional<Dispatcher> dispatcher(recording());
  ::testing::internal::CaptureStderr();
  for (int m = 1; m <= 10'050; ++m) dispatcher->select(tiny::problem(m, 300, 100), device);
  for (int m = 1; m <= 10'050; ++m) dispatcher->select(tiny::problem(m, 300, 100), device);
  const Counters counters = dispatcher->counters();
  EXPECT_EQ(counters.recorded, 10'000U);
  EXPECT_EQ(counters.unrecorded, 100U);
  EXPECT_EQ(counters.misses(), 20'100U);
  dispatcher.reset();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find(" holds 10000 shapes"), std::string::npos) << said;
  EXPECT_NE(said.find("ckgen: 100 misses of shapes beyond the 10000"), std::string::npos) << said;
  const Lines found = rows();
  ASSERT_EQ(found.size(), 10'000U);
  EXPECT_EQ(found.front(), "gfx942,304,,gemm_fp16_rcr,0,1,300,100,0,0,,2");
  EXPECT_EQ(found.back(), "gfx942,304,,gemm_fp16_rcr,0,10000,300,100,0,0,,2");
}

TEST_F(RecorderTest, ThreadsLoseNoCount) {
  constexpr int kThreads = 4, kRounds = 50, kShapes = 40;
  {
    const Dispatcher dispatcher = recording();
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kRounds * kShapes; ++i)
          dispatcher.select(tiny::problem(3000 + (i + t * 7) % kShapes, 300, 100), device);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(dispatcher.counters().misses(), std::uint64_t{kThreads * kRounds * kShapes});
    EXPECT_EQ(dispatcher.counters().recorded, std::uint64_t{kShapes});
  }
  const Lines found = rows();
  EXPECT_EQ(std::set<std::string>(found.begin(), found.end()).size(), std::size_t{kShapes});
  for (const std::string& line : found) EXPECT_EQ(line.substr(line.rfind(',') + 1), "200") << line;
}

/// Waits for children and expects each to end as `how` says.
void await(int children, bool (*how)(int status)) {
  for (int i = 0; i < children; ++i) {
    int status = 0;
    ASSERT_GT(wait(&status), 0);
    EXPECT_TRUE(how(status)) << status;
  }
}

bool exited(int status) {
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
bool was_killed(int status) {
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

TEST_F(RecorderTest, EveryProcessHasAFileOfItsOwn) {
  constexpr int kProcesses = 4, kShapes = 50;
  for (int p = 0; p < kProcesses; ++p) {
    if (fork() != 0) continue;
    {
      const Dispatcher dispatcher = recording();
      for (int i = 0; i < kShapes; ++i) dispatcher.select(tiny::problem(1000 + i + p * kShapes / 2, 300, 100), device);
    }
    _exit(0);
  }
  await(kProcesses, exited);
  const std::vector<Lines> all = files();
  ASSERT_EQ(all.size(), std::size_t{kProcesses});
  for (const Lines& lines : all) {
    EXPECT_EQ(lines.size(), std::size_t{1 + kShapes});
    EXPECT_EQ(lines.at(0), kColumns);
  }
}

TEST_F(RecorderTest, AChildOfForkBeginsAListOfItsOwn) {
  {
    std::optional<Dispatcher> dispatcher(recording());
    dispatcher->select(tiny::problem(300, 300, 100), device);
    dispatcher->select(tiny::problem(301, 300, 100), device);
    if (fork() == 0) {
      dispatcher->select(tiny::problem(301, 300, 100), device);
      dispatcher->select(tiny::problem(301, 300, 100), device);
      dispatcher.reset();
      _exit(0);
    }
    if (fork() == 0) {
      dispatcher.reset();  // it recorded nothing, and leaves the parent's alone
      _exit(0);
    }
    await(2, exited);
    dispatcher->select(tiny::problem(300, 300, 100), device);
  }
  std::vector<Lines> all = files();
  std::sort(all.begin(), all.end(), [](const Lines& x, const Lines& y) { return x.size() < y.size(); });
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0], (Lines{kColumns, "gfx942,304,,gemm_fp16_rcr,0,301,300,100,0,0,,2"}));
  EXPECT_EQ(all[1], (Lines{kColumns, "gfx942,304,,gemm_fp16_rcr,0,300,300,100,0,0,,2",
                           "gfx942,304,,gemm_fp16_rcr,0,301,300,100,0,0,,1"}));
}

TEST_F(RecorderTest, AKilledProcessLosesNoShape) {
  constexpr int kKilled = 8;
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  std::vector<int> recorded;
  for (int p = 0; p < kKilled; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      const Dispatcher dispatcher = recording();
      for (int m = 1000 * (p + 1);; ++m) {
        dispatcher.select(tiny::problem(m, 300, 100), device);
        if (write(told[1], &m, sizeof m) != sizeof m) _exit(1);
      }
    }
    int m = 0;
    while (m < 1000 * (p + 1)) {  // until this child has recorded, however slow the machine
      ASSERT_EQ(read(told[0], &m, sizeof m), static_cast<ssize_t>(sizeof m));
      recorded.push_back(m);
    }
    usleep(static_cast<useconds_t>(500 * p));
    kill(child, SIGKILL);
  }
  await(kKilled, was_killed);
  close(told[1]);
  for (int m = 0; read(told[0], &m, sizeof m) == sizeof m;) recorded.push_back(m);
  close(told[0]);
  std::set<std::string> found;
  for (const Lines& lines : files()) {
    ASSERT_EQ(lines.at(0), kColumns);
    for (std::size_t i = 1; i < lines.size(); ++i) EXPECT_EQ(std::count(lines[i].begin(), lines[i].end(), ','), 11);
    found.insert(lines.begin(), lines.end());
  }
  for (const int m : recorded)
    EXPECT_EQ(found.count("gfx942,304,,gemm_fp16_rcr,0," + std::to_string(m) + ",300,100,0,0,,1"), 1U) << m;
}

TEST_F(RecorderTest, AFullDiskLeavesWholeLines) {
  if (fork() == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit most{200, 200};
    if (setrlimit(RLIMIT_FSIZE, &most) != 0) _exit(1);
    {
      const Dispatcher dispatcher = recording();
      for (int m = 300; m < 320; ++m) dispatcher.select(tiny::problem(m, 300, 100), device);
    }
    _exit(0);
  }
  await(1, exited);
  EXPECT_EQ(rows(),
            (Lines{"gfx942,304,,gemm_fp16_rcr,0,300,300,100,0,0,,1", "gfx942,304,,gemm_fp16_rcr,0,301,300,100,0,0,,1",
                   "gfx942,304,,gemm_fp16_rcr,0,302,300,100,0,0,,1"}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "nothing is left beside it";
}

TEST_F(RecorderTest, FilesOfOthersInTheFolderAreLeftAlone) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/ckgen_record_mine.csv") << "M,N,K\n1,2";
  recording().select(tiny::problem(300, 300, 100), device);
  EXPECT_EQ(lines_of(folder + "/ckgen_record_mine.csv"), (Lines{"M,N,K", "1,2"}));
  EXPECT_EQ(files().size(), 2U);
}

TEST_F(RecorderTest, AFolderThatCannotBeWrittenIsSaidOnce) {
  const Dispatcher dispatcher{tiny::registry(), DispatcherOptions{false, "", "/proc/nonexistent/folder", ""}};
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(dispatcher.select(tiny::problem(300, 300, 100), device));
  EXPECT_TRUE(dispatcher.select(tiny::problem(301, 300, 100), device));
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST(Counters, SayWhatAnswered) {
  const Device device = Device::simulated("gfx942");
  const Dispatcher silent{tiny::registry(), DispatcherOptions{}};
  silent.select(tiny::problem(128, 1024, 2048), device);
  EXPECT_EQ(silent.counters().hits() + silent.counters().misses(), 0U);

  DispatcherOptions options;
  options.count = true;
  const Dispatcher dispatcher{tiny::registry(), options};
  for (const int m : {128, 100, 100, 600, 0}) dispatcher.select(tiny::problem(m, 1024, 2048), device);
  static_cast<void>(dispatcher.plan(tiny::problem(128, 1024, 2048), device));
  EXPECT_TRUE(dispatcher.is_tuned(tiny::problem(128, 1024, 2048), device));
  const Counters counters = dispatcher.counters();
  EXPECT_EQ(counters.of(Tier::exact), 2U);
  EXPECT_EQ(counters.of(Tier::near_), 2U);
  EXPECT_EQ(counters.of(Tier::far_), 1U);
  EXPECT_EQ(counters.of(Tier::unsupported), 1U);
  EXPECT_EQ(counters.hits(), 4U);
  EXPECT_EQ(counters.misses(), 2U);
  EXPECT_EQ(counters.recorded, 0U);
}

TEST(IsTuned, AsksForARowAtOrNearTheSizesOnTheDevicesOwnTarget) {
  const Dispatcher dispatcher{tiny::registry(), DispatcherOptions{}};
  const Dispatcher forced{tiny::registry(), DispatcherOptions{false, "tiny_small", "", ""}};
  const auto is_tuned = [&](std::int64_t m, const char* target) {
    const Problem problem = tiny::problem(m, 1024, 2048);
    const bool tuned = dispatcher.is_tuned(problem, Device::simulated(target));
    EXPECT_EQ(forced.is_tuned(problem, Device::simulated(target)), tuned);
    return tuned;
  };
  EXPECT_TRUE(is_tuned(128, "gfx942"));
  EXPECT_TRUE(is_tuned(100, "gfx942"));
  EXPECT_FALSE(is_tuned(600, "gfx942"));
  EXPECT_FALSE(is_tuned(128, "gfx942:80"));
  EXPECT_FALSE(is_tuned(0, "gfx942"));
  EXPECT_FALSE(is_tuned(128, "gfx000"));
  EXPECT_FALSE(dispatcher.is_tuned(gemm("nonsense").shape(1, 1, 1), Device::simulated("gfx942")));
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

TEST_F(RecorderTest, AVerboseLineAboutGroupsHasTheSizesOfEach) {
  DispatcherOptions options;
  options.verbose = true;
  const Dispatcher dispatcher{tiny::registry(), options};
  const GroupSize sizes[] = {{64, 512, 1024}, {64, 512, 1024}, {32, 512, 1024}};
  const Groups groups(sizes, 3), known = Groups::on_device(8, 64, 512, 1024);
  ::testing::internal::CaptureStderr();
  dispatcher.select(grouped_gemm("bf16").groups(groups), device);
  dispatcher.select(grouped_gemm("bf16").groups(known), device);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find(",b0m64n512k1024g3:2*64x512x1024;32x512x1024,"), std::string::npos) << said;
  EXPECT_NE(said.find(",b0m64n512k1024G8:8*64x512x1024,"), std::string::npos) << said;
}

}  // namespace test_recorder
