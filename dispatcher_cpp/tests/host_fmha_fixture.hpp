// One problem of op fmha for the host kernels' tests: random operands in buffers of exactly their size, and what it
// must give in fp64, written from the formulas in ckgen/fmha.hpp.
#pragma once

#include "backends/host/fmha.hpp"
#include "backends/host/gemm.hpp"
#include "ckgen/problem.hpp"
#include "host_fixture.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
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

/// What differs from one test to another.
struct FmhaCase {
  Signature signature;
  FmhaShape shape;
  std::vector<std::int32_t> rows_q, rows_k;  // varlen: the rows of each sequence in memory
  std::vector<std::int32_t> used_q, used_k;  // the lengths that are given; empty: none are
  bool heads_first = false;                  // [batch][head][row][D] rather than [batch][row][head][D]
  bool alibi_per_batch = false;
  float scale = 0.0F;  // 0: 1 / sqrt(hdim_q)
  float softcap = 3.0F, p_drop = 0.3F;
  float amplitude = 1.0F;
  Isa isa = Isa::x86_64_v3;
  std::int32_t m0 = 64, n0 = 64;
  int threads = 2;
  std::uint32_t splits = 1;
  bool twin = false;
};

inline FmhaCase fmha_case(DType q, DType kv, DType o, FmhaTraits traits, FmhaShape shape) {
  FmhaCase c;
  c.signature.op = Op::fmha;
  c.signature.a = q;
  c.signature.b = kv;
  c.signature.c = o;
  c.signature.fmha = traits;
  c.shape = shape;
  return c;
}

inline FmhaShape fmha_shape(std::int64_t batch, int heads_q, int heads_k, std::int64_t seqlen_q, std::int64_t seqlen_k,
                            int hdim_q, int hdim_v) {
  FmhaShape s;
  s.batch = batch, s.heads_q = heads_q, s.heads_k = heads_k, s.seqlen_q = seqlen_q, s.seqlen_k = seqlen_k;
  s.hdim_q = hdim_q, s.hdim_v = hdim_v;
  return s;
}

