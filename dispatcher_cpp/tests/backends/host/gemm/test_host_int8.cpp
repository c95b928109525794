// Products of int8 to the last bit, on every level of the CPU and in every way there, where instructions for bytes have
// their edges: -128 and 127 on either side, depths that are no whole words, rows and columns beyond the last tile.
// Operands end where no byte can be touched.
#include "backends/host/gemm/host_gemm_ways.hpp"
#include "ckgen/prepack.hpp"
#include "guarded_memory.hpp"

#include <memory>
#include <random>

namespace host_test {
namespace test_host_int8 {

constexpr Isa kIsas[] = {Isa::x86_64_v3, Isa::x86_64_v4, Isa::x86_64_v4_bf16, Isa::x86_64_amx};

GemmTraits traits_of(Layout layout, bool preshuffled = false) {
  return {DType::int8, DType::int8, DType::int32, DType::int32, layout, Quant::none, preshuffled, false};
}

/// What the elements of A and of B are.
enum class Values { least, least_by_most, most_by_least, extremes, any };
constexpr Values kValues[] = {Values::least, Values::least_by_most, Values::most_by_least, Values::extremes,
                              Values::any};

signed char value(Values values, bool is_a, std::mt19937& random) {
  constexpr signed char kEdges[] = {-128, -127, -1, 0, 1, 127};
  switch (values) {
    case Values::least: return -128;
    case Values::least_by_most: return is_a ? -128 : 127;
    case Values::most_by_least: return is_a ? 127 : -128;
    case Values::extremes: return kEdges[random() % std::size(kEdges)];
    default: return static_cast<signed char>(random());
  }
}

/// Rows without gaps, ending with their memory, and the sums by their definition.
class Product {
 public:
  Product(const GemmTraits& t, Shape s, Values values)
      : traits(t), a_(bytes(s.m * s.k)), b_(bytes(s.n * s.k)), c(static_cast<std::size_t>(s.m * s.n), 0x5a5a5a5a) {
    const bool a_rows = a_is_row_major(t.layout), b_rows = b_is_row_major(t.layout);
    args.m = s.m, args.n = s.n, args.k = s.k, args.batch = 1;
    args.lda = a_rows ? s.k : s.m, args.ldb = b_rows ? s.n : s.k, args.ldc = s.n;
    args.a = a_.get(), args.b = b_.get(), args.c = c.data();
    std::mt19937 random(7);
    std::vector<std::int32_t> a(static_cast<std::size_t>(s.m * s.k)), b(static_cast<std::size_t>(s.n * s.k));
    Bytes plain(static_cast<std::size_t>(s.n * s.k));
    for (std::int64_t m = 0; m < s.m; ++m)
      for (std::int64_t k = 0; k < s.k; ++k) {
        const signed char x = value(values, true, random);
        a[static_cast<std::size_t>(m * s.k + k)] = x;
        a_.get()[a_rows ? m * s.k + k : k * s.m + m] = static_cast<char>(x);
      }
    for (std::int64_t n = 0; n < s.n; ++n)
      for (std::int64_t k = 0; k < s.k; ++k) {
        const signed char x = value(values, false, random);
        b[static_cast<std::size_t>(n * s.k + k)] = x;
        plain[static_cast<std::size_t>(b_rows ? k * s.n + n : n * s.k + k)] = static_cast<unsigned char>(x);
      }
    if (t.preshuffle_b)
      EXPECT_TRUE(preshuffle_b(plain.data(), s.k, reinterpret_cast<unsigned char*>(b_.get()), s.n, s.k));
    else if (!plain.empty())
      std::memcpy(b_.get(), plain.data(), plain.size());
    for (std::int64_t m = 0; m < s.m; ++m)
      for (std::int64_t n = 0; n < s.n; ++n) {
        std::int32_t sum = 0;
        for (std::int64_t k = 0; k < s.k; ++k)
          sum += a[static_cast<std::size_t>(m * s.k + k)] * b[static_cast<std::size_t>(n * s.k + k)];
        wanted_.push_back(sum);
      }
  }
  void expect_exact() const {
    for (std::size_t i = 0; i < wanted_.size(); ++i)
      ASSERT_EQ(c[i], wanted_[i]) << "row " << i / static_cast<std::size_t>(args.n) << " column "
                                  << i % static_cast<std::size_t>(args.n);
  }

  GemmTraits traits;
  GemmArgs args{};

 private:
  static std::size_t bytes(std::int64_t n) { return static_cast<std::size_t>(n); }
  GuardedMemory a_, b_;
  std::vector<std::int32_t> wanted_;

