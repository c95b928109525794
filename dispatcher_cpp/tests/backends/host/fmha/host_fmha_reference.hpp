// What a problem of op fmha must give, in fp64, written from the formulas in ckgen/fmha.hpp.
#pragma once

#include "backends/host/fmha/host_fmha_fixture.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace host_test {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Four words of a Philox4x32-7 call.
inline std::array<std::uint32_t, 4> philox_words(std::uint64_t seed, std::array<std::uint32_t, 4> c) {
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 7; ++round, k0 += 0x9E3779B9U, k1 += 0xBB67AE85U) {
    const std::uint64_t a = std::uint64_t{0xD2511F53U} * c[0], b = std::uint64_t{0xCD9E8D57U} * c[2];
    c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(a)};
  }
  return c;
}

/// The byte that element (i, j) of query head `head`, counted over all sequences, draws.
inline int philox_byte(std::uint64_t seed, std::uint64_t offset, std::int64_t head, std::int64_t i, std::int64_t j) {
  const std::uint64_t n = offset + static_cast<std::uint64_t>(64 * head + 32 * (i / 8 % 2) + j % 32);
  const auto words = philox_words(seed, {static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n >> 32),
                                         static_cast<std::uint32_t>(i / 32), static_cast<std::uint32_t>(j / 32)});
  const std::int64_t byte = 8 * (i / 16 % 2) + i % 8;
  return static_cast<int>(words[static_cast<std::size_t>(byte / 4)] >> (8 * (byte % 4)) & 0xffU);
}

class FmhaReference {
 public:
  explicit FmhaReference(const FmhaFixture& fixture)
      : f_(fixture),
        c(fixture.c),
        args(fixture.args),
        q_(decoded(c.signature.a, fixture.q)),
        k_(decoded(c.signature.b, fixture.k)),
        v_(decoded(c.signature.b, fixture.v)) {
    for (std::int64_t b = 0; b < c.shape.batch; ++b)
      for (std::int64_t h = 0; h < c.shape.heads_q; ++h) {
        gather(b, h / (c.shape.heads_q / c.shape.heads_k));
        for (std::int64_t i = 0; i < f_.length(b, true); ++i) rows_.push_back(reference(b, h, i));
      }
  }

  /// O and lse of every row, and nothing else, were written by `f`, which ran this problem.
  void expect_right(const FmhaFixture& f) const {
    std::vector<bool> written(f.o.size()), written_lse(f.lse.size());
    auto row = rows_.begin();
    for (std::int64_t b = 0; b < c.shape.batch; ++b)
      for (std::int64_t h = 0; h < c.shape.heads_q; ++h)
        for (std::int64_t i = 0; i < f_.length(b, true); ++i, ++row) {
          const std::int64_t at = f_.place(args.o_strides, b, true) + i * args.o_strides.row + h * args.o_strides.head;
          expect_row(f, *row, at, written);
          if (c.signature.fmha.lse) expect_lse(f, *row, b, h, i, written_lse);
          if (testing::Test::HasFatalFailure()) FAIL() << "b " << b << " h " << h << " i " << i;
        }
    for (std::size_t i = 0; i < written.size(); ++i) ASSERT_TRUE(written[i] || f.o[i] == 0x5a) << "byte " << i;
    for (std::size_t i = 0; i < written_lse.size(); ++i)
      ASSERT_TRUE(written_lse[i] || f.lse[i] == 77.0F) << "lse " << i;
  }

 private:
  struct Row {
    std::vector<double> o, mass;  // mass: the sum of magnitudes
    double lse;
  };

  static std::vector<double> decoded(DType type, const Bytes& bytes) {
    std::vector<double> all(bytes.size() * 8 / static_cast<std::size_t>(bits(type)));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = read(type, bytes.data(), static_cast<std::int64_t>(i));
    return all;
  }
  static double of(const std::vector<double>& values, std::int64_t at) { return values[static_cast<std::size_t>(at)]; }

  void expect_row(const FmhaFixture& f, const Row& row, std::int64_t at, std::vector<bool>& written) const {
    const std::int64_t each = bits(c.signature.c) / 8;
    for (std::int64_t d = 0; d < c.shape.hdim_v; ++d) {
      const double got = read(c.signature.c, f.o.data(), at + d), want = of(row.o, d);
      const double most = tolerance(f.c) * of(row.mass, d) + rounding() * std::fabs(want);
      ASSERT_NEAR(got, want, most + (each == 1 ? 1e-3 : 1e-7)) << "d " << d;
      for (std::int64_t byte = 0; byte < each; ++byte) written[static_cast<std::size_t>((at + d) * each + byte)] = true;
    }
  }

