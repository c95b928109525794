// Dispatcher::select() of attention over a generated library, for the problems on stdin: signature, batch, heads of Q
// and of K, lengths, head dims, corner, window, size and number of pages. Arguments: the target, how often a problem is
// selected in a round, and rounds. Prints a line of rounds.hpp for each.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <bench/register.hpp>
#include <ckgen/ckgen.hpp>

#include "rounds.hpp"

namespace {

using namespace ckgen;

void measure(const std::string& name, const Dispatcher& dispatcher, const Device& device, const Problem& problem,
             int calls, int rounds) {
  const std::vector<int> queries(static_cast<std::size_t>(calls));
  const auto ours = [&](int) { return dispatcher.select(problem, device).instance; };
  bench::by_turns(name, queries.size(), {bench::way("ckgen", queries, ours)}, rounds);
}

}  // namespace

int main(int, char** words) {
  Registry registry;
  if (!bench::register_all(registry).ok()) return 1;
  const Dispatcher dispatcher(registry);
  const Device device = Device::simulated(words[1]);
  const int calls = std::atoi(words[2]), rounds = std::atoi(words[3]);
  char name[160];
  long long batch = 0, q = 0, k = 0, pages = 0;
  FmhaShape x;
  int corner = 0;
  while (std::scanf("%159s %lld %d %d %lld %lld %d %d %d %d %d %d %lld", name, &batch, &x.heads_q, &x.heads_k, &q, &k,
                    &x.hdim_q, &x.hdim_v, &corner, &x.window_left, &x.window_right, &x.page_size, &pages) == 13) {
    x.batch = batch, x.seqlen_q = q, x.seqlen_k = k, x.pages = pages;
    x.corner = corner == 0 ? FmhaCorner::top_left : FmhaCorner::bottom_right;
    measure(name, dispatcher, device, fmha(name).fmha(x), calls, rounds);
  }
  return 0;
}
