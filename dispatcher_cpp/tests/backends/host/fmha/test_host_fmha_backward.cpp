// Attention's backward on the CPU against its formulas in double, element by element; and that results are the same
// bits whatever the number of threads.
#include "backends/host/fmha/backward.hpp"

#include "backends/host/gemm/gemm.hpp"
#include "backends/host/host_fixture.hpp"
#include "ckgen/problem.hpp"
#include "guarded_memory.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace host_test {
namespace test_host_fmha_backward {

constexpr std::int64_t kRows = 37, kKeys = 45;

struct BackwardCase {
  DType type = DType::fp32;
  FmhaTraits traits;
  int heads_q = 4, heads_k = 2, batch = 2;
  int hdim = 20, hdim_v = 12;
  std::int64_t bias_row = 1, bias_head = 1, bias_batch = 1;  // 0: one serves all
  Isa isa = Isa::x86_64_v3;
  int threads = 2;
  std::int32_t m0 = 16, n0 = 16;
};

/// Tensors are [batch][row][head][D]; all rows count.
class BackwardFixture {
 public:
  explicit BackwardFixture(const BackwardCase& one) : c(one) {
    c.traits.entry = FmhaEntry::backward;
    x.batch = c.batch, x.heads_q = c.heads_q, x.heads_k = c.heads_k;
    x.seqlen_q = kRows, x.seqlen_k = kKeys, x.hdim_q = c.hdim, x.hdim_v = c.hdim_v;
    x.corner = FmhaCorner::top_left, x.window_left = 15, x.window_right = 2, x.sink_tokens = 3;
    signature.op = Op::fmha;
    signature.a = signature.b = signature.c = c.type;
    signature.fmha = c.traits;
    q = random(c.batch * kRows * c.heads_q * c.hdim), k = random(c.batch * kKeys * c.heads_k * c.hdim);
    v = random(c.batch * kKeys * c.heads_k * c.hdim_v), dout = random(c.batch * kRows * c.heads_q * c.hdim_v);
    o = Bytes(dout.size()), dq = Bytes(q.size()), dk = Bytes(k.size()), dv = Bytes(v.size());
    lse.resize(index(c.batch * c.heads_q * kRows));
    args.q_strides = args.dq_strides = dense(kRows, c.heads_q, c.hdim);
    args.k_strides = args.dk_strides = dense(kKeys, c.heads_k, c.hdim);
    args.v_strides = args.dv_strides = dense(kKeys, c.heads_k, c.hdim_v);
    args.o_strides = args.dout_strides = dense(kRows, c.heads_q, c.hdim_v);
    args.lse_head_stride = kRows, args.lse_batch_stride = kRows * c.heads_q;
    args.scale = 0.3F;
    if (c.traits.bias == FmhaBias::elementwise) {
      const std::int64_t rows = c.bias_row != 0 ? kRows : 1, heads = c.bias_head != 0 ? c.heads_q : 1;
      bias = random((c.bias_batch != 0 ? c.batch : 1) * heads * rows * kKeys);
      dbias = Bytes(bias.size());
      args.bias_strides = {c.bias_row * kKeys, c.bias_head * rows * kKeys, c.bias_batch * heads * rows * kKeys};
      args.dbias_strides = args.bias_strides;
      args.bias = bias.data(), args.dbias = dbias.data();
    }
    if (c.traits.sink) {
      for (int h = 0; h < c.heads_q; ++h) sink.push_back(0.25F * static_cast<float>(h));
      dsink.resize(sink.size());
      args.sink = sink.data(), args.dsink = dsink.data();
    }
    args.q = q.data(), args.k = k.data(), args.v = v.data(), args.o = o.data(), args.lse = lse.data();
    args.dout = dout.data(), args.dq = dq.data(), args.dk = dk.data(), args.dv = dv.data();
    go_forward();
  }

  InstanceDesc desc() const {
    InstanceDesc found{};
    found.signature = signature;
    found.backend = Backend::host;
    found.host_config.isa = c.isa, found.host_config.threads = c.threads;
    found.fmha.m0 = c.m0, found.fmha.n0 = c.n0;
    return found;
  }
  Problem problem() const { return Problem(signature).fmha(x); }
  std::size_t workspace_bytes() const { return host::fmha_backward_workspace(desc(), problem()); }
  Status run(void* workspace) {
    const InstanceDesc instance = desc();
    const Problem asked = problem();
    Launch launch{&instance, &asked, 1, nullptr, workspace, nullptr};
    launch.fmha = &args;
    return host::fmha_backward(launch);
  }
  Status run() {
    Workspace room(workspace_bytes());
    return run(room.data);
  }

