#include "global_order.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "global_order_record.hpp"
#include "launch.hpp"

namespace ckgen::emu {
namespace {

constexpr std::size_t kMostUnconfirmed = 4096;  // of a workgroup; later ones are as the first were

using namespace order_record;

std::uint32_t name_of(const Wave& wave) {
  return (wave.group->linear * kMostWaves + wave.index) & kWaves;
}

SharedClock joined(const SharedClock& a, const SharedClock& b) {
  if (!a || a == b) return b;
  if (!b) return a;
  auto both = std::make_shared<Clock>();
  both->entries.reserve(a->entries.size() + b->entries.size());
  auto left = a->entries.begin();
  auto right = b->entries.begin();
  bool more = false;  // than `a` knows
  while (left != a->entries.end() || right != b->entries.end()) {
    if (right == b->entries.end() || (left != a->entries.end() && left->wave < right->wave)) {
      both->entries.push_back(*left++);
    } else if (left == a->entries.end() || right->wave < left->wave) {
      both->entries.push_back(*right++);
      more = true;
    } else {
      both->entries.push_back(
          {left->wave, std::max(left->flushed, right->flushed), std::max(left->completed, right->completed)});
      more = more || right->flushed > left->flushed || right->completed > left->completed;
      ++left;
      ++right;
    }
  }
  return more ? both : a;
}

template <class Visit>
void each_lane(std::uint64_t lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<unsigned>(std::countr_zero(lanes)));
}

bool picks_up(const Inst& inst) {
  const std::string_view name = inst.op->name;
  const bool vector =
      inst.op->format == Format::flat || inst.op->format == Format::global || inst.op->format == Format::mubuf;
  if (!vector) return false;
  if (name.find("_atomic") != std::string_view::npos) return inst.dst.present();
  return name.find("_load") != std::string_view::npos && inst.sc1;
}

}  // namespace

const Clock::Entry* Clock::find(std::uint32_t wave) const noexcept {
  const auto found = std::lower_bound(entries.begin(), entries.end(), wave,
                                      [](const Entry& one, std::uint32_t name) { return one.wave < name; });
  return found == entries.end() || found->wave != wave ? nullptr : &*found;
}

bool Clock::knows(std::uint32_t group) const noexcept {
  return std::any_of(entries.begin(), entries.end(), [&](const Entry& one) { return one.wave / kMostWaves == group; });
}

void GlobalOrder::begin(const Launch& launch) {
  enabled_ = launch.options.checked && launch.chip.processor.isa != Isa::cdna2;
  synchronises_ = std::any_of(launch.program.insts.begin(), launch.program.insts.end(), picks_up);
  epoch_.store(launch.memory.next_epoch(kEpochs), std::memory_order_release);
}

std::uint64_t GlobalOrder::stamp(const Wave& wave, std::uint32_t number, Access access) {
  std::uint32_t epoch = epoch_.load(std::memory_order_acquire);
  if (epoch == 0) {
    std::call_once(begun_, [&] { begin(*wave.launch); });
    epoch = epoch_.load(std::memory_order_acquire);
  }
  if (!enabled_) return 0;
  Way way = kPlain;
  if (access == Access::scoped_store) way = kReplaced;
  if (access == Access::atomic) way = kAtomic;
  if (access == Access::sum) way = kSum;
  return std::uint64_t{epoch} << kEpochAt | std::uint64_t{name_of(wave)} << kWaveAt |
         std::uint64_t{std::min(number, kNumbers)} << kNumberAt | way;
}

namespace {

/// Visits the records of the dwords that `bytes` at `address` are in, and which bytes of each those are.
template <class Visit>
void each_dword(Allocation& allocation, std::uint64_t address, unsigned bytes, Visit visit) {
  std::uint64_t* word = allocation.order_words() + 2 * allocation.dword(address);
  const std::uint64_t end = address + bytes;
  for (std::uint64_t at = address & ~std::uint64_t{3}; at < end; at += 4, word += 2) {
    std::uint64_t mask = kAllBytes;
    if (at < address) mask &= mask << (address - at);
    if (at + 4 > end) mask &= kAllBytes >> (at + 4 - end);
    visit(word, at, mask);
  }
}

}  // namespace

