// What LdsChecks keeps of a dword or byte, and the vectorised part of its checks.
#pragma once

#include <cstdint>
#include <cstring>

namespace ckgen::emu {

// One dword's state, 64 bits. Bits 8…12: the wave of the last write. 16…31: its epoch. 32…47: waves that read, one bit
// each. 48…63: in which epoch they did.
constexpr std::uint64_t kLdsWritten = 1 << 0;
constexpr std::uint64_t kLdsInFlight = 1 << 1;  // a direct-to-LDS load that its wave has not waited for
constexpr std::uint64_t kLdsSplit = 1 << 2;     // the bytes differ: four states of the same form elsewhere
constexpr std::uint64_t kLdsAtomic = 1 << 3;    // all writes of the epoch were atomic
constexpr std::uint64_t kLdsWriter = 31 << 8;
constexpr unsigned kLdsSeveral = 16;  // a writer that stands for more than one wave, all atomic
constexpr std::uint64_t kLdsReaders = std::uint64_t{0xffff} << 32;

inline std::uint64_t lds_writer(std::uint64_t state) noexcept {
  return (state & kLdsWriter) >> 8;
}
inline std::uint64_t lds_write_epoch(std::uint64_t state) noexcept {
  return state >> 16 & 0xffff;
}
inline std::uint64_t lds_readers(std::uint64_t state) noexcept {
  return state >> 32 & 0xffff;
}
inline std::uint64_t lds_read_epoch(std::uint64_t state) noexcept {
  return state >> 48;
}

/// One wave's read or write of many states: judges and stamps those that are in order, leaves the others alone.
class LdsPass {
 public:
  template <unsigned Count>
  using States __attribute__((vector_size(8 * Count))) = std::uint64_t;

  LdsPass(std::uint64_t epoch, unsigned wave, bool reads) noexcept
      : epoch_(epoch), here_(epoch << 16 | wave << 8), bit_(std::uint64_t{1} << wave), reads_(reads) {}

  template <unsigned Count>
  static bool any(const States<Count>& values) noexcept {
    std::uint64_t all = 0;
    for (unsigned i = 0; i < Count; ++i) all |= values[i];
    return all != 0;
  }

  /// Bits set where a state needs a closer look.
  template <unsigned Count>
  States<Count> one(std::uint64_t* at) const noexcept {
    using Vector = States<Count>;
    Vector state;
    std::memcpy(&state, at, sizeof state);
    // Another wave's write of this epoch: the epochs are equal, the writers are not.
    const Vector difference = (state ^ here_) & (0xffff'0000 | kLdsWriter);
    Vector wrong = (Vector)(difference - 1 < 0xffff);
    Vector made;
    if (reads_) {
      wrong |= (Vector)((state & (kLdsWritten | kLdsInFlight | kLdsSplit)) != kLdsWritten);
      const Vector others = (Vector)(state >> 48 == epoch_) & state & kLdsReaders;
      made = (state & 0xffff'ffff) | others | epoch_ << 48 | bit_ << 32;
    } else {
      const Vector readers = ((state >> 32) ^ epoch_ << 16) & ~bit_;
      wrong |= (Vector)(readers - 1 < 0xffff) | (Vector)((state & (kLdsInFlight | kLdsSplit)) != 0);
      made = (state & 0xffff'ffff'0000'0000) | kLdsWritten | here_;
    }
    state = (state & wrong) | (made & ~wrong);
    std::memcpy(at, &state, sizeof state);
    return wrong;
  }

  /// `times` runs of states, at `where(i)`.
  template <unsigned Count, class Where>
  bool clean(unsigned times, Where&& where) const noexcept {
    States<Count> bad{};
    for (unsigned i = 0; i < times; ++i) bad |= one<Count>(where(i));
    return !any<Count>(bad);
  }

 private:
  std::uint64_t epoch_, here_, bit_;
  bool reads_;
};

}  // namespace ckgen::emu
