#include "lds_checks.hpp"

#include <algorithm>
#include <bit>

#include "lds_access.hpp"
#include "lds_dma.hpp"

namespace ckgen::emu {
namespace {

constexpr std::uint64_t kReaders = std::uint64_t{0xffff} << 32;

std::uint64_t writer_of(std::uint64_t state) noexcept {
  return (state & kLdsWriter) >> 8;
}
std::uint64_t write_epoch(std::uint64_t state) noexcept {
  return state >> 16 & 0xffff;
}
std::uint64_t readers_of(std::uint64_t state) noexcept {
  return state >> 32 & 0xffff;
}
std::uint64_t read_epoch(std::uint64_t state) noexcept {
  return state >> 48;
}

template <unsigned Count>
using States __attribute__((vector_size(8 * Count))) = std::uint64_t;

template <unsigned Count>
bool any(const States<Count>& values) noexcept {
  std::uint64_t all = 0;
  for (unsigned i = 0; i < Count; ++i) all |= values[i];
  return all != 0;
}

/// Calls `one(lane)` for the lanes of a mask.
template <class One>
void each_lane(LaneMask lanes, One&& one) {
  if (lanes == ~LaneMask{0}) {
    for (unsigned lane = 0; lane < kLanes; ++lane) one(lane);
  } else {
    for (; lanes != 0; lanes &= lanes - 1) one(static_cast<unsigned>(std::countr_zero(lanes)));
  }
}

}  // namespace

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
    log->count = 0;
    log->wave = nullptr;
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
    if (log && log->wave != nullptr) carry(*log);
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
  if (part[0] == part[1] && part[0] == part[2] && part[0] == part[3]) dwords_[dword] = part[0];
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
  if (write_epoch(state) == epoch_ && writer_of(state) != wave && !both_atomic) problems |= kRacesWithWrite;
  if (touch != Touch::read && read_epoch(state) == epoch_ && (readers_of(state) & ~(std::uint64_t{1} << wave)) != 0)
    problems |= kRacesWithRead;
  return problems;
}

void LdsChecks::stamp(std::uint64_t& state, Touch touch, unsigned wave) const noexcept {
  const std::uint64_t epoch = epoch_;
  if (touch == Touch::read) {
    const std::uint64_t others = read_epoch(state) == epoch ? state & kReaders : 0;
    state = (state & 0xffff'ffff) | kLdsWritten | others | std::uint64_t{1} << (32 + wave) | epoch << 48;
    return;
  }
  const bool same_epoch = write_epoch(state) == epoch;
  std::uint64_t writer = wave, atomic = 0;
  if (touch == Touch::atomic) {
    atomic = same_epoch ? state & kLdsAtomic : kLdsAtomic;
    if (same_epoch && writer_of(state) != wave) writer = kLdsSeveral;
  }
  state = (state & ~std::uint64_t{0xffff'ff00 | kLdsAtomic}) | kLdsWritten | atomic | writer << 8 | epoch << 16;
}

template <unsigned Dwords>
bool LdsChecks::check_reads(unsigned wave, const LdsAccess& access) noexcept {
  using Vector = States<Dwords>;
  const std::uint64_t epoch = epoch_, here = epoch << 16 | wave << 8;
  const std::uint64_t mark = epoch << 48 | std::uint64_t{1} << (32 + wave);
  Vector bad{};
  each_lane(access.lanes, [&](unsigned lane) {
    Vector state;
    std::memcpy(&state, &dwords_[access.at[lane] / 4], sizeof state);
    // Another wave's write of this epoch: the epochs are equal, the writers are not.
    const Vector difference = (state ^ here) & (0xffff'0000 | kLdsWriter);
    bad |= ((state & (kLdsWritten | kLdsInFlight | kLdsSplit)) ^ kLdsWritten) | (Vector)(difference - 1 < 0xffff);
    const Vector others = (Vector)(state >> 48 == epoch) & state & kReaders;
    state = (state & 0xffff'ffff) | others | mark;
    std::memcpy(&dwords_[access.at[lane] / 4], &state, sizeof state);
  });
  return !any<Dwords>(bad);
}

/// Leaves the states alone that need a closer look.
template <unsigned Dwords>
bool LdsChecks::check_writes(unsigned wave, const LdsAccess& access) noexcept {
  using Vector = States<Dwords>;
  const std::uint64_t epoch = epoch_, here = epoch << 16 | wave << 8;
  const std::uint64_t others = ~(std::uint64_t{1} << wave);
  Vector bad{};
  each_lane(access.lanes, [&](unsigned lane) {
    Vector state;
    std::memcpy(&state, &dwords_[access.at[lane] / 4], sizeof state);
    const Vector difference = (state ^ here) & (0xffff'0000 | kLdsWriter);
    const Vector readers = ((state >> 32) ^ epoch << 16) & others;
    const Vector wrong = (Vector)(difference - 1 < 0xffff) | (Vector)(readers - 1 < 0xffff) |
                         (Vector)((state & (kLdsInFlight | kLdsSplit)) != 0);
    bad |= wrong;
    const Vector made = (state & 0xffff'ffff'0000'0000) | kLdsWritten | here;
    state = (state & wrong) | (made & ~wrong);
    std::memcpy(&dwords_[access.at[lane] / 4], &state, sizeof state);
  });
  return !any<Dwords>(bad);
}

void LdsChecks::check(Wave& wave, const LdsAccess& access) {
  std::uint32_t unaligned = access.bytes;
  each_lane(access.lanes, [&](unsigned lane) { unaligned |= access.at[lane]; });
  const unsigned index = wave.index % kGroupWaves;
  if (unaligned % 4 == 0) {
    bool clean = false;
    const bool reads = access.touch == Touch::read;
    if (access.touch == Touch::atomic) {
      clean = false;
    } else if (access.bytes == 4) {
      clean = reads ? check_reads<1>(index, access) : check_writes<1>(index, access);
    } else if (access.bytes == 8) {
      clean = reads ? check_reads<2>(index, access) : check_writes<2>(index, access);
    } else if (access.bytes == 16) {
      clean = reads ? check_reads<4>(index, access) : check_writes<4>(index, access);
    }
    if (clean) return;
  }
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

void LdsChecks::dma_issued(Wave& wave, const Inst& inst, unsigned lane, std::uint32_t at, unsigned bytes) {
  const unsigned index = wave.index % kGroupWaves;
  const DmaQueue& queue = *wave.group->lds.dma;
  unsigned reported = 0;
  visit(at, bytes, [&](std::uint64_t& state, std::uint32_t byte) {
    unsigned problems = judge(state, Touch::write, index);
    unsigned owner = index;
    // A wave's own loads land in order.
    if (problems == kBeforeDma && queue.covering(byte, owner) != nullptr && owner == index) problems = 0;
    for (unsigned left = problems & ~reported; left != 0; left &= left - 1)
      report(wave, inst, Touch::write, lane, byte, state, left & (0 - left));
    reported |= problems;
    stamp(state, Touch::write, index);
    state |= kLdsInFlight;
  });
}

void LdsChecks::dma_waited(const Wave& wave, const LdsAccess& access) {
  LdsAccess& slot = open(wave, *access.inst, Touch::write, access.bytes, 0);
  slot.lanes = access.lanes;
  std::copy_n(access.at, kLanes, slot.at);
  each_lane(access.lanes, [&](unsigned lane) {
    visit(access.at[lane], access.bytes, [&](std::uint64_t& state, std::uint32_t) {
      state &= ~kLdsInFlight;
      stamp(state, Touch::write, wave.index % kGroupWaves);
    });
  });
}

}  // namespace ckgen::emu
