// One problem of op fmha for the host kernels' tests: random operands in buffers of exactly their size.
#pragma once

#include "backends/host/fmha/fmha.hpp"
#include "backends/host/gemm/gemm.hpp"
#include "backends/host/host_fixture.hpp"
#include "ckgen/problem.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace host_test {

/// What differs from one test to another.
struct FmhaCase {
  Signature signature;
  FmhaShape shape;
  std::vector<std::int32_t> rows_q, rows_k;  // varlen: the rows of each sequence in memory
  std::vector<std::int32_t> used_q, used_k;  // the lengths that are given; empty: none are
  bool heads_first = false;                  // [batch][head][row][D] rather than [batch][row][head][D]
  bool alibi_per_batch = false;
  std::int64_t page_gap = 0;  // elements between pages
  float scale = 0.0F;         // 0: 1 / sqrt(hdim_q)
  float softcap = 3.0F, p_drop = 0.3F;
  float amplitude = 1.0F;
  Isa isa = Isa::x86_64_v3;
  std::int32_t m0 = 64, n0 = 64;
  int threads = 2;
  std::uint32_t splits = 1;
  bool twin = false;
  Backend twin_of = Backend::ck_tile;
  bool merge_heads = false;
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
      args.seqstart_q = seqstart_q.data(), args.seqstart_k = t.kv == FmhaKv::contiguous ? seqstart_k.data() : nullptr;
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
    } else if (t.quant == FmhaQuant::kv_blockscale) {
      descales = {{{0.5F}, scales_of(c.shape.pages * x.heads_k), scales_of(c.shape.pages * x.heads_k)}};
    }
    if (t.quant != FmhaQuant::none)
      args.q_descale = descales[0].data(), args.k_descale = descales[1].data(), args.v_descale = descales[2].data();
    if (t.quant == FmhaQuant::kv_blockscale && bits(c.signature.a) != 8) args.q_descale = nullptr;
    args.scale = c.scale != 0.0F ? c.scale : 1.0F / std::sqrt(static_cast<float>(x.hdim_q));
    args.softcap = t.softcap ? c.softcap : 0.0F;
    args.p_drop = t.dropout != FmhaDropout::none ? c.p_drop : 0.0F;
    args.seed = 0x123456789abcdefULL, args.offset = 0xfffffff0ULL;
  }

  InstanceDesc instance() const {
    InstanceDesc i{};
    i.signature = c.signature;
    i.backend = c.twin ? c.twin_of : Backend::host;
    i.host_config.isa = c.isa, i.host_config.threads = c.threads;
    i.fmha.m0 = c.m0, i.fmha.n0 = c.n0, i.fmha.merge_heads = c.merge_heads;
    return i;
  }

  std::size_t workspace_bytes() const {
    return host::fmha_workspace(instance(), Problem(c.signature).fmha(c.shape), c.splits);
  }
  Status run(void* workspace) {
    const InstanceDesc desc = instance();
    const Problem problem = Problem(c.signature).fmha(c.shape);
    Launch launch{&desc, &problem, c.splits, nullptr, workspace, nullptr};
    launch.fmha = &args;
    return host::fmha(launch);
  }
  Status run() {
    // Exactly so many, so that AddressSanitizer sees one byte too many.
    std::vector<unsigned char> memory(workspace_bytes());
    return run(memory.data());
  }

  /// As before the first run.
  void clear_results() {
    std::fill(o.begin(), o.end(), static_cast<unsigned char>(0x5a));
    std::fill(lse.begin(), lse.end(), 77.0F);
  }

  std::int64_t length(std::int64_t b, bool of_q) const {
    const std::size_t at = static_cast<std::size_t>(b);
    const std::vector<std::int32_t>& used = of_q ? c.used_q : c.used_k;
    if (!used.empty()) return used[at];
    if (!of_q && c.signature.fmha.kv == FmhaKv::page_list) return paged_lengths[at];
    if (c.signature.fmha.varlen) return (of_q ? c.rows_q : c.rows_k)[at];
    return of_q ? c.shape.seqlen_q : c.shape.seqlen_k;
  }

  std::int64_t start(std::int64_t b, bool of_q) const {
    if (!c.signature.fmha.varlen) return 0;
    return (of_q ? seqstart_q : seqstart_k)[static_cast<std::size_t>(b)];
  }
  HOST_TEST_ONE_THREAD std::int64_t place(const FmhaStrides& s, std::int64_t b, bool of_q) const {
    return c.signature.fmha.varlen ? start(b, of_q) * s.row : b * s.batch;
  }
  /// Of column j; a row of K or V, in elements.
  HOST_TEST_ONE_THREAD std::int64_t column(const FmhaStrides& s, std::int64_t b, std::int64_t j) const {
    if (c.signature.fmha.kv == FmhaKv::contiguous) return place(s, b, false) + j * s.row;
    return page(b, j) * s.batch + j % c.shape.page_size * s.row;
  }
  /// Element d of column j, of K or V.
  HOST_TEST_ONE_THREAD std::int64_t key(std::int64_t b, std::int64_t head, std::int64_t j, std::int64_t d) const {
    if (!vectorized()) return column(args.k_strides, b, j) + head * args.k_strides.head + d;
    const std::int64_t size = c.shape.page_size;
    return page_of(args.k_strides, b, head, j) + (d / vector() * size + j % size) * vector() + d % vector();
  }
  HOST_TEST_ONE_THREAD std::int64_t value(std::int64_t b, std::int64_t head, std::int64_t j, std::int64_t d) const {
    const FmhaStrides& s = args.v_strides;
    if (vectorized()) {
      const std::int64_t row = j % c.shape.page_size;
      return page_of(s, b, head, j) + (row / vector() * c.shape.hdim_v + d) * vector() + row % vector();
    }
    if (!c.signature.fmha.v_column) return column(s, b, j) + head * s.head + d;
    return (c.signature.fmha.varlen ? start(b, false) : b * s.batch) + head * s.head + d * s.row + j;
  }
  std::int64_t page(std::int64_t b, std::int64_t j) const {
    const std::int64_t first =
        c.signature.fmha.kv == FmhaKv::block_table ? b * args.block_table_stride : indptr[static_cast<std::size_t>(b)];
    return table[static_cast<std::size_t>(first + j / c.shape.page_size)];
  }

  FmhaCase c;
  FmhaArgs args;
  Bytes q, k, v, o, bias, rand_val;
  std::vector<float> lse, slopes, sink;
  std::array<std::vector<float>, 3> descales;
  std::vector<std::int32_t> seqstart_q, seqstart_k, table, indptr, last_page, paged_lengths;

 private:
  // Larger operands repeat themselves; by a prime, so that no two rows, heads or pages are alike.
  static constexpr std::int64_t kDrawn = 4093;

  std::uint32_t next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>(state_ >> 32);
  }
  float number() { return (static_cast<float>(next() % 4001) / 1000.0F - 2.0F) * c.amplitude; }
  Bytes random(DType type, std::int64_t count) {
    Bytes bytes(static_cast<std::size_t>(bytes_of(type, count)));
    const std::int64_t drawn = std::min(count, kDrawn);
    for (std::int64_t i = 0; i < drawn; ++i) write(type, bytes.data(), i, number());
    const std::size_t period = static_cast<std::size_t>(bytes_of(type, kDrawn));
    for (std::size_t at = period; at < bytes.size(); at += period)
      std::memcpy(bytes.data() + at, bytes.data(), std::min(period, bytes.size() - at));
    return bytes;
  }
  std::vector<float> scales_of(std::int64_t count) {
    std::vector<float> all;
    for (std::int64_t i = 0; i < count; ++i) all.push_back(0.25F + static_cast<float>(next() % 100) / 100.0F);
    return all;
  }
  HOST_TEST_ONE_THREAD bool vectorized() const { return c.signature.fmha.kv_layout == FmhaKvLayout::vectorized; }
  HOST_TEST_ONE_THREAD std::int64_t vector() const { return 16 / bytes_of(c.signature.b, 1); }
  HOST_TEST_ONE_THREAD std::int64_t page_of(const FmhaStrides& s, std::int64_t b, std::int64_t head,
                                            std::int64_t j) const {
    return page(b, j) * s.batch + head * s.head;
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
    if (vectorized()) args.k_strides = {0, x.page_size * x.hdim_q, x.page_size * x.heads_k * x.hdim_q};
    if (vectorized()) args.v_strides = {0, x.page_size * x.hdim_v, x.page_size * x.heads_k * x.hdim_v};
    args.k_strides.batch += c.page_gap, args.v_strides.batch += c.page_gap;
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

  std::int64_t rows_k_ = 0;
  std::uint64_t state_;
};

}  // namespace host_test
