#include "backends/host/threads.hpp"

#include "backends/host/gemm/gemm.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <new>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

using Clock = std::chrono::steady_clock;
using Word = std::atomic<std::uint32_t>;
static_assert(sizeof(Word) == sizeof(std::uint32_t) && Word::is_always_lock_free);

thread_local bool inside_pool = false;
thread_local int most_threads = 0;  // ThreadLimit; 0: no limit

// Waking a thread that sleeps can take as long as a small problem does (60 us were measured on a virtual machine). So a
// worker looks for more work for about twice as long as callers were away of late, counted from the end of their last
// call, and for kLeastPatience after they were away long. A product is several calls, and the threads do not end their
// parts of one together: until its caller is done, a worker looks on.
constexpr std::chrono::microseconds kLeastPatience{50};
constexpr std::chrono::microseconds kMostPatience{200};
constexpr std::chrono::microseconds kPatienceInCalls{1000};
// How often a worker that looks for work sees whether callers are still at work.
constexpr std::chrono::microseconds kLook{5};
// How long a caller that is done looks for the end of its workers before it sleeps.
constexpr std::chrono::microseconds kCallersPatience{50};
// Nobody is woken for less work than this, unless so many calls came without a pause.
constexpr double kWorthWaking = 1e7;
constexpr int kStreak = 8;

void sleep_while(const Word& word, std::uint32_t value) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void wake(const Word& word, int sleepers) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, sleepers, nullptr, nullptr, 0);
}

template <class Predicate>
bool spin_until(Clock::duration patience, const Predicate& holds) noexcept {
  if (patience <= Clock::duration::zero()) return holds();
  const Clock::time_point end = Clock::now() + patience;
  do {
    for (int i = 0; i < 16; ++i) {
      if (holds()) return true;
      __builtin_ia32_pause();
    }
  } while (Clock::now() < end);
  return false;
}

// The indices of one call, on its caller's stack. Guarded by the pool's mutex but for the atomics.
struct Job {
  const ParallelBody body;
  void* const context;
  const std::int64_t count;
  std::atomic<std::int64_t> next{0};
  int seats = 0;  // for workers that have not come yet
  int next_slot = 1;
  std::atomic<int> active{0};  // workers inside
  bool is_awaited = false;     // the caller sleeps until none is
  Job* older = nullptr;

  template <class Predicate>
  void drain(int slot, const Predicate& leaves) noexcept {
    while (!leaves()) {
      const std::int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= count) return;
      body(context, i, slot);
    }
  }
};

// Callers share the workers: each is promised at most its part of all threads, and when callers and workers together
// are more than the pool's threads, workers leave their jobs. Who is promised none does the work alone.
//
// pthread_create rather than std::thread: a machine that refuses a thread must yield a smaller pool, not an exception.
class Pool {
 public:
  Pool() noexcept
      : owner_(getpid()), patience_(all_threads() <= core_count() ? kMostPatience : Clock::duration::zero()) {
    if (sched_getaffinity(0, sizeof cpus_, &cpus_) != 0) CPU_ZERO(&cpus_);
    const int wanted = all_threads() - 1;
    for (int i = 0; i < wanted && workers_ < kMaxWorkers; ++i) {
      if (pthread_create(&handles_[workers_.load()], nullptr, &Pool::enter, this) != 0) break;
      ++workers_;
    }
  }