void GlobalOrder::check(Wave& wave, const Inst& inst, unsigned lane, Allocation& allocation, std::uint64_t address,
                        unsigned bytes, Access access, std::uint64_t stamp, const std::uint8_t* data) {
  const bool overwrites = is_store(access);
  const bool swaps = access == Access::atomic && inst.op->name.find("cmpswap") != std::string::npos;
  each_dword(allocation, address, bytes, [&](const std::uint64_t* word, std::uint64_t at, std::uint64_t mask) {
    const std::uint64_t writer = read(word[0]), reader = read(word[1]);
    const bool wrote = foreign(writer, stamp) && (writer & mask) != 0;
    const bool has_read = overwrites && foreign(reader, stamp) && (reader & mask) != 0;
    if (swaps) confirm(wave, at);
    if (!wrote && !has_read) return;
    if (data != nullptr && std::memcmp(reinterpret_cast<const void*>(address), data, bytes) == 0) return;
    if (wrote) examine(wave, inst, lane, at, writer, Against::writer, access);
    if (has_read) examine(wave, inst, lane, at, reader, Against::reader, access);
  });
}

void GlobalOrder::sign(Allocation& allocation, std::uint64_t address, unsigned bytes, Access access,
                       std::uint64_t stamp) {
  if (access == Access::scoped_load) return;
  each_dword(allocation, address, bytes, [&](std::uint64_t* word, std::uint64_t, std::uint64_t mask) {
    std::uint64_t& record = word[access == Access::load ? 1 : 0];
    write(record, stamp | mask | bytes_before(read(record), stamp, access == Access::load));
  });
}

GroupOrder& GlobalOrder::order_of(Workgroup& group) {
  if (group.order.linear != group.linear) {
    group.order = GroupOrder{};
    group.order.linear = group.linear;
  }
  return group.order;
}

WaveOrder& GlobalOrder::active(Wave& wave) {
  GroupOrder& group = order_of(*wave.group);
  if (group.waves.empty()) group.waves.resize(kMostWaves);
  WaveOrder& order = group.waves[wave.index % kMostWaves];
  settle(wave, order);
  return order;
}

/// Takes in what the wave's waits have made true by now.
void GlobalOrder::settle(Wave& wave, WaveOrder& order) {
  const std::uint32_t done = wave.waits.vm_done;
  if (order.write_back != 0 && done >= order.write_back) {
    for (unsigned i = 0; i < kMostWaves; ++i) order.flushed[i] = std::max(order.flushed[i], order.covered[i]);
    order.write_back = 0;
  }
  std::erase_if(order.pending, [&](const WaveOrder::Pending& one) {
    if (one.number > done) return false;
    order.seen = joined(order.seen, one.clock);
    return true;
  });
}

/// What whoever sees the wave's next sc1 store or atomic may rely on; null: nothing.
SharedClock GlobalOrder::released(Wave& wave) {
  const WaveOrder& order = active(wave);
  const GroupOrder& group = order_of(*wave.group);
  auto own = std::make_shared<Clock>();
  const std::uint32_t first = name_of(wave) - wave.index;
  for (std::uint32_t i = 0; i < kMostWaves; ++i) {
    const std::uint32_t completed = i == wave.index ? wave.waits.vm_done : group.arrived[i];
    if (completed != 0 || order.flushed[i] != 0) own->entries.push_back({first + i, order.flushed[i], completed});
  }
  return joined(order.seen, own->entries.empty() ? nullptr : own);
}

