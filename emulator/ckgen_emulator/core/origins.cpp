#include "origins.hpp"

#include <algorithm>

#include "lane_access.hpp"
#include "origin_trace.hpp"
#include "text.hpp"
#include "touched.hpp"

namespace ckgen::emu {
namespace {

constexpr unsigned kHalf = 2;  // bytes

/// Halves of dwords that a load moves, with room for all that its parts say.
unsigned loaded_halves(const Touched& touched) {
  unsigned most = 0;
  for (unsigned i = 0; i < touched.count; ++i) {
    const TouchedPart& part = touched.parts[i];
    if (!part.reads) continue;
    for_each_lane(part.lanes,
                  [&](unsigned lane) { most = std::max(most, (part.first + part.bytes[lane] + kHalf - 1) / kHalf); });
  }
  return most;
}

}  // namespace

void Origins::begin(const Launch& launch) {
  launch_ = &launch;
  writes_ = 0;
  trace_.clear();
  waves_.clear();
  locals_.clear();
  for (StoreRecord& one : stores_) one.history = nullptr;  // of launches that are over
  label_of_.assign(launch.program.insts.size(), 0);
}

std::string Origins::end() {
  launch_ = nullptr;
  return "{\"writes\": " + std::to_string(writes_) + ", \"steps\": [" + trace_ + "]}";
}

std::uint32_t Origins::label_of(std::size_t inst) {
  std::uint32_t& known = label_of_[inst];
  if (known == 0) {
    const Inst& one = launch_->program.insts[inst];
    labels_.push_back({launch_->kernel.name, text_of(one), one.address});
    known = static_cast<std::uint32_t>(labels_.size());
  }
  return known - 1;
}

WaveHistory& Origins::history_of(const Wave& wave) {
  auto& history = waves_[&wave];
  if (!history) history = std::make_unique<WaveHistory>();
  if (wave.executed == 0) {
    history->events.clear();
    history->loaded.clear();
    history->life = ++lives_;
    std::copy_n(wave.group->id, 3, history->group.begin());
    history->wave = wave.index;
  }
  return *history;
}

Origins::Halves& Origins::local(const Wave& wave) {
  Local& found = locals_[wave.group];
  const std::uint64_t number = std::uint64_t{wave.group->linear} + 1;
  if (found.number != number) {
    found.number = number;
    found.halves.assign(wave.group->lds.bytes.size() / kHalf + 1, kHost);
  }
  return found.halves;
}

StoreId Origins::writer(const Wave& wave, bool lds, std::uint64_t address) {
  if (lds) {
    const Halves& halves = local(wave);
    return address / kHalf < halves.size() ? halves[address / kHalf] : kHost;
  }
  const auto found = memory_.find(address / kHalf);
  return found == memory_.end() ? kHost : found->second;
}

void Origins::load(const Wave& wave, const TouchedPart& part, StoreId* loaded, unsigned halves) {
  for_each_lane(part.lanes, [&](unsigned lane) {
    for (unsigned at = 0; at < part.bytes[lane]; at += kHalf) {
      const unsigned half = (part.first + at) / kHalf;
      if (half < halves) loaded[half * kLanes + lane] = writer(wave, part.lds, part.at[lane] + at);
    }
  });
}

void Origins::store(const Wave& wave, WaveHistory& history, const TouchedPart& part, std::uint32_t record) {
  const std::uint64_t watched = launch_->options.watch, watched_bytes = launch_->options.watch_bytes;
  bool hit = false;
  unsigned hit_lane = 0;
  for_each_lane(part.lanes, [&](unsigned lane) {
    const std::uint64_t first = part.at[lane], end = first + part.bytes[lane];
    for (std::uint64_t at = first / kHalf; kHalf * at < end; ++at) {
      const std::uint64_t skipped = kHalf * at > first ? kHalf * at - first : 0;
      const StoreId id = store_id(record, lane, static_cast<unsigned>(part.data_first + skipped) / kHalf % kMostHalves);
      if (!part.lds) {
        memory_[at] = id;
      } else if (Halves& halves = local(wave); at < halves.size()) {
        halves[at] = id;
      }
    }
    if (!part.lds && first < watched + watched_bytes && watched < end) hit = true, hit_lane = lane;
  });
  if (!hit) return;
  ++writes_;
  const std::uint64_t first = part.at[hit_lane];
  const unsigned skipped = watched > first ? static_cast<unsigned>(watched - first) : 0;
  const unsigned halves = static_cast<unsigned>(std::min<std::uint64_t>((watched_bytes + kHalf - 1) / kHalf, 2));
  trace_ = OriginTrace(*this).of_store(history, hit_lane, (part.data_first + skipped) / kHalf, halves);
}

void Origins::executing(const Wave& wave, const Inst& inst, std::size_t index) {
  const std::lock_guard lock(mutex_);
  WaveHistory& history = history_of(wave);
  WaveHistory::Event event;
  event.inst = static_cast<std::uint32_t>(index);
  event.exec = wave.exec();
  Touched touched;
  touched_by(wave, inst, touched);
  const unsigned halves = loaded_halves(touched);
  if (halves != 0) {
    const std::size_t first = history.loaded.size();
    event.loaded = static_cast<std::uint32_t>(first) + 1;
    history.loaded.resize(first + std::size_t{halves} * kLanes, kNotLoaded);
    for (unsigned i = 0; i < touched.count; ++i) {
      if (touched.parts[i].reads) load(wave, touched.parts[i], &history.loaded[first], halves);
    }
  }
  history.events.push_back(event);
  std::uint32_t record = 0;
  bool recorded = false;
  for (unsigned i = 0; i < touched.count; ++i) {
    if (!touched.parts[i].writes) continue;
    if (!recorded) {
      record = static_cast<std::uint32_t>(stores_.size());
      stores_.push_back({label_of(index), static_cast<std::uint32_t>(history.events.size() - 1), history.life,
                         history.wave, history.group, &history});
      recorded = true;
    }
    store(wave, history, touched.parts[i], record);
  }
}

}  // namespace ckgen::emu
