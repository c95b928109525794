// A B that was packed once gives the bytes of the plain one, on every instance of the CPU itself.
#include "ckgen/prepack.hpp"

#include "backends/host/gemm/host_gemm_ways.hpp"
#include "guarded_memory.hpp"

#include <memory>
#include <random>
#include <string>

namespace host_test {
namespace test_host_prepack {

constexpr DType kTypes[] = {DType::fp32, DType::bf16, DType::fp16, DType::int8};
constexpr Isa kIsas[] = {Isa::x86_64_v3, Isa::x86_64_v4, Isa::x86_64_v4_bf16};

GemmTraits traits_of_type(DType type, Layout layout, bool preshuffled = false) {
  const bool whole = type == DType::int8;
  return {
      type,        type, whole ? DType::int32 : DType::fp32, whole ? DType::int32 : DType::fp32, layout, Quant::none,
      preshuffled, false};
}

Signature signature_of(const GemmTraits& t) {
  Signature s{};
  s.op = Op::gemm;
  s.a = t.a, s.b = t.b, s.c = t.c, s.acc = t.acc;
  s.layout = t.layout;
  s.preshuffle_b = t.preshuffle_b;
  return s;
}

// Values of which no sum is exact, so that another order of additions shows.
void randomise(DType type, Bytes& all, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> real(-1.0F, 1.0F);
  const auto elements = static_cast<std::int64_t>(all.size()) * 8 / bits(type);
  for (std::int64_t i = 0; i < elements; ++i)
    write(type, all.data(), i, type == DType::int8 ? static_cast<float>(random() % 256) - 128 : real(random));
}

PlainB plain_of(const GemmArgs& x) {
  return {x.b, x.n, x.k, x.ldb, x.batch, x.batch_stride_b};
}

// In memory that ends with the last byte of B.
class Packed {
 public:
  Packed(const GemmTraits& t, const PlainB& plain) {
    const Result<std::uint64_t> bytes = packed_b_bytes(signature_of(t), plain.n, plain.k, plain.batch);
    EXPECT_TRUE(bytes) << bytes.status().message;
    memory_ = std::make_unique<GuardedMemory>(*bytes);
    std::memset(memory_->get(), 0xff, *bytes);  // NaNs where nothing is written
    const Status status = pack_b(signature_of(t), plain, memory_->get(), *bytes);
    EXPECT_TRUE(status.ok()) << status.message;
  }
  char* get() const { return memory_->get(); }