void GlobalOrder::publish(Wave& wave, const std::uint64_t* addresses, std::uint64_t lanes, bool replaces) {
  if (!enabled_ || !synchronises_) return;
  const SharedClock clock = released(wave);
  SharedClock before, after;  // lanes mostly join the same two
  const std::lock_guard lock(mutex_);
  each_lane(lanes, [&](unsigned lane) {
    const std::uint64_t address = addresses[lane];
    if (clock) {
      SharedClock& at = published_[address];
      if (!after || at != before) {
        before = at;
        after = replaces ? clock : joined(at, clock);
      }
      at = after;
    } else if (replaces) {
      published_.erase(address);
    }
  });
}

void GlobalOrder::pick_up(Wave& wave, const std::uint64_t* addresses, std::uint64_t lanes, std::uint32_t number) {
  if (!enabled_) return;
  const std::lock_guard lock(mutex_);
  if (published_.empty()) return;
  const void* last = nullptr;
  each_lane(lanes, [&](unsigned lane) {
    const auto found = published_.find(addresses[lane]);
    if (found == published_.end() || found->second.get() == last) return;
    last = found->second.get();
    active(wave).pending.push_back({number, found->second});
  });
}

void GlobalOrder::write_back(Wave& wave, std::uint32_t number) {
  if (!enabled_) return;
  WaveOrder& order = active(wave);
  order.write_back = number;
  order.covered = order_of(*wave.group).arrived;
  order.covered[wave.index % kMostWaves] = number;
}

void GlobalOrder::invalidate(Wave& wave) {
  if (!enabled_) return;
  WaveOrder& order = active(wave);
  order.fresh = order.seen;
}

void GlobalOrder::scalar_invalidate(Wave& wave) {
  order_of(*wave.group).scalar_invalidated |= 1u << wave.index % kMostWaves;
}

void GlobalOrder::at_barrier(Workgroup& group) {
  if (epoch_.load(std::memory_order_acquire) == 0 || !enabled_) return;
  GroupOrder& order = order_of(group);
  for (const auto& wave : group.waves) order.arrived[wave->index % kMostWaves] = wave->waits.vm_done;
  if (order.waves.empty()) return;
  WaveOrder all;
  for (const auto& wave : group.waves) {
    WaveOrder& one = active(*wave);
    all.seen = joined(all.seen, one.seen);
    all.fresh = joined(all.fresh, one.fresh);
    for (unsigned i = 0; i < kMostWaves; ++i) all.flushed[i] = std::max(all.flushed[i], one.flushed[i]);
  }
  for (WaveOrder& one : order.waves) {
    one.seen = all.seen;
    one.fresh = all.fresh;
    one.flushed = all.flushed;
  }
}

void GlobalOrder::scalar_load(Wave& wave, const Inst& inst, Allocation& allocation, std::uint64_t address) {
  const std::uint64_t* words = allocation.order_words_if_any();
  if (words == nullptr) return;
  const std::uint64_t writer = read(words[2 * allocation.dword(address)]);
  if (writer == 0) return;
  const std::uint64_t own = stamp(wave, wave.waits.vm_issued, Access::load);
  if (epoch_of(writer) != epoch_of(own)) return;
  if ((order_of(*wave.group).scalar_invalidated >> wave.index % kMostWaves & 1) == 0) {
    wave.launch->findings.add(
        Rule::global_race, wave, inst, -1,
        "reads through the scalar cache what wave " + std::to_string(wave_of(writer) % kMostWaves) + " of workgroup " +
            std::to_string(wave_of(writer) / kMostWaves) + " wrote in this launch: no s_dcache_inv");
  } else if (writer >> kWaveAt != own >> kWaveAt) {
    examine(wave, inst, 0, address, writer, Against::writer, Access::load);
  }
}

