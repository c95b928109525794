#include "run.hpp"

#include <algorithm>
#include <barrier>
#include <limits>
#include <random>
#include <thread>

#include "float_mode.hpp"
#include "occupancy.hpp"
#include "step.hpp"
#include "workgroup.hpp"

namespace ckgen::emu {
namespace {

constexpr std::uint64_t kTurn = 1 << 16;      // instructions of a wave per round where nobody disturbs the order
constexpr std::uint64_t kPatience = 1 << 20;  // instructions of every active wave without any progress
constexpr std::uint64_t kAdversary[] = {1, 7, 40, 300, 4000};

/// The workgroups of one thread.
class Crew {
 public:
  Crew(Launch& launch, std::uint32_t first, std::uint32_t stride, std::uint64_t total, std::uint64_t room)
      : launch_(launch),
        next_(first),
        next_slot_(first),
        stride_(stride),
        total_(total),
        room_(std::max<std::uint64_t>(room, 1)),
        random_(launch.options.seed * 0x9e3779b97f4a7c15u + first) {
    const Options& options = launch.options;
    wanted_ = options.seed != 0 ? std::min<std::uint64_t>(2 + random_() % 6, room_) : options.turn != 0 ? room_ : 1;
  }

  bool done() const { return active_.empty() && next_ >= total_; }

  /// Every active wave in turn, as far as it goes alone.
  void round(bool alone) {
    admit();
    const std::uint64_t before = progress();
    if (launch_.options.seed != 0) std::shuffle(active_.begin(), active_.end(), random_);
    for (auto& storage : active_) run_group(*storage, alone);
    retire();
    idle_ = progress() == before ? idle_ + 1 : 0;
  }

  /// The instructions that other workgroups may see, one per wave that has come to one.
  void communicate() {
    for (auto& storage : active_) {
      for (auto& wave : storage->group.waves) {
        if (wave->status != WaveStatus::communicating) continue;
        wave->status = WaveStatus::ready;
        step(*wave, 1, true);
        ++instructions_;
      }
    }
  }

  /// More workgroups where those that run may wait for them; false where the chip holds no more and nothing moves.
  bool widen() {
    const std::uint64_t spent = idle_ * turn_of_idle();
    if (spent < kTurn) return true;
    if (active_.size() < room_ && next_ < total_) {
      ++wanted_;
      idle_ = 0;
      return true;
    }
    return spent < kPatience;
  }

  std::uint64_t instructions() const { return instructions_; }
  std::uint64_t active() const { return active_.size(); }
  Stats stats() const {
    Stats sum = finished_;
    for (const auto& storage : active_) sum += storage->group.stats;
    return sum;
  }

 private:
  void admit() {
    while (active_.size() < wanted_ && next_ < total_) {
      if (idle_storage_.empty()) {
        idle_storage_.push_back(std::make_unique<GroupStorage>());
        idle_storage_.back()->slot = static_cast<std::uint32_t>(next_slot_);
        next_slot_ += stride_;
      }
      active_.push_back(std::move(idle_storage_.back()));
      idle_storage_.pop_back();
      start_group(*active_.back(), launch_, static_cast<std::uint32_t>(next_));
      next_ += stride_;
    }
  }

  void run_group(GroupStorage& storage, bool alone) {
    Workgroup& group = storage.group;
    const std::uint64_t seed = launch_.options.seed;
    const std::uint64_t rounds = launch_.options.turn != 0 ? 1 : std::numeric_limits<std::uint64_t>::max();
    std::uint64_t left = seed == 0 ? rounds : 1 + random_() % 8;
    const std::uint64_t enough =
        instructions_ + turn() * group.waves.size();  // waves that meet all the time never turn
    bool moved = true;
    while (moved && left-- != 0 && !launch_.stop.load(std::memory_order_relaxed)) {
      moved = false;
      const std::size_t count = group.waves.size(), first = seed == 0 ? 0 : random_() % count;
      const bool backwards = seed != 0 && (random_() & 1) != 0;
      for (std::size_t i = 0; i < count; ++i) {
        Wave& wave = *group.waves[(first + (backwards ? count - i : i)) % count];
        if (wave.status != WaveStatus::ready) continue;
        const std::uint64_t before = wave.executed;
        step(wave, seed == 0 ? turn() : kAdversary[random_() % std::size(kAdversary)], alone);
        instructions_ += wave.executed - before;
        if (seed == 0 && (wave.status == WaveStatus::ready || instructions_ > enough)) {
          left = std::min<std::uint64_t>(left, 1);
        }
        moved = moved || wave.executed != before;
      }
      if (release(group)) moved = true;
    }
  }

