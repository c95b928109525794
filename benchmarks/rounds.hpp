// For programs of one translation unit: times ways to do the same in turns, and counts what operator new makes.
#pragma once

#include <time.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

namespace bench {

inline constexpr int kRounds = 21;
inline long allocations = 0;

/// CPU time of this thread in ns: what other processes take of the core does not count.
inline double now_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

/// One way to answer all queries; `all` returns what keeps its answers from being left out.
struct Way {
  std::string name;
  std::function<std::uint64_t()> all;
};

/// Every round runs each way once, the first of them moving on by one; one round goes before. Prints a line for each
/// way: "<name> <way> <queries> <allocations in all rounds> <ns per query of each round>...".
inline void by_turns(const std::string& name, std::size_t queries, const std::vector<Way>& ways, int rounds = kRounds) {
  std::vector<std::vector<double>> times(ways.size());
  std::vector<long> made(ways.size());
  for (int round = -1; round < rounds; ++round) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const std::size_t at = (i + static_cast<std::size_t>(round + 1)) % ways.size();
      const long before = allocations;
      const double start = now_ns();
      volatile std::uint64_t kept = ways[at].all();
      static_cast<void>(kept);
      const double took = now_ns() - start;
      made[at] += allocations - before;
      if (round >= 0) times[at].push_back(took / static_cast<double>(queries));
    }
  }
  for (std::size_t i = 0; i < ways.size(); ++i) {
    std::printf("%s %s %zu %ld", name.c_str(), ways[i].name.c_str(), queries, made[i]);
    for (const double time : times[i]) std::printf(" %.3f", time);
    std::printf("\n");
  }
}

/// The way that asks for each query in turn.
template <class Queries, class Ask>
Way way(const char* name, const Queries& queries, const Ask& ask) {
  return {name, [&queries, ask] {
            std::uint64_t sum = 0;
            for (const auto& query : queries) sum += ask(query);
            return sum;
          }};
}

}  // namespace bench

void* operator new(std::size_t bytes) {
  ++bench::allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
