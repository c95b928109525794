// parallel_for: every index once, slots exclusive, safe from several threads, nested calls and forked children.
#include "backends/host/gemm/gemm.hpp"
#include "backends/host/threads.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <numeric>
#include <string>
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

// Bodies that wait for as many as `wanted` to run at once, each in its slot; how many did.
int meet(int wanted, int threads, double work) {
  std::atomic<int> here{0}, slots{0};
  host::parallel_for(
      threads, threads,
      [&](std::int64_t, int slot) {
        slots |= 1 << slot;
        ++here;
        for (int i = 0; here < wanted && i < 20; ++i) usleep(1000);
      },
      work);
  return __builtin_popcount(static_cast<unsigned>(slots.load()));
}

// One caller has all threads for long, then another comes: of what starts while both are at work, most finds no more
// threads at work than there are, since a worker that is one too many leaves after what it has begun.
TEST(ParallelFor, CallersAtTheSameTimeDivideTheThreads) {
  const int all = host::all_threads();
  ASSERT_GE(all, 3);
  std::atomic<int> inside{0};  // of the one caller, and 256 times that of the other
  std::atomic<int> together{0}, in_full{0}, too_many{0};
  std::atomic<bool> is_over{false};
  const auto item = [&](int own) {
    const int both = inside += own, now = both % 256 + both / 256;
    if (both % 256 > 0 && both / 256 > 0) {
      ++together;
      if (now == all) ++in_full;
      if (now > all) ++too_many;
    }
    usleep(200);
    inside -= own;
  };
  std::thread other([&] {
    while (inside < all && !is_over) usleep(100);
    while (!is_over) host::parallel_for(8, all, [&](std::int64_t, int) { item(256); });
  });
  host::parallel_for(600, all, [&](std::int64_t, int) { item(1); });
  is_over = true;
  other.join();
  EXPECT_GT(in_full, 0);
  EXPECT_LT(2 * too_many, together) << in_full << " in full";
}

TEST(ParallelFor, LittleWorkAfterAPauseWakesNobody) {
  const int all = host::all_threads();
  ASSERT_GE(all, 2);
  sum_of_indices(20, all);  // the pool exists
  usleep(200'000);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(meet(2, all, 1e6), 1);
    usleep(2000);
  }
  EXPECT_EQ(meet(all, all, 1e9), all);
}

// On a machine so busy that calls are far apart it takes more of them.
TEST(ParallelFor, LittleWorkInCloseSuccessionWakesThreads) {
  int met = 0;
  for (int attempt = 0; attempt < 50 && met < 2; ++attempt) {
    usleep(1000);
    for (int i = 0; i < 20; ++i) host::parallel_for(2, 2, [](std::int64_t, int) {}, 1e6);
    met = meet(2, 2, 1e6);
  }
  EXPECT_EQ(met, 2);
}

TEST(ThreadLimit, HoldsForItsThreadWhileItLives) {
  const int all = host::thread_count();
  ASSERT_GE(all, 3);
  {
    const host::ThreadLimit three(3);
    EXPECT_EQ(host::thread_count(), 3);
    {
      const host::ThreadLimit none(0), more(7);
      EXPECT_EQ(host::thread_count(), 3);
      const host::ThreadLimit one(1);
      EXPECT_EQ(host::thread_count(), 1);
    }
    EXPECT_EQ(host::thread_count(), 3);
    int elsewhere = 0;
    std::thread([&] { elsewhere = host::thread_count(); }).join();
    EXPECT_EQ(elsewhere, all);
    EXPECT_EQ(host::all_threads(), all);
  }
  EXPECT_EQ(host::thread_count(), all);
}

#if !defined(__SANITIZE_THREAD__)
// In a process of its own, whose pool has a thread for each CPU: ends with 0 where no worker that was woken may run on
// its caller's.
[[noreturn]] void wake_beside_the_caller() {
  setenv("CKGEN_NUM_THREADS", std::to_string(host::core_count()).c_str(), 1);
  const int all = host::all_threads();
  sum_of_indices(20, all);  // the pool exists
  std::atomic<int> beside{0};
  for (int cpu = 0, tried = 0; cpu < CPU_SETSIZE && tried < 3; ++cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) continue;  // not ours
    usleep(20'000);                                             // workers sleep
    std::atomic<int> here{0};
    host::parallel_for(
        2, 2,
        [&](std::int64_t, int slot) {
          cpu_set_t mine;
          if (slot != 0 && sched_getaffinity(0, sizeof mine, &mine) == 0 && !CPU_ISSET(cpu, &mine)) ++beside;
          for (++here; here < 2;) usleep(10);
        },
        1e9);
    if (--beside != 0) std::_Exit(1);
    ++tried;
  }
  std::_Exit(0);
}

TEST(ParallelFor, WokenWorkersLeaveTheCpuOfTheirCaller) {
  if (host::core_count() < 2) GTEST_SKIP() << "one CPU";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(wake_beside_the_caller(), testing::ExitedWithCode(0), "");
}

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
