// GEMM twins and host instances against a triple loop written from the formulas in ckgen/gemm_types.hpp.
// The data are small integers and power-of-two scales: every sum is exact, so results must be equal. The wide matrix of
// dtypes, rounding and refusals is tests/cpp/test_host_gemm.py; this file is what the sanitizers run.
#include "backends/host/gemm.hpp"
#include "ckgen/codecs.hpp"
#include "ckgen/preshuffle.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

using namespace ckgen;

namespace {

const bool kConfigured = [] { return setenv("CKGEN_NUM_THREADS", "3", 1) == 0; }();

struct Shape {
  std::int64_t m, n, k;
};

float read(DType t, const unsigned char* base, std::int64_t i) {
  if (t == DType::int8) return static_cast<float>(static_cast<signed char>(base[i]));
  if (t == DType::fp4) return decode(t, nibble(base[i / 2], static_cast<int>(i % 2)));
  if (t == DType::fp32 || t == DType::int32) {
    float f = 0;
    std::int32_t n = 0;
    std::memcpy(t == DType::fp32 ? static_cast<void*>(&f) : &n, base + i * 4, 4);
    return t == DType::fp32 ? f : static_cast<float>(n);
  }
  if (bits(t) == 16) {
    std::uint16_t h = 0;
    std::memcpy(&h, base + i * 2, 2);
    return decode(t, h);
  }
  return decode(t, base[i]);
}

void write(DType t, unsigned char* base, std::int64_t i, float v) {
  if (t == DType::int8) {
    base[i] = static_cast<unsigned char>(static_cast<signed char>(v));
  } else if (t == DType::fp4) {
    const std::uint32_t other = nibble(base[i / 2], static_cast<int>(1 - i % 2)), mine = encode(t, v);
    base[i / 2] = i % 2 == 0 ? pack_nibbles(mine, other) : pack_nibbles(other, mine);
  } else if (t == DType::fp32) {
    std::memcpy(base + i * 4, &v, 4);
  } else if (bits(t) == 16) {
    const std::uint16_t h = static_cast<std::uint16_t>(encode(t, v));
    std::memcpy(base + i * 2, &h, 2);
  } else {
    base[i] = static_cast<unsigned char>(encode(t, v));
  }
}

using Bytes = std::vector<unsigned char>;

// Heap memory of exactly the reported size, so that AddressSanitizer sees one byte too many.
struct Workspace {
  explicit Workspace(std::size_t bytes) : data(std::aligned_alloc(64, (bytes + 63) / 64 * 64)) {}
  ~Workspace() { std::free(data); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  void* data;
};

class Fixture {
 public:
  Fixture(GemmTraits t, Shape s, std::int64_t batch = 1, unsigned seed = 1) : traits(t), state_(seed) {
    const bool a_rows = a_is_row_major(t.layout), b_rows = b_is_row_major(t.layout);
    args.m = s.m;
    args.n = s.n;
    args.k = s.k;
    args.batch = batch;
    args.lda = (a_rows ? s.k : s.m) + 4;
    args.ldb = t.preshuffle_b ? s.k : (b_rows ? s.n : s.k) + 2;
    args.ldc = s.n + 3;
    args.batch_stride_a = (a_rows ? s.m : s.k) * args.lda;
    args.batch_stride_b = (b_rows ? s.k : s.n) * args.ldb;
    args.batch_stride_c = s.m * args.ldc;
    a = fill(t.a, args.batch_stride_a * batch);
    b = fill(t.b, args.batch_stride_b * batch);
    c.assign(static_cast<std::size_t>(bytes_of(t.c, args.batch_stride_c * batch)), 0x5a);
    group = t.quant == Quant::blockscale ? 128 : t.quant == Quant::mx ? 32 : s.k;
    groups = (s.k + group - 1) / group;
    const std::int64_t b_rows_of_scale = t.quant == Quant::blockscale ? (s.n + 127) / 128 : s.n;
    sa = scales(s.m * groups * batch);
    sb = scales(b_rows_of_scale * groups * batch);
    for (const float v : sa) sa8.push_back(static_cast<unsigned char>(encode(DType::e8m0, v)));
    for (const float v : sb) sb8.push_back(static_cast<unsigned char>(encode(DType::e8m0, v)));
    bias = scales(s.n);
    const bool mx = t.quant == Quant::mx;
    args.a_scale = mx ? static_cast<const void*>(sa8.data()) : sa.data();
    args.b_scale = mx ? static_cast<const void*>(sb8.data()) : sb.data();
    args.bias = t.bias ? bias.data() : nullptr;
    args.a_scale_row_major = true;
    args.c = c.data();
    args.a = a.data();
    args.b = b.data();
    if (t.preshuffle_b) {
      shuffled.resize(b.size());
      const std::int64_t row = bytes_of(t.b, s.k);
      for (std::int64_t i = 0; i < batch; ++i)
        EXPECT_TRUE(preshuffle_b(b.data() + i * s.n * row, row, shuffled.data() + i * s.n * row, s.n, row));
      args.b = shuffled.data();
    }
  }

