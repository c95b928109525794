// One problem that appends to a cache, for the host kernels' tests: operands, and what every element must become.
#pragma once

#include <cmath>
#include <numeric>
#include "backends/host/fmha/append.hpp"
#include "backends/host/host_fixture.hpp"
#include "ckgen/problem.hpp"

namespace host_test {

/// What differs from one test to another: `before` and `added` rows of each sequence.
struct AppendCase {
  Signature signature;
  FmhaShape shape;
  std::vector<std::int32_t> before, added;
  bool in_place = false;
  int threads = 2;
};

inline AppendCase append_case(DType type, FmhaTraits traits, DType cache = DType::none) {
  AppendCase c;
  traits.entry = FmhaEntry::append;
  c.signature.op = Op::fmha;
  c.signature.a = c.signature.c = type;
  c.signature.b = cache == DType::none ? type : cache;
  c.signature.fmha = traits;
  FmhaShape& x = c.shape;
  x.batch = 3, x.heads_q = 4, x.heads_k = 2, x.hdim_q = 32, x.hdim_v = 16, x.seqlen_k = 40;
  x.seqlen_new = 5, x.page_size = 16, x.pages = 11, x.rotary_dim = 24;
  x.seqlen_q = traits.rope == FmhaRope::none ? 0 : 5;
  c.before = {0, 35, 14};
  c.added = traits.varlen ? std::vector<std::int32_t>{5, 0, 3} : std::vector<std::int32_t>{5, 5, 5};
  return c;
}

class AppendFixture {
 public:
  explicit AppendFixture(const AppendCase& one) : c(one) {
    const FmhaShape& x = c.shape;
    const FmhaTraits& t = c.signature.fmha;
    const std::int64_t rows = t.varlen ? std::accumulate(c.added.begin(), c.added.end(), 0) : x.batch * x.seqlen_new;
    const std::int64_t rows_q = t.varlen ? rows : x.batch * x.seqlen_q;
    for (const std::int32_t count : c.added) starts.push_back(starts.back() + count);
    for (std::int64_t b = 0; b <= x.batch; ++b) room.push_back(static_cast<std::int32_t>(b * x.seqlen_k));
    k_new = random(c.signature.a, rows * x.heads_k * x.hdim_q);
    v_new = random(c.signature.a, rows * x.heads_k * x.hdim_v);
    q = random(c.signature.a, rows_q * x.heads_q * x.hdim_q);
    o = c.in_place ? q : Bytes(q.size(), 0x5a);
    was_q = q;
    cos = random(c.signature.a, x.seqlen_k * x.rotary_dim / 2);
    sin = random(c.signature.a, x.seqlen_k * x.rotary_dim / 2);
    const bool paged = t.kv != FmhaKv::contiguous;
    const std::int64_t cells = paged ? x.pages * x.page_size : x.batch * x.seqlen_k;
    k = was_k = random(c.signature.b, cells * x.heads_k * x.hdim_q);
    v = was_v = random(c.signature.b, cells * x.heads_k * x.hdim_v);
    args.k_cache = k.data(), args.v_cache = v.data(), args.k_new = k_new.data(), args.v_new = v_new.data();
    args.k_new_strides = dense(x.heads_k, x.hdim_q, x.seqlen_new);
    args.v_new_strides = dense(x.heads_k, x.hdim_v, x.seqlen_new);
    args.k_strides = dense(x.heads_k, x.hdim_q, paged ? x.page_size : x.seqlen_k);
    args.v_strides = dense(x.heads_k, x.hdim_v, paged ? x.page_size : x.seqlen_k);
    if (t.kv_layout == FmhaKvLayout::vectorized)
      args.k_strides.head = x.page_size * x.hdim_q, args.v_strides.head = x.page_size * x.hdim_v;
    if (t.v_column) args.v_strides = {x.seqlen_k, x.seqlen_k * x.hdim_v, x.seqlen_k * x.hdim_v * x.heads_k};
    if (t.rope != FmhaRope::none) {
      args.rotary_cos = cos.data(), args.rotary_sin = sin.data();
      args.q_strides = args.o_strides = dense(x.heads_q, x.hdim_q, x.seqlen_q);
      if (x.seqlen_q != 0) args.q = q.data(), args.o = c.in_place ? q.data() : o.data();
    }
    if (t.quant != FmhaQuant::none) {
      for (std::int64_t i = 0; i < x.pages * x.heads_k; ++i) descales.push_back(0.25F + 0.03F * static_cast<float>(i));
      args.k_descale = descales.data(), args.v_descale = descales.data() + 1;
      descales.push_back(2);
    }
    if (t.varlen) args.seqstart_q = starts.data();
    if (t.varlen && !paged) args.seqstart_k = room.data();
    args.seqlen_k = c.before.data();
    // Sequence b has pages b + 3 i.
    for (std::int32_t b = 0; b < x.batch; ++b) {
      const std::int32_t after = c.before[index(b)] + c.added[index(b)];
      const std::int32_t count = t.kv == FmhaKv::page_list ? (after + x.page_size - 1) / x.page_size : 3;
      for (std::int32_t i = 0; i < count; ++i) table.push_back(page_of(b, i));
      indptr.push_back(static_cast<std::int32_t>(table.size()));
      last_page.push_back(after == 0 ? 0 : (after - 1) % x.page_size + 1);
    }
    if (t.kv == FmhaKv::block_table) args.block_table = table.data(), args.block_table_stride = 3;
    if (t.kv == FmhaKv::page_list) {
      args.kv_indptr = indptr.data(), args.kv_pages = table.data(), args.kv_last_page = last_page.data();
      args.seqlen_k = nullptr;
    }
  }

