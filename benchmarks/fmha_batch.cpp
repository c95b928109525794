// A batch of unequal lengths on this CPU: whole requests, equal splits of the keys, and a planner's schedule.
// Arguments: type (bf16, fp32), queries of each request, KV heads, query heads of each, head dim, rounds, then the keys
// of each request. Prints "<ISA> <splits of the plan> <median us to plan>" and "<way> <median ms>" of interleaved
// rounds, a line each; benchmarks/fmha_batch.py reads them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <ckgen/fmha_schedule.hpp>

#include "backends/host/fmha.hpp"
#include "backends/host/gemm.hpp"
#include "backends/host/threads.hpp"
#include "fmha_memory.hpp"

namespace {

using namespace ckgen;
using namespace bench;

constexpr std::uint32_t kEqual[] = {1, 2, 4, 8};

struct Sizes {
  DType type = DType::bf16;
  std::int32_t queries = 1, heads_k = 1, group = 1, hdim = 0;
  std::vector<std::int32_t> keys;

  std::int32_t batch() const { return static_cast<std::int32_t>(keys.size()); }
  std::int32_t heads_q() const { return heads_k * group; }
};

void fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message);
  std::exit(1);
}

/// A step's plan, in memory that is kept.
class Planned {
 public:
  explicit Planned(const Sizes& x) : queries_(x.keys.size(), x.queries), keys_(x.keys) {}

  /// Into `shape` and `args`.
  void plan(const InstanceDesc& instance, FmhaShape& shape, FmhaArgs& args) {
    const auto threads = static_cast<std::uint32_t>(host::thread_count());
    const FmhaSplitProblem problem = fmha_split_problem(instance, shape, threads, queries_.data(), keys_.data());
    const auto sizes = fmha_split_sizes(problem);
    if (!sizes) fail(sizes.status());
    items_.resize(static_cast<std::size_t>(sizes->items));
    combines_.resize(static_cast<std::size_t>(sizes->combine_items));
    const auto made = fmha_split_plan(
        problem, {items_.data(), sizes->items, combines_.data(), sizes->combine_items, splits_.data(), rows_.data()});
    if (!made) fail(made.status());
    shape = with_schedule(shape, problem, *sizes);
    args.split = {items_.data(), combines_.data()};
  }
  std::int32_t most_splits() const { return *std::max_element(splits_.begin(), splits_.end()); }

 private:
  std::vector<std::int32_t> queries_, keys_, splits_ = std::vector<std::int32_t>(keys_.size());
  std::vector<std::int64_t> rows_ = std::vector<std::int64_t>(keys_.size() + 1);
  std::vector<FmhaSplitItem> items_;
  std::vector<FmhaCombineItem> combines_;
};

/// The batch, in equal splits or by a plan.
class Attention {
 public:
  Attention(const Sizes& x, std::uint32_t splits, const unsigned char* q, const unsigned char* kv) : splits_(splits) {
    instance_.signature.op = Op::fmha;
    instance_.signature.a = instance_.signature.b = instance_.signature.c = x.type;
    instance_.signature.fmha.varlen = true;
    instance_.signature.fmha.masked = x.queries > 1;
    instance_.backend = Backend::host;
    instance_.host_config.isa = host::detect_isa();
    instance_.fmha.m0 = 64, instance_.fmha.n0 = 128;
    instance_.fmha.merge_heads = true, instance_.fmha.rows_together = 32;
    for (const std::int32_t keys : x.keys) {
      first_q_.push_back(first_q_.back() + x.queries);
      first_k_.push_back(first_k_.back() + keys);
    }
    shape_.batch = x.batch(), shape_.heads_q = x.heads_q(), shape_.heads_k = x.heads_k;
    shape_.seqlen_q = x.queries, shape_.seqlen_k = *std::max_element(x.keys.begin(), x.keys.end());
    shape_.hdim_q = shape_.hdim_v = x.hdim;
    const std::int64_t width = bytes_of(x.type, std::int64_t{x.heads_k} * x.hdim);
    args_.q = q, args_.k = kv, args_.v = kv + first_k_.back() * width;
    args_.q_strides = args_.o_strides = {std::int64_t{x.heads_q()} * x.hdim, x.hdim, 0};
    args_.k_strides = args_.v_strides = {std::int64_t{x.heads_k} * x.hdim, x.hdim, 0};
    args_.seqstart_q = first_q_.data(), args_.seqstart_k = first_k_.data();
    args_.scale = 1.0F / std::sqrt(static_cast<float>(x.hdim));
    o_ = memory_of(static_cast<std::size_t>(bytes_of(x.type, std::int64_t{first_q_.back()} * x.heads_q() * x.hdim)));
    args_.o = o_.get();
  }

  void plan(Planned& planned) { planned.plan(instance_, shape_, args_); }
  void prepare() {
    problem_ = Problem(instance_.signature).fmha(shape_);
    workspace_ = memory_of(host::fmha_workspace(instance_, problem_, splits_) + 64);
  }
  void operator()() const {
    Launch launch{&instance_, &problem_, splits_, nullptr, workspace_.get(), nullptr};
    launch.fmha = &args_;
    if (const Status s = host::fmha(launch); !s.ok()) fail(s);
  }

 private:
  Memory o_, workspace_;
  std::vector<std::int32_t> first_q_{0}, first_k_{0};
  FmhaShape shape_;
  FmhaArgs args_;
  InstanceDesc instance_{};
  Problem problem_;
  std::uint32_t splits_;
};

}  // namespace

int main(int count, char** words) {
  if (count < 8) return 2;
  Sizes x;
  x.type = words[1] == std::string("fp32") ? DType::fp32 : DType::bf16;
  x.queries = std::atoi(words[2]), x.heads_k = std::atoi(words[3]), x.group = std::atoi(words[4]);
  x.hdim = std::atoi(words[5]);
  const int rounds = std::atoi(words[6]);
  std::int64_t keys = 0;
  for (int i = 7; i < count; ++i) keys += x.keys.emplace_back(std::atoi(words[i]));
  const Memory q = numbers(x.type, std::int64_t{x.batch()} * x.queries * x.heads_q() * x.hdim);
  const Memory kv = numbers(x.type, 2 * keys * x.heads_k * x.hdim);

  std::vector<std::string> names;
  std::vector<std::unique_ptr<Attention>> ways;
  for (const std::uint32_t splits : kEqual) {
    names.push_back("splits" + std::to_string(splits));
    ways.push_back(std::make_unique<Attention>(x, splits, q.get(), kv.get()));
  }
  names.push_back("plan");
  ways.push_back(std::make_unique<Attention>(x, 1, q.get(), kv.get()));
  Planned planned(x);
  std::vector<double> planning(101);
  for (double& one : planning) one = milliseconds([&] { ways.back()->plan(planned); });
  for (const auto& way : ways) way->prepare();

  std::vector<std::vector<double>> times(ways.size());
  for (int round = -1; round < rounds; ++round)
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const double one = milliseconds(*ways[i]);
      if (round >= 0) times[i].push_back(one);
    }
  std::printf("%s %d %.2f\n", host::isa_name(host::detect_isa()), planned.most_splits(), 1e3 * median(planning));
  for (std::size_t i = 0; i < ways.size(); ++i) std::printf("%s %.3f\n", names[i].c_str(), median(times[i]));
}