  void expect_equal() const {
    const std::vector<float> af = values(traits.a, a), bf = values(traits.b, b);
    for (std::int64_t i = 0; i < args.batch; ++i)
      for (std::int64_t m = 0; m < args.m; ++m)
        for (std::int64_t n = 0; n < args.n; ++n) {
          const std::int64_t at = i * args.batch_stride_c + m * args.ldc + n;
          float want = reference(af, bf, i, m, n);
          if (has_codec(traits.c)) want = decode(traits.c, encode(traits.c, want));
          ASSERT_EQ(read(traits.c, c.data(), at), want) << "batch " << i << " m " << m << " n " << n;
        }
  }

  GemmTraits traits;
  GemmArgs args{};
  Bytes a, b, c, shuffled, sa8, sb8;
  std::vector<float> sa, sb, bias;
  std::int64_t group = 0, groups = 0;

 private:
  unsigned random() { return (state_ = state_ * 1664525u + 1013904223u) >> 16; }
  Bytes fill(DType t, std::int64_t n) {
    Bytes out(static_cast<std::size_t>(bytes_of(t, n)), 0);
    for (std::int64_t i = 0; i < n; ++i)
      write(t, out.data(), i, static_cast<float>(static_cast<int>(random() % 5) - 2));
    return out;
  }
  std::vector<float> scales(std::int64_t n) {
    std::vector<float> out(static_cast<std::size_t>(n));
    for (float& v : out) v = random() % 2 == 0 ? 0.5f : 2.0f;
    return out;
  }
  static float scale(const std::vector<float>& s, std::int64_t i) { return s[static_cast<std::size_t>(i)]; }

  static std::vector<float> values(DType t, const Bytes& from) {
    std::vector<float> out(from.size() * 8 / static_cast<std::size_t>(bits(t)));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = read(t, from.data(), static_cast<std::int64_t>(i));
    return out;
  }

  float reference(const std::vector<float>& af, const std::vector<float>& bf, std::int64_t i, std::int64_t m,
                  std::int64_t n) const {
    const bool a_rows = a_is_row_major(traits.layout), b_rows = b_is_row_major(traits.layout);
    double sum = 0;
    for (std::int64_t k = 0; k < args.k; ++k) {
      const std::int64_t ai = i * args.batch_stride_a + (a_rows ? m * args.lda + k : k * args.lda + m);
      const std::int64_t bi = i * args.batch_stride_b + (b_rows ? k * args.ldb + n : n * args.ldb + k);
      double term = static_cast<double>(scale(af, ai)) * static_cast<double>(scale(bf, bi));
      const std::int64_t g = k / group;
      if (traits.quant == Quant::mx)
        term *= scale(sa, (i * args.m + m) * groups + g) * scale(sb, (i * args.n + n) * groups + g);
      if (traits.quant == Quant::blockscale)
        term *=
            scale(sa, (i * args.m + m) * groups + g) * scale(sb, (i * ((args.n + 127) / 128) + n / 128) * groups + g);
      sum += term;
    }
    if (traits.quant == Quant::rowwise) sum *= scale(sa, i * args.m + m) * scale(sb, i * args.n + n);
    if (traits.quant == Quant::per_tensor) sum *= scale(sa, 0) * scale(sb, 0);
    if (traits.bias) sum += bias[static_cast<std::size_t>(n)];
    return static_cast<float>(sum);
  }

  unsigned state_;
};

constexpr host::TwinConfig kTile{64, 64, 32, 1, true, true, true};

void run_twin(Fixture& f, const host::TwinConfig& config = kTile, std::int64_t k_batch = 1) {
  const Workspace w(host::gemm_twin_workspace(f.traits, config, k_batch, f.args.m, f.args.n, f.args.k, f.args.batch));
  const Status s = host::run_gemm_twin(f.traits, config, k_batch, f.args, w.data);
  ASSERT_TRUE(s.ok()) << s.message;
  f.expect_equal();
}

constexpr DType kInt = DType::int8, kHalf = DType::bf16, kFp8 = DType::fp8_fnuz, kFp4 = DType::fp4,
                kFloat = DType::fp32;

}  // namespace

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

TEST(GemmTwin, HugeSizesAreRefusedOrCountedNotOverflowed) {
  const GemmTraits t{kFloat, kFloat, kFloat, DType::fp32, Layout::rcr, Quant::none, false, false};
  const std::int64_t big = std::int64_t{1} << 40;
  EXPECT_GT(host::gemm_twin_workspace(t, kTile, 1, big, big, 4096, 1), 0u);
  EXPECT_GT(host::gemm_twin_workspace(t, kTile, 1, 64, 64, big, 1), static_cast<std::size_t>(big));
  EXPECT_EQ(host::gemm_twin_workspace(t, kTile, 1, big + 1, 1, 1, 1), 0u);
}