  Status run() {
    InstanceDesc desc{};
    desc.signature = c.signature;
    desc.backend = Backend::host;
    desc.host_config.threads = c.threads;
    desc.fmha.m0 = desc.fmha.n0 = 8;
    const Problem problem = Problem(c.signature).fmha(c.shape);
    Launch launch{&desc, &problem, 1, nullptr, nullptr, nullptr};
    launch.fmha = &args;
    return host::fmha_append(launch);
  }

  /// Every element of cache and O: what it was, or what the definition makes of a new row.
  void expect_right() {
    const FmhaShape& x = c.shape;
    const Status status = run();
    ASSERT_TRUE(status.ok()) << status.message;
    std::vector<double> k_now = values(was_k), v_now = values(was_v);
    for (std::int64_t b = 0; b < x.batch; ++b)
      for (std::int64_t i = 0; i < c.added[index(b)]; ++i)
        for (std::int64_t h = 0; h < x.heads_k; ++h) {
          for (std::int64_t d = 0; d < x.hdim_q; ++d)
            k_now[index(cell(false, b, i, h, d))] =
                stored(rotated(k_new, row(b, i, x.seqlen_new), x.heads_k, h, d, c.before[index(b)] + i), b, i, h, 0);
          for (std::int64_t d = 0; d < x.hdim_v; ++d)
            v_now[index(cell(true, b, i, h, d))] =
                stored(at(c.signature.a, v_new, (row(b, i, x.seqlen_new) * x.heads_k + h) * x.hdim_v + d), b, i, h, 1);
        }
    compare("K", c.signature.b, k, k_now);
    compare("V", c.signature.b, v, v_now);
    if (args.q == nullptr) return;
    const Bytes& found = c.in_place ? q : o;
    for (std::int64_t b = 0; b < x.batch; ++b)
      for (std::int64_t i = 0; i < (c.signature.fmha.varlen ? c.added[index(b)] : x.seqlen_q); ++i)
        for (std::int64_t h = 0; h < x.heads_q; ++h)
          for (std::int64_t d = 0; d < x.hdim_q; ++d) {
            const std::int64_t line = row(b, i, x.seqlen_q);
            close("O", c.signature.c, at(c.signature.c, found, (line * x.heads_q + h) * x.hdim_q + d),
                  rotated(was_q, line, x.heads_q, h, d, c.before[index(b)] + i));
          }
  }

  AppendCase c;
  FmhaArgs args;
  Bytes q, o, was_q, k_new, v_new, cos, sin, k, v, was_k, was_v;
  std::vector<float> descales;
  std::vector<std::int32_t> starts{0}, room, table, indptr{0}, last_page;

