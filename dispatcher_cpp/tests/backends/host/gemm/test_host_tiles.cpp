// What AMX's tiles may do another way: rows of A are read where they lie or as panels, and sums are rounded to bf16
// while the next tile is multiplied, or later. The bits are the same.
#include "backends/host/host_fixture.hpp"
#include "guarded_memory.hpp"

#include "backends/host/gemm/blocking.hpp"
#include "backends/host/gemm/gemm.hpp"
#include "backends/host/gemm/pack_source.hpp"

#include <iterator>
#include <random>

namespace host_test {
namespace test_host_tiles {

constexpr HostConfig kConfigs[] = {{Isa::x86_64_amx, 32, 32, 64, 512, 1024, 1},
                                   {Isa::x86_64_amx, 16, 32, 64, 64, 256, 1}};

GemmTraits plain(DType c) {
  return {DType::bf16, DType::bf16, c, DType::fp32, Layout::rcr, Quant::none, false, false};
}

// Numbers, and some that make sums NaN, of which one says more than that, and infinite.
Bytes numbers(std::int64_t count, unsigned seed) {
  constexpr std::uint16_t kOdd[] = {0x7fe5, 0x7f80, 0xff80};
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Bytes all(static_cast<std::size_t>(count) * 2);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto which = random() % 20000;
    if (which < std::size(kOdd))
      std::memcpy(all.data() + i * 2, &kOdd[which], 2);
    else
      write(DType::bf16, all.data(), i, normal(random));
  }
  return all;
}

class HostTiles : public testing::Test {
 protected:
  void SetUp() override {
    if (!host::isa_available(Isa::x86_64_amx)) GTEST_SKIP() << "this CPU has no tiles";
  }