  void expect_lse(const FmhaFixture& f, const Row& row, std::int64_t b, std::int64_t h, std::int64_t i,
                  std::vector<bool>& written) const {
    const std::int64_t first = c.signature.fmha.varlen ? f_.start(b, true) : b * args.lse_batch_stride;
    const std::size_t at = static_cast<std::size_t>(first + h * args.lse_head_stride + i);
    written[at] = true;
    if (row.lse == -kInfinity)
      ASSERT_EQ(f.lse[at], -std::numeric_limits<float>::infinity());
    else
      ASSERT_NEAR(f.lse[at], row.lse, 2e-5 * (1.0 + std::fabs(row.lse)));
  }

  /// By the formula alone.
  HOST_TEST_ONE_THREAD bool visible(std::int64_t length_q, std::int64_t length_k, std::int64_t i,
                                    std::int64_t j) const {
    const FmhaShape& x = c.shape;
    if (j >= length_k) return false;
    if (!c.signature.fmha.masked) return true;
    const std::int64_t shift = x.corner == FmhaCorner::top_left ? 0 : length_k - length_q;
    const bool left = x.window_left < 0 || i + shift - x.window_left <= j;
    const bool right = x.window_right < 0 || j <= i + shift + x.window_right;
    return (left && right) || (j < x.sink_tokens && right);
  }

  HOST_TEST_ONE_THREAD double score(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    const FmhaShape& x = c.shape;
    const FmhaTraits& t = c.signature.fmha;
    const std::int64_t group = h / (x.heads_q / x.heads_k);
    const std::int64_t from_q = f_.place(args.q_strides, b, true) + i * args.q_strides.row + h * args.q_strides.head;
    const double *of_q = q_.data() + from_q, *of_k = keys_.data() + j * x.hdim_q;
    double sum = 0;
    for (std::int64_t d = 0; d < x.hdim_q; ++d) sum += of_q[d] * of_k[d];
    sum *= args.scale;
    if (t.quant == FmhaQuant::per_tensor) sum *= args.q_descale[0] * args.k_descale[0];
    if (t.quant == FmhaQuant::blockscale)
      sum *= args.q_descale[(b * x.heads_q + h) * ((x.seqlen_q + 127) / 128) + i / 128] *
             args.k_descale[(b * x.heads_k + group) * ((x.seqlen_k + 127) / 128) + j / 128];
    if (t.quant == FmhaQuant::kv_blockscale)
      sum *= (bits(c.signature.a) == 8 ? args.q_descale[0] : 1.0) * args.k_descale[f_.page(b, j) * x.heads_k + group];
    if (t.softcap) sum = args.softcap * std::tanh(sum / args.softcap);
    if (t.bias == FmhaBias::elementwise)
      sum += read(c.signature.a, f_.bias.data(),
                  f_.place(args.bias_strides, b, true) + i * args.bias_strides.row + h * args.bias_strides.head + j);
    if (t.bias == FmhaBias::alibi)
      sum -= f_.slopes[static_cast<std::size_t>(b * args.bias_strides.batch + h)] *
             std::fabs(static_cast<double>(i + f_.length(b, false) - f_.length(b, true) - j));
    return sum;
  }

  HOST_TEST_ONE_THREAD bool kept(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    const FmhaDropout dropout = c.signature.fmha.dropout;
    if (dropout == FmhaDropout::none) return true;
    const int least = static_cast<int>(std::floor((1.0F - args.p_drop) * 255.0F));
    if (dropout == FmhaDropout::philox)
      return philox_byte(args.seed, args.offset, b * c.shape.heads_q + h, i, j) <= least;
    return f_.rand_val[static_cast<std::size_t>(f_.place(args.rand_val_strides, b, true) +
                                                i * args.rand_val_strides.row + h * args.rand_val_strides.head + j)] <=
           least;
  }

  double descale_of_v(std::int64_t b, std::int64_t group, std::int64_t j) const {
    if (c.signature.fmha.quant == FmhaQuant::per_tensor) return args.v_descale[0];
    if (c.signature.fmha.quant == FmhaQuant::blockscale)
      return args.v_descale[(b * c.shape.heads_k + group) * ((c.shape.seqlen_k + 127) / 128) + j / 128];
    if (c.signature.fmha.quant == FmhaQuant::kv_blockscale)
      return args.v_descale[f_.page(b, j) * c.shape.heads_k + group];
    return 1.0;
  }

