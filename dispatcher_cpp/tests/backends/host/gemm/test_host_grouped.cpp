// Grouped GEMM on the CPU: each group against the triple loop of host_fixture.hpp, and against a GEMM of its own, bit
// by bit, where sums are not exact.
#include "backends/host/gemm/grouped.hpp"
#include "backends/host/gemm/parts.hpp"
#include "backends/host/host_fixture.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace test_host_grouped {

using namespace host_test;

const bool kConfigured = [] { return setenv("CKGEN_NUM_THREADS", "3", 1) == 0; }();

constexpr host::TwinConfig kTile{64, 64, 32, 1, true, true, true};
constexpr DType kInt = DType::int8, kHalf = DType::bf16, kFp8 = DType::fp8_fnuz, kFp4 = DType::fp4,
                kFloat = DType::fp32;

GroupOperands operands_of(const GemmArgs& p) {
  GroupOperands o{};
  o.a = p.a;
  o.b = p.b;
  o.c = p.c;
  o.a_scale = p.a_scale;
  o.b_scale = p.b_scale;
  o.bias = p.bias;
  o.lda = p.lda;
  o.ldb = p.ldb;
  o.ldc = p.ldc;
  for (int i = 0; i < kMaxD; ++i) {
    o.d[i] = p.d[i];
    o.ldd[i] = p.ldd[i];
  }
  return o;
}

/// Groups of one signature, each a problem of the fixture.
struct Launch {
  Launch(const GemmTraits& t, const std::vector<Shape>& shapes) : traits(t) {
    for (const Shape& s : shapes) {
      each.push_back(std::make_unique<Fixture>(t, s, 1, static_cast<unsigned>(each.size() + 1)));
      operands.push_back(operands_of(each.back()->args));
      sizes.push_back({s.m, s.n, s.k});
    }
  }
  GroupedArgs args() const {
    return {operands.data(), sizes.data(), static_cast<std::int64_t>(sizes.size()), !scales_in_columns, false,
            alpha,           scale_stride};
  }
  Groups groups() const { return Groups(sizes.data(), static_cast<std::int64_t>(sizes.size())); }
  void expect_equal() const {
    for (std::size_t i = 0; i < each.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "group " << i);
      each[i]->expect_equal();
    }
  }

  GemmTraits traits;
  std::vector<std::unique_ptr<Fixture>> each;
  std::vector<GroupOperands> operands;
  std::vector<GroupSize> sizes;
  float alpha = 1;
  bool scales_in_columns = false;
  std::int64_t scale_stride = 0;
};

/// Block scales of all rows of A as one matrix, in which each group has its own place; what is not theirs is NaN.
std::vector<float> share_scales(Launch& launch, bool in_columns) {
  std::int64_t rows = 0, most = 0;
  for (const GroupSize& size : launch.sizes) {
    rows += size.m;
    most = std::max(most, (size.k + 127) / 128);
  }
  launch.scales_in_columns = in_columns;
  launch.scale_stride = (in_columns ? rows : most) + 3;
  std::vector<float> all(static_cast<std::size_t>(launch.scale_stride * (in_columns ? most : rows)),
                         std::numeric_limits<float>::quiet_NaN());
  std::int64_t first = 0;
  for (std::size_t i = 0; i < launch.each.size(); ++i) {
    const GroupSize& size = launch.sizes[i];
    const auto* own = static_cast<const float*>(launch.operands[i].a_scale);  // [M][K/128]
    const std::int64_t blocks = (size.k + 127) / 128;
    float* const place = all.data() + (in_columns ? first : first * launch.scale_stride);
    for (std::int64_t row = 0; row < size.m; ++row)
      for (std::int64_t block = 0; block < blocks; ++block)
        place[in_columns ? block * launch.scale_stride + row : row * launch.scale_stride + block] =
            own[row * blocks + block];
    launch.operands[i].a_scale = place;
    first += size.m;
  }
  return all;
}

Status run_twin(const Launch& launch, const host::TwinConfig& config = kTile, std::int64_t k_batch = 1) {
  const Workspace w(host::grouped_twin_workspace(launch.traits, config, k_batch, launch.groups()));
  return host::run_grouped_twin(launch.traits, config, k_batch, launch.args(), w.data);
}

