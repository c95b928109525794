#include "backends/host/threads.hpp"

#include "backends/host/gemm.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

thread_local bool inside_pool = false;

// Waking a thread that sleeps can take as long as a small problem does (60 us were measured on a virtual machine), so
// who is done looks for more for about so long before it sleeps.
constexpr std::chrono::microseconds kPatience{50};

template <class Predicate>
bool spin_until(const Predicate& holds) noexcept {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + kPatience;
  do {
    for (int i = 0; i < 16; ++i) {
      if (holds()) return true;
      __builtin_ia32_pause();
    }
  } while (Clock::now() < end);
  return false;
}

// pthread_create rather than std::thread: a machine that refuses a thread must yield a smaller pool, not an exception.
class Pool {
 public:
  Pool() noexcept : owner_(getpid()) {
    const int wanted = thread_count() - 1;
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
    }
    wake_.notify_all();
    for (int i = 0; i < workers_; ++i) pthread_join(handles_[i], nullptr);
    workers_ = 0;
  }

  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // false: not taken, the caller must do the work itself
  bool run(std::int64_t count, int threads, ParallelBody body, void* context) noexcept {
    if (workers_ == 0 || getpid() != owner_) return false;
    const std::unique_lock<std::mutex> session(session_, std::try_to_lock);
    if (!session.owns_lock()) return false;
    next_.store(0, std::memory_order_relaxed);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      body_ = body;
      context_ = context;
      count_ = count;
      seats_ = threads - 1;
      next_slot_ = 1;
      ++epoch_;
    }
    wake_.notify_all();
    inside_pool = true;
    drain(count, body, context, 0);
    inside_pool = false;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      seats_ = 0;  // who has not joined by now need not
    }
    const auto is_done = [this] { return active_.load(std::memory_order_acquire) == 0; };
    if (spin_until(is_done)) return true;
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, is_done);
    return true;
  }

 private:
  static constexpr int kMaxWorkers = 1023;

  static void* enter(void* self) {
    static_cast<Pool*>(self)->work();
    return nullptr;
  }

  void drain(std::int64_t count, ParallelBody body, void* context, int slot) noexcept {
    for (;;) {
      const std::int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
      if (i >= count) return;
      body(context, i, slot);
    }
  }

  void work() noexcept {
    inside_pool = true;
    std::uint64_t seen = 0;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this, seen] { return stop_ || (epoch_ != seen && seats_ > 0); });
      if (stop_) return;
      seen = epoch_;
      --seats_;
      ++active_;
      const int slot = next_slot_++;
      const ParallelBody body = body_;
      void* const context = context_;
      const std::int64_t count = count_;
      lock.unlock();
      drain(count, body, context, slot);
      lock.lock();
      if (active_.fetch_sub(1, std::memory_order_acq_rel) == 1) done_.notify_one();
      lock.unlock();
      spin_until([this, seen] { return epoch_.load(std::memory_order_relaxed) != seen; });
      lock.lock();
    }
  }

  const pid_t owner_;
  std::mutex session_;  // held by the one caller that uses the workers
  std::mutex mutex_;    // held by who writes anything below but next_
  std::condition_variable wake_, done_;
  ParallelBody body_ = nullptr;
  void* context_ = nullptr;
  std::int64_t count_ = 0;
  std::atomic<std::uint64_t> epoch_{0};
  int seats_ = 0, next_slot_ = 1;
  std::atomic<int> active_{0};
  bool stop_ = false;
  std::atomic<int> workers_{0};  // not guarded either: a call may race with stop()
  std::atomic<std::int64_t> next_{0};
  pthread_t handles_[kMaxWorkers];
};

// Stopped at exit (or dlclose), but never destroyed: in a forked child, destroying a condition variable that the
// parent's threads wait on would block forever.
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

void parallel_for_raw(std::int64_t count, int threads, ParallelBody body, void* context) noexcept {
  if (count > 1 && threads > 1 && !inside_pool && pool().run(count, threads, body, context)) return;
  for (std::int64_t i = 0; i < count; ++i) body(context, i, 0);
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