class FmhaFixture {
 public:
  explicit FmhaFixture(FmhaCase one, unsigned seed = 1) : c(std::move(one)), state_(seed) {
    const FmhaShape& x = c.shape;
    const FmhaTraits& t = c.signature.fmha;
    if (t.varlen) {
      seqstart_q = starts(c.rows_q), seqstart_k = starts(c.rows_k);
      args.seqstart_q = seqstart_q.data(), args.seqstart_k = seqstart_k.data();
    }
    if (!c.used_q.empty()) args.seqlen_q = c.used_q.data();
    if (!c.used_k.empty()) args.seqlen_k = c.used_k.data();
    const std::int64_t batch = t.varlen ? 1 : x.batch;
    const std::int64_t rows_q = t.varlen ? seqstart_q.back() : x.seqlen_q;
    rows_k_ = t.varlen ? seqstart_k.back() : x.seqlen_k;
    args.q_strides = strides(rows_q, x.heads_q, x.hdim_q);
    args.o_strides = strides(rows_q, x.heads_q, x.hdim_v);
    if (t.kv != FmhaKv::contiguous) {
      make_pages();
    } else {
      args.k_strides = strides(rows_k_, x.heads_k, x.hdim_q);
      args.v_strides = strides(rows_k_, x.heads_k, x.hdim_v);
      if (t.v_column) args.v_strides = {rows_k_, rows_k_ * x.hdim_v, rows_k_ * x.hdim_v * x.heads_k};
      k = random(c.signature.b, batch * rows_k_ * x.heads_k * x.hdim_q);
      v = random(c.signature.b, batch * rows_k_ * x.heads_k * x.hdim_v);
    }
    q = random(c.signature.a, batch * rows_q * x.heads_q * x.hdim_q);
    o.assign(static_cast<std::size_t>(bytes_of(c.signature.c, batch * rows_q * x.heads_q * x.hdim_v)), 0x5a);
    args.q = q.data(), args.k = k.data(), args.v = v.data(), args.o = o.data();
    if (t.lse) {
      lse.assign(static_cast<std::size_t>(batch * rows_q * x.heads_q), 77.0F);
      args.lse = lse.data(), args.lse_head_stride = rows_q, args.lse_batch_stride = rows_q * x.heads_q;
    }
    if (t.bias == FmhaBias::elementwise) {
      args.bias_strides = {x.seqlen_k, rows_q * x.seqlen_k, rows_q * x.seqlen_k * x.heads_q};
      bias = random(c.signature.a, batch * args.bias_strides.batch);
      args.bias = bias.data();
    } else if (t.bias == FmhaBias::alibi) {
      args.bias_strides = {0, 1, c.alibi_per_batch ? x.heads_q : 0};
      for (std::int64_t i = 0; i < x.heads_q * (c.alibi_per_batch ? x.batch : 1); ++i)
        slopes.push_back(0.02F * static_cast<float>(1 + i));
      args.bias = slopes.data();
    }
    if (t.sink) {
      for (int h = 0; h < x.heads_q; ++h) sink.push_back(number());
      args.sink = sink.data();
    }
    if (t.dropout == FmhaDropout::randval) {
      args.rand_val_strides = {x.seqlen_k, rows_q * x.seqlen_k, rows_q * x.seqlen_k * x.heads_q};
      rand_val.resize(static_cast<std::size_t>(batch * args.rand_val_strides.batch));
      for (unsigned char& byte : rand_val) byte = static_cast<unsigned char>(next() >> 16);
      args.rand_val = rand_val.data();
    }
    if (t.quant == FmhaQuant::per_tensor) {
      descales = {{{0.5F}, {1.5F}, {0.75F}}};
    } else if (t.quant == FmhaQuant::blockscale) {
      descales = {scales_of(x.batch * x.heads_q * ((x.seqlen_q + 127) / 128)),
                  scales_of(x.batch * x.heads_k * ((x.seqlen_k + 127) / 128)),
                  scales_of(x.batch * x.heads_k * ((x.seqlen_k + 127) / 128))};
    }
    if (t.quant != FmhaQuant::none)
      args.q_descale = descales[0].data(), args.k_descale = descales[1].data(), args.v_descale = descales[2].data();
    args.scale = c.scale != 0.0F ? c.scale : 1.0F / std::sqrt(static_cast<float>(x.hdim_q));
    args.softcap = t.softcap ? c.softcap : 0.0F;
    args.p_drop = t.dropout != FmhaDropout::none ? c.p_drop : 0.0F;
    args.seed = 0x123456789abcdefULL, args.offset = 0xfffffff0ULL;
  }

  InstanceDesc instance() const {
    InstanceDesc i{};
    i.signature = c.signature;
    i.backend = c.twin ? Backend::ck_tile : Backend::host;
    i.host_config.isa = c.isa, i.host_config.threads = c.threads;
    i.fmha.m0 = c.m0, i.fmha.n0 = c.n0;
    return i;
  }

  Status run() {
    const InstanceDesc desc = instance();
    const Problem problem = Problem(c.signature).fmha(c.shape);
    const std::size_t bytes = host::fmha_workspace(desc, problem, c.splits);
    // Exactly so many, so that AddressSanitizer sees one byte too many.
    std::vector<unsigned char> memory(bytes);
    Launch launch{&desc, &problem, c.splits, nullptr, memory.data(), nullptr};
    launch.fmha = &args;
    return host::fmha(launch);
  }