  /// Rows of K, and of V times its descale, of one head of one sequence.
  HOST_TEST_ONE_THREAD void gather(std::int64_t b, std::int64_t group) {
    const std::int64_t length = f_.length(b, false), hdim_q = c.shape.hdim_q, hdim_v = c.shape.hdim_v;
    keys_.resize(static_cast<std::size_t>(length * hdim_q)), values_.resize(static_cast<std::size_t>(length * hdim_v));
    const double *of_k = k_.data(), *of_v = v_.data();
    double *key = keys_.data(), *value = values_.data();
    for (std::int64_t j = 0; j < length; ++j) {
      const double descale = descale_of_v(b, group, j);
      for (std::int64_t d = 0; d < hdim_q; ++d) *key++ = of_k[f_.key(b, group, j, d)];
      for (std::int64_t d = 0; d < hdim_v; ++d) *value++ = of_v[f_.value(b, group, j, d)] * descale;
    }
  }

  HOST_TEST_ONE_THREAD Row reference(std::int64_t b, std::int64_t h, std::int64_t i) const {
    const std::size_t hdim = static_cast<std::size_t>(c.shape.hdim_v);
    const std::int64_t length_q = f_.length(b, true), length_k = f_.length(b, false);
    Row row{std::vector<double>(hdim), std::vector<double>(hdim), -kInfinity};
    std::vector<double> scores(static_cast<std::size_t>(length_k), -kInfinity);
    double most = c.signature.fmha.sink ? f_.sink[static_cast<std::size_t>(h)] : -kInfinity;
    for (std::size_t j = 0; j < scores.size(); ++j)
      if (visible(length_q, length_k, i, static_cast<std::int64_t>(j)))
        most = std::max(most, scores[j] = score(b, h, i, static_cast<std::int64_t>(j)));
    if (most == -kInfinity) return row;
    double sum = c.signature.fmha.sink ? std::exp(f_.sink[static_cast<std::size_t>(h)] - most) : 0.0;
    for (double& one : scores) sum += one = std::exp(one - most);  // a weight of `sum` from here on
    row.lse = most + std::log(sum);
    const double of_kept = sum * (1.0 - static_cast<double>(args.p_drop));
    for (std::size_t at = 0; at < scores.size(); ++at) {
      const std::int64_t j = static_cast<std::int64_t>(at);
      if (scores[at] == 0 || !kept(b, h, i, j)) continue;
      const double p = scores[at] / of_kept;
      const double* of_v = values_.data() + at * hdim;
      double *o = row.o.data(), *mass = row.mass.data();
      for (std::size_t d = 0; d < hdim; ++d) {
        const double x = p * of_v[d];
        o[d] += x;
        mass[d] += std::fabs(x);
      }
    }
    return row;
  }

  /// Of the sum of magnitudes: weights rounded to bf16 where the kernels have bf16 dot products.
  static double tolerance(const FmhaCase& c) {
    const bool narrow = c.signature.a != DType::fp32 && c.signature.a != DType::fp16 && c.signature.b != DType::fp32 &&
                        c.signature.b != DType::fp16;
    return narrow && (c.twin || c.isa >= Isa::x86_64_v4_bf16) ? 1.0 / 240 : 2e-5;
  }
  double rounding() const {
    if (bits(c.signature.c) == 8) return 1.0 / 15;
    return c.signature.c == DType::bf16 ? 1.0 / 250 : c.signature.c == DType::fp16 ? 1.0 / 2000 : 2e-6;
  }

  const FmhaFixture& f_;
  const FmhaCase& c;
  const FmhaArgs& args;
  const std::vector<double> q_, k_, v_;
  std::vector<double> keys_, values_;
  std::vector<Row> rows_;  // by sequence, head and query
};

inline void expect_right(const FmhaFixture& fixture) {
  FmhaReference(fixture).expect_right(fixture);
}

/// At every level that this CPU has.
inline void expect_right(FmhaCase c) {
  FmhaFixture f(std::move(c));
  const FmhaReference reference(f);
  for (const Isa isa : {Isa::x86_64_v3, Isa::x86_64_v4, Isa::x86_64_v4_bf16, Isa::x86_64_amx}) {
    if (!host::isa_available(isa)) continue;
    f.c.isa = isa;
    SCOPED_TRACE(host::isa_name(isa));
    f.clear_results();
    const Status s = f.run();
    ASSERT_TRUE(s.ok()) << s.message;
    reference.expect_right(f);
  }
}

}  // namespace host_test