/// Fills A and B with values whose sums round.
void roughen(Fixture& f, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(-2.0F, 2.0F);
  for (Bytes* bytes : {&f.a, &f.b}) {
    const DType t = bytes == &f.a ? f.traits.a : f.traits.b;
    const auto count = static_cast<std::int64_t>(bytes->size() * 8) / bits(t);
    for (std::int64_t i = 0; i < count; ++i) write(t, bytes->data(), i, values(random));
  }
}

/// What every group must give: the same problem as a GEMM of its own.
std::vector<Bytes> alone(const Launch& launch, const host::TwinConfig& config, std::int64_t k_batch) {
  std::vector<Bytes> results;
  for (const auto& f : launch.each) {
    Bytes c(f->c.size(), 0x5a);
    GemmArgs p = f->args;
    p.c = c.data();
    p.alpha = launch.alpha;
    const Workspace w(host::gemm_twin_workspace(f->traits, config, k_batch, p.m, p.n, p.k, 1));
    EXPECT_TRUE(host::run_gemm_twin(f->traits, config, k_batch, p, w.data).ok());
    results.push_back(c);
  }
  return results;
}

void expect_same(const Launch& launch, const std::vector<Bytes>& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(launch.each[i]->c, wanted[i]) << "group " << i;
}

// One that several threads share, small ones, and ones that have nothing to do or no K.
const std::vector<Shape> kSkewed = {{3, 32, 64},  {0, 48, 64}, {150, 320, 192}, {17, 0, 64},
                                    {1, 64, 192}, {5, 32, 0},  {70, 96, 64},    {2, 16, 64}};

TEST(HostGrouped, EveryKindOfOperand) {
  ASSERT_TRUE(kConfigured);
  const DType acc = DType::fp32;
  const GemmTraits kinds[] = {
      {kFloat, kFloat, kFloat, acc, Layout::rcr, Quant::none, false, true},
      {kHalf, kHalf, kHalf, acc, Layout::rcr, Quant::none, true, true},
      {kInt, kInt, DType::int32, DType::int32, Layout::rcr, Quant::none, false, false},
      {kInt, kInt, kHalf, DType::int32, Layout::rcr, Quant::rowwise, true, true},
      {kFp8, DType::bf8_ocp, kHalf, acc, Layout::rcr, Quant::rowwise, false, false},
      {kFp8, kFp8, kHalf, acc, Layout::rcr, Quant::per_tensor, true, false},
      {kFp8, kFp8, kHalf, acc, Layout::rcr, Quant::blockscale, false, false},
      {kFp4, kFp4, kHalf, acc, Layout::rcr, Quant::mx, true, false},
  };
  for (const GemmTraits& kind : kinds)
    for (const Layout layout : {Layout::rcr, Layout::rrr, Layout::ccr, Layout::crr}) {
      GemmTraits t = kind;
      t.layout = layout;
      if (b_is_row_major(layout)) t.preshuffle_b = false;
      if (t.a == kFp4 && !a_is_row_major(layout)) continue;
      SCOPED_TRACE(testing::Message() << name(t.a) << ' ' << name(t.quant) << ' ' << name(layout));
      const Launch launch(t, kSkewed);
      const Status s = run_twin(launch);
      ASSERT_TRUE(s.ok()) << s.message;
      launch.expect_equal();
      if (HasFatalFailure()) return;
    }
}

TEST(HostGrouped, SplitsAreThoseOfAGemmOfItsOwn) {
  for (const std::int32_t mode : {1, 2})
    for (const std::int64_t k_batch : {1, 3}) {
      host::TwinConfig config = kTile;
      config.k_batch_mode = mode;
      Launch launch({kHalf, kHalf, kHalf, DType::fp32, Layout::rcr, Quant::none, false, true}, kSkewed);
      for (std::size_t i = 0; i < launch.each.size(); ++i) roughen(*launch.each[i], static_cast<unsigned>(i));
      const Status s = run_twin(launch, config, k_batch);
      ASSERT_TRUE(s.ok()) << s.message;
      expect_same(launch, alone(launch, config, k_batch));
    }
}