  /// Opens the barrier where every wave that has not ended waits at it.
  bool release(Workgroup& group) {
    bool waiting = false;
    for (const auto& wave : group.waves) {
      if (wave->status == WaveStatus::ready || wave->status == WaveStatus::communicating) return false;
      waiting = waiting || wave->status == WaveStatus::at_barrier;
    }
    if (!waiting) return false;
    group.lds.barrier_passed();
    launch_.order.at_barrier(group);
    ++barriers_;
    for (auto& wave : group.waves) {
      if (wave->status == WaveStatus::at_barrier) wave->status = WaveStatus::ready;
    }
    return true;
  }

  void retire() {
    const auto ended = [](const std::unique_ptr<GroupStorage>& storage) {
      const auto& waves = storage->group.waves;
      return std::all_of(waves.begin(), waves.end(), [](const auto& w) { return w->status == WaveStatus::ended; });
    };
    for (std::size_t i = 0; i < active_.size();) {
      if (!ended(active_[i])) {
        ++i;
        continue;
      }
      finished_ += active_[i]->group.stats;
      active_[i]->group.stats = Stats{};
      ++ended_;
      idle_storage_.push_back(std::move(active_[i]));
      active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  /// Grows whenever something happened that a workgroup may have waited for.
  std::uint64_t progress() const {
    const Stats now = stats();
    return ended_ + barriers_ + now.global_written + now.lds_written;
  }

  std::uint64_t turn() const { return launch_.options.turn != 0 ? launch_.options.turn : kTurn; }
  std::uint64_t turn_of_idle() const { return launch_.options.seed == 0 ? turn() : 1000; }

  Launch& launch_;
  std::uint64_t next_, next_slot_, stride_, total_, room_;
  std::uint64_t wanted_ = 1;
  std::uint64_t idle_ = 0;  // rounds without progress
  std::uint64_t ended_ = 0, barriers_ = 0, instructions_ = 0;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<GroupStorage>> active_, idle_storage_;
  Stats finished_;
};

/// Between two rounds, while no thread runs: whether to go on.
class Referee {
 public:
  Referee(Launch& launch, std::vector<std::unique_ptr<Crew>>& crews) : launch_(launch), crews_(crews) {}

  void operator()() noexcept {
    std::uint64_t instructions = 0;
    bool done = true, moving = false;
    for (auto& crew : crews_) {
      if (crews_.size() > 1) crew->communicate();
      instructions += crew->instructions();
      done = done && crew->done();
      moving = moving || (!crew->done() && crew->widen());
    }
    if (!done && !moving) {
      std::uint64_t active = 0;
      for (const auto& crew : crews_) active += crew->active();
      launch_.findings.add(Rule::no_progress, "the " + std::to_string(active) +
                                                  " resident workgroups wait for something that none of them will do");
      done = true;
    }
    const std::uint64_t limit = launch_.options.most_instructions;
    if (limit != 0 && instructions > limit) {
      launch_.findings.add(Rule::no_progress, "stopped after " + std::to_string(instructions) + " instructions");
      done = true;
    }
    if (done || launch_.findings.full()) launch_.stop.store(true);
  }

 private:
  Launch& launch_;
  std::vector<std::unique_ptr<Crew>>& crews_;
};

}  // namespace

RunResult run(Launch& launch) {
  const std::uint32_t* grid = launch.dispatch.grid;
  const std::uint64_t total = std::uint64_t{grid[0]} * grid[1] * grid[2];
  const auto threads = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(launch.options.threads, 1, std::max<std::uint64_t>(total, 1)));
  const Occupancy occupancy = occupancy_of(launch.kernel, launch.chip, launch.dispatch);
  const std::uint64_t resident = std::uint64_t{occupancy.groups()} * launch.chip.compute_units;
  std::vector<std::unique_ptr<Crew>> crews;
  for (std::uint32_t i = 0; i < threads; ++i) {
    crews.push_back(std::make_unique<Crew>(launch, i, threads, total, resident / threads));
  }
  Referee referee(launch, crews);
  std::barrier meeting(static_cast<std::ptrdiff_t>(threads), referee);
  const auto work = [&](std::uint32_t index) {
    const HostFloatMode host;
    while (!launch.stop.load()) {
      crews[index]->round(threads == 1);
      meeting.arrive_and_wait();
    }
  };
  std::vector<std::thread> others;
  for (std::uint32_t i = 1; i < threads; ++i) others.emplace_back(work, i);
  work(0);
  for (std::thread& other : others) other.join();
  RunResult result;
  for (const auto& crew : crews) {
    result.instructions += crew->instructions();
    result.stats += crew->stats();
  }
  return result;
}

}  // namespace ckgen::emu
