// The step predicted: what takes the problem, by predicted clocks, ties to the earlier.
#pragma once

#include "src/gemm/predicted.hpp"
#include "src/select/walk_defaults.hpp"

namespace ckgen::inline v1::detail {

struct Ticks {
  Wide ticks;
  std::uint32_t at;  // a position of the index
};

/// The first in the order of (ticks, position) that is not before `least` and takes the problem; at the entry's end
/// where none is.
inline Ticks next_predicted(const WalkState& w, const Ticks& least) noexcept {
  Ticks best{0, w.entry->predicted_end};
  const Sizes sizes = w.q.cost_sizes();
  for (std::uint32_t i = w.entry->predicted_begin; i < w.entry->predicted_end; ++i) {
    const WorkRef& ref = w.q.index.predicted(i);
    const Wide ticks = predicted_ticks(*ref.work, sizes, w.q.cu_num);
    const bool is_before = ticks < least.ticks || (ticks == least.ticks && i < least.at);
    const bool is_best = best.at == w.entry->predicted_end || ticks < best.ticks;
    if (!is_before && is_best && answers_by_default(w, w.instance(ref.instance))) best = {ticks, i};
  }
  return best;
}

/// What refuses the problem is not offered: it is no nearer to it than defaults are.
template <class Sink>
[[gnu::noinline]] bool from_predicted(const Walk<Sink>& w) noexcept(kNoThrow<Sink>) {
  Ticks next{0, w.entry->predicted_begin};
  for (;;) {
    next = next_predicted(w, next);
    if (next.at == w.entry->predicted_end) return false;
    if (w.sink.offer({Tier::predicted, w.q.index.predicted(next.at).instance, w.order.k_batch, 0}, {})) return true;
    ++next.at;
  }
}

}  // namespace ckgen::inline v1::detail