  /// What each gradient is by the formulas.
  struct Gradients {
    std::vector<double> q, k, v, bias, sink;
  };
  Gradients formulas() const {
    Gradients of{std::vector<double>(index(count_of(q))), std::vector<double>(index(count_of(k))),
                 std::vector<double>(index(count_of(v))), std::vector<double>(index(count_of(bias))),
                 std::vector<double>(sink.size())};
    each_row([&](std::int64_t b, std::int64_t h, std::int64_t i) {
      const double row_lse = static_cast<double>(lse[index((b * c.heads_q + h) * kRows + i)]);
      double delta = 0;
      for (std::int64_t d = 0; d < c.hdim_v; ++d) delta += at(dout, of_o(b, i, h) + d) * at(o, of_o(b, i, h) + d);
      if (c.traits.sink) of.sink[index(h)] -= std::exp(static_cast<double>(sink[index(h)]) - row_lse) * delta;
      for (std::int64_t j = 0; j < kKeys; ++j) {
        if (!sees(i, j)) continue;
        const std::int64_t g = h / (c.heads_q / c.heads_k), key = (b * kKeys + j) * c.heads_k + g;
        const double p = std::exp(score(b, h, i, j) - row_lse);
        double dp = 0;
        for (std::int64_t d = 0; d < c.hdim_v; ++d) dp += at(dout, of_o(b, i, h) + d) * at(v, key * c.hdim_v + d);
        const double ds = p * (dp - delta);
        if (!of.bias.empty()) of.bias[index(of_plane(b, h, i) + j)] += ds;
        for (std::int64_t d = 0; d < c.hdim; ++d) {
          const std::int64_t query = ((b * kRows + i) * c.heads_q + h) * c.hdim + d;
          of.q[index(query)] += scale() * ds * at(k, key * c.hdim + d);
          of.k[index(key * c.hdim + d)] += scale() * ds * at(q, query);
        }
        for (std::int64_t d = 0; d < c.hdim_v; ++d) of.v[index(key * c.hdim_v + d)] += p * at(dout, of_o(b, i, h) + d);
      }
    });
    return of;
  }

  /// Runs it; errors in units of the largest element of each gradient.
  void expect_right(const Gradients& of) {
    for (Bytes* one : {&dq, &dk, &dv, &dbias}) std::fill(one->begin(), one->end(), 0x5a);
    std::fill(dsink.begin(), dsink.end(), 77.0F);
    const Status status = run();
    ASSERT_TRUE(status.ok()) << status.message;
    expect_near("dq", dq, of.q);
    expect_near("dk", dk, of.k);
    expect_near("dv", dv, of.v);
    if (!of.bias.empty()) expect_near("dbias", dbias, of.bias);
    for (std::size_t h = 0; h < of.sink.size(); ++h)
      EXPECT_NEAR(static_cast<double>(dsink[h]), of.sink[h], 1e-3) << "head " << h;
  }
  void expect_right() { expect_right(formulas()); }

  BackwardCase c;
  FmhaShape x;
  Signature signature;
  FmhaArgs args;
  Bytes q, k, v, o, dout, dq, dk, dv, bias, dbias;
  std::vector<float> lse, sink, dsink;