TEST(HostGrouped, EveryGroupHasItsOwnD) {
  GemmTraits t{kHalf, kHalf, kHalf, DType::fp32, Layout::rrr, Quant::none, false, false};
  t.epilogue.ops[0] = EpilogueOp::scale;
  t.epilogue.ops[1] = EpilogueOp::add;
  t.epilogue.ops[2] = EpilogueOp::mul;
  Launch launch(t, kSkewed);
  launch.alpha = 0.75F;
  std::vector<Bytes> d;
  for (std::size_t i = 0; i < launch.each.size(); ++i) {
    Fixture& f = *launch.each[i];
    roughen(f, static_cast<unsigned>(i));
    for (int x = 0; x < 2; ++x) {
      f.args.ldd[x] = x == 0 ? f.args.n + 2 : 0;
      d.emplace_back(static_cast<std::size_t>((f.args.m + 1) * (f.args.n + 2) * 2));
      for (std::size_t e = 0; e + 1 < d.back().size(); e += 2)
        write(kHalf, d.back().data(), static_cast<std::int64_t>(e / 2), static_cast<float>(e % 17 + i) / 8.0F);
      f.args.d[x] = d.back().data();
    }
    launch.operands[i] = operands_of(f.args);
  }
  const Status s = run_twin(launch);
  ASSERT_TRUE(s.ok()) << s.message;
  expect_same(launch, alone(launch, kTile, 1));
}

TEST(HostGrouped, InstancesOfTheCpuItself) {
  const GemmTraits kinds[] = {
      {kHalf, kHalf, kFloat, DType::fp32, Layout::rcr, Quant::none, false, true},
      {kInt, kInt, kHalf, DType::int32, Layout::rcr, Quant::rowwise, false, false},
      {kFp8, kFp8, kHalf, DType::fp32, Layout::rrr, Quant::blockscale, false, false},
  };
  for (const GemmTraits& t : kinds)
    for (const std::int32_t threads : {0, 1, 2}) {
      host::RegisterTile tiles[32];
      const host::Isa isa = host::detect_isa();
      const int count = host::host_register_tiles(t, isa, tiles, 32);
      ASSERT_GT(count, 0);
      const auto& tile = tiles[count - 1];
      const host::HostConfig config{isa, tile.mr, tile.nr, 48, 96, 64, threads};
      const Launch launch(t, kSkewed);
      const Workspace w(host::grouped_host_workspace(t, config, launch.groups()));
      const Status s = host::run_grouped_host(t, config, launch.args(), w.data);
      ASSERT_TRUE(s.ok()) << s.message;
      launch.expect_equal();
      if (HasFatalFailure()) return;
    }
}

TEST(HostGrouped, ScalesOfAllGroupsAreOneMatrix) {
  const GemmTraits t{kFp8, kFp8, kHalf, DType::fp32, Layout::rcr, Quant::blockscale, false, false};
  // By panels, and by few rows: the first and the last but one are below the eight that those have.
  const std::vector<Shape> shapes = {{3, 32, 384}, {150, 160, 256}, {17, 64, 200},
                                     {5, 32, 0},   {1, 48, 640},    {70, 96, 64}};
  for (const bool in_columns : {false, true}) {
    SCOPED_TRACE(in_columns);
    Launch launch(t, shapes);
    const std::vector<float> all = share_scales(launch, in_columns);
    const Status s = run_twin(launch);
    ASSERT_TRUE(s.ok()) << s.message;
    launch.expect_equal();
  }
}

TEST(HostGrouped, SizesOfTheDeviceFitTheWorkspaceOfTheirMost) {
  const GemmTraits t{kHalf, kHalf, kHalf, DType::fp32, Layout::rcr, Quant::none, false, false};
  for (const std::int64_t most : {1, 7, 65, 200}) {
    const std::size_t bytes = host::grouped_twin_workspace(t, kTile, 1, Groups::on_device(6, most, 96, 64));
    for (unsigned seed = 0; seed < 6; ++seed) {
      std::mt19937 random(seed);
      std::vector<Shape> shapes;
      for (int i = 0; i < 6; ++i) {
        const auto rows = static_cast<std::int64_t>(random() % static_cast<unsigned>(most + 1));
        shapes.push_back({i == 0 ? most : rows, 96, 64});
      }
      const Launch launch(t, shapes);
      EXPECT_LE(host::grouped_twin_workspace(t, kTile, 1, launch.groups()), bytes);
      const Workspace w(bytes);
      const Status s = host::run_grouped_twin(t, kTile, 1, launch.args(), w.data);
      ASSERT_TRUE(s.ok()) << s.message;
      launch.expect_equal();
      if (HasFatalFailure()) return;
    }
  }
}

