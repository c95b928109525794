// The override file: read at run time, exchanged under way, and honest about rows that are stale.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tiny_library.hpp"

namespace test_overrides {

using namespace ckgen;

constexpr const char* kHeader = "target,signature,B,M,N,K,instance,k_batch\n";

class OverrideFile : public ::testing::Test {
 protected:
  void SetUp() override {
    path = (std::filesystem::temp_directory_path() / ("ckgen_override_" + std::to_string(getpid()) + ".csv")).string();
  }
  void TearDown() override { std::filesystem::remove(path); }
  void write(const std::string& rows) const { std::ofstream(path) << rows; }

  Selection select(std::int64_t m) const { return dispatcher.select(tiny::problem(m, 1024, 2048), device); }

  std::string path;
  Dispatcher dispatcher{tiny::registry(), DispatcherOptions{}};
  Device device = Device::simulated("gfx942:304");
};

TEST_F(OverrideFile, ComesBeforeEveryTableForExactlyItsShape) {
  write(std::string("# made by hand\n") + kHeader + "gfx942:304,gemm_fp16_rcr,,128,1024,2048,tiny_small,4\n");
  ASSERT_TRUE(dispatcher.load_overrides(path.c_str()).ok());
  const Selection s = select(128);
  EXPECT_EQ(s.tier, Tier::override_);
  EXPECT_EQ(s.instance, 0U);
  EXPECT_EQ(s.k_batch, 4U);
  EXPECT_EQ(select(127).tier, Tier::near_);
  EXPECT_NE(dispatcher.select(tiny::problem(128, 1024, 2048), Device::simulated("gfx942:80")).tier, Tier::override_);
}

TEST_F(OverrideFile, ARowThatDoesNotSupportTheProblemIsPassedOver) {
  write(std::string(kHeader) + "gfx942,fp16,,128,1024,2048,tiny_small,16\n");
  ASSERT_TRUE(dispatcher.load_overrides(path.c_str()).ok());
  EXPECT_EQ(select(128).tier, Tier::exact);
  EXPECT_NE(dispatcher.explain(tiny::problem(128, 1024, 2048), device).find("k_batch = 16 is above 8"),
            std::string::npos);
}

TEST_F(OverrideFile, StaleRowsAreSaidAndTheOthersHold) {
  write(std::string(kHeader) + "gfx942,fp16,,1,1024,2048,gone,1\ngfx000,fp16,,1,1024,2048,tiny_small,1\n" +
        "gfx942,fp16,,1,1024,x,tiny_small,1\ngfx942,a8w8:int8,,1,1024,2048,tiny_small,1\n" +
        "gfx942,fp16,,128,1024,2048,tiny_small,1\n");
  ::testing::internal::CaptureStderr();
  const Status status = dispatcher.load_overrides(path.c_str());
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_STREQ(status.message, "override file: 4 rows left out, first line 2: not in the library: instance 'gone'");
  EXPECT_NE(said.find(":3 left out: unknown target 'gfx000'"), std::string::npos) << said;
  EXPECT_NE(said.find("K is not a size: 'x'"), std::string::npos) << said;
  EXPECT_NE(said.find("of another signature"), std::string::npos) << said;
  EXPECT_EQ(select(128).tier, Tier::override_);
}

TEST_F(OverrideFile, AFileThatIsNoneChangesNothing) {
  write(std::string(kHeader) + "gfx942,fp16,,128,1024,2048,tiny_small,1\n");
  ASSERT_TRUE(dispatcher.load_overrides(path.c_str()).ok());
  EXPECT_FALSE(dispatcher.load_overrides("/nonexistent/file.csv").ok());
  EXPECT_FALSE(dispatcher.load_overrides(nullptr).ok());
  write("M,N,K\n1,2,3\n");
  EXPECT_FALSE(dispatcher.load_overrides(path.c_str()).ok());
  EXPECT_EQ(select(128).tier, Tier::override_);
  write(kHeader);
  ASSERT_TRUE(dispatcher.load_overrides(path.c_str()).ok());
  EXPECT_EQ(select(128).tier, Tier::exact);
}

TEST_F(OverrideFile, IsARegularFileAndNothingElse) {
  const auto refusal = [&](const char* given) { return std::string(dispatcher.load_overrides(given).message); };
  const std::string folder = std::filesystem::temp_directory_path().string();
  EXPECT_EQ(refusal(folder.c_str()), "override file " + folder + " cannot be read: it is no regular file");
  EXPECT_EQ(refusal("/dev/zero"), "override file /dev/zero cannot be read: it is no regular file");
  EXPECT_EQ(refusal("/dev/null"), "override file /dev/null cannot be read: it is no regular file");
  EXPECT_NE(refusal("/proc/self/mem").find("cannot be read: "), std::string::npos);  // regular, but not from its start
  EXPECT_NE(refusal("/nonexistent").find("cannot be read: No such file"), std::string::npos);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_NE(refusal(path.c_str()).find("no regular file"), std::string::npos);  // nobody writes: it must not wait
  EXPECT_EQ(select(128).tier, Tier::exact);
}

TEST_F(OverrideFile, ALinkToAFileIsThatFile) {
  write(std::string(kHeader) + "gfx942,fp16,,128,1024,2048,tiny_small,1\n");
  const std::string link = path + ".link";
  std::filesystem::create_symlink(path, link);
  EXPECT_TRUE(dispatcher.load_overrides(link.c_str()).ok());
  std::filesystem::remove(link);
  EXPECT_EQ(select(128).tier, Tier::override_);
}

TEST_F(OverrideFile, HasABound) {
  write(std::string(kHeader) + "gfx942,fp16,,128,1024,2048,tiny_small,1\n");
  std::filesystem::resize_file(path, (std::uintmax_t{64} << 20) + 1);  // a hole: no bytes on the disk
  const Status status = dispatcher.load_overrides(path.c_str());
  EXPECT_NE(std::string(status.message).find("it is larger than 64 MiB"), std::string::npos) << status.message;
  EXPECT_EQ(select(128).tier, Tier::exact);
}

TEST_F(OverrideFile, AByteOrderMarkAndOtherLineEndsAreTakenAsInTables) {
  write("\xef\xbb\xbftarget,signature,B,M,N,K,instance,k_batch\r\n\r\ngfx942,fp16,,128,1024,2048,tiny_small,1");
  ASSERT_TRUE(dispatcher.load_overrides(path.c_str()).ok());
  EXPECT_EQ(select(128).tier, Tier::override_);
}

TEST_F(OverrideFile, WhatItHoldsCannotSteerATerminal) {
  write(std::string(kHeader) + "gfx942,fp16,,1,1024,2048,\x1b[31mred\x07\x9b,1\n\x1b]0;x,fp16,,1,1,1,tiny_small,1\n" +
        "gfx942,\x1b[2J,,1,1,1,tiny_small,1\ngfx942,fp16,,1,1024,2048," + std::string(100000, 'x') + ",1\n");
  ::testing::internal::CaptureStderr();
  const Status status = dispatcher.load_overrides(path.c_str());
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_STREQ(status.message,
               "override file: 4 rows left out, first line 2: not in the library: instance '\\x1b[31mred\\x07\\x9b'");
  EXPECT_NE(said.find("unknown target '\\x1b]0;x'"), std::string::npos) << said;
  EXPECT_NE(said.find("\\x1b[2J"), std::string::npos) << said;
  EXPECT_EQ(said.find_first_not_of("\n !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`"
                                   "abcdefghijklmnopqrstuvwxyz{|}~"),
            std::string::npos)
      << said;
  EXPECT_LT(said.size(), 1500U);
}

TEST_F(OverrideFile, ReloadsBesideConcurrentSelections) {
  write(std::string(kHeader) + "gfx942,fp16,,128,1024,2048,tiny_small,1\n");
  std::atomic<bool> stop{false};
  std::thread readers[2];
  for (std::thread& reader : readers) {
    reader = std::thread([&] {
      while (!stop) {
        const Selection s = select(128);
        ASSERT_TRUE(s.tier == Tier::exact || s.tier == Tier::override_);
      }
    });
  }
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(dispatcher.load_overrides(path.c_str()).ok());
  stop = true;
  for (std::thread& reader : readers) reader.join();
}

TEST_F(OverrideFile, IsReadFromTheOptions) {
  write(std::string(kHeader) + "gfx942,fp16,,128,1024,2048,tiny_small,1\n");
  setenv("CKGEN_OVERRIDE", path.c_str(), 1);
  const Dispatcher from_environment{tiny::registry()};
  unsetenv("CKGEN_OVERRIDE");
  EXPECT_TRUE(from_environment.status().ok());
  EXPECT_EQ(from_environment.select(tiny::problem(128, 1024, 2048), device).tier, Tier::override_);
}

}  // namespace test_overrides
