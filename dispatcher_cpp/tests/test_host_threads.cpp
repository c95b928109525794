// parallel_for: every index once, slots exclusive, safe from several threads, nested calls and forked children.
#include "backends/host/gemm.hpp"
#include "backends/host/threads.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <vector>

namespace test_host_threads {

using namespace ckgen;

#if !defined(__SANITIZE_THREAD__)  // TSan does not follow a fork of a threaded process
bool in_forked_child = false;
#endif

#if defined(__SANITIZE_ADDRESS__)
// LeakSanitizer asks this at exit. In a child forked from a process with threads its own check may wait forever for
// threads that only the parent has; the parent's check still covers everything that both allocated before the fork.
extern "C" int __lsan_is_turned_off() {
  return in_forked_child ? 1 : 0;
}
#endif

constexpr int kThreads = 4;

// More threads than a small machine has cores, so that the pool exists wherever the tests run.
const bool kConfigured = [] { return setenv("CKGEN_NUM_THREADS", "4", 1) == 0; }();

std::int64_t sum_of_indices(std::int64_t count, int threads) {
  std::vector<std::int64_t> per_slot(static_cast<std::size_t>(threads), 0);  // plain: a slot must be exclusive
  host::parallel_for(count, threads,
                     [&](std::int64_t i, int slot) { per_slot.at(static_cast<std::size_t>(slot)) += i + 1; });
  return std::accumulate(per_slot.begin(), per_slot.end(), std::int64_t{0});
}

TEST(ParallelFor, EveryIndexOnce) {
  ASSERT_TRUE(kConfigured);
  for (const std::int64_t count : {0, 1, 2, 3, 5, 64, 1000})
    for (int threads = 1; threads <= kThreads; ++threads) {
      std::vector<int> hits(static_cast<std::size_t>(count), 0);
      host::parallel_for(count, threads, [&](std::int64_t i, int) { ++hits[static_cast<std::size_t>(i)]; });
      for (const int h : hits) EXPECT_EQ(h, 1);
      EXPECT_EQ(sum_of_indices(count, threads), count * (count + 1) / 2);
    }
}

// Each body waits until all run: one after the other they would never meet, so that they give up in the end.
TEST(ParallelFor, AsManyThreadsAsAreAskedForWorkAtOnce) {
  for (int threads = 2; threads <= host::thread_count(); ++threads) {
    std::atomic<int> here{0}, slots{0};
    host::parallel_for(threads, threads, [&](std::int64_t, int slot) {
      slots |= 1 << slot;
      ++here;
      for (int i = 0; here < threads && i < 5000; ++i) usleep(1000);
    });
    EXPECT_EQ(slots, (1 << threads) - 1);
  }
}

TEST(ParallelFor, ManyShortCallsReuseThePool) {
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(sum_of_indices(7, kThreads), 28);
}

TEST(ParallelFor, NestedRunsSerially) {
  std::atomic<int> total{0};
  host::parallel_for(8, kThreads, [&](std::int64_t, int) {
    host::parallel_for(5, kThreads, [&](std::int64_t, int slot) {
      EXPECT_EQ(slot, 0);
      total.fetch_add(1, std::memory_order_relaxed);
    });
  });
  EXPECT_EQ(total.load(), 40);
}

TEST(ParallelFor, CallersMayCompete) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 3; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 300; ++i)
        if (sum_of_indices(20, kThreads) != 210) wrong.fetch_add(1);
    });
  for (std::thread& c : callers) c.join();
  EXPECT_EQ(wrong.load(), 0);
}

#if !defined(__SANITIZE_THREAD__)
TEST(ParallelFor, WorksAndExitsInAForkedChild) {
  ASSERT_EQ(sum_of_indices(20, kThreads), 210);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    in_forked_child = true;
    alarm(20);
    std::exit(sum_of_indices(20, kThreads) == 210 ? 0 : 1);  // exit, not _exit: the pool's destructor must not wait
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

}  // namespace test_host_threads
