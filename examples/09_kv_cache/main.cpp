// A serving loop: prompts and then tokens are appended to a paged KV cache and attended over. Every step is checked.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <ckgen/ckgen.hpp>
#include <ckgen/codecs.hpp>
#include <my_kernels/register.hpp>

namespace {

constexpr std::int32_t kRequests = 2, kHeads = 4, kKvHeads = 2, kDim = 64, kPage = 16, kPages = 8;
constexpr std::int32_t kMost = 48;  // tokens of a request
constexpr std::int32_t kTable = kMost / kPage;
constexpr std::int32_t kPrompts[kRequests] = {13, 30};
constexpr int kSteps = 6;

using Codes = std::vector<std::uint16_t>;

std::uint16_t bf16(double value) {
  return static_cast<std::uint16_t>(ckgen::encode(ckgen::DType::bf16, static_cast<float>(value)));
}
double number(std::uint16_t code) {
  return static_cast<double>(ckgen::decode(ckgen::DType::bf16, code));
}
std::size_t index(std::int64_t at) {
  return static_cast<std::size_t>(at);
}

/// Q, K and V as a model would compute them: of all tokens that the requests will have, [request][token][head][kDim].
struct Tokens {
  Codes q = random(kHeads, 1), k = random(kKvHeads, 2), v = random(kKvHeads, 3);
  Codes cos, sin;  // [position][kDim / 2]

  Tokens() {
    for (int position = 0; position < kMost; ++position) {
      for (int t = 0; t < kDim / 2; ++t) {
        const double angle = position * std::pow(10000.0, -2.0 * t / kDim);
        cos.push_back(bf16(std::cos(angle)));
        sin.push_back(bf16(std::sin(angle)));
      }
    }
  }
  static Codes random(std::int32_t heads, std::uint64_t state) {
    Codes codes(index(std::int64_t{kRequests} * kMost * heads * kDim));
    for (std::uint16_t& code : codes) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      code = bf16(static_cast<double>(state >> 40) / (1 << 23) - 1);
    }
    return codes;
  }
  /// Element d of a head's row of token `position`, rotated to it.
  double rotated(const Codes& of, std::int32_t heads, int request, int position, int head, int d) const {
    const auto at = [&](int e) { return number(of[index(((request * kMost + position) * heads + head) * kDim + e)]); };
    const int half = kDim / 2, t = d % half;
    const double c = number(cos[index(position * half + t)]), s = number(sin[index(position * half + t)]);
    return d < half ? at(d) * c - at(d + half) * s : at(d) * c + at(d - half) * s;
  }
};

/// Pages of both requests, handed out as they grow.
struct Cache {
  Codes k = Codes(index(kPages * kPage * kKvHeads * kDim)), v = k;
  std::vector<std::int32_t> table = std::vector<std::int32_t>(kRequests * kTable, -1);
  std::vector<std::int32_t> lengths = std::vector<std::int32_t>(kRequests);
  std::int32_t used = 0;

  void make_room(int request, std::int32_t tokens) {
    for (std::int32_t i = 0; i * kPage < lengths[index(request)] + tokens && i < kTable; ++i) {
      std::int32_t& page = table[index(request * kTable + i)];
      if (page < 0) page = used++;
    }
  }
  void point(ckgen::FmhaArgs& args) const {
    args.block_table = table.data();
    args.block_table_stride = kTable;
    args.seqlen_k = lengths.data();
    args.k_strides = args.v_strides = {kKvHeads * kDim, kDim, kPage * kKvHeads * kDim};
  }
};

ckgen::FmhaShape shape_of(std::int64_t queries, std::int64_t added) {
  ckgen::FmhaShape x;
  x.batch = kRequests;
  x.heads_q = kHeads;
  x.heads_k = kKvHeads;
  x.seqlen_q = queries;
  x.seqlen_k = kMost;
  x.hdim_q = x.hdim_v = kDim;
  x.page_size = kPage;
  x.pages = kPages;
  x.seqlen_new = added;
  x.rotary_dim = kDim;
  return x;
}

/// New rows of token `first[request]` on, `rows` behind one another in a request, and Q that rotates where it is.
ckgen::FmhaArgs append_args(const Tokens& tokens, Cache& cache, const Codes& k, const Codes& v, Codes* q,
                            std::int64_t rows) {
  ckgen::FmhaArgs args;
  cache.point(args);
  args.k_cache = cache.k.data();
  args.v_cache = cache.v.data();
  args.k_new = k.data();
  args.v_new = v.data();
  args.k_new_strides = args.v_new_strides = {kKvHeads * kDim, kDim, rows * kKvHeads * kDim};
  args.rotary_cos = tokens.cos.data();
  args.rotary_sin = tokens.sin.data();
  if (q == nullptr) return args;
  args.q = args.o = q->data();
  args.q_strides = args.o_strides = {kHeads * kDim, kDim, rows * kHeads * kDim};
  return args;
}

void add_rows(Codes& to, const Codes& from, std::int32_t heads, int request, int position, int count) {
  const auto first = from.begin() + (request * kMost + position) * heads * kDim;
  to.insert(to.end(), first, first + count * heads * kDim);
}

