// The words that generated lookup tables are written in; the compiler lays out what a search needs beside them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ckgen/lookup.hpp>

namespace ckgen {
inline namespace v1 {
namespace describe {

struct KBatch {
  std::uint16_t value;
};
/// That many splits of K; 0: the kernel decides, or, of attention, as many splits of the keys as cost least.
constexpr KBatch k_batch(std::uint16_t splits) noexcept {
  return {splits};
}

/// M was measured, and won by an instance of the unit, or by an external of the table.
constexpr Rung rung(std::uint32_t m, std::uint16_t winner, KBatch splits = {1}) noexcept {
  return {m, m, 1, {winner, splits.value}};
}
/// So were first, first + step, …, last; `step` is a power of two.
constexpr Rung rung(std::uint32_t first, std::uint32_t last, std::uint32_t step, std::uint16_t winner,
                    KBatch splits = {1}) noexcept {
  return {first, last, step, {winner, splits.value}};
}

/// An array that a constexpr function can return and fill at the cost of a plain one.
template <class T, std::size_t Size>
struct Laid {
  T at[Size];
};

/// Group::directory of rungs: whole octaves, so that few sizes of arrays are made.
template <std::size_t Size>
constexpr Laid<std::uint16_t, Size> directory_of(const Rung* rungs, std::uint16_t count) noexcept {
  Laid<std::uint16_t, Size> directory{};
  std::size_t next = 0;
  for (std::uint16_t i = 0; i < count; ++i) {
    const std::size_t bucket = ladder_bucket(rungs[i].last);
    while (next <= bucket) directory.at[next++] = i;
  }
  while (next < Size) directory.at[next++] = count;
  return directory;
}

template <std::size_t Count>
constexpr std::size_t directory_size(const Rung (&rungs)[Count]) noexcept {
  return (ladder_bucket(rungs[Count - 1].last) / 32 + 1) * 32 + 1;
}

template <const auto& rungs>
inline constexpr auto directory = directory_of<directory_size(rungs)>(rungs, sizeof(rungs) / sizeof(Rung));

/// A ladder without rungs; batch is 0 where the signature has none.
constexpr Group group(std::uint32_t n, std::uint32_t k, std::uint32_t batch = 0) noexcept {
  return {n, k, batch, 0, 0, nullptr, nullptr, nullptr, 0};
}

/// The ladder of these rungs, which ascend; arrays of static storage.
template <const auto& rungs>
constexpr Group ladder(std::uint32_t n, std::uint32_t k, std::uint32_t batch = 0) noexcept {
  static_assert(sizeof(rungs) / sizeof(Rung) <= 0xffff);
  Group made = group(n, k, batch);
  made.rung_count = sizeof(rungs) / sizeof(Rung);
  made.rungs = rungs;
  made.directory = directory<rungs>.at;
  made.directory_size = sizeof(directory<rungs>) / sizeof(std::uint16_t);
  return made;
}

/// The same ladder, all of whose M are answered in the order of additions of an instance of the unit, where that is
/// asked for.
constexpr Group in_order_of(Group made, std::uint16_t winner, KBatch splits = {1}) noexcept {
  made.order = {winner, splits.value};
  return made;
}

/// The same ladder with these rungs of other libraries' kernels.
template <const auto& rungs>
constexpr Group with_external(Group made) noexcept {
  static_assert(sizeof(rungs) / sizeof(Rung) <= 0xffff);
  made.external_count = sizeof(rungs) / sizeof(Rung);
  made.external_rungs = rungs;
  return made;
}

/// A power of two of at least four slots a group: so empty, nearly every probe is the first, as a second one is a
/// mispredicted branch.
constexpr std::size_t slot_count(std::size_t groups) noexcept {
  std::size_t size = 4;
  while (size < 4 * groups) size *= 2;
  return size;
}

/// LookupTable::slots of the groups.
template <std::size_t Count>
constexpr Laid<std::uint16_t, slot_count(Count)> slots_of(const Group (&groups)[Count]) noexcept {
  static_assert(Count <= 0xffff);
  constexpr std::uint32_t mask = slot_count(Count) - 1;
  Laid<std::uint16_t, slot_count(Count)> slots{};
  for (std::size_t i = 0; i < Count; ++i) {
    std::uint32_t slot = group_slot(groups[i].n, groups[i].k, groups[i].batch, mask);
    while (slots.at[slot] != 0) slot = (slot + 1) & mask;
    slots.at[slot] = static_cast<std::uint16_t>(i + 1);
  }
  return slots;
}

/// A table; `slots` are slots_of(groups). All must be of static storage.
template <std::size_t Count>
constexpr LookupTable lookup_table(Arch arch, std::uint32_t cu_num, const LadderPolicy& policy,
                                   const Group (&groups)[Count],
                                   const Laid<std::uint16_t, slot_count(Count)>& slots) noexcept {
  return {arch, cu_num, slots.at, slot_count(Count) - 1, groups, Count, nullptr, 0, &policy};
}
template <std::size_t Count, std::size_t Externals>
constexpr LookupTable lookup_table(Arch arch, std::uint32_t cu_num, const LadderPolicy& policy,
                                   const Group (&groups)[Count], const Laid<std::uint16_t, slot_count(Count)>& slots,
                                   const ExternalKernel (&externals)[Externals]) noexcept {
  LookupTable made = lookup_table(arch, cu_num, policy, groups, slots);
  made.externals = externals;
  made.external_count = Externals;
  return made;
}

/// Words of a RoundingBand, which takes any M and N until it is told otherwise.
struct BandWords {
  RoundingBand value;

  constexpr BandWords& m_over(std::uint32_t m) noexcept { return value.m_over = m, *this; }
  constexpr BandWords& m_up_to(std::uint32_t m) noexcept { return value.m_up_to = m, *this; }
  constexpr BandWords& n_over(std::uint32_t n) noexcept { return value.n_over = n, *this; }
  constexpr operator RoundingBand() const noexcept { return value; }
};
constexpr BandWords band(RoundingBand::To to, std::uint32_t of = 0) noexcept {
  return {{to, of, 0, 0xffffffffU, 0}};
}
template <std::size_t Count>
constexpr Rounding rounding(const RoundingBand (&bands)[Count]) noexcept {
  return {bands, Count};
}

/// Words of a LadderPolicy. Arrays must be of static storage.
struct PolicyWords {
  LadderPolicy value{};

  constexpr PolicyWords& near_add(std::uint32_t rows) noexcept { return value.near_add = rows, *this; }
  constexpr PolicyWords& near_factor(std::uint32_t times) noexcept { return value.near_factor = times, *this; }
  template <std::size_t Count>
  constexpr PolicyWords& kernel_m(const Rounding (&tried)[Count]) noexcept {
    return value.kernel_m = tried, value.kernel_m_count = Count, *this;
  }
  template <std::size_t Count>
  constexpr PolicyWords& split_k_m(const Rounding (&tried)[Count]) noexcept {
    return value.split_k_m = tried, value.split_k_m_count = Count, *this;
  }
  constexpr operator LadderPolicy() const noexcept { return value; }
};
constexpr PolicyWords ladder_policy() noexcept {
  return {};
}

}  // namespace describe
}  // namespace v1
}  // namespace ckgen
