// Dispatcher::select() of attention over a generated library, for the problems on stdin: signature, batch, heads of Q
// and of K, lengths, head dims, corner, window, size and number of pages. Arguments: the target, and how often a
// problem is selected in a round. Prints "<ns, the median of 11 rounds of the thread's own time> <allocations>
// <candidates>" for each.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include <bench/register.hpp>
#include <ckgen/ckgen.hpp>

#include "counted.hpp"

namespace {

using namespace ckgen;

void measure(const Dispatcher& dispatcher, const Device& device, const Problem& problem, int calls) {
  std::array<double, 11> rounds{};
  long supporting = 0;
  dispatcher.enumerate(
      problem, device,
      [](void* count, const Selection&) {
        ++*static_cast<long*>(count);
        return true;
      },
      &supporting);
  const long before = counted::allocations;
  for (double& ns : rounds) {
    const double began = counted::now_ns();
    for (int i = 0; i < calls; ++i) dispatcher.select(problem, device);
    ns = (counted::now_ns() - began) / std::max(calls, 1);
  }
  const long made = counted::allocations - before;
  std::sort(rounds.begin(), rounds.end());
  std::printf("%.0f %ld %ld\n", rounds[5], made, supporting);
}

}  // namespace

int main(int, char** words) {
  Registry registry;
  if (!bench::register_all(registry).ok()) return 1;
  const Dispatcher dispatcher(registry);
  const Device device = Device::simulated(words[1]);
  char name[160];
  long long batch = 0, q = 0, k = 0, pages = 0;
  FmhaShape x;
  int corner = 0;
  while (std::scanf("%159s %lld %d %d %lld %lld %d %d %d %d %d %d %lld", name, &batch, &x.heads_q, &x.heads_k, &q, &k,
                    &x.hdim_q, &x.hdim_v, &corner, &x.window_left, &x.window_right, &x.page_size, &pages) == 13) {
    x.batch = batch, x.seqlen_q = q, x.seqlen_k = k, x.pages = pages;
    x.corner = corner == 0 ? FmhaCorner::top_left : FmhaCorner::bottom_right;
    measure(dispatcher, device, fmha(name).fmha(x), std::atoi(words[2]));
  }
  return 0;
}
