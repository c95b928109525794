// What a call costs that two threads share: nanoseconds of each of `rounds` calls, `pause_us` apart.
#include "backends/host/threads.hpp"

#include <chrono>
#include <cstdint>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

void busy_for(std::chrono::nanoseconds time) {
  const Clock::time_point end = Clock::now() + time;
  while (Clock::now() < end) {
  }
}

}  // namespace

// A call is two bodies of `body_ns`; `work` as parallel_for() has it; one thread: both by the caller.
extern "C" void bench_threads(int threads, std::int64_t body_ns, double work, std::int64_t pause_us,
                              std::int64_t rounds, double* ns) {
  for (std::int64_t i = 0; i < rounds; ++i) {
    if (pause_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
    const Clock::time_point begin = Clock::now();
    ckgen::host::parallel_for(
        2, threads, [=](std::int64_t, int) { busy_for(std::chrono::nanoseconds(body_ns)); }, work);
    ns[i] = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
  }
}