/// Whether another wave's access, `record`, is ordered before this one; a finding if not.
void GlobalOrder::examine(Wave& wave, const Inst& inst, unsigned lane, std::uint64_t address, std::uint64_t record,
                          Against against, Access access) {
  const bool wrote = against == Against::writer;
  const bool scoped = access == Access::scoped_load || access == Access::scoped_store || is_atomic(access);
  const bool disturbs = (access == Access::sum && way_of(record) == kReplaced) ||
                        (access == Access::scoped_store && way_of(record) == kSum);
  if (wrote && scoped && through(record) && !disturbs) return;
  GroupOrder& group = order_of(*wave.group);
  const std::uint32_t name = wave_of(record), number = number_of(record);
  const bool same_group = name / kMostWaves == name_of(wave) / kMostWaves;
  if (same_group && number <= group.arrived[name % kMostWaves]) return;

  const WaveOrder* order = nullptr;
  if (!group.waves.empty()) order = &active(wave);
  const auto known = [&](const SharedClock& clock) -> const Clock::Entry* {
    return clock ? clock->find(name) : nullptr;
  };
  const Clock::Entry* seen = order == nullptr ? nullptr : known(order->seen);
  const Clock::Entry* fresh = order == nullptr ? nullptr : known(order->fresh);
  const bool flush = wrote && !through(record) && !same_group;  // one compute unit, one L2
  const auto covers = [&](const Clock::Entry* entry, bool flushed) {
    return entry != nullptr && (flushed ? entry->flushed : entry->completed) >= number;
  };
  if (covers(access == Access::load && !same_group ? fresh : seen, flush)) return;

  std::string missing;
  const auto waiting = [&] {
    return order != nullptr &&
           std::any_of(order->pending.begin(), order->pending.end(),
                       [&](const WaveOrder::Pending& one) { return covers(known(one.clock), flush); });
  };
  if (same_group) {
    missing = "no s_waitcnt vmcnt(0) of that wave and barrier between";
  } else if (covers(seen, flush)) {
    missing = "the acquire has no buffer_inv sc1 after its s_waitcnt vmcnt(0)";
  } else if (waiting()) {
    missing = "the load that acquires it has no s_waitcnt vmcnt(0) behind it";
  } else if (covers(seen, false)) {
    missing = "the release had no buffer_wbl2 sc1 and s_waitcnt vmcnt(0) behind that write";
  } else if (seen != nullptr) {
    missing = "the release came before that access was complete: no s_waitcnt vmcnt(0)";
  } else if (order != nullptr && order->seen && order->seen->knows(name / kMostWaves)) {
    missing = "the release of that workgroup does not cover that wave: no s_waitcnt vmcnt(0) and barrier before it";
  } else {
    missing = "no release of that workgroup at device scope is acquired here";
  }
  const bool writes = is_store(access) || is_atomic(access);
  const std::string what = std::string(writes ? "writes " : "reads ") + wave.launch->memory.place(address, 4) +
                           ", which wave " + std::to_string(name % kMostWaves) + " of workgroup " +
                           std::to_string(name / kMostWaves) + (wrote ? " wrote: " : " reads: ") + missing;
  if (access == Access::load && wrote && through(record)) {
    if (group.unconfirmed.size() < kMostUnconfirmed)
      group.unconfirmed.push_back({wave.index, address, lane, &inst, what});
    return;
  }
  wave.launch->findings.add(Rule::global_race, wave, inst, static_cast<int>(lane), what);
}

void GlobalOrder::confirm(Wave& wave, std::uint64_t address) {
  std::erase_if(wave.group->order.unconfirmed,
                [&](const Unconfirmed& one) { return one.wave == wave.index && one.address == address; });
}

void GlobalOrder::ended(Wave& wave) {
  for (const Unconfirmed& one : wave.group->order.unconfirmed) {
    if (one.wave != wave.index) continue;
    wave.launch->findings.add(Rule::global_race, wave, *one.inst, static_cast<int>(one.lane), one.what);
  }
  std::erase_if(wave.group->order.unconfirmed, [&](const Unconfirmed& one) { return one.wave == wave.index; });
}

}  // namespace ckgen::emu