/// All prompts in one call: tokens one after the other, cut by starts. Only their keys and values are of use here.
ckgen::Status prefill(const ckgen::Dispatcher& dispatcher, const Tokens& tokens, Cache& cache) {
  const auto plan = dispatcher.plan(ckgen::fmha("bf16_append_varlen_blocktable_rope_half").fmha(shape_of(0, kMost)),
                                    ckgen::Device::host());
  if (!plan) return plan.status();
  Codes k, v;
  std::vector<std::int32_t> starts{0};
  for (int request = 0; request < kRequests; ++request) {
    add_rows(k, tokens.k, kKvHeads, request, 0, kPrompts[request]);
    add_rows(v, tokens.v, kKvHeads, request, 0, kPrompts[request]);
    starts.push_back(starts.back() + kPrompts[request]);
    cache.make_room(request, kPrompts[request]);
  }
  ckgen::FmhaArgs args = append_args(tokens, cache, k, v, nullptr, 0);
  args.seqstart_q = starts.data();
  const ckgen::Status status = dispatcher.run(*plan, args, nullptr);
  for (int request = 0; request < kRequests; ++request) cache.lengths[index(request)] += kPrompts[request];
  return status;
}

/// The largest error of O of each request's last token, against attention over all of its tokens.
double worst(const Tokens& tokens, const Cache& cache, const Codes& o) {
  double most = 0;
  for (int request = 0; request < kRequests; ++request) {
    const int length = cache.lengths[index(request)];
    for (int head = 0; head < kHeads; ++head) {
      const int shared = head / (kHeads / kKvHeads);
      std::vector<double> weights;
      double sum = 0;
      for (int j = 0; j < length; ++j) {
        double score = 0;
        for (int d = 0; d < kDim; ++d)
          score += tokens.rotated(tokens.q, kHeads, request, length - 1, head, d) *
                   tokens.rotated(tokens.k, kKvHeads, request, j, shared, d);
        weights.push_back(std::exp(score / std::sqrt(kDim)));
        sum += weights.back();
      }
      for (int d = 0; d < kDim; ++d) {
        double want = 0;
        for (int j = 0; j < length; ++j)
          want +=
              weights[index(j)] / sum * number(tokens.v[index(((request * kMost + j) * kKvHeads + shared) * kDim + d)]);
        most = std::max(most, std::abs(number(o[index((request * kHeads + head) * kDim + d)]) - want));
      }
    }
  }
  return most;
}

struct Plans {
  ckgen::Plan append, attend;
};

/// One token of each request: into the cache, then attention over what is there.
ckgen::Status step(const ckgen::Dispatcher& dispatcher, const Plans& plans, const Tokens& tokens, Cache& cache,
                   Codes& o) {
  Codes q, k, v;
  for (int request = 0; request < kRequests; ++request) {
    const int position = cache.lengths[index(request)];
    add_rows(q, tokens.q, kHeads, request, position, 1);
    add_rows(k, tokens.k, kKvHeads, request, position, 1);
    add_rows(v, tokens.v, kKvHeads, request, position, 1);
    cache.make_room(request, 1);
  }
  const ckgen::FmhaArgs added = append_args(tokens, cache, k, v, &q, 1);
  if (const ckgen::Status status = dispatcher.run(plans.append, added, nullptr); !status.ok()) return status;
  for (std::int32_t& length : cache.lengths) ++length;

  ckgen::FmhaArgs args;
  cache.point(args);
  args.q = q.data();
  args.k = cache.k.data();
  args.v = cache.v.data();
  args.o = o.data();
  args.q_strides = args.o_strides = {kHeads * kDim, kDim, kHeads * kDim};
  args.scale = 1.0F / std::sqrt(static_cast<float>(kDim));
  return dispatcher.run(plans.attend, args, nullptr);
}

int fail(const ckgen::Status& status) {
  std::printf("failed: %s\n", status.message);
  return 1;
}

}  // namespace

int main() {
  ckgen::Registry registry;
  if (const ckgen::Status status = my_kernels::register_all(registry); !status.ok()) return fail(status);
  const ckgen::Dispatcher dispatcher(registry);
  const Tokens tokens;
  Cache cache;
  if (const ckgen::Status status = prefill(dispatcher, tokens, cache); !status.ok()) return fail(status);

  const ckgen::Device cpu = ckgen::Device::host();
  const auto append = dispatcher.plan(ckgen::fmha("bf16_append_blocktable_rope_half").fmha(shape_of(1, 1)), cpu);
  if (!append) return fail(append.status());
  const auto attend = dispatcher.plan(ckgen::fmha("bf16_blocktable").fmha(shape_of(1, 0)), cpu);
  if (!attend) return fail(attend.status());
  const Plans plans{*append, *attend};
  Codes o(index(kRequests * kHeads * kDim));
  for (int i = 1; i <= kSteps; ++i) {
    if (const ckgen::Status status = step(dispatcher, plans, tokens, cache, o); !status.ok()) return fail(status);
    const double error = worst(tokens, cache, o);
    if (!(error < 0.01))
      return fail(ckgen::Status::error(ckgen::StatusCode::internal, "step %d is off by %g", i, error));
    std::printf("step %d: %d and %d tokens in %d pages, correct\n", i, cache.lengths[0], cache.lengths[1], cache.used);
  }
  cache.lengths[1] = kMost;
  Codes q = tokens.q;
  const ckgen::FmhaArgs beyond = append_args(tokens, cache, tokens.k, tokens.v, &q, 1);
  std::printf("refused: %s\n", dispatcher.run(plans.append, beyond, nullptr).message);
  return 0;
}
