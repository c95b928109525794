// Attention on this CPU as serving calls it: one KV cache, contiguous or cut into pages of any order, against how fast
// all threads together only read it, in the order of its addresses and in that of the pages. Arguments: type (bf16,
// fp16, fp32; fp8: KV of it, Q and O bf16), batch, queries of each sequence, KV heads, query heads of each, keys of
// each sequence, head dim, splits, rounds, pages of memory (small or huge), then layouts. Prints "<ISA> <MB>" and a
// line of each layout, "<layout> <median ms> <median ms to read it in its order>", of interleaved rounds;
// benchmarks/fmha_serving.py reads them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/host/fmha.hpp"
#include "backends/host/gemm.hpp"
#include "backends/host/threads.hpp"
#include "fmha_memory.hpp"

namespace {

using namespace ckgen;
using namespace bench;

struct Sizes {
  DType type = DType::bf16, kv = DType::bf16;
  std::int64_t batch = 1, queries = 1, heads_k = 1, group = 1, keys = 0;
  int hdim = 0, splits = 1, rounds = 0;

  std::int64_t q_elements() const { return batch * queries * heads_k * group * hdim; }
  std::int64_t k_elements() const { return batch * keys * heads_k * hdim; }
};

/// One way to lay out the cache, ready to be called.
class Attention {
 public:
  /// heads: [batch][head][key][D]; rows: [batch][key][head][D]; page<N>: pages of N keys in no order.
  Attention(const std::string& layout, const Sizes& x, const unsigned char* q, const unsigned char* k,
            const unsigned char* v)
      : layout_(layout), o_(memory_of(static_cast<std::size_t>(x.q_elements() * 4))) {
    Signature signature;
    signature.op = Op::fmha;
    signature.a = signature.c = x.type, signature.b = x.kv;
    FmhaShape shape;
    shape.batch = x.batch, shape.heads_k = static_cast<std::int32_t>(x.heads_k);
    shape.heads_q = static_cast<std::int32_t>(x.heads_k * x.group);
    shape.seqlen_q = x.queries, shape.seqlen_k = x.keys, shape.hdim_q = shape.hdim_v = x.hdim;
    signature.fmha.masked = x.queries > 1;
    if (layout == "heads") {
      args_.k_strides = {x.hdim, x.keys * x.hdim, x.heads_k * x.keys * x.hdim};
    } else if (layout == "rows") {
      args_.k_strides = {x.heads_k * x.hdim, x.hdim, x.heads_k * x.keys * x.hdim};
    } else {
      signature.fmha.kv = FmhaKv::block_table;
      make_pages(x, shape, std::atoi(layout.c_str() + 4));
    }
    args_.v_strides = args_.k_strides;
    args_.q = q, args_.k = k, args_.v = v, args_.o = o_.get();
    args_.q_strides =
        args_.o_strides = {x.heads_k * x.group * x.hdim, x.hdim, x.queries * x.heads_k * x.group * x.hdim};
    args_.scale = 1.0F / std::sqrt(static_cast<float>(x.hdim));
    instance_.signature = signature;
    instance_.backend = Backend::host;
    instance_.host_config.isa = host::detect_isa();
    instance_.fmha.m0 = 64, instance_.fmha.n0 = 128;
    problem_ = Problem(signature).fmha(shape);
    splits_ = static_cast<std::uint32_t>(x.splits);
    workspace_ = memory_of(host::fmha_workspace(instance_, problem_, splits_) + 64);
  }

  /// The order of the pages; empty of contiguous caches.
  const std::vector<std::int32_t>& table() const { return table_; }

  void operator()() const {
    Launch launch{&instance_, &problem_, splits_, nullptr, workspace_.get(), nullptr};
    launch.fmha = &args_;
    if (const Status s = host::fmha(launch); !s.ok()) {
      std::fprintf(stderr, "%s: %s\n", layout_.c_str(), s.message);
      std::exit(1);
    }
  }

 private:
  void make_pages(const Sizes& x, FmhaShape& shape, int page_size) {
    shape.page_size = page_size;
    const std::int64_t most = x.keys / page_size;
    shape.pages = x.batch * most;
    args_.k_strides = {x.heads_k * x.hdim, x.hdim, page_size * x.heads_k * x.hdim};
    for (std::int64_t i = 0; i < shape.pages; ++i) table_.push_back(static_cast<std::int32_t>(i));
    std::uint64_t state = 7;
    for (std::size_t i = table_.size(); i > 1; --i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      std::swap(table_[i - 1], table_[(state >> 33) % i]);
    }
    lengths_.assign(static_cast<std::size_t>(x.batch), static_cast<std::int32_t>(x.keys));
    args_.block_table = table_.data(), args_.block_table_stride = most, args_.seqlen_k = lengths_.data();
  }

