#include "finding.hpp"

#include <algorithm>
#include <utility>

#include "launch.hpp"
#include "text.hpp"

namespace ckgen::emu {

const char* rule_name(Rule rule) noexcept {
  constexpr const char* kNames[kRules] = {
      "unsupported", "bad_code", "out_of_bounds", "misaligned",  "uninitialised",
      "before_wait", "hazard",   "lds_race",      "global_race", "no_progress",
  };
  return kNames[static_cast<std::size_t>(rule)];
}

void Findings::add(Rule rule, const Wave& wave, const Inst& inst, int lane, std::string what) {
  const std::lock_guard lock(mutex_);
  const auto same = std::find_if(all_.begin(), all_.end(), [&](const Finding& one) {
    return one.rule == rule && one.address == inst.address && !one.instruction.empty();
  });
  if (same != all_.end()) {
    ++same->count;
    return;
  }
  if (all_.size() >= limit_) return;
  const Workgroup& group = *wave.group;
  all_.push_back({rule,
                  inst.address,
                  text_of(inst),
                  {group.id[0], group.id[1], group.id[2]},
                  wave.index,
                  lane,
                  1,
                  std::move(what)});
}

void Findings::add(Rule rule, std::string what) {
  const std::lock_guard lock(mutex_);
  if (all_.size() < limit_) all_.push_back({rule, 0, "", {0, 0, 0}, 0, -1, 1, std::move(what)});
}

bool Findings::full() const noexcept {
  const std::lock_guard lock(mutex_);
  return all_.size() >= limit_;
}

std::vector<Finding> Findings::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(all_, {});
}

}  // namespace ckgen::emu
