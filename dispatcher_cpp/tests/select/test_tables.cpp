// Tuned tables that a running program loads: which row answers when, which are left out, and what ranks compare.
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include <ckgen/signature_text.hpp>

#include "fmha/fmha_fixture.hpp"

namespace test_tables {

using namespace ckgen;
using namespace ckgen::describe;
using tiny::attention;
using tiny::padded;
using tiny::sizes;

constexpr const char* kTuned =
    "gfx,cu_num,signature,B,M,N,K,experts,top_k,sizes,kernelName,splitK,us,spread,runs,tried,device,driver,tool,date\n";

class TableFiles : public tiny::FmhaTest {
 protected:
  void SetUp() override {
    folder = ::testing::TempDir() + "ckgen_tables_" + std::to_string(getpid());
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string file(const std::string& rows, const std::string& name = "t.csv") const {
    std::ofstream(folder + '/' + name) << rows;
    return folder + '/' + name;
  }
  /// A table of rows of fp16 GEMMs with N=1024 K=2048 on gfx942:304, each "M,instance,splits".
  std::string gemms(std::initializer_list<const char*> rows, const std::string& name = "t.csv") const {
    std::string text = kTuned;
    for (const std::string row : rows) {
      const auto comma = row.find(',');
      text += "gfx942,304,gemm_fp16_rcr,0," + row.substr(0, comma) + ",1024,2048,0,0,," + row.substr(comma + 1) +
              ",1.5,0.01,30,9,\"a CPU, of two names\",,ckgen,\n";
    }
    return file(text, name);
  }

  std::string folder;
};

class LoadedTables : public TableFiles {
 protected:
  Selection select(std::int64_t m) const { return own.select(tiny::problem(m, 1024, 2048), device); }
  void load(const std::string& paths) {
    const Status status = own.load_tables(paths.c_str());
    ASSERT_TRUE(status.ok()) << status.message;
  }