  // From now on every call runs serially.
  void stop() noexcept {
    if (getpid() != owner_) return;  // a forked child has none of these threads
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
      ++calls_;
    }
    wake(calls_, kMaxWorkers);
    for (int i = 0; i < workers_; ++i) pthread_join(handles_[i], nullptr);
    workers_ = 0;
  }

  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // false: not taken, the caller must do the work itself
  bool run(std::int64_t count, int threads, double work, ParallelBody body, void* context) noexcept {
    if (workers_ == 0 || getpid() != owner_) return false;
    Job job{body, context, count};
    const int sleepers = open(job, threads, work);
    if (sleepers > 0) wake(calls_, sleepers);
    inside_pool = true;
    job.drain(0, [] { return false; });
    inside_pool = false;
    if (!close(job)) await(job);
    return true;
  }

 private:
  static constexpr int kMaxWorkers = 1023;

  static void* enter(void* self) {
    static_cast<Pool*>(self)->work();
    return nullptr;
  }

  // Promises the job its workers; returns how many of them sleep.
  int open(Job& job, int threads, double work) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    note_call();
    const int all = workers_ + 1, callers = ++callers_, share = (all + callers - 1) / callers;
    const int awake = workers_ - sleepers_ - taken_;  // and idle
    const bool is_worth_it = work >= kWorthWaking || streak_ >= kStreak;
    int seats = static_cast<int>(std::min<std::int64_t>(std::min(threads, share), job.count)) - 1;
    seats = std::min(seats, all - callers - taken_);
    if (!is_worth_it) seats = std::min(seats, awake);
    if (seats <= 0) {
      note_surplus();
      return 0;
    }
    job.seats = seats;
    job.older = newest_;
    newest_ = &job;
    taken_ += seats;
    note_surplus();
    const int sleepers = std::max(0, seats - std::max(0, awake));
    if (sleepers > 0 && callers_ == 1) leave_cpu(sched_getcpu());
    calls_.fetch_add(1, std::memory_order_relaxed);
    return sleepers;
  }

  // Workers that are woken run anywhere but on the caller's CPU. Guests of KVM take a CPU that sleeps for one that its
  // host has taken away, and put a woken thread behind its waker: two threads shared one CPU for 4 ms.
  void leave_cpu(int cpu) noexcept {
    if (cpu == left_cpu_ || cpu < 0 || cpu >= CPU_SETSIZE) return;
    cpu_set_t others = cpus_;
    CPU_CLR(cpu, &others);
    if (CPU_COUNT(&others) < workers_) return;
    for (int i = 0; i < workers_; ++i) pthread_setaffinity_np(handles_[i], sizeof others, &others);
    left_cpu_ = cpu;
  }

  // No worker joins any more; true where none is inside.
  bool close(Job& job) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    --callers_;
    last_call_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    taken_ -= job.seats;
    job.seats = 0;
    note_surplus();
    for (Job** at = &newest_; *at != nullptr; at = &(*at)->older) {
      if (*at != &job) continue;
      *at = job.older;
      break;
    }
    return job.active.load(std::memory_order_relaxed) == 0;
  }

  void await(Job& job) noexcept {
    const auto is_done = [&job] { return job.active.load(std::memory_order_acquire) == 0; };
    if (spin_until(kCallersPatience, is_done)) return;
    std::unique_lock<std::mutex> lock(mutex_);
    job.is_awaited = true;
    while (!is_done()) {
      const std::uint32_t seen = ends_.load(std::memory_order_relaxed);
      lock.unlock();
      sleep_while(ends_, seen);
      lock.lock();
    }
  }

  void note_surplus() noexcept { surplus_.store(callers_ + taken_ - workers_ - 1, std::memory_order_relaxed); }

  // Whether this worker is one too many.
  bool gives_way() noexcept {
    int surplus = surplus_.load(std::memory_order_relaxed);
    return surplus > 0 && surplus_.compare_exchange_strong(surplus, surplus - 1, std::memory_order_relaxed);
  }

  // How long the callers were away, and how long workers therefore wait for the next one.
  void note_call() noexcept {
    const Clock::duration gap = callers_ > 0 ? Clock::duration::zero() : Clock::now() - last_call();
    const bool is_close = gap <= kMostPatience;
    streak_ = is_close ? std::min(streak_ + 1, kStreak) : 0;
    if (patience_ == Clock::duration::zero()) return;
    const Clock::duration kept = patience_ - patience_ / 8;  // short gaps are those between the steps of a product
    patience_ = is_close ? std::clamp<Clock::duration>(std::max(2 * gap, kept), kLeastPatience, kMostPatience)
                         : Clock::duration(kLeastPatience);
  }

  Clock::time_point last_call() const noexcept {
    return Clock::time_point(Clock::duration(last_call_.load(std::memory_order_relaxed)));
  }

  // Until there is a call after `seen`, or none for too long.
  void look_for_call(std::uint32_t seen, Clock::duration patience) const noexcept {
    if (patience == Clock::duration::zero()) return;
    const Clock::time_point begin = Clock::now();
    const auto is_there = [this, seen] { return calls_.load(std::memory_order_relaxed) != seen; };
    const auto end = [this, begin, patience] {
      return callers_.load(std::memory_order_relaxed) > 0 ? begin + kPatienceInCalls : last_call() + patience;
    };
    while (!spin_until(kLook, is_there) && Clock::now() < end()) {
    }
  }

  Job* open_job() const noexcept {
    Job* job = newest_;
    while (job != nullptr && job->seats == 0) job = job->older;
    return job;
  }

  void work() noexcept {
    inside_pool = true;
    bool may_spin = true;
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stop_) {
      if (Job* const job = open_job()) {
        serve(*job, lock);
        may_spin = true;
        continue;
      }
      const std::uint32_t seen = calls_.load(std::memory_order_relaxed);
      const Clock::duration patience = may_spin ? patience_ : Clock::duration::zero();
      if (!may_spin) ++sleepers_;
      lock.unlock();
      if (may_spin)
        look_for_call(seen, patience);
      else
        sleep_while(calls_, seen);
      lock.lock();
      if (!may_spin) --sleepers_;
      may_spin = calls_.load(std::memory_order_relaxed) != seen;
    }
  }

  void serve(Job& job, std::unique_lock<std::mutex>& lock) noexcept {
    --job.seats;
    job.active.fetch_add(1, std::memory_order_relaxed);
    const int slot = job.next_slot++;
    lock.unlock();
    job.drain(slot, [this] { return gives_way(); });
    lock.lock();
    --taken_;
    note_surplus();
    const bool is_awaited = job.is_awaited;
    if (job.active.fetch_sub(1, std::memory_order_acq_rel) != 1 || !is_awaited) return;
    ends_.fetch_add(1, std::memory_order_relaxed);  // the job may be gone by now
    wake(ends_, kMaxWorkers);
  }

  const pid_t owner_;
  std::mutex mutex_;         // held by who reads or writes anything below
  Word calls_{0}, ends_{0};  // futexes: of workers that wait for calls, of callers that wait for workers
  Job* newest_ = nullptr;
  std::atomic<int> callers_{0};  // read by workers that hold no mutex, as last_call_ is
  int taken_ = 0;                // workers inside jobs or promised to them
  int sleepers_ = 0;             // workers
  std::atomic<int> surplus_{0};  // callers and taken workers beyond all threads; workers count it down as they leave
  int streak_ = 0;               // calls without a pause
  std::atomic<Clock::rep> last_call_{0};
  Clock::duration patience_;  // of workers; 0: there are more threads than CPUs
  bool stop_ = false;
  cpu_set_t cpus_;               // that the pool may use
  int left_cpu_ = -1;            // of these, to its last caller
  std::atomic<int> workers_{0};  // not guarded: a call may race with stop()
  pthread_t handles_[kMaxWorkers];
};

