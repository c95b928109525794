#include "lds_checks.hpp"

#include <algorithm>
#include <bit>

#include "lds_access.hpp"
#include "lds_dma.hpp"
#include "lds_state.hpp"

namespace ckgen::emu {

LdsChecks& lds_checks(const Wave& wave) {
  Lds& lds = wave.group->lds;
  if (!lds.checks) {
    lds.checks = std::make_unique<LdsChecks>();
    lds.checks->start(lds.bytes.size());
  }
  return *lds.checks;
}

void LdsChecks::start(std::size_t bytes) {
  dwords_.assign((bytes + 3) / 4, 0);
  bytes_.clear();
  epoch_ = 1;
  for (auto& log : logs_) {
    if (!log) continue;
    for (LdsAccess& slot : log->ring) slot.number = slot.epoch = 0;
  }
}

void LdsChecks::mark_written() noexcept {
  for (std::uint64_t& state : dwords_) state |= kLdsWritten;
  for (std::uint64_t& state : bytes_) state |= kLdsWritten;
}

void LdsChecks::forget_epochs() noexcept {
  constexpr std::uint64_t kKept = kLdsWritten | kLdsInFlight | kLdsSplit;
  for (std::uint64_t& state : dwords_) state &= kKept;
  for (std::uint64_t& state : bytes_) state &= kKept;
  for (auto& log : logs_) {
    if (!log) continue;
    for (LdsAccess& slot : log->ring) slot.epoch = 0;
  }
  epoch_ = 1;
}

void LdsChecks::barrier_passed() {
  if (++epoch_ > 0xffff) forget_epochs();
  for (auto& log : logs_) {
    if (log) carry(*log);
  }
}

/// Outstanding accesses happen in the epoch that begins, too.
void LdsChecks::carry(LdsLog& log) {
  const unsigned wave = log.wave->index % kGroupWaves;
  for (LdsAccess& slot : log.ring) {
    if (slot.number <= log.wave->waits.lgkm_done) continue;
    slot.epoch = epoch_;
    slot.carried = true;
    each_lane(slot.lanes, [&](unsigned lane) {
      visit(slot.at[lane], slot.bytes, [&](std::uint64_t& state, std::uint32_t) { stamp(state, slot.touch, wave); });
    });
  }
}

void LdsChecks::split(std::uint32_t dword) {
  if (bytes_.empty()) bytes_.resize(4 * dwords_.size());
  if ((dwords_[dword] & kLdsSplit) != 0) return;
  std::fill_n(bytes_.begin() + 4 * static_cast<std::ptrdiff_t>(dword), 4, dwords_[dword]);
  dwords_[dword] |= kLdsSplit;
}

void LdsChecks::merge(std::uint32_t dword) noexcept {
  const std::uint64_t* part = &bytes_[4 * static_cast<std::size_t>(dword)];
  // What was done in epochs that are over tells nothing any more.
  const auto current = [&](std::uint64_t state) {
    if (lds_write_epoch(state) != epoch_) state &= ~(kLdsAtomic | std::uint64_t{0xffff'ff00});
    return lds_read_epoch(state) == epoch_ ? state : state & 0xffff'ffff;
  };
  const std::uint64_t first = current(part[0]);
  if (current(part[1]) == first && current(part[2]) == first && current(part[3]) == first) dwords_[dword] = first;
}

/// Calls `visitor(state, byte address)` for every state that covers some of the bytes.
template <class Visitor>
void LdsChecks::visit(std::uint32_t at, unsigned bytes, Visitor&& visitor) {
  for (std::uint32_t byte = at; byte < at + bytes;) {
    const std::uint32_t dword = byte / 4, end = std::min(at + bytes, 4 * (dword + 1));
    if (end - byte == 4 && (dwords_[dword] & kLdsSplit) == 0) {
      visitor(dwords_[dword], byte);
      byte = end;
    } else {
      split(dword);
      for (; byte < end; ++byte) visitor(bytes_[byte], byte);
      merge(dword);
    }
  }
}

unsigned LdsChecks::judge(std::uint64_t state, Touch touch, unsigned wave) const noexcept {
  if ((state & kLdsInFlight) != 0) return kBeforeDma;
  unsigned problems = 0;
  if (touch != Touch::write && (state & kLdsWritten) == 0) problems |= kUnwritten;
  const bool both_atomic = touch == Touch::atomic && (state & kLdsAtomic) != 0;
  if (lds_write_epoch(state) == epoch_ && lds_writer(state) != wave && !both_atomic) problems |= kRacesWithWrite;
  if (touch != Touch::read && lds_read_epoch(state) == epoch_ &&
      (lds_readers(state) & ~(std::uint64_t{1} << wave)) != 0)
    problems |= kRacesWithRead;
  return problems;
}

void LdsChecks::stamp(std::uint64_t& state, Touch touch, unsigned wave) const noexcept {
  const std::uint64_t epoch = epoch_;
  if (touch == Touch::read) {
    const std::uint64_t others = lds_read_epoch(state) == epoch ? state & kLdsReaders : 0;
    state = (state & 0xffff'ffff) | kLdsWritten | others | std::uint64_t{1} << (32 + wave) | epoch << 48;
    return;
  }
  const bool same_epoch = lds_write_epoch(state) == epoch;
  std::uint64_t writer = wave, atomic = 0;
  if (touch == Touch::atomic) {
    atomic = same_epoch ? state & kLdsAtomic : kLdsAtomic;
    if (same_epoch && lds_writer(state) != wave) writer = kLdsSeveral;
  }
  state = (state & ~std::uint64_t{0xffff'ff00 | kLdsAtomic}) | kLdsWritten | atomic | writer << 8 | epoch << 16;
}

/// Gives whole dwords whose bytes are alike one state again; whether there was one.
bool LdsChecks::merge_touched(const LdsAccess& access) noexcept {
  if (bytes_.empty()) return false;
  bool merged = false;
  each_lane(access.lanes, [&](unsigned lane) {
    for (std::uint32_t dword = access.at[lane] / 4; dword < (access.at[lane] + access.bytes) / 4; ++dword) {
      if ((dwords_[dword] & kLdsSplit) == 0) continue;
      merge(dword);
      merged |= (dwords_[dword] & kLdsSplit) == 0;
    }
  });
  return merged;
}

void LdsChecks::check(Wave& wave, const LdsAccess& access) {
  const unsigned index = wave.index % kGroupWaves;
  if (by_dwords(access)) {
    if (check_dwords(index, access)) return;
    if (merge_touched(access) && check_dwords(index, access)) return;
  }
  if (access.bytes < 4 && check_small(index, access)) return;
  unsigned reported = 0;
  each_lane(access.lanes, [&](unsigned lane) {
    check_slowly(wave, *access.inst, access.touch, lane, access.at[lane], access.bytes, reported);
  });
}

void LdsChecks::check_lane(Wave& wave, const Inst& inst, Touch touch, unsigned lane, std::uint32_t at, unsigned bytes,
                           std::uint32_t number) {
  LdsLog& log = log_of(wave);
  LdsAccess* slot = log.count == 0 ? nullptr : &log.ring[(log.count - 1) % LdsLog::kKept];
  if (slot == nullptr || slot->inst != &inst || slot->number != number || slot->touch != touch ||
      slot->bytes != bytes || slot->epoch != epoch_ || (slot->lanes >> lane & 1) != 0)
    slot = &open(wave, inst, touch, bytes, number);
  slot->at[lane] = at;
  slot->lanes |= LaneMask{1} << lane;
  unsigned reported = 0;
  check_slowly(wave, inst, touch, lane, at, bytes, reported);
}

void LdsChecks::check_slowly(Wave& wave, const Inst& inst, Touch touch, unsigned lane, std::uint32_t at, unsigned bytes,
                             unsigned& reported) {
  const unsigned index = wave.index % kGroupWaves;
  visit(at, bytes, [&](std::uint64_t& state, std::uint32_t byte) {
    const unsigned problems = judge(state, touch, index);
    for (unsigned left = problems & ~reported; left != 0; left &= left - 1)
      report(wave, inst, touch, lane, byte, state, left & (0 - left));
    reported |= problems;
    stamp(state, touch, index);
  });
}

/// Whether what other waves load, or have written, to these bytes is equal to `data`.
bool LdsChecks::lands_alike(const Wave& wave, std::uint32_t byte, unsigned count, bool in_flight,
                            const std::uint8_t* data) const {
  const Lds& lds = wave.group->lds;
  if (!in_flight) return std::equal(data, data + count, lds.bytes.begin() + byte);
  for (const std::uint32_t end = byte + count; byte < end; ++byte, ++data) {
    unsigned owner = 0;
    const DmaWrites* other = lds.dma->covering(byte, owner);
    if (other == nullptr || other->at(byte) != *data) return false;
  }
  return true;
}

void LdsChecks::dma_issued(Wave& wave, const Inst& inst, const LdsDelivery& delivery) {
  const unsigned index = wave.index % kGroupWaves;
  if (dma_issued_in_order(index, delivery)) return;
  const DmaQueue& queue = *wave.group->lds.dma;
  each_lane(delivery.lanes, [&](unsigned lane) {
    const std::uint32_t at = delivery.at[lane];
    unsigned reported = 0;
    visit(at, delivery.bytes, [&](std::uint64_t& state, std::uint32_t byte) {
      unsigned problems = judge(state, Touch::write, index);
      unsigned owner = index;
      // A wave's own loads land in order.
      if (problems == kBeforeDma && queue.covering(byte, owner) != nullptr && owner == index) problems = 0;
      if (problems == kBeforeDma || problems == kRacesWithWrite) {
        const unsigned count = (dwords_[byte / 4] & kLdsSplit) != 0 ? 1 : 4;
        const std::uint8_t* data = delivery.data[lane] + (byte - at);
        if (lands_alike(wave, byte, count, problems == kBeforeDma, data)) problems = 0;
      }
      for (unsigned left = problems & ~reported; left != 0; left &= left - 1)
        report(wave, inst, Touch::write, lane, byte, state, left & (0 - left));
      reported |= problems;
      stamp(state, Touch::write, index);
      state |= kLdsInFlight;
    });
  });
}

void LdsChecks::dma_waited(const Wave& wave, const LdsAccess& access) {
  const unsigned index = wave.index % kGroupWaves;
  LdsAccess& slot = open(wave, *access.inst, Touch::write, access.bytes, 0);
  slot.lanes = access.lanes;
  std::copy_n(access.at, kLanes, slot.at);
  if (dma_waited_in_order(index, access)) return;
  each_lane(access.lanes, [&](unsigned lane) {
    visit(access.at[lane], access.bytes, [&](std::uint64_t& state, std::uint32_t) {
      state &= ~kLdsInFlight;
      stamp(state, Touch::write, index);
    });
  });
}

}  // namespace ckgen::emu