 public:
  std::vector<std::int32_t> c;
};

void expect_exact(const HostConfig& c, Product& p) {
  const GemmArgs& x = p.args;
  SCOPED_TRACE(testing::Message() << host::isa_name(c.isa) << " " << c.mr << "x" << c.nr << " kc " << c.kc << " layout "
                                  << name(p.traits.layout) << " " << x.m << "x" << x.n << "x" << x.k);
  const Workspace w(host::gemm_host_workspace(p.traits, c, x.m, x.n, x.k, 1));
  const Status s = host::run_gemm_host(p.traits, c, x, w.data);
  ASSERT_TRUE(s.ok()) << s.message;
  p.expect_exact();
}

std::vector<HostConfig> configs(const GemmTraits& t, std::int32_t kc) {
  std::vector<HostConfig> all;
  for (const Isa isa : kIsas) {
    if (!host::isa_available(isa)) continue;
    host::RegisterTile tiles[32];
    const int count = host::host_register_tiles(t, isa, tiles, 32);
    EXPECT_GT(count, 0);
    for (int i = 0; i < count; ++i) all.push_back({isa, tiles[i].mr, tiles[i].nr, 40, 48, kc, 1});
  }
  return all;
}

TEST(HostInt8, EveryRegisterTileIsExactAtTheEdgesOfItsInstructions) {
  for (const Values values : kValues)
    for (const Shape shape : {Shape{17, 16, 64}, Shape{45, 97, 131}, Shape{61, 33, 1}, Shape{18, 50, 258}}) {
      Product p(traits_of(Layout::rcr), shape, values);
      for (const HostConfig& c : configs(p.traits, 60)) {
        expect_exact(c, p);
        if (HasFatalFailure()) return;
      }
    }
}

TEST(HostInt8, EveryDepthAndLayoutOfManyRowsIsExact) {
  for (const Layout layout : {Layout::rcr, Layout::rrr, Layout::ccr, Layout::crr})
    for (const std::int64_t k : {0, 2, 3, 4, 5, 7, 15, 31, 63, 64, 65, 66, 67, 129})
      for (const std::int64_t n : {1, 15, 33}) {
        Product p(traits_of(layout), {21, n, k}, Values::extremes);
        for (const HostConfig& c : configs(p.traits, 30)) {
          expect_exact(c, p);
          if (HasFatalFailure()) return;
        }
      }
}

TEST(HostInt8, APreshuffledBIsExact) {
  Product p(traits_of(Layout::rcr, true), {23, 48, 160}, Values::extremes);
  for (const HostConfig& c : configs(p.traits, 36)) {
    expect_exact(c, p);
    if (HasFatalFailure()) return;
  }
}

TEST(HostInt8, PrepackedPanelsAreExactForFewRowsAndMany) {
  for (const std::int64_t m : {1, 9, 47}) {
    Product p(traits_of(Layout::rcr), {m, 50, 139}, Values::extremes);
    Signature s{};
    s.op = Op::gemm, s.a = s.b = DType::int8, s.c = s.acc = DType::int32, s.layout = Layout::rcr;
    const std::uint64_t bytes = *packed_b_bytes(s, 50, 139);
    GuardedMemory packed(bytes);
    ASSERT_TRUE(pack_b(s, {p.args.b, 50, 139, 139}, packed.get(), bytes).ok());
    p.args.b = packed.get(), p.args.b_prepacked = true;
    for (const HostConfig& c : configs(p.traits, 60)) {
      expect_exact(c, p);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(HostInt8, TilesThatShareKAreExactWhereverTheyCutIt) {
  for (const std::int32_t kc : {30, 31, 32}) {
    Product p(traits_of(Layout::rcr), {27, 50, 259}, Values::extremes);
    for (HostConfig c : configs(p.traits, kc)) {
      c.mc = 14;
      SCOPED_TRACE(testing::Message() << host::isa_name(c.isa) << " " << c.mr << "x" << c.nr << " kc " << kc);
      const Workspace w(host::gemm_host_stream_k_workspace(p.traits, c, Strategy::linear, 5, 27, 50, 259, 1));
      ASSERT_TRUE(host::run_gemm_host_stream_k(p.traits, c, Strategy::linear, 5, p.args, w.data).ok());
      p.expect_exact();
      if (HasFatalFailure()) return;
    }
  }
}

TEST(HostInt8, TwinsAreExactHoweverTheySplitK) {
  for (const std::int64_t splits : {1, 3})
    for (const Shape shape : {Shape{19, 48, 96}, Shape{40, 70, 131}}) {
      Product p(traits_of(Layout::rcr), shape, Values::extremes);
      const Workspace w(host::gemm_twin_workspace(p.traits, kWayTile, splits, shape.m, shape.n, shape.k, 1));
      const Status s = host::run_gemm_twin(p.traits, kWayTile, splits, p.args, w.data);
      ASSERT_TRUE(s.ok()) << s.message;
      p.expect_exact();
      if (HasFatalFailure()) return;
    }
}

TEST(HostInt8, SumsThatWrapAreThoseOfInt32) {
  constexpr std::int64_t kDepth = 150'000;  // 128 x 128 x K is beyond 2^31
  Product p(traits_of(Layout::rcr), {18, 16, 64}, Values::least);
  GuardedMemory a(18 * kDepth), b(16 * kDepth);
  std::memset(a.get(), 0x80, 18 * kDepth);
  std::memset(b.get(), 0x80, 16 * kDepth);
  p.args.a = a.get(), p.args.b = b.get(), p.args.k = p.args.lda = p.args.ldb = kDepth;
  for (const HostConfig& c : configs(p.traits, 512)) {
    const Workspace w(host::gemm_host_workspace(p.traits, c, 18, 16, kDepth, 1));
    ASSERT_TRUE(host::run_gemm_host(p.traits, c, p.args, w.data).ok());
    for (const std::int32_t sum : p.c)
      ASSERT_EQ(static_cast<std::uint32_t>(sum), static_cast<std::uint32_t>(kDepth * 128 * 128)) << c.mr << "x" << c.nr;
  }
}

}  // namespace test_host_int8
}  // namespace host_test