  /// O and lse of every row, and nothing else, were written.
  void expect_right() const {
    const FmhaShape& x = c.shape;
    std::vector<bool> written(o.size());
    std::vector<bool> written_lse(lse.size());
    const std::size_t each = static_cast<std::size_t>(bits(c.signature.c) / 8);
    for (std::int64_t b = 0; b < x.batch; ++b)
      for (std::int64_t h = 0; h < x.heads_q; ++h)
        for (std::int64_t i = 0; i < length(b, true); ++i) {
          const Row row = reference(b, h, i);
          const std::int64_t at = place(args.o_strides, b, true) + i * args.o_strides.row + h * args.o_strides.head;
          for (std::int64_t d = 0; d < x.hdim_v; ++d) {
            const double got = read(c.signature.c, o.data(), at + d), want = row.o[static_cast<std::size_t>(d)];
            const double most = tolerance() * row.mass[static_cast<std::size_t>(d)] + rounding() * std::fabs(want);
            ASSERT_NEAR(got, want, most + 1e-7) << "b " << b << " h " << h << " i " << i << " d " << d;
            for (std::size_t byte = 0; byte < each; ++byte)
              written[static_cast<std::size_t>(at + d) * each + byte] = true;
          }
          if (!c.signature.fmha.lse) continue;
          const std::size_t to = static_cast<std::size_t>(
              (c.signature.fmha.varlen ? seqstart_q[static_cast<std::size_t>(b)] : b * args.lse_batch_stride) +
              h * args.lse_head_stride + i);
          written_lse[to] = true;
          if (row.lse == -kInfinity)
            ASSERT_EQ(lse[to], -std::numeric_limits<float>::infinity()) << "b " << b << " h " << h << " i " << i;
          else
            ASSERT_NEAR(lse[to], row.lse, 2e-5 * (1.0 + std::fabs(row.lse))) << "b " << b << " h " << h << " i " << i;
        }
    for (std::size_t i = 0; i < o.size(); ++i) ASSERT_TRUE(written[i] || o[i] == 0x5a) << "byte " << i;
    for (std::size_t i = 0; i < lse.size(); ++i) ASSERT_TRUE(written_lse[i] || lse[i] == 77.0F) << "lse " << i;
  }

  /// By the formula alone.
  bool visible(std::int64_t b, std::int64_t i, std::int64_t j) const {
    const FmhaShape& x = c.shape;
    const std::int64_t length_k = length(b, false);
    if (j >= length_k) return false;
    if (!c.signature.fmha.masked) return true;
    const std::int64_t shift = x.corner == FmhaCorner::top_left ? 0 : length_k - length(b, true);
    const bool left = x.window_left < 0 || i + shift - x.window_left <= j;
    const bool right = x.window_right < 0 || j <= i + shift + x.window_right;
    return (left && right) || (j < x.sink_tokens && right);
  }

  std::int64_t length(std::int64_t b, bool of_q) const {
    const std::size_t at = static_cast<std::size_t>(b);
    const std::vector<std::int32_t>& used = of_q ? c.used_q : c.used_k;
    if (!used.empty()) return used[at];
    if (c.signature.fmha.varlen) return (of_q ? c.rows_q : c.rows_k)[at];
    if (!of_q && c.signature.fmha.kv == FmhaKv::page_list) return paged_lengths[at];
    return of_q ? c.shape.seqlen_q : c.shape.seqlen_k;
  }

  FmhaCase c;
  FmhaArgs args;
  Bytes q, k, v, o, bias, rand_val;
  std::vector<float> lse, slopes, sink;
  std::array<std::vector<float>, 3> descales;
  std::vector<std::int32_t> seqstart_q, seqstart_k, table, indptr, last_page, paged_lengths;

 private:
  struct Row {
    std::vector<double> o, mass;  // mass: the sum of magnitudes
    double lse;
  };