  Dispatcher own{tiny::registry(), DispatcherOptions{}};
};

TEST_F(LoadedTables, ARowAnswersItsSizesAndThoseNearBelowThem) {
  load(gemms({"600,tiny_small,4"}));
  EXPECT_EQ(select(600).tier, Tier::exact);
  EXPECT_EQ(select(600).instance, 0U);
  EXPECT_EQ(select(600).k_batch, 4U);
  EXPECT_EQ(select(600).table_m, 600U);
  EXPECT_EQ(select(300).tier, Tier::near_);
  EXPECT_EQ(select(300).table_m, 600U);
  EXPECT_EQ(select(299).tier, Tier::far_);
  EXPECT_NE(select(601).table_m, 600U);
  EXPECT_NE(own.select(tiny::problem(600, 1024, 2048), Device::simulated("gfx942:80")).tier, Tier::exact);
  EXPECT_NE(own.select(tiny::problem(600, 1040, 2048), device).tier, Tier::exact);
  EXPECT_TRUE(own.is_tuned(tiny::problem(300, 1024, 2048), device));
  EXPECT_NE(own.explain(tiny::problem(600, 1024, 2048), device).find("M=600 → tiny_small   k_batch 4"),
            std::string::npos);
}

TEST_F(LoadedTables, ComeBeforeCompiledRowsOfTheirTier) {
  EXPECT_EQ(select(128).instance, 1U);
  EXPECT_EQ(select(100).table_m, 128U);
  load(gemms({"128,tiny_small,1", "72,tiny_small,2"}));
  EXPECT_EQ(select(128).instance, 0U) << "exact before the compiled exact row";
  EXPECT_EQ(select(64).table_m, 64U) << "a compiled exact row before a near one";
  EXPECT_EQ(select(64).tier, Tier::exact);
  EXPECT_EQ(select(66).table_m, 72U) << "near before the compiled near row";
  EXPECT_EQ(select(66).k_batch, 2U);
  const Problem problem = tiny::problem(128, 1024, 2048);
  const Selection second = own.next(problem, device, own.select(problem, device));
  EXPECT_EQ(second.tier, Tier::exact);
  EXPECT_EQ(second.instance, 1U) << "the compiled row is behind it";
}

TEST_F(LoadedTables, ForcedAndOverriddenComeBefore) {
  load(gemms({"128,tiny_small,1"}));
  const std::string overrides = file(
      "target,signature,B,M,N,K,instance,k_batch\ngfx942:304,gemm_fp16_rcr,,128,1024,2048,tiny_medium,4\n", "o.csv");
  ASSERT_TRUE(own.load_overrides(overrides.c_str()).ok());
  EXPECT_EQ(select(128).tier, Tier::override_);
  EXPECT_TRUE(own.is_tuned(tiny::problem(128, 1024, 2048), device));
}

TEST_F(LoadedTables, ARowThatRefusesAProblemLeavesItToTheOthers) {
  load(gemms({"600,tiny_atomic,4"}));
  EXPECT_EQ(select(600).instance, 2U);
  const Selection s = own.select(tiny::problem(600, 1024, 2048).deterministic(), device);
  EXPECT_TRUE(s);
  EXPECT_NE(s.instance, 2U);
}

TEST_F(LoadedTables, RowsThatMeanNothingHereAreSaidAndTheOthersHold) {
  const std::string path = gemms({"128,gone,1", "256,tiny_small,1", "0,tiny_small,1", "512,tiny_small,x",
                                  "513,tiny_small,64", "256,tiny_medium,1", "514,tiny_fnuz,1"});
  std::ofstream(path, std::ios::app) << "gfx000,304,gemm_fp16_rcr,0,1,1024,2048,0,0,,tiny_small,1,1\n"
                                     << "gfx942,304,nonsense,0,1,1024,2048,0,0,,tiny_small,1,1\n"
                                     << "gfx942,304,gemm_fp16_rcr,0,1,1024,2048";
  ::testing::internal::CaptureStderr();
  const Status status = own.load_tables(path.c_str());
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_STREQ(status.message, "table: 9 rows left out, first line 2: not in the library: instance 'gone'");
  for (const char* const why :
       {":4 left out: M is not a size: '0'", "splitK is not a number of splits: 'x'",
        ":6 left out: it no longer fits: k_batch = 64 is above 8", ":7 left out: a second row for this shape",
        "of another signature: instance 'tiny_fnuz'", "unknown target 'gfx000:304'", "not in the library: instance ''"})
    EXPECT_NE(said.find(why), std::string::npos) << why << '\n' << said;
  EXPECT_EQ(select(256).tier, Tier::exact);
  EXPECT_EQ(select(256).instance, 0U);
}

TEST_F(LoadedTables, OfSeveralFilesTheLaterRowHolds) {
  const std::string first = gemms({"600,tiny_small,4", "700,tiny_small,4"}, "a.csv");
  const std::string second = gemms({"600,tiny_small,2"}, "b.csv");
  load(first + ':' + second);
  EXPECT_EQ(select(600).k_batch, 2U);
  EXPECT_EQ(select(700).k_batch, 4U);
  load(second + ':' + first);
  EXPECT_EQ(select(600).k_batch, 4U);
  load("");
  EXPECT_EQ(select(600).tier, Tier::far_);
}

TEST_F(LoadedTables, AFileThatIsNoneChangesNothing) {
  const std::string good = gemms({"600,tiny_small,4"});
  load(good);
  EXPECT_FALSE(own.load_tables("/nonexistent/file.csv").ok());
  EXPECT_FALSE(own.load_tables(nullptr).ok());
  const std::string mine = file("M,N,K\n1,2,3\n", "mine.csv");
  const Status status = own.load_tables((good + ':' + mine).c_str());
  EXPECT_NE(
      std::string(status.message).find("mine.csv:1: expected the columns gfx,cu_num,signature,B,M,N,K,kernelName"),
      std::string::npos)
      << status.message;
  EXPECT_EQ(select(600).tier, Tier::exact);
}

TEST_F(LoadedTables, AreReadFromTheOptions) {
  const std::string path = gemms({"600,tiny_small,4"});
  setenv("CKGEN_TABLES", path.c_str(), 1);
  const Dispatcher from_environment{tiny::registry()};
  setenv("CKGEN_TABLES", "/nonexistent", 1);
  const Dispatcher without{tiny::registry()};
  unsetenv("CKGEN_TABLES");
  EXPECT_TRUE(from_environment.status().ok());
  EXPECT_EQ(from_environment.select(tiny::problem(600, 1024, 2048), device).tier, Tier::exact);
  EXPECT_FALSE(without.status().ok());
  EXPECT_TRUE(without.select(tiny::problem(600, 1024, 2048), device));
}

TEST_F(LoadedTables, TheDigestIsOfWhatWasCompiledAndOfTheFilesBytes) {
  const std::uint64_t compiled = own.tables_digest();
  EXPECT_EQ(compiled, Dispatcher(tiny::registry(), DispatcherOptions{}).tables_digest());
  EXPECT_EQ(own.loaded_tables_digest(), 0U);
  load(gemms({"600,tiny_small,4"}, "a.csv"));
  const std::uint64_t loaded = own.tables_digest(), files = own.loaded_tables_digest();
  EXPECT_NE(loaded, compiled);
  load(gemms({"600,tiny_small,4"}, "b.csv"));
  EXPECT_EQ(own.tables_digest(), loaded) << "names do not count";
  EXPECT_EQ(own.loaded_tables_digest(), files);
  load(gemms({"600,tiny_small,8"}, "b.csv"));
  EXPECT_NE(own.tables_digest(), loaded);
  EXPECT_NE(own.loaded_tables_digest(), files);
  load("");
  EXPECT_EQ(own.tables_digest(), compiled);
  EXPECT_EQ(own.loaded_tables_digest(), 0U);
  static constexpr Group other_groups[] = {ladder<tiny::n1000>(1024, 2048)};
  static constexpr auto slots = slots_of(other_groups);
  static constexpr LookupTable table = lookup_table(Arch::gfx942, 304, tiny::policy, other_groups, slots);
  static constexpr const LookupTable* tables[] = {&table};
  static constexpr SignatureUnit unit{"gemm_fp16_rcr", tiny::fp16, tiny::instances, 3, tables, 1,
                                      nullptr,         0,          nullptr,         0};
  static constexpr const SignatureUnit* units[] = {&unit};
  static constexpr Library library{"tiny", CKGEN_RUNTIME_ABI, 0x1234, units, 1};
  Registry another;
  ASSERT_TRUE(another.add(library).ok());
  EXPECT_NE(Dispatcher(another, DispatcherOptions{}).tables_digest(), compiled);
}

TEST_F(LoadedTables, AreExchangedBesideConcurrentSelections) {
  const std::string files[] = {gemms({"600,tiny_small,4"}, "a.csv"), gemms({"600,tiny_small,2"}, "b.csv")};
  load(files[0]);
  std::atomic<bool> stop{false};
  std::thread readers[2];
  for (std::thread& reader : readers) {
    reader = std::thread([&] {
      while (!stop) {
        const Selection s = select(600);
        ASSERT_EQ(s.tier, Tier::exact);
        ASSERT_TRUE(s.k_batch == 4 || s.k_batch == 2);
        static_cast<void>(own.tables_digest());
      }
    });
  }
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(own.load_tables(files[i % 2].c_str()).ok());
  stop = true;
  for (std::thread& reader : readers) reader.join();
}

class LoadedOps : public TableFiles {
 protected:
  Selection select(const Problem& problem) const { return own->select(problem, device); }
  void load(const std::string& rows) {
    own.emplace(registry, DispatcherOptions{});
    const Status status = own->load_tables(file(kTuned + rows).c_str());
    ASSERT_TRUE(status.ok()) << status.message;
  }
  /// What is said of a table of one row.
  std::string refusal(const std::string& row) {
    own.emplace(registry, DispatcherOptions{});
    return own->load_tables(file(std::string(kTuned) + row + ",best,1,1\n").c_str()).message;
  }
  void add_product(const char* name, std::uint64_t id, const char* signature) {
    const Result<Signature> parsed = parse_signature(signature);
    ASSERT_TRUE(parsed);
    add(tiny::instance(name, id, *parsed, {32, 64, 32}, {0, 0, 0, 0, 0, 8, false}));
  }

