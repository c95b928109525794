// parallel_for over one small persistent pool of threads.
//
// body(index, slot) runs once for every index in [0, count); slot is in [0, threads) and no two bodies that run at the
// same time share one, so per-slot scratch needs no lock. The caller takes part. Callers at the same time share the
// threads in equal parts; a nested call and a call in a forked child run serially in slot 0. `work`, in floating-point
// operations of the whole call that this one is a step of, lets a small call do without threads that sleep. Never
// throws, never allocates after the pool exists; all writes of the bodies happen before the return.
#pragma once

#include "ckgen/problem.hpp"

#include <cstdint>
#include <limits>

namespace ckgen {
inline namespace v1 {
namespace host {

using ParallelBody = void (*)(void* context, std::int64_t index, int slot);

void parallel_for_raw(std::int64_t count, int threads, double work, ParallelBody body, void* context) noexcept;

template <typename F>
void parallel_for(std::int64_t count, int threads, F&& f,
                  double work = std::numeric_limits<double>::infinity()) noexcept {
  parallel_for_raw(count, threads, work, [](void* c, std::int64_t i, int slot) { (*static_cast<F*>(c))(i, slot); }, &f);
}

// While it lives, thread_count() of this thread is at most `most`; 0: no limit of its own. Of limits within limits the
// least holds.
class ThreadLimit {
 public:
  explicit ThreadLimit(int most) noexcept;
  explicit ThreadLimit(const v1::Problem* problem) noexcept
      : ThreadLimit(problem == nullptr ? 0 : problem->num_threads()) {}
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  const int before_;
};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
