#include "lds_dma.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "launch.hpp"
#include "lds_access.hpp"

namespace ckgen::emu {
namespace {

/// Whether the adversary lets this instruction's data come as late as it may (splitmix64 over what identifies it).
bool comes_late(const Wave& wave, const Inst& inst, std::uint32_t number) {
  const std::uint64_t seed = wave.launch->options.seed;
  if (seed == 0) return false;
  std::uint64_t mixed = seed * 0x9e3779b97f4a7c15 + wave.group->linear;
  for (const std::uint64_t part : {std::uint64_t{wave.index}, std::uint64_t{number}, std::uint64_t{inst.address}}) {
    mixed = (mixed ^ part) * 0xbf58476d1ce4e5b9;
    mixed ^= mixed >> 29;
  }
  return (mixed >> 40 & 1) != 0;
}

}  // namespace

bool DmaWrites::covers(std::uint32_t byte) const noexcept {
  return byte >= low && byte < end && (consecutive || emu::covers(access, byte));
}

std::uint8_t DmaWrites::at(std::uint32_t byte) const noexcept {
  if (consecutive) return data[(byte - low) / access.bytes][(byte - low) % access.bytes];
  std::uint8_t found = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t first = access.at[lane];
    if ((access.lanes >> lane & 1) != 0 && byte >= first && byte - first < access.bytes)
      found = data[lane][byte - first];
  }
  return found;
}

DmaWrites& DmaQueue::add(const Wave& wave, const Inst& inst, const LdsDelivery& delivery, std::uint32_t number) {
  Entries& entries = waves_[wave.index % kGroupWaves];
  if (free_.empty()) free_.push_back(std::make_unique<DmaWrites>());
  entries.push_back(std::move(free_.back()));
  free_.pop_back();
  DmaWrites& made = *entries.back();
  made.landed = false;
  made.access.inst = &inst;
  made.access.lanes = delivery.lanes;
  made.access.number = number;
  made.access.bytes = static_cast<std::uint8_t>(delivery.bytes);
  std::memcpy(made.access.at, delivery.at, sizeof made.access.at);
  std::memcpy(made.data, delivery.data, sizeof made.data);
  made.low = ~std::uint32_t{0};
  made.end = 0;
  each_lane(delivery.lanes, [&](unsigned lane) {
    made.low = std::min(made.low, delivery.at[lane]);
    made.end = std::max(made.end, delivery.at[lane] + delivery.bytes);
  });
  made.consecutive = consecutive(made.access);
  return made;
}

void DmaQueue::land(const Wave& wave, std::uint32_t number) {
  std::uint8_t* bytes = wave.group->lds.bytes.data();
  for (auto& entry : waves_[wave.index % kGroupWaves]) {
    const LdsAccess& access = entry->access;
    if (entry->landed || access.number > number) continue;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if ((access.lanes >> lane & 1) != 0) std::memcpy(bytes + access.at[lane], entry->data[lane], access.bytes);
    }
    entry->landed = true;
  }
}

void DmaQueue::retire(const Wave& wave, LdsChecks* checks) {
  Entries& entries = waves_[wave.index % kGroupWaves];
  std::size_t done = 0;
  while (done < entries.size() && entries[done]->access.number <= wave.waits.vm_done) ++done;
  if (done == 0) return;
  if (checks != nullptr) {
    for (std::size_t i = 0; i < done; ++i) checks->dma_waited(wave, entries[i]->access);
  }
  const auto end = entries.begin() + static_cast<std::ptrdiff_t>(done);
  std::move(entries.begin(), end, std::back_inserter(free_));
  entries.erase(entries.begin(), end);
}

const DmaWrites* DmaQueue::covering(std::uint32_t byte, unsigned& wave) const noexcept {
  for (wave = 0; wave < kGroupWaves; ++wave) {
    const Entries& entries = waves_[wave];
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      if ((*entry)->covers(byte)) return entry->get();
    }
  }
  return nullptr;
}

void lds_dma_write(Wave& wave, const Inst& inst, LdsDelivery& delivery, std::uint32_t vm_number) {
  Lds& lds = wave.group->lds;
  delivery.lanes = lds_inside(wave, inst, delivery.at, delivery.lanes, delivery.bytes);
  if (delivery.lanes == 0) return;
  wave.group->stats.lds_written += delivery.bytes * static_cast<unsigned>(std::popcount(delivery.lanes));
  const bool checked = wave.launch->options.checked;
  const bool late = comes_late(wave, inst, vm_number);
  if (!lds.dma && (checked || late)) lds.dma = std::make_unique<DmaQueue>();
  if (checked) lds_checks(wave).dma_issued(wave, inst, delivery);
  if (!late) {
    if (lds.dma) lds.dma->land(wave, vm_number - 1);
    std::uint8_t* bytes = lds.bytes.data();
    each_lane(delivery.lanes,
              [&](unsigned lane) { std::memcpy(bytes + delivery.at[lane], delivery.data[lane], delivery.bytes); });
  }
  if (checked || late) lds.dma->add(wave, inst, delivery, vm_number).landed = !late;
}

void land_dma(Wave& wave) {
  Lds& lds = wave.group->lds;
  if (!lds.dma) return;
  const bool ended = wave.status == WaveStatus::ended;
  lds.dma->land(wave, ended ? wave.waits.vm_issued : wave.waits.vm_done);
  lds.dma->retire(wave, lds.checks.get());
}

}  // namespace ckgen::emu
