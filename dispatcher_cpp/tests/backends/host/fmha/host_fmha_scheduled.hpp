// A problem of op fmha with a planner's schedule, for the host kernels' tests.
#pragma once

#include "backends/host/fmha/host_fmha_fixture.hpp"
#include "ckgen/fmha_schedule.hpp"

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
    FmhaSplitProblem p = fmha_split_problem(f.instance(), x, 40, q_.data(), k_.data());
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
    x = with_schedule(x, p, {room, room, sizes->partial_rows, sizes->max_splits, sizes->heads});
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
