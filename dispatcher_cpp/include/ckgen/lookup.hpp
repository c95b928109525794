// Lookup tables as plain constants: no construction at run time, the same bytes and the same hash as in Python.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ckgen/arch_data.hpp>

namespace ckgen {
inline namespace v1 {

/// What a row chose: an instance of the table's own SignatureUnit and a number of K splits (0: the kernel decides).
struct Choice {
  std::uint16_t instance;
  std::uint16_t k_batch;
};

/// A Choice of no instance.
inline constexpr std::uint16_t no_choice = 0xffff;

/// Measured sizes first, first + step, …, last (M, in rows) that one choice won. `step` is a power of two, so that
/// rounding to a measured size needs no division. Of an external rung choice.instance is an external of the table.
struct Rung {
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t step;
  Choice choice;
};

/// The ladder of one (N, K, batch): rungs ascending in M. External rungs name kernels of other libraries.
struct Group {
  std::uint32_t n;
  std::uint32_t k;
  std::uint32_t batch;
  std::uint16_t rung_count;
  std::uint16_t external_count;
  const Rung* rungs;
  const Rung* external_rungs;
  /// The first rung at or above the least M of each ladder_bucket, then rung_count. Null: rungs are searched from end
  /// to end.
  const std::uint16_t* directory;
  std::uint32_t directory_size;
  /// In whose order of additions all M are answered where a batch-invariant result is asked for; of no instance: in
  /// that of the first rung.
  Choice order = {no_choice, 1};
};

/// A kernel of a library that ckgen does not generate, under the name that the library gives it.
struct ExternalKernel {
  const char* library;
  const char* name;
};

/// One line of a peer's rounding of M: taken where m_over < M <= m_up_to and N > n_over.
struct RoundingBand {
  enum class To : std::uint8_t { m, multiple, value, power_of_2 };
  To to;
  std::uint32_t of;  // of the multiple, or the value
  std::uint32_t m_over;
  std::uint32_t m_up_to;  // 0xffffffff: no bound
  std::uint32_t n_over;
};

/// A rounding: its first band that fits gives one candidate M; none that fits gives none.
struct Rounding {
  const RoundingBand* bands;
  std::uint32_t band_count;
};

/// How M between and beyond the measured sizes is answered.
/// near: the next measured M' with M' <= max(M + near_add, M * near_factor); beyond it the answer is `far`.
/// With kernel_m (a peer's policy) each rounding gives one candidate M, tried in order, in place of `exact` and `near`;
/// split_k_m gives those of the row that k_batch is taken from.
struct LadderPolicy {
  std::uint32_t near_add;
  std::uint32_t near_factor;
  const Rounding* kernel_m;
  std::uint32_t kernel_m_count;
  const Rounding* split_k_m;
  std::uint32_t split_k_m_count;
};

/// The library of an external kernel that is the caller's own: an exact row of it declines instances of backend hip.
inline constexpr const char* callers_own = "caller";

/// All rows of one target, of a signature or of several that no row tells apart. `slots` is an open-addressing table
/// over groups: 0 is empty, else index + 1.
struct LookupTable {
  Arch arch;
  std::uint32_t cu_num;
  const std::uint16_t* slots;
  std::uint32_t slot_mask;
  const Group* groups;
  std::uint32_t group_count;
  const ExternalKernel* externals;
  std::uint32_t external_count;
  const LadderPolicy* policy;
};

/// The slot where the search for a group's key begins: multiplicative (Fibonacci)
/// hashing, whose high bits depend on every bit of the key. slot_mask + 1 is a power of two, at least 2.
constexpr std::uint32_t group_slot(std::uint32_t n, std::uint32_t k, std::uint32_t batch,
                                   std::uint32_t slot_mask) noexcept {
  const std::uint64_t key =
      (static_cast<std::uint64_t>(n) << 32 | k) ^ static_cast<std::uint64_t>(batch) * 0xbf58476d1ce4e5b9ULL;
  return static_cast<std::uint32_t>(key * 0x9e3779b97f4a7c15ULL >> __builtin_clzll(slot_mask));
}

/// The group of (n, k, batch), or null. Sizes beyond 32 bits never match.
constexpr const Group* find_group(const LookupTable& table, std::uint64_t n, std::uint64_t k,
                                  std::uint64_t batch) noexcept {
  if ((n | k | batch) >> 32 != 0) return nullptr;
  const auto n32 = static_cast<std::uint32_t>(n);
  const auto k32 = static_cast<std::uint32_t>(k);
  const auto b32 = static_cast<std::uint32_t>(batch);
  for (std::uint32_t slot = group_slot(n32, k32, b32, table.slot_mask);; slot = (slot + 1) & table.slot_mask) {
    const std::uint16_t entry = table.slots[slot];
    if (entry == 0) return nullptr;
    const Group& group = table.groups[entry - 1];
    if (group.n == n32 && group.k == k32 && group.batch == b32) return &group;
  }
}

/// The first rung of [begin, begin + count) whose last measured size is at least m; count when there is none.
/// The number of steps depends on `count` only and no step branches on data, so random M cost no mispredictions.
constexpr std::uint32_t rung_at_or_above(const Rung* begin, std::uint32_t count, std::uint64_t m) noexcept {
  if (count == 0) return 0;
  const Rung* base = begin;
  std::uint32_t size = count;
  while (size > 1) {
    const std::uint32_t half = size / 2;
    base += half & (0U - static_cast<std::uint32_t>(base[half - 1].last < m));
    size -= half;
  }
  return static_cast<std::uint32_t>(base - begin) + static_cast<std::uint32_t>(base->last < m);
}

/// Thirty-two buckets per octave of M; consecutive from 0.
constexpr std::uint32_t ladder_bucket(std::uint32_t m) noexcept {
  if (m < 32) return m;
  const auto octave = 31U - static_cast<std::uint32_t>(__builtin_clz(m));
  return (octave - 4) * 32 + ((m >> (octave - 5)) & 31U);
}

/// The same for a group's runnable rungs: its directory leaves, as a rule, one comparison, whatever the ladder's
/// length.
constexpr std::uint32_t rung_at_or_above(const Group& group, std::uint64_t m) noexcept {
  if (group.directory == nullptr) return rung_at_or_above(group.rungs, group.rung_count, m);
  if (m >> 32 != 0) return group.rung_count;
  const std::uint32_t bucket = ladder_bucket(static_cast<std::uint32_t>(m));
  if (bucket + 1 >= group.directory_size) return group.rung_count;
  const std::uint16_t* entry = group.directory + bucket;
  const std::uint32_t begin = entry[0];
  const std::uint32_t between = entry[1] - begin;
  if (between > 1) return begin + rung_at_or_above(group.rungs + begin, between, m);
  const std::uint32_t read = begin - static_cast<std::uint32_t>(begin == group.rung_count);  // beyond all: any rung
  return begin + (between & static_cast<std::uint32_t>(group.rungs[read].last < m));
}

/// The smallest measured size of `rung` that is at least m (m must not exceed rung.last).
constexpr std::uint64_t measured_at_or_above(const Rung& rung, std::uint64_t m) noexcept {
  const std::uint64_t beyond = m > rung.first ? m - rung.first : 0;
  return rung.first + ((beyond + rung.step - 1) & ~(std::uint64_t{rung.step} - 1));
}

}  // namespace v1
}  // namespace ckgen
