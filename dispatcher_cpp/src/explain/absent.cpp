#include "src/explain/absent.hpp"

#include <algorithm>
#include <vector>

#include "src/operation/target_text.hpp"
#include "src/select/ladder.hpp"
#include "src/select/query.hpp"
#include "src/select/walk_heuristics.hpp"

namespace ckgen::inline v1::detail {
namespace {

constexpr std::size_t kShownBelow = 2;
constexpr std::size_t kShownAbove = 3;

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

std::uint64_t m_of(const Query& q) noexcept {
  return static_cast<std::uint64_t>(q.sizes.m);
}

std::string group_text(const Query& q) {
  const auto row_key = q.operation().explaining.row_key;
  std::string key = row_key != nullptr ? row_key(q) + ' ' : std::string();
  if (row_key == nullptr && q.key_batch() != 0) key = "B=" + std::to_string(q.key_batch()) + ' ';
  return key + "N=" + std::to_string(q.sizes.n) + " K=" + std::to_string(q.sizes.k);
}

bool has_instances(const Query& q) noexcept {
  const auto fits = [&](const InstanceDesc* instance) { return instance->signature == q.signature; };
  return std::any_of(q.state.instances.begin(), q.state.instances.end(), fits) ||
         std::any_of(q.state.units.begin(), q.state.units.end(),
                     [&](const UnitRef& ref) { return ref.unit->signature == q.signature; });
}

std::vector<std::uint64_t> sizes_of(const Ladder& ladder) {
  std::vector<std::uint64_t> sizes;
  for (std::uint32_t r = 0; r < ladder.count; ++r) {
    const Rung& rung = ladder.rungs[r];
    for (std::uint64_t m = rung.first; m <= rung.last; m += rung.step) sizes.push_back(m);
  }
  return sizes;
}

/// A few measured sizes on either side of m, as in "ladder …, 64, 96, 128, … of 681".
std::string around(const Ladder& ladder, const char* kind, std::uint64_t m) {
  const std::vector<std::uint64_t> sizes = sizes_of(ladder);
  const auto at = static_cast<std::size_t>(std::lower_bound(sizes.begin(), sizes.end(), m) - sizes.begin());
  const std::size_t first = at > kShownBelow ? at - kShownBelow : 0;
  const std::size_t last = std::min(at + kShownAbove, sizes.size());
  std::string text = kind;
  if (first > 0) text += " …,";
  for (std::size_t i = first; i < last; ++i) text += (i == first ? " " : ", ") + number(sizes[i]);
  if (last < sizes.size()) text += ", …";
  return text + " of " + number(sizes.size());
}

std::string measured(const Group& group, std::uint64_t m) {
  std::string text;
  if (group.rung_count != 0) text = around(own_ladder(group), "ladder", m);
  if (group.external_count != 0) text += (text.empty() ? "" : "; ") + around(external_ladder(group), "external", m);
  return text.empty() ? text : " (" + text + ')';
}

std::string roundings(const Query& q, const LadderPolicy& policy) {
  std::vector<std::uint64_t> sizes;
  for (std::uint32_t i = 0; i < policy.kernel_m_count; ++i) {
    const std::uint64_t size = rounded(policy.kernel_m[i], m_of(q), static_cast<std::uint64_t>(q.sizes.n));
    if (size != 0 && std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
  }
  std::string text;
  for (const std::uint64_t size : sizes) text += (text.empty() ? "" : ", ") + number(size);
  return "no row that can run at AITER's roundings of M: " + text;
}

/// That of the device's CU count; of no table where there is none.
MeasuredGroup own_group(const Query& q, const Entry* entry) noexcept {
  for (std::uint32_t i = entry != nullptr ? entry->table_begin : 0; entry != nullptr && i < entry->table_end; ++i) {
    if (q.index.table(i).cu_num == q.cu_num && q.index.has_rows(i, q.product))
      return q.index.group(i, q.product, static_cast<std::uint64_t>(q.sizes.n), static_cast<std::uint64_t>(q.sizes.k),
                           static_cast<std::uint64_t>(q.key_batch()));
  }
  return {nullptr, nullptr};
}

std::string no_rung(const Query& q, const Entry* entry, Tier tier) {
  const auto& [ref, group] = own_group(q, entry);
  if (ref == nullptr) return "no table for " + target_text(q);
  const LookupTable* table = ref->table;
  if (group == nullptr) return "no rows for " + group_text(q);
  const std::string m = number(m_of(q));
  if (table->policy->kernel_m_count != 0 && tier != Tier::far_)
    return tier == Tier::exact ? "no row that can run at M=" + m : roundings(q, *table->policy);
  if (tier == Tier::exact) return "no row for M=" + m + measured(*group, m_of(q));
  if (tier == Tier::far_) return "no other measured size";
  const Hit above = at_or_above(own_ladder(*group), m_of(q));
  if (!above) return "no measured size above M=" + m;
  if (above.m == m_of(q)) return "M itself was measured";
  const NearGap gap = gap_of(*table);
  return "M=" + number(above.m) + " is beyond max(M + " + number(gap.add) + ", " + number(gap.factor) +
         " · M) = " + number(std::max(m_of(q) + gap.add, m_of(q) * gap.factor));
}

std::string no_other_cu(const Query& q, const Entry* entry) {
  std::string counts;
  for (std::uint32_t i = entry != nullptr ? entry->table_begin : 0; entry != nullptr && i < entry->table_end; ++i) {
    const std::uint32_t cu_num = q.index.table(i).cu_num;
    if (cu_num != q.cu_num && q.index.has_rows(i, 0)) counts += (counts.empty() ? "" : ", ") + number(cu_num);
  }
  if (counts.empty()) return "no table of " + std::string(arch_name(q.arch)) + " at another CU count";
  return "no rows that can run for " + group_text(q) + " at " + counts + " CUs";
}

bool is_ruled(const Query& q, const Entry* entry) noexcept {
  if (entry == nullptr) return false;
  for (std::uint32_t i = entry->heuristic_begin; i < entry->heuristic_end; ++i)
    if (is_for(*q.index.heuristic(i).heuristic, q)) return true;
  return false;
}

}  // namespace

std::string why_absent(const Query& q, Tier tier) {
  if (tier == Tier::forced || tier == Tier::override_) return "–";
  if (!has_instances(q)) return "no instance of this signature";
  const Entry* entry = q.index.find(q.signature, q.arch);
  const auto own = q.operation().explaining.absent;
  if (const std::string why = entry != nullptr && own != nullptr ? own(q, *entry, tier) : std::string(); !why.empty())
    return why;
  if (tier == Tier::other_cu) return no_other_cu(q, entry);
  if (tier == Tier::predicted)
    return entry != nullptr && entry->predicted_begin != entry->predicted_end
               ? "no predicted kernel takes it"
               : "no predicted times on " + std::string(arch_name(q.arch));
  if (tier == Tier::default_) return "none on " + std::string(arch_name(q.arch));
  if (tier != Tier::heuristic) return no_rung(q, entry, tier);
  return is_ruled(q, entry) ? "the decision rule leads to no kernel"
                            : "no decision rule on " + std::string(arch_name(q.arch));
}

}  // namespace ckgen::inline v1::detail