 private:
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  static FmhaStrides dense(std::int64_t rows, std::int64_t heads, std::int64_t hdim) {
    return {heads * hdim, hdim, rows * heads * hdim};
  }
  double at(const Bytes& of, std::int64_t i) const { return static_cast<double>(read(c.type, of.data(), i)); }
  double scale() const { return static_cast<double>(args.scale); }
  std::int64_t count_of(const Bytes& of) const { return static_cast<std::int64_t>(of.size()) * 8 / bits(c.type); }
  std::int64_t of_o(std::int64_t b, std::int64_t i, std::int64_t h) const {
    return ((b * kRows + i) * c.heads_q + h) * c.hdim_v;
  }
  std::int64_t of_plane(std::int64_t b, std::int64_t h, std::int64_t i) const {
    const FmhaStrides& s = args.bias_strides;
    return b * s.batch + h * s.head + i * s.row;
  }
  bool sees(std::int64_t i, std::int64_t j) const {
    return !c.traits.masked || (j <= i + x.window_right && (j >= i - x.window_left || j < x.sink_tokens));
  }
  double score(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    const std::int64_t g = h / (c.heads_q / c.heads_k);
    double s = 0;
    for (std::int64_t d = 0; d < c.hdim; ++d)
      s +=
          at(q, ((b * kRows + i) * c.heads_q + h) * c.hdim + d) * at(k, ((b * kKeys + j) * c.heads_k + g) * c.hdim + d);
    return scale() * s + (bias.empty() ? 0.0 : at(bias, of_plane(b, h, i) + j));
  }
  template <class F>
  void each_row(F f) const {
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t h = 0; h < c.heads_q; ++h)
        for (std::int64_t i = 0; i < kRows; ++i) f(b, h, i);
  }
  Bytes random(std::int64_t count) {
    Bytes found(index(count * bits(c.type) / 8));
    std::uniform_real_distribution<float> any(-1.0F, 1.0F);
    for (std::int64_t i = 0; i < count; ++i) write(c.type, found.data(), i, any(random_));
    return found;
  }
  /// O and lse as forward gives them.
  void go_forward() {
    each_row([&](std::int64_t b, std::int64_t h, std::int64_t i) {
      double sum = c.traits.sink ? std::exp(static_cast<double>(sink[index(h)])) : 0.0, row[256] = {};
      for (std::int64_t j = 0; j < kKeys; ++j) {
        if (!sees(i, j)) continue;
        const double p = std::exp(score(b, h, i, j));
        sum += p;
        const std::int64_t key = (b * kKeys + j) * c.heads_k + h / (c.heads_q / c.heads_k);
        for (std::int64_t d = 0; d < c.hdim_v; ++d) row[d] += p * at(v, key * c.hdim_v + d);
      }
      for (std::int64_t d = 0; d < c.hdim_v; ++d)
        write(c.type, o.data(), of_o(b, i, h) + d, static_cast<float>(sum > 0 ? row[d] / sum : 0.0));
      lse[index((b * c.heads_q + h) * kRows + i)] = static_cast<float>(std::log(sum));
    });
  }
  void expect_near(const char* name, const Bytes& found, const std::vector<double>& wanted) const {
    double largest = 0;
    for (const double one : wanted) largest = std::max(largest, std::fabs(one));
    const double most = (c.type == DType::fp32 ? 2e-5 : c.type == DType::fp16 ? 2e-3 : 1.5e-2) * largest;
    ASSERT_GT(largest, 0.0) << name;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(at(found, static_cast<std::int64_t>(i)), wanted[i], most) << name << " " << i;
  }
  std::mt19937 random_{7};
};

std::vector<BackwardCase> cases() {
  std::vector<BackwardCase> all(9);
  all[1].type = DType::bf16, all[1].traits.masked = true;
  all[2].type = DType::fp16, all[2].traits.masked = all[2].traits.sink = true;
  for (std::size_t i = 3; i < 7; ++i) all[i].traits.bias = FmhaBias::elementwise;
  all[3].bias_row = 0;
  all[4].bias_batch = all[4].bias_head = 0, all[4].traits.masked = true, all[4].type = DType::bf16;
  all[5].bias_row = all[5].bias_head = all[5].bias_batch = 0;
  all[6].bias_head = 0, all[6].type = DType::fp16;
  // Heads of whole panels: dQ is added up in place; rows of fp32 Q are read where they are, those of dO lie too far
  // apart.
  for (std::size_t i = 7; i < 9; ++i) all[i].hdim = 32, all[i].hdim_v = 64, all[i].traits.masked = true;
  all[7].heads_q = 16, all[7].batch = 1;
  all[8].type = DType::bf16;
  return all;
}

TEST(HostFmhaBackward, EqualsItsFormulas) {
  for (const BackwardCase& one : cases()) {
    BackwardFixture f(one);
    const BackwardFixture::Gradients wanted = f.formulas();
    for (const Isa isa : {Isa::x86_64_v3, Isa::x86_64_v4, Isa::x86_64_v4_bf16, Isa::x86_64_amx}) {
      if (isa > host::detect_isa()) continue;
      f.c.isa = isa;
      SCOPED_TRACE(testing::Message() << name(one.type) << " level " << static_cast<int>(isa));
      f.expect_right(wanted);
    }
  }
}

TEST(HostFmhaBackward, IsTheSameBitsWhateverTheThreads) {
  for (BackwardCase c : cases()) {
    c.isa = host::detect_isa(), c.threads = 1;
    BackwardFixture f(c);
    ASSERT_TRUE(f.run().ok());
    const Bytes dq = f.dq, dk = f.dk, dv = f.dv, dbias = f.dbias;
    const std::vector<float> dsink = f.dsink;
    for (const int threads : {2, 3, 8})
      for (int again = 0; again < 3; ++again) {
        f.c.threads = threads;
        std::fill(f.dq.begin(), f.dq.end(), 0x5a);
        ASSERT_TRUE(f.run().ok());
        EXPECT_TRUE(f.dq == dq && f.dk == dk && f.dv == dv && f.dbias == dbias && f.dsink == dsink) << threads;
      }
  }
}

