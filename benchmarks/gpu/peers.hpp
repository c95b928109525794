// Kernels of others beside ours, and times of all in turns.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <ckgen/ckgen.hpp>

#include "driver.hpp"
#include "modes.hpp"

/// cuBLASLt's kernels for one problem, behind a dispatcher of their own: selection of ours does not see them.
class Peers {
 public:
  Peers(const Context& context, const ckgen::Problem& problem, std::uint32_t answers) {
    const auto version = ckgen::provider_version(kPeer);
    if (!version) {
      std::fprintf(stderr, "%s\n", version.status().message);
      return;
    }
    std::vector<std::string> kernels = {*version + "_first"};
    if (answers != 0) {
      const auto found = ckgen::provider_kernels(kPeer, problem, answers);
      must(found.status());
      kernels.insert(kernels.end(), found->begin(), found->end());
    }
    ckgen::Registry registry;
    for (const std::string& kernel : kernels) {
      const std::uint32_t instance = registry.size();
      const ckgen::Status status = add_peer(registry, problem.signature(), kernel);
      if (status.ok()) found_.push_back({kernel, instance});
      if (!status.ok()) std::fprintf(stderr, "%s: %s\n", kernel.c_str(), status.message);
    }
    dispatcher_ = std::make_unique<ckgen::Dispatcher>(registry, ckgen::DispatcherOptions{});
    device_ = context.device;
  }

  /// Calls `take(name, dispatcher, plan)` of each that takes the problem; the first one's name is that of the peer.
  template <class Take>
  void each(const ckgen::Problem& problem, Take take) const {
    for (const auto& [kernel, instance] : found_) {
      ckgen::Selection selection;
      selection.instance = instance;
      selection.k_batch = 0;
      const auto plan = dispatcher_->plan(problem, device_, selection);
      const bool is_first = &kernel == &found_.front().first;
      if (plan) take(is_first ? std::string(kPeer) : std::string(kPeer) + ':' + kernel, *dispatcher_, *plan);
    }
  }

 private:
  std::vector<std::pair<std::string, std::uint32_t>> found_;
  std::unique_ptr<ckgen::Dispatcher> dispatcher_;
  ckgen::Device device_;
};

/// What is timed, and its times.
struct TimedRun {
  std::string name;
  bool is_selected;
  std::function<ckgen::Status()> run;
  std::vector<double> us;
};

/// One run of each after the other, the L2 swept before it, so many rounds, each in an order of its own: a kernel that
/// always followed itself under another name would always find its code in the SMs' caches.
inline void time_in_turns(std::vector<TimedRun>& timed, int rounds, gpu::Sweep& sweep, gpu::Timer& timer,
                          void* stream) {
  std::vector<std::size_t> order(timed.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(7);
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      TimedRun& one = timed[i];
      sweep(stream);
      timer.start(stream);
      must(one.run());
      timer.stop(stream);
      one.us.push_back(timer.microseconds());
    }
  }
}