  std::string layout_;
  Memory o_, workspace_;
  std::vector<std::int32_t> table_, lengths_;
  FmhaArgs args_;
  InstanceDesc instance_{};
  Problem problem_;
  std::uint32_t splits_ = 1;
};

/// Reads a cache and does nothing with it.
class Reader {
 public:
  /// K and V, `half` bytes each, in the order of their addresses.
  void operator()(const unsigned char* memory, std::int64_t half) {
    each(2 * half / kPiece,
         [&](std::int64_t piece, Words(&any)[4]) { see<false>(memory + piece * kPiece, nullptr, kPiece, any); });
  }
  /// Pages of K, each before V's of the same number, as the table has them. The next small ones are fetched ahead.
  void operator()(const unsigned char* memory, std::int64_t half, const std::vector<std::int32_t>& table) {
    const std::int64_t pages = static_cast<std::int64_t>(table.size()), bytes = half / pages;
    const std::int64_t at_once = std::max<std::int64_t>(kPiece / bytes, 1), ahead = kAhead / bytes + 1;
    each(pages / at_once, [&](std::int64_t piece, Words(&any)[4]) {
      for (std::int64_t i = piece * at_once; i < (piece + 1) * at_once; ++i) {
        const unsigned char* const page = memory + table[static_cast<std::size_t>(i)] * bytes;
        const unsigned char* const next =
            memory + table[static_cast<std::size_t>(std::min(i + ahead, pages - 1))] * bytes;
        for (const std::int64_t side : {std::int64_t{0}, half})
          bytes < kAhead ? see<true>(page + side, next + side, bytes, any)
                         : see<false>(page + side, nullptr, bytes, any);
      }
    });
  }

 private:
  static constexpr std::int64_t kPiece = std::int64_t{1} << 20, kAhead = std::int64_t{8} << 10;
  using Words = std::uint64_t __attribute__((vector_size(64)));

  template <bool AHEAD>
  static void see(const unsigned char* from, const unsigned char* next, std::int64_t bytes, Words (&any)[4]) {
    const Words* const at = reinterpret_cast<const Words*>(from);
    for (std::int64_t i = 0; i < bytes / 64; i += 4)
      for (std::int64_t w = 0; w < 4; ++w) {
        if constexpr (AHEAD) __builtin_prefetch(next + (i + w) * 64, 0, 1);
        any[w] |= at[i + w];
      }
  }
  template <class Body>
  void each(std::int64_t pieces, const Body& body) {
    std::vector<std::uint64_t> seen(static_cast<std::size_t>(host::thread_count()));
    host::parallel_for(pieces, host::thread_count(), [&](std::int64_t piece, int slot) {
      Words any[4] = {};
      body(piece, any);
      seen[static_cast<std::size_t>(slot)] |= any[0][0] | any[1][1] | any[2][2] | any[3][3];
    });
    for (const std::uint64_t one : seen) kept_ = one;
  }

  volatile std::uint64_t kept_ = 0;
};

}  // namespace

int main(int count, char** words) {
  if (count < 12) return 2;
  Sizes x;
  for (const DType type : {DType::bf16, DType::fp16, DType::fp32})
    if (name(type) == words[1]) x.type = x.kv = type;
  if (words[1] == std::string_view("fp8")) x.type = DType::bf16, x.kv = DType::fp8_ocp;
  x.batch = std::atoll(words[2]), x.queries = std::atoll(words[3]), x.heads_k = std::atoll(words[4]);
  x.group = std::atoll(words[5]), x.keys = std::atoll(words[6]);
  x.hdim = std::atoi(words[7]), x.splits = std::atoi(words[8]), x.rounds = std::atoi(words[9]);
  huge_pages = words[10] == std::string_view("huge");
  const Memory q = numbers(x.type, x.q_elements()), kv = numbers(x.kv, 2 * x.k_elements());
  const std::int64_t half = bytes_of(x.kv, x.k_elements());
  std::vector<std::unique_ptr<Attention>> ways;
  for (int i = 11; i < count; ++i)
    ways.push_back(std::make_unique<Attention>(words[i], x, q.get(), kv.get(), kv.get() + half));
  struct Times {
    std::vector<double> attend, read;
  };
  std::vector<Times> times(ways.size());
  std::vector<double> in_order;
  Reader read;
  for (int round = -1; round < x.rounds; ++round) {
    const double whole = milliseconds([&] { read(kv.get(), half); });
    if (round >= 0) in_order.push_back(whole);
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const std::vector<std::int32_t>& table = ways[i]->table();
      const double attend = milliseconds(*ways[i]);
      const double paged = table.empty() ? whole : milliseconds([&] { read(kv.get(), half, table); });
      if (round >= 0) times[i].attend.push_back(attend), times[i].read.push_back(paged);
    }
  }
  std::printf("%s %.1f\n", host::isa_name(host::detect_isa()), static_cast<double>(2 * half) / 1e6);
  std::printf("read %.3f %.3f\n", median(in_order), median(in_order));
  for (std::size_t i = 0; i < ways.size(); ++i)
    std::printf("%s %.3f %.3f\n", words[11 + i], median(times[i].attend), median(times[i].read));
}
