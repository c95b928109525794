// Threads that plan and run at the same time through one dispatcher, each with operands of its own.
#include <thread>

#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words);
  const Gallery gallery(asked);
  constexpr int kThreads = 4, kRuns = 25;
  std::vector<double> off(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      Asked own = asked;
      own.seqlen_q += t, own.seqlen_k += 2 * t;
      const ckgen::Problem problem = Gallery::need(said(own, DType::bf16).causal().build());
      const Operands x(problem);
      for (int i = 0; i < kRuns; ++i) gallery.run(gallery.plan(problem), x.args);
      off[static_cast<std::size_t>(t)] = error(problem, x.args);
    });
  int wrong = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads[static_cast<std::size_t>(t)].join();
    wrong |= expect("a thread's last run", off[static_cast<std::size_t>(t)] <= 1.0 / 64);
  }
  return wrong;
}
