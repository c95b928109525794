// GEMM twins and host instances against a triple loop written from the formulas in ckgen/gemm_types.hpp.
// The data are small integers and power-of-two scales: every sum is exact, so results must be equal. The wide matrix of
// dtypes, rounding and refusals is tests/cpp/test_host_gemm.py; this file is what the sanitizers run.
#include "backends/host/gemm/blocking.hpp"
#include "backends/host/gemm/division.hpp"
#include "backends/host/gemm/gemm.hpp"
#include "backends/host/host_fixture.hpp"

#include <cstdlib>
#include <thread>
#include <vector>

namespace test_host_gemm {

using namespace host_test;

const bool kConfigured = [] { return setenv("CKGEN_NUM_THREADS", "3", 1) == 0; }();

constexpr host::TwinConfig kTile{64, 64, 32, 1, true, true, true};

void run_twin(Fixture& f, const host::TwinConfig& config = kTile, std::int64_t k_batch = 1) {
  const Workspace w(host::gemm_twin_workspace(f.traits, config, k_batch, f.args.m, f.args.n, f.args.k, f.args.batch));
  const Status s = host::run_gemm_twin(f.traits, config, k_batch, f.args, w.data);
  ASSERT_TRUE(s.ok()) << s.message;
  f.expect_equal();
}

constexpr DType kInt = DType::int8, kHalf = DType::bf16, kFp8 = DType::fp8_fnuz, kFp4 = DType::fp4,
                kFloat = DType::fp32;

TEST(GemmTwin, EveryKindOfOperand) {
  ASSERT_TRUE(kConfigured);
  const DType acc = DType::fp32;
  const GemmTraits kinds[] = {
      {kFloat, kFloat, kFloat, acc, Layout::rcr, Quant::none, false, true},
      {DType::fp16, DType::fp16, DType::fp16, acc, Layout::rcr, Quant::none, false, false},
      {kHalf, kHalf, kHalf, acc, Layout::rcr, Quant::none, false, true},
      {kInt, kInt, DType::int32, DType::int32, Layout::rcr, Quant::none, false, false},
      {kInt, kInt, kHalf, DType::int32, Layout::rcr, Quant::rowwise, true, true},
      {kFp8, DType::bf8_ocp, kHalf, acc, Layout::rcr, Quant::rowwise, false, false},
      {kFp8, kFp8, kHalf, acc, Layout::rcr, Quant::per_tensor, true, false},
      {kFp8, kFp8, kHalf, acc, Layout::rcr, Quant::blockscale, false, false},
      {kFp4, kFp4, kHalf, acc, Layout::rcr, Quant::mx, true, false},
  };
  for (const GemmTraits& kind : kinds)
    for (const Shape shape : {Shape{1, 48, 192}, Shape{19, 144, 320}, Shape{150, 144, 192}})
      for (const Layout layout : {Layout::rcr, Layout::rrr, Layout::ccr, Layout::crr}) {
        GemmTraits t = kind;
        t.layout = layout;
        if (b_is_row_major(layout)) t.preshuffle_b = false;
        if (t.a == kFp4 && !a_is_row_major(layout) && shape.m % 2 != 0) continue;
        Fixture f(t, shape);
        run_twin(f);
        if (HasFatalFailure()) return;
      }
}

TEST(GemmTwin, ShuffledScalesAreReadWithinTheirBytes) {
  const GemmTraits t{kFp4, kFp4, kHalf, DType::fp32, Layout::rcr, Quant::mx, false, false};
  for (const std::int64_t batch : {1, 3})
    for (const Shape shape : {Shape{1, 48, 32}, Shape{33, 70, 290}, Shape{96, 64, 512}}) {
      Fixture f(t, shape, batch);
      Bytes a_scale, b_scale;
      const auto shuffle = [&](const Bytes& plain, std::int64_t rows, Bytes& to) {
        const std::int64_t bytes = shuffled_mx_scale_bytes(rows, f.groups);
        to.resize(static_cast<std::size_t>(bytes * batch));
        for (std::int64_t i = 0; i < batch; ++i)
          ASSERT_TRUE(
              shuffle_mx_scale(plain.data() + i * rows * f.groups, f.groups, to.data() + i * bytes, rows, f.groups));
      };
      shuffle(f.sa8, shape.m, a_scale);
      shuffle(f.sb8, shape.n, b_scale);
      f.args.a_scale = a_scale.data();
      f.args.b_scale = b_scale.data();
      f.args.mx_scale_shuffled = true;
      run_twin(f);
      if (HasFatalFailure()) return;
    }
}

TEST(GemmTwin, SplitsAndBatches) {
  for (const std::int64_t k_batch : {1, 2, 3, 9})
    for (const std::int32_t mode : {1, 2}) {
      host::TwinConfig config = kTile;
      config.k_batch_mode = mode;
      Fixture f({kFloat, kFloat, kFloat, DType::fp32, Layout::rcr, Quant::rowwise, false, true}, {70, 65, 130}, 3);
      run_twin(f, config, k_batch);
      Fixture i({kInt, kInt, DType::int32, DType::int32, Layout::crr, Quant::none, false, false}, {70, 65, 131}, 2);
      run_twin(i, config, k_batch);
      if (HasFatalFailure()) return;
    }
}

// Rows whose parts tell where a twin rounds, in bf16, whose neighbour of 256 is 258: each split alone, as atomic
// additions to C see it, and every sum after one (k_batch_mode 2), or the whole sum once (1).
TEST(GemmTwin, AtomicSplitsRoundEachPartAndEachSum) {
  constexpr std::int64_t kRows = 5, kParts = 3, kDepth = 32, kColumns = 20;
  const struct {
    float parts[kParts], atomic, once;
  } rows[kRows] = {{{256.0F, 1.0F, 1.0F}, 256.0F, 258.0F},
                   {{1.0F, 1.0F, 256.0F}, 258.0F, 258.0F},
                   {{256.0F, 1.00390625F, 0.0F}, 256.0F, 258.0F},  // 1 + 2^-8 is 1, behind which 257 is a tie
                   {{258.0F, 1.0F, -1.0F}, 260.0F, 258.0F},        // 259 is 260, and so is 259 again
                   {{-256.0F, -1.0F, -1.0F}, -256.0F, -258.0F}};
  std::vector<float> a(kRows * kParts * kDepth), b(kParts * kDepth * kColumns, 1.0F);
  for (std::int64_t m = 0; m < kRows; ++m)
    for (std::int64_t part = 0; part < kParts; ++part)
      a[static_cast<std::size_t>((m * kParts + part) * kDepth + 7 * part)] = rows[m].parts[part];
  const GemmTraits traits{kFloat, kFloat, kHalf, kFloat, Layout::rrr, Quant::none, false, false};
  for (const std::int32_t mode : {1, 2}) {
    host::TwinConfig config = kTile;
    config.k_batch_mode = mode;
    std::vector<std::uint16_t> c(kRows * kColumns);
    GemmArgs args{};
    args.a = a.data(), args.b = b.data(), args.c = c.data();
    args.m = kRows, args.n = kColumns, args.k = kParts * kDepth, args.batch = 1;
    args.lda = args.k, args.ldb = args.ldc = kColumns;
    const Workspace w(host::gemm_twin_workspace(traits, config, kParts, args.m, args.n, args.k, 1));
    const Status s = host::run_gemm_twin(traits, config, kParts, args, w.data);
    ASSERT_TRUE(s.ok()) << s.message;
    for (std::size_t i = 0; i < c.size(); ++i)
      EXPECT_EQ(decode(kHalf, c[i]), mode == 2 ? rows[i / kColumns].atomic : rows[i / kColumns].once)
          << mode << " " << i;
  }
}

TEST(GemmTwin, OddShapesStayInsideTheirMemory) {
  for (std::int64_t m = 1; m <= 18; m += 3)
    for (std::int64_t n = 1; n <= 67; n += 11)
      for (std::int64_t k = 1; k <= 77; k += 19) {
        Fixture f({kHalf, kFp8, kFloat, DType::fp32, Layout::rrr, Quant::none, false, false}, {m, n, k});
        run_twin(f);
        Fixture g({kInt, kInt, DType::int32, DType::int32, Layout::ccr, Quant::none, false, false}, {m, n, k});
        run_twin(g);
        if (HasFatalFailure()) return;
      }
}

TEST(GemmHost, EveryRegisterTileOfEveryIsa) {
  const GemmTraits kinds[] = {
      {kFloat, kFloat, kFloat, DType::fp32, Layout::rrr, Quant::none, false, false},
      {kHalf, kHalf, kFloat, DType::fp32, Layout::rcr, Quant::none, false, true},
      {kInt, kInt, kHalf, DType::int32, Layout::rcr, Quant::rowwise, false, false},
      {kFp8, kFp8, kHalf, DType::fp32, Layout::ccr, Quant::rowwise, false, false},
  };
  for (int isa = 0; isa < 4; ++isa)
    for (const GemmTraits& t : kinds) {
      host::RegisterTile tiles[32];
      const int count = host::host_register_tiles(t, static_cast<host::Isa>(isa), tiles, 32);
      if (host::table_for(static_cast<host::Isa>(isa)) == nullptr) {
        EXPECT_EQ(count, 0) << "the level is not built";
        continue;
      }
      ASSERT_GT(count, 3);
      for (int i = 0; i < count; ++i) {
        const host::HostConfig config{static_cast<host::Isa>(isa), tiles[i].mr, tiles[i].nr, 40, 100, 48, i % 3};
        Fixture f(t, {61, 130, 107});
        const Workspace w(host::gemm_host_workspace(t, config, 61, 130, 107, 1));
        const Status s = host::run_gemm_host(t, config, f.args, w.data);
        if (!host::isa_available(config.isa)) {
          EXPECT_EQ(s.code, StatusCode::unsupported);
          continue;
        }
        ASSERT_TRUE(s.ok()) << s.message;
        f.expect_equal();
        if (HasFatalFailure()) return;
      }
    }
}

// K of several depths by rows of several blocks: A is kept packed where other columns follow, and is not where none do.
TEST(GemmHost, KOfSeveralDepths) {
  const GemmTraits kinds[] = {
      {kHalf, kHalf, kFloat, DType::fp32, Layout::rcr, Quant::none, false, false},
      {DType::bf16, DType::bf16, kFloat, DType::fp32, Layout::rrr, Quant::none, false, false},
      {kInt, kInt, kHalf, DType::int32, Layout::ccr, Quant::rowwise, false, false},
      {kFp8, kFp8, kHalf, DType::fp32, Layout::rcr, Quant::blockscale, false, false},
  };
  for (const host::Isa isa : {host::Isa::x86_64_v3, host::detect_isa()})
    for (const GemmTraits& t : kinds)
      for (const std::int64_t n : {40, 130}) {
        const host::HostConfig config{isa, 4, isa == host::Isa::x86_64_v3 ? 16 : 32, 12, 100, 48, 1};
        Fixture f(t, {31, n, 2081});
        const Workspace w(host::gemm_host_workspace(t, config, 31, n, 2081, 1));
        const Status s = host::run_gemm_host(t, config, f.args, w.data);
        ASSERT_TRUE(s.ok()) << s.message;
        f.expect_equal();
        if (HasFatalFailure()) return;
      }
}

TEST(GemmHost, UnknownRegisterTileIsRefused) {
  const GemmTraits t{kFloat, kFloat, kFloat, DType::fp32, Layout::rrr, Quant::none, false, false};
  const host::HostConfig config{host::Isa::x86_64_v3, 5, 16, 64, 64, 64, 0};
  EXPECT_EQ(host::gemm_host_supports(t, config).code, StatusCode::unsupported);
  EXPECT_EQ(host::gemm_host_workspace(t, config, 8, 8, 8, 1), 0u);
}

TEST(GemmTwin, CallersInSeveralThreads) {
  std::vector<std::thread> callers;
  for (unsigned t = 0; t < 3; ++t)
    callers.emplace_back([t] {
      for (unsigned i = 0; i < 4; ++i) {
        Fixture f({kFp8, kFp8, kHalf, DType::fp32, Layout::rcr, Quant::rowwise, false, false}, {90, 160, 128}, 1,
                  t * 8 + i);
        run_twin(f);
      }
    });
  for (std::thread& c : callers) c.join();
}

// So many operations that threads leave a rest of their parts to whoever is done first.
TEST(GemmHost, ThreadsThatTakePiecesChangeNoByte) {
  constexpr std::int64_t kM = 1201, kN = 128, kK = 512;
  const GemmTraits t{kFloat, kFloat, kFloat, DType::fp32, Layout::rcr, Quant::none, false, false};
  std::vector<float> a(kM * kK), b(kN * kK), c[2];
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * 37 % 101) / 7.0F;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * 53 % 97) / 9.0F - 5.0F;
  GemmArgs args{};
  args.a = a.data(), args.b = b.data();
  args.m = kM, args.n = kN, args.k = kK, args.batch = 1;
  args.lda = kK, args.ldb = kK, args.ldc = kN;
  for (const int threads : {1, 2}) {
    const host::HostConfig config{host::Isa::x86_64_v3, 6, 16, 96, 512, 512, threads};
    const host::Blocking blocking = host::host_blocking(t, config, kK);
    EXPECT_EQ(host::make_division(t, blocking, {kM, kN, kK, 1}).rest.count > 0, threads > 1);
    const Workspace w(host::gemm_host_workspace(t, config, kM, kN, kK, 1));
    std::vector<float>& result = c[threads - 1];
    result.resize(kM * kN);
    args.c = result.data();
    ASSERT_TRUE(host::run_gemm_host(t, config, args, w.data).ok());
  }
  EXPECT_EQ(c[0], c[1]);
}

TEST(GemmTwin, HugeSizesAreRefusedOrCountedNotOverflowed) {
  const GemmTraits t{kFloat, kFloat, kFloat, DType::fp32, Layout::rcr, Quant::none, false, false};
  const std::int64_t big = std::int64_t{1} << 40;
  EXPECT_GT(host::gemm_twin_workspace(t, kTile, 1, big, big, 4096, 1), 0u);
  EXPECT_GT(host::gemm_twin_workspace(t, kTile, 1, 64, 65536, big, 1), static_cast<std::size_t>(big));
  EXPECT_LT(host::gemm_twin_workspace(t, kTile, 1, 64, 64, big, 1), std::size_t{1} << 20);  // rows of A are not kept
  EXPECT_EQ(host::gemm_twin_workspace(t, kTile, 1, big + 1, 1, 1, 1), 0u);
}

}  // namespace test_host_gemm
