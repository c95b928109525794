// A problem of op fmha with a planner's schedule, for the host kernels' tests.
#pragma once

#include "ckgen/fmha_split.hpp"
#include "host_fmha_fixture.hpp"

#include <functional>

namespace host_test {

/// A problem with a schedule of its own lengths: `change` edits what the planner is asked.
class Scheduled {
 public:
  explicit Scheduled(const FmhaCase& c, const std::function<void(FmhaSplitProblem&)>& change = nullptr) : f(c) {
    FmhaShape& x = f.c.shape;
    for (std::int64_t b = 0; b < x.batch; ++b) {
      q_.push_back(static_cast<std::int32_t>(f.length(b, true)));
      k_.push_back(static_cast<std::int32_t>(f.length(b, false)));
    }
    FmhaSplitProblem p;
    p.batch = static_cast<std::int32_t>(x.batch), p.seqlen_q = q_.data(), p.seqlen_k = k_.data();
    p.heads_q = x.heads_q, p.heads_k = x.heads_k, p.hdim_v = x.hdim_v, p.page_size = x.page_size;
    p.merge_heads = c.merge_heads, p.m0 = c.m0, p.n0 = c.n0, p.cu_num = 40;
    p.mask = {c.signature.fmha.masked, x.corner, x.window_left, x.window_right, x.sink_tokens};
    if (change) change(p);
    const auto sizes = fmha_split_sizes(p);
    EXPECT_TRUE(static_cast<bool>(sizes));
    items.resize(static_cast<std::size_t>(sizes->items) + 3), combines.resize(items.size());
    std::vector<std::int32_t> splits(q_.size());
    std::vector<std::int64_t> rows(q_.size() + 1);
    const auto room = static_cast<std::int64_t>(items.size());
    EXPECT_TRUE(
        static_cast<bool>(fmha_split_plan(p, {items.data(), room, combines.data(), room, splits.data(), rows.data()})));
    most_splits = sizes->max_splits;
    x.split_items = x.split_combines = room, x.split_rows = sizes->partial_rows;
    x.split_m0 = c.m0, x.split_n0 = c.n0, x.split_merged = c.merge_heads;
    f.args.split = {items.data(), combines.data()};
  }

  FmhaFixture f;
  std::vector<FmhaSplitItem> items;
  std::vector<FmhaCombineItem> combines;
  std::int32_t most_splits = 0;

 private:
  std::vector<std::int32_t> q_, k_;
};

}  // namespace host_test
