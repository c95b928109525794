// What programs share that time one launch against a loop of others, by turns, through a generated library.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <ckgen/ckgen.hpp>

namespace bench {

inline constexpr int kRounds = 201;
inline constexpr int kWarmUp = 20;
inline constexpr int kInARow = 4;  // calls of one body before the other's turn

/// Says why and ends the program where a call failed.
inline void check(const ckgen::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.message);
  std::exit(1);
}

/// A plan with memory of its own for its workspace.
class Ready {
 public:
  Ready(const ckgen::Dispatcher& dispatcher, const ckgen::Problem& problem, const ckgen::Device& device)
      : dispatcher_(&dispatcher) {
    const ckgen::Result<ckgen::Plan> made = dispatcher.plan(problem, device);
    if (!made) check(made.status());
    plan_ = *made;
    memory_.resize(plan_.workspace_size + 64);
  }

  template <class Args>
  void run(const Args& args) {
    const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(memory_.data());
    check(dispatcher_->run(plan_, args, memory_.data() + (64 - at % 64) % 64, nullptr));
  }

 private:
  const ckgen::Dispatcher* dispatcher_;
  ckgen::Plan plan_;
  std::vector<unsigned char> memory_;
};

/// Microseconds of one call, in every round.
struct Times {
  std::vector<double> us;

  double median() {
    std::nth_element(us.begin(), us.begin() + kRounds / 2, us.end());
    return us[kRounds / 2];
  }
  double least() const { return *std::min_element(us.begin(), us.end()); }
};

template <class Body>
double timed(const Body& body) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < kInARow; ++i) body();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / kInARow;
}

struct Turns {
  Times first, second;
};

/// Both bodies by turns, kRounds times after kWarmUp.
template <class First, class Second>
Turns by_turns(const First& first, const Second& second) {
  Turns turns;
  for (int round = -kWarmUp; round < kRounds; ++round) {
    const double one = timed(first), other = timed(second);
    if (round < 0) continue;
    turns.first.us.push_back(one);
    turns.second.us.push_back(other);
  }
  return turns;
}

}  // namespace bench