  std::optional<Dispatcher> own;
};

TEST_F(LoadedOps, RowsOfExpertsAreOfTheirRouting) {
  add_product("first", 1, "moe_bf16_rcr_layer_gated_epi_silu");
  add_product("best", 2, "moe_bf16_rcr_layer_gated_epi_silu");
  load("gfx942,304,moe_bf16_rcr_layer_gated_epi_silu,0,16,64,128,8,2,,best,1,1\n");
  const auto layer = [](std::int64_t tokens, std::uint16_t top_k) {
    return moe("bf16:gated:silu").shape(tokens, 64, 128).routing({8, top_k});
  };
  EXPECT_EQ(select(layer(16, 2)).tier, Tier::exact);
  EXPECT_EQ(select(layer(16, 2)).instance, 1U);
  EXPECT_EQ(select(layer(8, 2)).tier, Tier::near_);
  EXPECT_EQ(select(layer(16, 3)).tier, Tier::default_);
  EXPECT_NE(refusal("gfx942,304,moe_bf16_rcr_layer_gated_epi_silu,0,16,64,128,0,2,").find("experts is not a size"),
            std::string::npos);
}

TEST_F(LoadedOps, RowsOfBatchesAreOfTheirBatch) {
  add_product("first", 1, "gemm_bf16_rcr_batched");
  add_product("best", 2, "gemm_bf16_rcr_batched");
  load("gfx942,304,gemm_bf16_rcr_batched,4,16,64,128,0,0,,best,2,1\n");
  const auto tier = [&](std::int64_t batch) {
    return select(gemm("batched_bf16").shape(16, 64, 128).batch(batch)).tier;
  };
  EXPECT_EQ(tier(4), Tier::exact);
  EXPECT_EQ(tier(5), Tier::default_);
  EXPECT_NE(refusal("gfx942,304,gemm_bf16_rcr_batched,0,16,64,128,0,0,").find("B is not a size"), std::string::npos);
}

TEST_F(LoadedOps, RowsOfGroupsAreByTheLargestSizes) {
  add_product("first", 1, "grouped_gemm_bf16_rcr");
  add_product("best", 2, "grouped_gemm_bf16_rcr");
  const std::string head = "gfx942,304,grouped_gemm_bf16_rcr,0,64,512,1024,0,0,";
  load(head + "2*64x512x1024;32x512x1024;0x512x1024,best,1,1\n");
  const GroupSize sizes[] = {{64, 512, 1024}, {8, 512, 1024}};
  const Groups two(sizes, 2), one(sizes + 1, 1);
  EXPECT_EQ(select(grouped_gemm("bf16").groups(two)).tier, Tier::exact);
  EXPECT_EQ(select(grouped_gemm("bf16").groups(two)).instance, 1U);
  EXPECT_EQ(select(grouped_gemm("bf16").groups(one)).tier, Tier::default_);
  EXPECT_EQ(refusal(head), "");
  EXPECT_EQ(refusal(head + "on_device 8*64x512x1024"), "");
  EXPECT_NE(refusal(head + "32x512x1024").find("M, N and K are not the largest"), std::string::npos);
  EXPECT_NE(refusal(head + "99999999*64x512x1024").find("more than 65536 groups"), std::string::npos);
  for (const char* const wrong : {"64x512", "x", "0*64x512x1024", "-1x512x1024", "64x512x1024x1", "on_device"})
    EXPECT_NE(refusal(head + wrong), "") << wrong;
}

TEST_F(LoadedOps, RowsOfAttentionAreByTheirWords) {
  FmhaTraits traits;
  traits.masked = true;
  add("first", padded(64, 64, 128, 128), attention(traits));
  FmhaConfig splitting = padded(128, 64, 128, 128);
  splitting.max_splits = 8;
  add("best", splitting, attention(traits));
  const std::string head = "gfx942,304,fmha_bf16_masked,0,0,0,0,0,0,";
  const std::string words = "batch=2 heads_q=8 heads_k=2 seqlen_q=64 seqlen_k=512 hdim_q=128 hdim_v=128 mask=b:-1;0";
  load(head + words + ",best,4,1\n");
  const auto chosen = [&](std::int64_t seqlen_q, std::int64_t seqlen_k, std::int32_t left = -1) {
    FmhaShape shape = sizes(2, 8, 2, seqlen_q, seqlen_k, 128, 128);
    shape.window_left = left;
    return select(Problem(attention(traits)).fmha(shape));
  };
  EXPECT_EQ(chosen(64, 512).tier, Tier::exact);
  EXPECT_EQ(chosen(64, 512).instance, 1U);
  EXPECT_EQ(chosen(64, 512).k_batch, 4U);
  EXPECT_EQ(chosen(64, 512).table_m, 512U);
  EXPECT_EQ(chosen(60, 300).tier, Tier::near_);
  EXPECT_EQ(chosen(60, 255).tier, Tier::default_);
  EXPECT_EQ(chosen(31, 512).tier, Tier::default_);
  EXPECT_EQ(chosen(65, 512).tier, Tier::default_);
  EXPECT_EQ(chosen(64, 512, 7).tier, Tier::default_);
  EXPECT_EQ(refusal(head + words), "");
  EXPECT_EQ(refusal(head + words + ";7"), "");
  for (const std::string& wrong : {std::string(), words + " page_size=16", words + " nonsense=1", words + " heads_q",
                                   words + " heads_q=99999999999", std::string("mask=b:1;1"), words + ";x",
                                   words + " mask=x:1;1", words + " heads_q=-1"})
    EXPECT_NE(refusal(head + wrong), "") << wrong;
  EXPECT_NE(refusal(head + "batch=2 heads_q=8 heads_k=2 seqlen_q=64 seqlen_k=512 hdim_q=256 hdim_v=128 mask=b:-1;0")
                .find("it no longer fits"),
            std::string::npos);
}

TEST_F(LoadedOps, RowsOfPagedAttentionAreOfTheirPageSize) {
  FmhaTraits traits;
  traits.kv = FmhaKv::block_table;
  add("first", padded(64, 64, 128, 128), attention(traits));
  add("best", padded(128, 64, 128, 128), attention(traits));
  char name[kSignatureTextSize];
  canonical_text(attention(traits), name);
  load(std::string("gfx942,304,") + name +
       ",0,0,0,0,0,0,batch=2 heads_q=8 heads_k=2 seqlen_q=64 seqlen_k=512 hdim_q=128 hdim_v=128 "
       "page_size=64,best,1,1\n");
  FmhaShape shape = sizes(2, 8, 2, 64, 512, 128, 128);
  shape.pages = 100;
  shape.page_size = 64;
  EXPECT_EQ(select(Problem(attention(traits)).fmha(shape)).tier, Tier::exact);
  shape.page_size = 128;
  EXPECT_EQ(select(Problem(attention(traits)).fmha(shape)).tier, Tier::default_);
}

}  // namespace test_tables
