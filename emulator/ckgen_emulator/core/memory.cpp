#include "memory.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>

namespace ckgen::emu {
namespace {

std::uint64_t new_version() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

/// The allocations that a thread used last, of one Memory at one version.
struct Recent {
  std::uint64_t version = 0;
  std::array<Allocation*, 8> entries{};
  unsigned next = 0;
};
thread_local Recent recent;

std::uint64_t load(const std::uint64_t& word) noexcept {
  return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(word)).load(std::memory_order_relaxed);
}

std::uint64_t low_bits(unsigned count) noexcept {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

std::string hexadecimal(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

Words zeroed_words(std::size_t count) {
  Words words(static_cast<std::uint64_t*>(std::calloc(count, sizeof(std::uint64_t))));
  if (!words) throw std::bad_alloc();
  return words;
}

Allocation::Allocation(std::uint64_t where, std::uint64_t size, bool is_written, bool is_writable)
    : base(where), bytes(size), writable(is_writable) {
  if (!is_written) written = zeroed_words(size / 64 + 2);
}

unsigned Allocation::written_bytes(std::uint64_t address, unsigned count) const noexcept {
  if (!written) return count;
  const std::uint64_t at = address - base;
  const unsigned shift = static_cast<unsigned>(at % 64);
  const std::uint64_t low = load(written[at / 64]) >> shift;
  const std::uint64_t high = shift == 0 ? 0 : load(written[at / 64 + 1]) << (64 - shift);
  return std::min(count, static_cast<unsigned>(std::countr_one(low | high)));
}

void Allocation::mark_written(std::uint64_t address, std::uint64_t count) noexcept {
  if (!written) return;
  std::uint64_t at = address - base;
  const std::uint64_t end = at + count;
  while (at < end) {
    const unsigned shift = static_cast<unsigned>(at % 64);
    const auto part = static_cast<unsigned>(std::min<std::uint64_t>(end - at, 64 - shift));
    const std::uint64_t mask = low_bits(part) << shift;
    std::uint64_t& word = written[at / 64];
    if ((load(word) & mask) != mask) std::atomic_ref<std::uint64_t>(word).fetch_or(mask, std::memory_order_relaxed);
    at += part;
  }
}

std::uint64_t* Allocation::order_words() {
  std::uint64_t* words = order_.load(std::memory_order_acquire);
  if (words == nullptr) {
    Words fresh = zeroed_words(order_count());
    if (order_.compare_exchange_strong(words, fresh.get(), std::memory_order_acq_rel)) words = fresh.release();
  }
  return aligned(words);
}

void Allocation::forget_order() noexcept {
  if (std::uint64_t* words = order_.load(std::memory_order_acquire))
    std::fill_n(words, order_count(), std::uint64_t{0});
}

Memory::Memory() : version_(new_version()) {}

bool Memory::add(std::uint64_t base, std::uint64_t bytes, bool written, bool writable) {
  if (bytes == 0 || base > ~std::uint64_t{0} - bytes) return false;
  const std::unique_lock lock(mutex_);
  const auto above = all_.lower_bound(base);
  if (above != all_.end() && above->first - base < bytes) return false;
  if (above != all_.begin()) {
    const Allocation& below = *std::prev(above)->second;
    if (base - below.base < below.bytes) return false;
  }
  all_.emplace(base, std::make_unique<Allocation>(base, bytes, written, writable));
  version_.store(new_version(), std::memory_order_release);
  return true;
}

bool Memory::remove(std::uint64_t base) {
  const std::unique_lock lock(mutex_);
  version_.store(new_version(), std::memory_order_release);
  return all_.erase(base) != 0;
}

bool Memory::mark_written(std::uint64_t address, std::uint64_t bytes) noexcept {
  Allocation* const one = find(address, bytes);
  if (one != nullptr) one->mark_written(address, bytes);
  return one != nullptr;
}

Allocation* Memory::find(std::uint64_t address, std::uint64_t bytes) noexcept {
  const std::uint64_t version = version_.load(std::memory_order_acquire);
  if (recent.version != version) recent = {version, {}, 0};
  for (Allocation* one : recent.entries) {
    if (one != nullptr && one->holds(address, bytes)) return one;
  }
  const std::shared_lock lock(mutex_);
  const auto above = all_.upper_bound(address);
  if (above == all_.begin()) return nullptr;
  Allocation* const one = std::prev(above)->second.get();
  if (!one->holds(address, bytes)) return nullptr;
  recent.entries[recent.next] = one;
  recent.next = (recent.next + 1) % recent.entries.size();
  return one;
}

std::string Memory::place(std::uint64_t address, std::uint64_t bytes) const {
  const std::shared_lock lock(mutex_);
  const auto above = all_.upper_bound(address);
  const Allocation* below = above == all_.begin() ? nullptr : std::prev(above)->second.get();
  const Allocation* next = above == all_.end() ? nullptr : above->second.get();
  const std::string what = std::to_string(bytes) + " bytes at " + hexadecimal(address);
  const auto named = [](const Allocation& one) {
    return "the allocation of " + std::to_string(one.bytes) + " bytes at " + hexadecimal(one.base);
  };
  const std::uint64_t past = below == nullptr ? ~std::uint64_t{0} : address - (below->base + below->bytes);
  const std::uint64_t before = next == nullptr ? ~std::uint64_t{0} : next->base - address;
  if (below != nullptr && address - below->base < below->bytes) {
    if (below->holds(address, bytes)) return what + " in " + named(*below);
    return what + " end " + std::to_string(address + bytes - (below->base + below->bytes)) + " bytes past " +
           named(*below);
  }
  if (below != nullptr && past <= before)
    return what + " begin " + std::to_string(past) + " bytes past the end of " + named(*below);
  if (next != nullptr) return what + " begin " + std::to_string(before) + " bytes before " + named(*next);
  return what + ": there are no allocations";
}

std::uint32_t Memory::next_epoch(std::uint32_t limit) {
  const std::unique_lock lock(mutex_);
  if (epoch_ == limit) {
    for (auto& [base, one] : all_) one->forget_order();
    epoch_ = 0;
  }
  return ++epoch_;
}

}  // namespace ckgen::emu