TEST(HostFmhaBackward, GradientsOfBiasAndSinkThatNobodyWantsChangeNoOther) {
  for (BackwardCase c : cases()) {
    if (c.traits.bias == FmhaBias::none && !c.traits.sink) continue;
    c.isa = host::detect_isa();
    BackwardFixture f(c);
    ASSERT_TRUE(f.run().ok());
    const Bytes dq = f.dq, dk = f.dk, dv = f.dv;
    for (Bytes* one : {&f.dq, &f.dk, &f.dv, &f.dbias}) std::fill(one->begin(), one->end(), 0x5a);
    std::fill(f.dsink.begin(), f.dsink.end(), 7.0F);
    f.args.dbias = nullptr, f.args.dsink = nullptr;
    const Status status = f.run();
    ASSERT_TRUE(status.ok()) << status.message;
    EXPECT_TRUE(f.dq == dq && f.dk == dk && f.dv == dv);
    EXPECT_TRUE(std::all_of(f.dbias.begin(), f.dbias.end(), [](auto byte) { return byte == 0x5a; }));
    EXPECT_TRUE(std::all_of(f.dsink.begin(), f.dsink.end(), [](float one) { return one == 7.0F; }));
  }
}

TEST(HostFmhaBackward, TilesOfAnySizeGiveTheSame) {
  for (const auto& [m0, n0] : {std::pair{1, 1}, std::pair{3, 7}, std::pair{256, 256}}) {
    BackwardCase c;
    c.type = DType::bf16, c.traits.masked = true, c.m0 = m0, c.n0 = n0, c.isa = host::detect_isa();
    SCOPED_TRACE(testing::Message() << m0 << "x" << n0);
    BackwardFixture f(c);
    f.expect_right();
  }
}

TEST(HostFmhaBackward, WorkspaceIsExact) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (BackwardCase c : {cases()[1], cases()[2]}) {
    c.threads = 1;
    BackwardFixture f(c);
    const std::size_t bytes = f.workspace_bytes();
    const GuardedMemory room(bytes);
    ASSERT_NE(room.get(), nullptr);
    EXPECT_TRUE(f.run(room.get()).ok());
    EXPECT_DEATH(fault([&] { f.run(room.get() + 64); }), "") << "less than " << bytes << " bytes suffice";
  }
}

// flash-attention keeps fp32 sums of dQ, and delta of each row; tiles are in its kernel's own memory.
TEST(HostFmhaBackward, NeedsNoMoreWorkspaceThanFlashAttentionAndItsTiles) {
  BackwardCase c;
  c.m0 = 64, c.n0 = 128;
  BackwardFixture f(c);
  f.x.batch = 1, f.x.heads_q = f.x.heads_k = 8;
  for (const std::int64_t rows : {2048, 8192})
    for (const int hdim : {64, 128}) {
      const auto bytes_of = [&](DType type) {
        f.signature.a = f.signature.b = f.signature.c = type;
        f.x.seqlen_q = f.x.seqlen_k = rows, f.x.hdim_q = f.x.hdim_v = hdim;
        return f.workspace_bytes();
      };
      const auto delta = static_cast<std::size_t>(8 * rows * 4), sums = delta * static_cast<std::size_t>(hdim);
      EXPECT_LE(bytes_of(DType::fp32), sums + delta);
      EXPECT_LE(bytes_of(DType::bf16), sums + bytes_of(DType::fp32));
    }
}

TEST(HostFmhaBackward, RefusesWhatItHasNot) {
  BackwardCase c;
  c.traits.bias = FmhaBias::elementwise;
  BackwardFixture f(c);
  const auto refused = [&f] { return std::string(f.run().message); };
  f.args.dout = nullptr;
  EXPECT_EQ(refused(), "dout is null");
  f.args.dout = f.dout.data(), f.args.dq = nullptr;
  EXPECT_EQ(refused(), "dq is null");
  f.args.dq = f.dq.data(), f.args.dsink = f.lse.data();
  EXPECT_EQ(refused(), "dsink is of a signature with sink only");
  f.args.dsink = nullptr, f.signature.fmha.kv = FmhaKv::page_list;
  EXPECT_EQ(f.workspace_bytes(), 0U);
  f.signature.fmha.kv = FmhaKv::contiguous, f.c.m0 = 257;
  EXPECT_EQ(f.workspace_bytes(), 0U);
}

}  // namespace test_host_fmha_backward
}  // namespace host_test
