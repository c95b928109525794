// Times fmha_split_plan: the median, least and most of 401 calls for batches of unequal lengths. Microseconds.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <ckgen/fmha_split.hpp>

namespace {

/// Numbers in [0, 1), the same everywhere.
class Random {
 public:
  double next() noexcept {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state_ >> 40) / static_cast<double>(1U << 24);
  }

 private:
  std::uint64_t state_ = 20240607;
};

struct Case {
  const char* name;
  std::int32_t batch;
  bool merge_heads;
  bool prefill;  // of every eighth request
  bool masked;
};

void time_case(const Case& c) {
  Random random;
  std::vector<std::int32_t> q(static_cast<std::size_t>(c.batch), 1);
  std::vector<std::int32_t> k(q.size());
  for (std::size_t b = 0; b < q.size(); ++b) {
    k[b] = static_cast<std::int32_t>(std::exp2(random.next() * 16));
    if (c.prefill && b % 8 == 0) q[b] = std::min(k[b], 2048);
  }
  ckgen::FmhaSplitProblem problem;
  problem.batch = c.batch;
  problem.seqlen_q = q.data();
  problem.seqlen_k = k.data();
  problem.heads_q = c.merge_heads ? 64 : 32;
  problem.heads_k = c.merge_heads ? 8 : 32;
  problem.hdim_v = 128;
  problem.merge_heads = c.merge_heads;
  problem.m0 = c.prefill ? 64 : 16;
  problem.n0 = 64;
  problem.page_size = 16;
  problem.mask.masked = c.masked;
  problem.cu_num = 304;
  problem.occupancy = 2;
  const auto room = ckgen::fmha_split_bound(problem, {2048, 65536, 0});
  std::vector<ckgen::FmhaSplitItem> items(static_cast<std::size_t>(room->items));
  std::vector<ckgen::FmhaCombineItem> combine(static_cast<std::size_t>(room->combine_items));
  std::vector<std::int32_t> splits(q.size());
  std::vector<std::int64_t> indptr(q.size() + 1);
  const auto sizes = ckgen::fmha_split_sizes(problem);
  const ckgen::FmhaSplitArrays arrays{items.data(),         sizes->items,  combine.data(),
                                      sizes->combine_items, splits.data(), indptr.data()};
  std::vector<double> took;
  for (int i = 0; i < 401; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto made = ckgen::fmha_split_plan(problem, arrays);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    if (!made) return;
    took.push_back(time.count());
  }
  std::sort(took.begin(), took.end());
  std::printf("%-34s %7lld items %8.1f %8.1f %8.1f\n", c.name, static_cast<long long>(sizes->items),
              took[took.size() / 2], took.front(), took.back());
}

}  // namespace

int main() {
  std::printf("%-34s %13s %8s %8s %8s\n", "plan, microseconds", "", "median", "least", "most");
  const Case cases[] = {{"decode, 256 requests, 8 KV heads", 256, true, false, false},
                        {"the same, causal", 256, true, false, true},
                        {"decode, 256 requests, 32 heads", 256, false, false, false},
                        {"decode, 64 requests, 8 KV heads", 64, true, false, false},
                        {"decode, 1 request, 8 KV heads", 1, true, false, false},
                        {"mixed, 256 requests, 8 KV heads", 256, true, true, true}};
  for (const Case& c : cases) time_case(c);
}