  std::uint32_t next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>(state_ >> 32);
  }
  float number() { return (static_cast<float>(next() % 4001) / 1000.0F - 2.0F) * c.amplitude; }
  Bytes random(DType type, std::int64_t count) {
    Bytes bytes(static_cast<std::size_t>(bytes_of(type, count)));
    for (std::int64_t i = 0; i < count; ++i) write(type, bytes.data(), i, number());
    return bytes;
  }
  std::vector<float> scales_of(std::int64_t count) {
    std::vector<float> all;
    for (std::int64_t i = 0; i < count; ++i) all.push_back(0.25F + static_cast<float>(next() % 100) / 100.0F);
    return all;
  }
  static std::vector<std::int32_t> starts(const std::vector<std::int32_t>& rows) {
    std::vector<std::int32_t> all{0};
    for (const std::int32_t one : rows) all.push_back(all.back() + one);
    return all;
  }
  FmhaStrides strides(std::int64_t rows, std::int64_t heads, std::int64_t hdim) const {
    if (c.heads_first) return {hdim, rows * hdim, rows * heads * hdim};
    return {heads * hdim, hdim, rows * heads * hdim};
  }

  /// Pages in a scattered order, with as many again that nobody uses.
  void make_pages() {
    const FmhaShape& x = c.shape;
    const std::int64_t most = (x.seqlen_k + x.page_size - 1) / x.page_size;
    c.shape.pages = 2 * x.batch * most + 1;
    args.k_strides = {x.heads_k * x.hdim_q, x.hdim_q, x.page_size * x.heads_k * x.hdim_q};
    args.v_strides = {x.heads_k * x.hdim_v, x.hdim_v, x.page_size * x.heads_k * x.hdim_v};
    k = random(c.signature.b, c.shape.pages * args.k_strides.batch);
    v = random(c.signature.b, c.shape.pages * args.v_strides.batch);
    std::int32_t page = 1;
    const std::int32_t pages = static_cast<std::int32_t>(c.shape.pages);
    const auto draw = [&] { return page = (page + 2) % pages; };
    if (c.signature.fmha.kv == FmhaKv::block_table) {
      for (std::int64_t i = 0; i < x.batch * most; ++i) table.push_back(draw());
      args.block_table = table.data(), args.block_table_stride = most;
      return;
    }
    indptr.push_back(0);
    for (std::int64_t b = 0; b < x.batch; ++b) {
      const std::int64_t used = b == 1 ? 0 : x.seqlen_k - b;
      for (std::int64_t i = 0; i < (used + x.page_size - 1) / x.page_size; ++i) table.push_back(draw());
      indptr.push_back(static_cast<std::int32_t>(table.size()));
      last_page.push_back(static_cast<std::int32_t>(used == 0 ? 0 : (used - 1) % x.page_size + 1));
      paged_lengths.push_back(static_cast<std::int32_t>(used));
    }
    args.kv_pages = table.data(), args.kv_indptr = indptr.data(), args.kv_last_page = last_page.data();
  }

  std::int64_t start(std::int64_t b, bool of_q) const {
    if (!c.signature.fmha.varlen) return 0;
    return (of_q ? seqstart_q : seqstart_k)[static_cast<std::size_t>(b)];
  }
  std::int64_t place(const FmhaStrides& s, std::int64_t b, bool of_q) const {
    return c.signature.fmha.varlen ? start(b, of_q) * s.row : b * s.batch;
  }
  /// Of column j; a row of K or V, in elements.
  std::int64_t column(const FmhaStrides& s, std::int64_t b, std::int64_t j) const {
    if (c.signature.fmha.kv == FmhaKv::contiguous) return place(s, b, false) + j * s.row;
    const std::int64_t first =
        c.signature.fmha.kv == FmhaKv::block_table ? b * args.block_table_stride : indptr[static_cast<std::size_t>(b)];
    const std::int64_t page = table[static_cast<std::size_t>(first + j / c.shape.page_size)];
    return page * s.batch + j % c.shape.page_size * s.row;
  }

  double score(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    const FmhaShape& x = c.shape;
    const FmhaTraits& t = c.signature.fmha;
    const std::int64_t group = h / (x.heads_q / x.heads_k);
    const std::int64_t from_q = place(args.q_strides, b, true) + i * args.q_strides.row + h * args.q_strides.head;
    const std::int64_t from_k = column(args.k_strides, b, j) + group * args.k_strides.head;
    double sum = 0;
    for (std::int64_t d = 0; d < x.hdim_q; ++d)
      sum += static_cast<double>(read(c.signature.a, q.data(), from_q + d)) *
             static_cast<double>(read(c.signature.b, k.data(), from_k + d));
    sum *= args.scale;
    if (t.quant == FmhaQuant::per_tensor) sum *= args.q_descale[0] * args.k_descale[0];
    if (t.quant == FmhaQuant::blockscale)
      sum *= args.q_descale[(b * x.heads_q + h) * ((x.seqlen_q + 127) / 128) + i / 128] *
             args.k_descale[(b * x.heads_k + group) * ((x.seqlen_k + 127) / 128) + j / 128];
    if (t.softcap) sum = args.softcap * std::tanh(sum / args.softcap);
    if (t.bias == FmhaBias::elementwise)
      sum += read(c.signature.a, bias.data(),
                  place(args.bias_strides, b, true) + i * args.bias_strides.row + h * args.bias_strides.head + j);
    if (t.bias == FmhaBias::alibi)
      sum -= slopes[static_cast<std::size_t>(b * args.bias_strides.batch + h)] *
             std::fabs(static_cast<double>(i + length(b, false) - length(b, true) - j));
    return sum;
  }

  bool kept(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    const FmhaDropout dropout = c.signature.fmha.dropout;
    if (dropout == FmhaDropout::none) return true;
    const int least = static_cast<int>(std::floor((1.0F - args.p_drop) * 255.0F));
    if (dropout == FmhaDropout::philox)
      return philox_byte(args.seed, args.offset, b * c.shape.heads_q + h, i, j) <= least;
    return rand_val[static_cast<std::size_t>(place(args.rand_val_strides, b, true) + i * args.rand_val_strides.row +
                                             h * args.rand_val_strides.head + j)] <= least;
  }

  double value(std::int64_t b, std::int64_t group, std::int64_t j, std::int64_t d) const {
    const FmhaStrides& s = args.v_strides;
    std::int64_t at = column(s, b, j) + d;
    if (c.signature.fmha.v_column) at = (c.signature.fmha.varlen ? start(b, false) : b * s.batch) + d * s.row + j;
    double x = read(c.signature.b, v.data(), at + group * s.head);
    if (c.signature.fmha.quant == FmhaQuant::per_tensor) x *= args.v_descale[0];
    if (c.signature.fmha.quant == FmhaQuant::blockscale)
      x *= args.v_descale[(b * c.shape.heads_k + group) * ((c.shape.seqlen_k + 127) / 128) + j / 128];
    return x;
  }

  Row reference(std::int64_t b, std::int64_t h, std::int64_t i) const {
    const std::size_t hdim = static_cast<std::size_t>(c.shape.hdim_v);
    Row row{std::vector<double>(hdim), std::vector<double>(hdim), -kInfinity};
    std::vector<double> scores(static_cast<std::size_t>(length(b, false)), -kInfinity);
    double most = c.signature.fmha.sink ? sink[static_cast<std::size_t>(h)] : -kInfinity;
    for (std::size_t j = 0; j < scores.size(); ++j)
      if (visible(b, i, static_cast<std::int64_t>(j)))
        most = std::max(most, scores[j] = score(b, h, i, static_cast<std::int64_t>(j)));
    if (most == -kInfinity) return row;
    double sum = c.signature.fmha.sink ? std::exp(sink[static_cast<std::size_t>(h)] - most) : 0.0;
    for (const double one : scores) sum += std::exp(one - most);
    row.lse = most + std::log(sum);
    const std::int64_t group = h / (c.shape.heads_q / c.shape.heads_k);
    for (std::size_t at = 0; at < scores.size(); ++at) {
      const std::int64_t j = static_cast<std::int64_t>(at);
      if (scores[at] == -kInfinity || !kept(b, h, i, j)) continue;
      const double p = std::exp(scores[at] - row.lse) / (1.0 - static_cast<double>(args.p_drop));
      for (std::size_t d = 0; d < hdim; ++d) {
        const double x = p * value(b, group, j, static_cast<std::int64_t>(d));
        row.o[d] += x;
        row.mass[d] += std::fabs(x);
      }
    }
    return row;
  }

  /// Of the sum of magnitudes: weights rounded to bf16 where the kernels have bf16 dot products.
  double tolerance() const {
    const bool narrow = c.signature.a != DType::fp32 && c.signature.a != DType::fp16 && c.signature.b != DType::fp32 &&
                        c.signature.b != DType::fp16;
    return narrow && (c.twin || c.isa >= Isa::x86_64_v4_bf16) ? 1.0 / 240 : 2e-5;
  }
  double rounding() const {
    return c.signature.c == DType::bf16 ? 1.0 / 250 : c.signature.c == DType::fp16 ? 1.0 / 2000 : 2e-6;
  }

  std::int64_t rows_k_ = 0;
  std::uint64_t state_;
};

}  // namespace host_test