// Stopped at exit (or dlclose), but never destroyed: in a forked child nothing of it is touched.
class PoolHolder {
 public:
  PoolHolder() noexcept : pool_(new (storage_) Pool) {}
  ~PoolHolder() { pool_->stop(); }
  PoolHolder(const PoolHolder&) = delete;
  PoolHolder& operator=(const PoolHolder&) = delete;
  Pool& get() noexcept { return *pool_; }

 private:
  alignas(Pool) unsigned char storage_[sizeof(Pool)];
  Pool* pool_;
};

Pool& pool() noexcept {
  static PoolHolder holder;
  return holder.get();
}

}  // namespace

int thread_count() noexcept {
  const int all = all_threads();
  return most_threads > 0 ? std::min(most_threads, all) : all;
}

ThreadLimit::ThreadLimit(int most) noexcept : before_(most_threads) {
  if (most > 0) most_threads = before_ > 0 ? std::min(before_, most) : most;
}
ThreadLimit::~ThreadLimit() {
  most_threads = before_;
}

void parallel_for_raw(std::int64_t count, int threads, double work, ParallelBody body, void* context) noexcept {
  if (count > 1 && threads > 1 && !inside_pool && pool().run(count, threads, work, body, context)) return;
  for (std::int64_t i = 0; i < count; ++i) body(context, i, 0);
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