  static Bytes product(DType c, const HostConfig& config, Shape s, const void* a, std::int64_t lda, const Bytes& b) {
    Bytes out(static_cast<std::size_t>(bytes_of(c, s.m * s.n)));
    GemmArgs args{};
    args.a = a, args.b = b.data(), args.c = out.data();
    args.m = s.m, args.n = s.n, args.k = s.k, args.batch = 1;
    args.lda = lda, args.ldb = s.k, args.ldc = s.n;
    const GemmTraits t = plain(c);
    const Workspace memory(host::gemm_host_workspace(t, config, s.m, s.n, s.k, 1));
    EXPECT_TRUE(host::run_gemm_host(t, config, args, memory.data, host::RowOrder::alike).ok());
    return out;
  }
};

TEST_F(HostTiles, RowsWhereTheyLieAndPanelsGiveTheSame) {
  for (const HostConfig& config : kConfigs)
    for (const Shape s : {Shape{70, 70, 64}, Shape{33, 40, 96}, Shape{150, 64, 1056}, Shape{64, 33, 2080}}) {
      SCOPED_TRACE(testing::Message() << config.mr << " rows: " << s.m << " x " << s.n << " x " << s.k);
      const std::int64_t lda = (s.k + 31) / 32 * 32;
      const Bytes b = numbers(s.n * s.k, 2), rows = numbers(s.m * lda, 1);
      const GuardedMemory lines(rows.size() / 64 * 64);  // its end is a line's
      std::memcpy(lines.get(), rows.data(), rows.size());
      Bytes apart(static_cast<std::size_t>(s.m * (lda + 2) * 2));
      for (std::int64_t m = 0; m < s.m; ++m)
        std::memcpy(apart.data() + m * (lda + 2) * 2, rows.data() + m * lda * 2, static_cast<std::size_t>(lda) * 2);
      EXPECT_EQ(product(DType::bf16, config, s, lines.get(), lda, b),
                product(DType::bf16, config, s, apart.data(), lda + 2, b));
    }
}

TEST_F(HostTiles, SumsAreRoundedAsAlways) {
  for (const HostConfig& config : kConfigs)
    for (const Shape s : {Shape{70, 70, 32}, Shape{100, 96, 20}, Shape{40, 64, 300}, Shape{32, 128, 1100}}) {
      SCOPED_TRACE(testing::Message() << config.mr << " rows: " << s.m << " x " << s.n << " x " << s.k);
      const Bytes a = numbers(s.m * s.k, 3), b = numbers(s.n * s.k, 4);
      const Bytes sums = product(DType::fp32, config, s, a.data(), s.k, b);
      const Bytes rounded = product(DType::bf16, config, s, a.data(), s.k, b);
      for (std::int64_t i = 0; i < s.m * s.n; ++i) {
        std::uint16_t found = 0;
        std::memcpy(&found, rounded.data() + i * 2, 2);
        ASSERT_EQ(found, encode(DType::bf16, read(DType::fp32, sums.data(), i))) << "element " << i;
      }
    }
}

// Panels of A made of codes are those of the values that they stand for.
TEST_F(HostTiles, CodesBecomeTheirValues) {
  constexpr std::int64_t kRows = 19, kLd = 192;
  constexpr int kMr = 32;
  const host::IsaTable& amx = *host::table_for(Isa::x86_64_amx);
  for (const DType type : {DType::fp8_ocp, DType::bf8_ocp, DType::fp8_fnuz, DType::bf8_fnuz, DType::fp4})
    for (const std::int64_t k0 : {0, 32, 34})
      for (const std::int64_t length : {2, 31, 32, 33, 64, 96, 128, 130}) {
        SCOPED_TRACE(testing::Message() << name(type) << ", " << length << " from " << k0);
        Bytes codes(static_cast<std::size_t>(kRows * kLd)), values(codes.size() * 2);
        for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<unsigned char>(i * 37 + i / 256);
        for (std::int64_t i = 0; i < kRows * kLd; ++i)
          write(DType::bf16, values.data(), i, read(type, codes.data(), i));
        const auto packed = [&](DType t, const Bytes& a) {
          std::vector<std::uint16_t> panel(static_cast<std::size_t>((length + 31) / 32 * kMr * 32));
          const host::PackSource s = host::make_pack_source(host::PackKind::bf16, t, a.data(), kLd, true, false);
          amx.pack_tiles(s, 2, kRows - 2, kMr, k0, length, panel.data());
          return panel;
        };
        const auto found = packed(type, codes), wanted = packed(DType::bf16, values);
        for (std::size_t i = 0; i < wanted.size(); ++i)
          if ((wanted[i] & 0x7fff) <= 0x7f80) {
            ASSERT_EQ(found[i], wanted[i]) << i;
          } else {
            ASSERT_GT(found[i] & 0x7fff, 0x7f80) << i;
          }
      }
}

TEST_F(HostTiles, PartsOfATileMeet) {
  constexpr HostConfig kConfig{Isa::x86_64_amx, 16, 32, 16, 32, 128, 2};
  const auto of = [](DType in, DType c) {
    return GemmTraits{in, in, c, in == DType::int8 ? DType::int32 : DType::fp32, Layout::rcr, Quant::none, false, true};
  };
  GemmTraits bytes = of(DType::int8, DType::int32);
  bytes.bias = false;
  for (const GemmTraits& t : {of(DType::bf16, DType::fp32), of(DType::fp8_ocp, DType::fp32), bytes})
    for (const Strategy strategy : {Strategy::atomic, Strategy::linear, Strategy::tree})
      for (const Shape s : {Shape{14, 32, 1300}, Shape{37, 70, 515}})
        for (const int workgroups : {1, 3, 5}) {
          SCOPED_TRACE(testing::Message() << name(t.a) << " " << name(strategy) << " on " << workgroups);
          Fixture f(t, s);
          const Workspace memory(
              host::gemm_host_stream_k_workspace(t, kConfig, strategy, workgroups, s.m, s.n, s.k, 1));
          ASSERT_TRUE(host::run_gemm_host_stream_k(t, kConfig, strategy, workgroups, f.args, memory.data).ok());
          f.expect_equal();
        }
}

}  // namespace test_host_tiles
}  // namespace host_test