TEST(HostGrouped, NoPartNeedsMoreThanTheLargest) {
  for (const Quant quant : {Quant::none, Quant::blockscale})
    for (const std::int32_t tile_m : {16, 48})
      for (const std::int64_t k : {std::int64_t{0}, std::int64_t{500}, std::int64_t{1} << 20, std::int64_t{1} << 23}) {
        const GemmTraits t{kFp8, kFp8, kHalf, DType::fp32, Layout::rcr, quant, false, false};
        const host::TwinConfig config{tile_m, 512, 32, 0, true, true, true};
        const host::Blocking blocking = host::Cutting(t, config, 1).part_blocking(k);
        for (const std::int64_t m : {5, 17, 70})
          for (const std::int64_t n : {1, 40, 600}) {
            const std::size_t room = host::part_bytes(t, blocking, m, n, k);
            for (std::int64_t rows = 1; rows <= m; ++rows)
              for (const std::int64_t columns : {n, n / 2 + 1})
                ASSERT_LE(host::make_geometry(t, blocking, {rows, columns, k, 1}).bytes, room)
                    << rows << 'x' << columns << 'x' << k << " of " << m << 'x' << n;
          }
      }
}

TEST(HostGrouped, NothingToDoNeedsNothing) {
  const GemmTraits t{kFloat, kFloat, kFloat, DType::fp32, Layout::rcr, Quant::none, false, false};
  const Launch none(t, {}), idle(t, {{0, 16, 16}, {4, 0, 16}});
  EXPECT_EQ(host::grouped_twin_workspace(t, kTile, 1, none.groups()), 0U);
  EXPECT_EQ(host::grouped_twin_workspace(t, kTile, 1, idle.groups()), 0U);
  EXPECT_TRUE(host::run_grouped_twin(t, kTile, 1, none.args(), nullptr).ok());
  EXPECT_TRUE(host::run_grouped_twin(t, kTile, 1, idle.args(), nullptr).ok());
}

TEST(HostGrouped, RefusalsNameTheGroupAndWriteNothing) {
  const GemmTraits t{kFloat, kFloat, kFloat, DType::fp32, Layout::rcr, Quant::none, false, false};
  const auto refused = [&](const host::TwinConfig& config, auto&& spoil) {
    Launch launch(t, {{4, 16, 32}, {5, 16, 48}});
    spoil(launch);
    const Status s = run_twin(launch, config);
    for (const auto& f : launch.each)
      EXPECT_TRUE(std::all_of(f->c.begin(), f->c.end(), [](unsigned char x) { return x == 0x5a; }));
    EXPECT_NE(std::strstr(s.message, "group 1"), nullptr) << s.message;
    return s.code;
  };
  EXPECT_EQ(refused(kTile, [](Launch& x) { x.operands[1].b = nullptr; }), StatusCode::invalid_argument);
  EXPECT_EQ(refused(kTile, [](Launch& x) { x.operands[1].lda = 47; }), StatusCode::invalid_argument);
  EXPECT_EQ(refused(kTile, [](Launch& x) { x.sizes[1].m = -1; }), StatusCode::invalid_argument);
  host::TwinConfig whole = kTile;
  whole.pad_k = false;
  EXPECT_EQ(refused(whole, [](Launch&) {}), StatusCode::unsupported);

  Launch launch(t, {{4, 16, 32}});
  EXPECT_EQ(host::run_grouped_twin(t, kTile, 1, launch.args(), nullptr).code, StatusCode::invalid_argument);
  GroupedArgs args = launch.args();
  args.operands = nullptr;
  EXPECT_EQ(host::run_grouped_twin(t, kTile, 1, args, nullptr).code, StatusCode::invalid_argument);
  EXPECT_EQ(host::grouped_twin_workspace(t, kTile, 0, launch.groups()), 0U);
}

TEST(HostGrouped, CallersInSeveralThreads) {
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i)
    callers.emplace_back([] {
      const Launch launch({kFp8, kFp8, kHalf, DType::fp32, Layout::rcr, Quant::rowwise, false, false}, kSkewed);
      const Status s = run_twin(launch);
      ASSERT_TRUE(s.ok()) << s.message;
      launch.expect_equal();
    });
  for (std::thread& caller : callers) caller.join();
}

}  // namespace test_host_grouped
