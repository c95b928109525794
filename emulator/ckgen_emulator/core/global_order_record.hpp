// What GlobalOrder keeps per dword: a word for the last write and one for the last plain read.
#pragma once

#include <atomic>
#include <cstdint>

namespace ckgen::emu::order_record {

// Epoch 10 bits, wave 26, operation 22, bytes of the dword 4, how it was written 2.
constexpr unsigned kWaveAt = 28, kEpochAt = 54, kNumberAt = 6, kBytesAt = 2;
constexpr std::uint32_t kEpochs = (1u << 10) - 1, kWaves = (1u << 26) - 1, kNumbers = (1u << 22) - 1;
constexpr std::uint64_t kAllBytes = std::uint64_t{15} << kBytesAt;

inline std::uint32_t epoch_of(std::uint64_t record) noexcept {
  return static_cast<std::uint32_t>(record >> kEpochAt);
}
inline std::uint32_t wave_of(std::uint64_t record) noexcept {
  return static_cast<std::uint32_t>(record >> kWaveAt) & kWaves;
}
inline std::uint32_t number_of(std::uint64_t record) noexcept {
  return static_cast<std::uint32_t>(record >> kNumberAt) & kNumbers;
}
/// Writes by how they leave: a plain store stays in the caches that are not coherent, all others go past them.
enum Way : std::uint64_t { kPlain, kReplaced, kAtomic, kSum };

inline Way way_of(std::uint64_t record) noexcept {
  return static_cast<Way>(record & 3);
}
inline bool through(std::uint64_t record) noexcept {
  return way_of(record) != kPlain;
}
inline std::uint64_t bytes_of(std::uint64_t record) noexcept {
  return record & kAllBytes;
}

/// Of the same launch, and of another wave.
inline bool foreign(std::uint64_t record, std::uint64_t stamp) noexcept {
  constexpr std::uint64_t kOne = std::uint64_t{1} << kWaveAt;
  return (record ^ stamp) - kOne < (std::uint64_t{1} << kEpochAt) - kOne;
}

/// What a wave's new record keeps of the old one. Its reads: bytes of the same operation's other lanes, since an
/// earlier operation may be complete where this one is not. Its writes: bytes of all that left in the same way.
inline std::uint64_t bytes_before(std::uint64_t old, std::uint64_t stamp, bool reads) noexcept {
  const std::uint64_t differ = old ^ stamp;
  const bool own = reads ? differ >> kNumberAt == 0 : differ >> kWaveAt == 0 && (differ & 3) == 0;
  return own ? bytes_of(old) : 0;
}

inline std::uint64_t read(const std::uint64_t& word) noexcept {
  return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(word)).load(std::memory_order_relaxed);
}
inline void write(std::uint64_t& word, std::uint64_t value) noexcept {
  std::atomic_ref<std::uint64_t>(word).store(value, std::memory_order_relaxed);
}

}  // namespace ckgen::emu::order_record