 private:
  std::unique_ptr<GuardedMemory> memory_;
};

// What both give, C and what lies between its rows.
template <class RunOne>
void expect_alike(Fixture& f, const RunOne& run, const Packed& packed) {
  const Bytes before = f.c;
  Status status = run(f.args);
  ASSERT_TRUE(status.ok()) << status.message;
  const Bytes plain = f.c;
  f.c = before;
  f.args.c = f.c.data();
  GemmArgs args = f.args;
  args.b = packed.get();
  args.b_prepacked = true;
  args.ldb = 0;
  status = run(args);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_TRUE(f.c == plain);
}

Status run_host(const GemmTraits& t, const HostConfig& c, const GemmArgs& x) {
  const Workspace w(host::gemm_host_workspace(t, c, x.m, x.n, x.k, x.batch));
  return host::run_gemm_host(t, c, x, w.data, host::RowOrder::alike);
}

TEST(HostPrepack, EveryRegisterTileOfEveryLevelGivesTheBytesOfThePlainB) {
  for (const DType type : kTypes)
    for (const Layout layout : {Layout::rcr, Layout::rrr}) {
      const GemmTraits t = traits_of_type(type, layout);
      for (const Shape shape :
           {Shape{1, 16, 64}, Shape{3, 33, 37}, Shape{16, 50, 130}, Shape{40, 97, 71}, Shape{3, 33, 1100}}) {
        Fixture f(t, shape);
        randomise(t.a, f.a, 1);
        randomise(t.b, f.b, 2);
        const Packed packed(t, plain_of(f.args));
        for (const Isa isa : kIsas) {
          if (!host::isa_available(isa)) continue;
          host::RegisterTile tiles[32];
          const int count = host::host_register_tiles(t, isa, tiles, 32);
          ASSERT_GT(count, 0);
          for (int i = 0; i < count; ++i) {
            const HostConfig c{isa, tiles[i].mr, tiles[i].nr, 32, 48, 30, 2};
            SCOPED_TRACE(testing::Message() << name(type) << " " << name(layout) << " m " << shape.m << " "
                                            << host::isa_name(isa) << " " << c.mr << "x" << c.nr);
            expect_alike(f, [&](const GemmArgs& x) { return run_host(t, c, x); }, packed);
          }
        }
      }
    }
}

TEST(HostPrepack, FewRowsOfAnyOrderGiveTheBytesOfTheirOwnOrderAlike) {
  for (const DType type : kTypes) {
    const GemmTraits t = traits_of_type(type, Layout::rcr);
    Fixture f(t, {4, 64, 200});
    randomise(t.a, f.a, 3);
    randomise(t.b, f.b, 4);
    const Packed packed(t, plain_of(f.args));
    const HostConfig c{Isa::x86_64_v3, 6, 16, 64, 64, 64, 2};
    ASSERT_TRUE(run_host(t, c, f.args).ok());
    const Bytes alike = f.c;
    GemmArgs args = f.args;
    args.b = packed.get();
    args.b_prepacked = true;
    const Workspace w(host::gemm_host_workspace(t, c, args.m, args.n, args.k, args.batch));
    ASSERT_TRUE(host::run_gemm_host(t, c, args, w.data, host::RowOrder::any).ok());
    EXPECT_TRUE(f.c == alike) << name(type);
  }
}

TEST(HostPrepack, StreamKCutsPrepackedPanelsWhereverItsTilesBegin) {
  for (const DType type : kTypes) {
    const GemmTraits t = traits_of_type(type, Layout::rcr);
    Fixture f(t, {20, 70, 203});
    randomise(t.a, f.a, 5);
    randomise(t.b, f.b, 6);
    const Packed packed(t, plain_of(f.args));
    for (const std::int32_t kc : {31, 32, 34})
      for (const std::int32_t nc : {20, 32}) {
        const HostConfig c{Isa::x86_64_v3, 6, 16, 12, nc, kc, 2};
        SCOPED_TRACE(testing::Message() << name(type) << " kc " << kc << " nc " << nc);
        expect_alike(
            f,
            [&](const GemmArgs& x) {
              const Workspace w(host::gemm_host_stream_k_workspace(t, c, Strategy::linear, 5, x.m, x.n, x.k, x.batch));
              return host::run_gemm_host_stream_k(t, c, Strategy::linear, 5, x, w.data);
            },
            packed);
      }
  }
}

TEST(HostPrepack, ABatchHasAPackedBEachOrSharesOne) {
  for (const DType type : kTypes)
    for (const bool shared : {false, true}) {
      SCOPED_TRACE(testing::Message() << name(type) << (shared ? " shared" : " each"));
      const GemmTraits t = traits_of_type(type, Layout::rrr);
      Fixture f(t, {5, 40, 33}, 3);
      randomise(t.a, f.a, 7);
      randomise(t.b, f.b, 8);
      if (shared) f.args.batch_stride_b = 0;
      PlainB plain = plain_of(f.args);
      if (shared) plain.batch = 1;
      const Packed packed(t, plain);
      const HostConfig c{Isa::x86_64_v3, 6, 16, 64, 64, 64, 2};
      expect_alike(f, [&](const GemmArgs& x) { return run_host(t, c, x); }, packed);
    }
}

TEST(HostPrepack, APreshuffledBPacksToTheSameBytes) {
  for (const DType type : kTypes) {
    const Shape shape{2, 32, 64};
    const Fixture plain(traits_of_type(type, Layout::rcr), shape),
        shuffled(traits_of_type(type, Layout::rcr, true), shape);
    const Bytes& rows = shuffled.b;  // without gaps
    PlainB dense{rows.data(), shape.n, shape.k, shape.k};
    const Packed expected(plain.traits, dense), got(shuffled.traits, plain_of(shuffled.args));
    EXPECT_EQ(std::memcmp(expected.get(), got.get(), *packed_b_bytes(signature_of(plain.traits), shape.n, shape.k)), 0);
  }
}

TEST(HostPrepack, ADepthOfZeroIsAHeaderAloneAndGivesZeros) {
  const GemmTraits t = traits_of_type(DType::bf16, Layout::rcr);
  Fixture f(t, {3, 20, 0});
  const Packed packed(t, plain_of(f.args));
  EXPECT_EQ(*packed_b_bytes(signature_of(t), 20, 0), sizeof(PackedBHeader));
  f.args.b = packed.get();
  f.args.b_prepacked = true;
  const HostConfig c{Isa::x86_64_v3, 6, 16, 64, 64, 64, 2};
  ASSERT_TRUE(run_host(t, c, f.args).ok());
  f.expect_equal();
}

TEST(HostPrepack, PanelsHoldWordsOfConsecutiveKOfSixteenColumns) {
  const GemmTraits t = traits_of_type(DType::int8, Layout::rrr);
  const std::int64_t n = 18, k = 6;
  std::vector<signed char> b(static_cast<std::size_t>(n * k));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<signed char>(i + 1);
  const Packed packed(t, {b.data(), n, k, n});
  ASSERT_EQ(*packed_b_bytes(signature_of(t), n, k), 64U + 2 * 2 * 16 * 4);
  const char* panels = packed.get() + sizeof(PackedBHeader);
  for (std::int64_t column = 0; column < 32; ++column)
    for (std::int64_t depth = 0; depth < 8; ++depth) {
      const char got = panels[((column / 16 * 2 + depth / 4) * 16 + column % 16) * 4 + depth % 4];
      const bool inside = column < n && depth < k;
      EXPECT_EQ(got, inside ? b[static_cast<std::size_t>(depth * n + column)] : 0) << column << " " << depth;
    }
}

std::string refusal(const Status& status) {
  return status.ok() ? "" : status.message;
}

TEST(HostPrepack, AWrongBufferIsRefusedWithWhatIsWrongWithIt) {
  const GemmTraits t = traits_of_type(DType::bf16, Layout::rcr);
  Fixture f(t, {3, 20, 30});
  const Packed packed(t, plain_of(f.args));
  const HostConfig c{Isa::x86_64_v3, 6, 16, 64, 64, 64, 2};
  f.args.b = packed.get();
  f.args.b_prepacked = true;
  const auto run = [&] { return refusal(run_host(t, c, f.args)); };
  EXPECT_EQ(run(), "");
  for (std::size_t at = 0; at < sizeof(PackedBHeader); ++at) {  // each damaged byte
    packed.get()[at] = static_cast<char>(packed.get()[at] ^ 0x40);
    EXPECT_NE(run(), "") << at;
    packed.get()[at] = static_cast<char>(packed.get()[at] ^ 0x40);
  }
  packed.get()[0] = 0;
  EXPECT_EQ(run(), "B is no packed B: make it with pack_b, or leave b_prepacked unset");
  packed.get()[0] = 'c';
  packed.get()[8] = 2;
  EXPECT_EQ(run(), "the packed B has layout 2, this library reads 1: pack it anew");
  packed.get()[8] = 1;
  packed.get()[30] = 1;
  EXPECT_EQ(run(), "the header of the packed B is damaged: pack it anew");
  packed.get()[30] = 0;
  f.args.b = nullptr;
  EXPECT_EQ(run(), "b is null");
  EXPECT_EQ(refusal(check_packed_b(DType::bf16, 20, 30, 1, nullptr)), "the packed B is null");
  EXPECT_EQ(refusal(check_packed_b(DType::bf16, 20, 31, 1, packed.get())),
            "the packed B has N=20 K=30 batch=1, and N=20 K=31 batch=1 is wanted");
  EXPECT_EQ(refusal(check_packed_b(DType::fp16, 20, 30, 1, packed.get())),
            "the packed B is of type bf16, and fp16 is wanted");
}

TEST(HostPrepack, WhatIsNotPackedIsRefusedByName) {
  const auto of = [](DType b) {
    Signature s{};
    s.op = Op::gemm;
    s.a = s.b = b;
    return s;
  };
  EXPECT_EQ(refusal(packed_b_bytes(of(DType::fp8_ocp), 16, 16).status()),
            "B of type fp8_ocp is not prepacked (fp32, fp16, bf16 and int8 are): pass it as it is");
  Signature routed = of(DType::bf16);
  routed.op = Op::moe;
  EXPECT_EQ(refusal(packed_b_bytes(routed, 16, 16).status()),
            "op moe takes no prepacked B: pass its weights as they are");
  Signature two = of(DType::bf16);
  two.b_op = OperandOp::add;
  EXPECT_NE(refusal(packed_b_bytes(two, 16, 16).status()), "");
  EXPECT_NE(refusal(packed_b_bytes(of(DType::bf16), -1, 16).status()), "");
  EXPECT_NE(refusal(packed_b_bytes(of(DType::bf16), std::int64_t{1} << 40, std::int64_t{1} << 40).status()), "");

  const float b[4] = {};
  char out[64 + 64];
  const Signature s = signature_of(traits_of_type(DType::fp32, Layout::rcr));
  EXPECT_EQ(refusal(pack_b(s, {b, 1, 1, 1}, out, sizeof out)), "");
  EXPECT_EQ(refusal(pack_b(s, {b, 1, 1, 1}, out, 127)), "a packed B of 127 bytes needs 128");
  EXPECT_EQ(refusal(pack_b(s, {b, 1, 1}, out, sizeof out)), "");
  EXPECT_EQ(refusal(pack_b(s, {b, 1, 2, 1}, out, sizeof out)), "a packed B of 128 bytes needs 192");
  EXPECT_EQ(refusal(pack_b(s, {b, 1, 1, -1}, out, sizeof out)), "ldb=-1 is less than the row length 1");
  EXPECT_EQ(refusal(pack_b(s, {nullptr, 1, 1, 1}, out, sizeof out)), "B is null");
  EXPECT_EQ(refusal(pack_b(s, {b, 1, 1, 1}, nullptr, sizeof out)), "packed is null");
}

TEST(HostPrepack, ATwinOfAGpusInstanceTakesThePlainBOnly) {
  const GemmTraits t = traits_of_type(DType::bf16, Layout::rcr);
  Fixture f(t, {32, 64, 257});
  const Packed packed(t, plain_of(f.args));
  f.args.b = packed.get();
  f.args.b_prepacked = true;
  for (const Way& way : gemm_ways()) {
    const Status status = way.run(t, f.args);
    if (std::string(way.what).find("twin") == std::string::npos) {
      EXPECT_TRUE(status.ok()) << way.what << status.message;
    } else {
      EXPECT_EQ(status.code, StatusCode::unsupported);
      EXPECT_NE(std::string(status.message).find("reads no prepacked B"), std::string::npos);
    }
  }
}

}  // namespace test_host_prepack
}  // namespace host_test
