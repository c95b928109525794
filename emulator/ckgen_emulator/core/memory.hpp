// The memory that kernels may touch: allocations of the host process, by their own addresses.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>

namespace ckgen::emu {

struct FreeWords {
  void operator()(std::uint64_t* words) const noexcept { std::free(words); }
};
/// Zeroed words that take memory only where they are touched; shared by threads through std::atomic_ref.
using Words = std::unique_ptr<std::uint64_t[], FreeWords>;
Words zeroed_words(std::size_t count);

/// One allocation. Thread-safe but for its end.
struct Allocation {
  std::uint64_t base;
  std::uint64_t bytes;
  bool writable;
  Words written;  // one bit per byte; null where everything counts as written

  Allocation(std::uint64_t where, std::uint64_t size, bool is_written, bool is_writable);
  ~Allocation() { std::free(order_.load(std::memory_order_relaxed)); }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  bool holds(std::uint64_t address, std::uint64_t count) const noexcept {
    return address - base < bytes && bytes - (address - base) >= count;
  }
  /// How many of the bytes from `address` on are written before the first that is not; at most `count` ≤ 64.
  unsigned written_bytes(std::uint64_t address, unsigned count) const noexcept;
  void mark_written(std::uint64_t address, std::uint64_t count) noexcept;

  /// What GlobalOrder keeps, two words per aligned dword; made at the first call.
  std::uint64_t* order_words();
  const std::uint64_t* order_words_if_any() const noexcept { return aligned(order_.load(std::memory_order_acquire)); }
  /// Index of the dword at `address`.
  std::size_t dword(std::uint64_t address) const noexcept {
    return ((address & ~std::uint64_t{3}) - (base & ~std::uint64_t{3})) / 4;
  }
  void forget_order() noexcept;

 private:
  static constexpr std::uintptr_t kLine = 64;  // of the host's cache

  std::size_t order_count() const noexcept { return 2 * (bytes / 4 + 2) + kLine / sizeof(std::uint64_t); }
  static std::uint64_t* aligned(std::uint64_t* words) noexcept {
    return reinterpret_cast<std::uint64_t*>((reinterpret_cast<std::uintptr_t>(words) + kLine - 1) & ~(kLine - 1));
  }

  std::atomic<std::uint64_t*> order_{nullptr};
};

/// Thread-safe: allocations may come and go while others are used; the caller keeps those alive that a launch uses.
class Memory {
 public:
  Memory();

  /// `written`: whether its content counts as initialised. False if it overlaps another one or is empty.
  bool add(std::uint64_t base, std::uint64_t bytes, bool written, bool writable = true);
  bool remove(std::uint64_t base);
  /// Marks bytes as initialised (a copy to the device, a memset). False if no allocation holds all of them.
  bool mark_written(std::uint64_t address, std::uint64_t bytes) noexcept;
  /// Null if no allocation holds all of the bytes. Cheap for the last few allocations that a thread asked for.
  Allocation* find(std::uint64_t address, std::uint64_t bytes) noexcept;
  /// Where `address` lies relative to the nearest allocation, for messages.
  std::string place(std::uint64_t address, std::uint64_t bytes) const;
  /// The number of a launch, by which its records in `order_words` are told from older ones: 1…limit, then again 1
  /// with all records forgotten. No launch may run while that happens.
  std::uint32_t next_epoch(std::uint32_t limit);

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::uint64_t, std::unique_ptr<Allocation>> all_;
  std::atomic<std::uint64_t> version_;  // changes with `all_`; of no other Memory
  std::uint32_t epoch_ = 0;
};

}  // namespace ckgen::emu