 private:
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  static double at(DType type, const Bytes& base, std::int64_t i) { return double{read(type, base.data(), i)}; }
  static FmhaStrides dense(std::int64_t heads, std::int64_t hdim, std::int64_t rows) {
    return {heads * hdim, hdim, rows * heads * hdim};
  }
  static std::int32_t page_of(std::int64_t b, std::int64_t i) { return static_cast<std::int32_t>(b + 3 * i); }
  std::int64_t row(std::int64_t b, std::int64_t i, std::int64_t rows) const {
    return c.signature.fmha.varlen ? starts[index(b)] + i : b * rows + i;
  }
  Bytes random(DType type, std::int64_t count) {
    Bytes bytes(static_cast<std::size_t>(bytes_of(type, count)));
    for (std::int64_t i = 0; i < count; ++i) {
      state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
      write(type, bytes.data(), i, static_cast<float>(state_ >> 32 & 0xfff) / 1024.0F - 2.0F);
    }
    return bytes;
  }
  std::vector<double> values(const Bytes& of) const {
    std::vector<double> all;
    for (std::int64_t i = 0; bytes_of(c.signature.b, i) < static_cast<std::int64_t>(of.size()); ++i)
      all.push_back(at(c.signature.b, of, i));
    return all;
  }
  /// Element d of a head's row of `from`, at a position.
  double rotated(const Bytes& from, std::int64_t line, std::int64_t heads, std::int64_t h, std::int64_t d,
                 std::int64_t position) const {
    const std::int64_t first = (line * heads + h) * c.shape.hdim_q, half = c.shape.rotary_dim / 2;
    const auto x = [&](std::int64_t i) { return at(c.signature.a, from, first + i); };
    const FmhaRope rope = c.signature.fmha.rope;
    if (rope == FmhaRope::none || d >= 2 * half) return x(d);
    const bool pairs = rope == FmhaRope::interleaved, is_first = pairs ? d % 2 == 0 : d < half;
    const std::int64_t t = pairs ? d / 2 : d % half,
                       other = pairs ? d + (is_first ? 1 : -1) : d + (is_first ? half : -half);
    const double turn = at(c.signature.a, sin, position * half + t);
    return x(d) * at(c.signature.a, cos, position * half + t) + (is_first ? -1 : 1) * x(other) * turn;
  }
  double stored(double value, std::int64_t b, std::int64_t i, std::int64_t h, std::size_t of_v) const {
    const FmhaQuant quant = c.signature.fmha.quant;
    if (quant == FmhaQuant::none) return value;
    const std::int64_t page = page_of(b, (c.before[index(b)] + i) / c.shape.page_size);
    const std::int64_t place = quant == FmhaQuant::per_tensor ? 0 : page * c.shape.heads_k + h;
    return value / double{descales[index(place) + of_v]};
  }
  /// Where an element of new row i lies in the cache.
  std::int64_t cell(bool of_v, std::int64_t b, std::int64_t i, std::int64_t h, std::int64_t d) const {
    const FmhaShape& x = c.shape;
    const FmhaTraits& t = c.signature.fmha;
    const std::int64_t dims = of_v ? x.hdim_v : x.hdim_q, p = c.before[index(b)] + i;
    if (t.kv == FmhaKv::contiguous) {
      if (of_v && t.v_column) return ((b * x.heads_k + h) * dims + d) * x.seqlen_k + p;
      return ((b * x.seqlen_k + p) * x.heads_k + h) * dims + d;
    }
    const std::int64_t page = page_of(b, p / x.page_size), r = p % x.page_size;
    if (t.kv_layout == FmhaKvLayout::linear) return ((page * x.page_size + r) * x.heads_k + h) * dims + d;
    const std::int64_t vec = 16 / bytes_of(c.signature.b, 1), plane = (page * x.heads_k + h) * x.page_size * dims;
    return plane + (of_v ? (r / vec * dims + d) * vec + r % vec : (d / vec * x.page_size + r) * vec + d % vec);
  }
  static double roundoff(DType type) {
    return type == DType::fp32 ? 0x1p-22 : type == DType::fp16 ? 0x1p-11 : type == DType::bf16 ? 0x1p-8 : 0x1p-4;
  }
  static void close(const char* what, DType type, double found, double wanted) {
    ASSERT_NEAR(found, wanted, 1.01 * roundoff(type) * std::abs(wanted) + (bits(type) == 8 ? 0x1p-10 : 1e-5)) << what;
  }
  static void compare(const char* what, DType type, const Bytes& found, const std::vector<double>& wanted) {
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NO_FATAL_FAILURE(close(what, type, at(type, found, static_cast<std::int64_t>(i)), wanted[i])) << i;
  }

  std::uint64_t state_ = 7;
};

}  // namespace host_test
