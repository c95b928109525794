// What the steps of a walk share.
#pragma once

#include "src/select/ladder.hpp"
#include "src/select/query.hpp"

namespace ckgen::inline v1::detail {

/// An instance's order of additions in so many splits; number 0: none that is the same for every M.
struct Order {
  std::uint32_t number = 0;
  std::uint32_t k_batch = 1;
  bool operator==(const Order&) const noexcept = default;
};

/// The problem, and where its signature's data is: all of the arch, and of that the tables of the problem's CU count.
struct WalkState {
  const Query& q;
  const Entry* entry = nullptr;
  std::uint32_t own_begin = 0;
  std::uint32_t own_end = 0;
  Order order = {};  // of every candidate, where a batch-invariant result is asked for

  void find_tables() noexcept {
    own_begin = own_end = entry->table_begin;
    for (std::uint32_t i = entry->table_begin; i < entry->table_end; ++i) {  // counted, as branches would mispredict
      const std::uint32_t cu_num = q.index.table(i).cu_num;
      own_begin += cu_num < q.cu_num ? 1 : 0;
      own_end += cu_num <= q.cu_num ? 1 : 0;
    }
  }

  const Group* group_of(const LookupTable& table) const noexcept {
    return find_group(table, static_cast<std::uint64_t>(q.sizes.n), static_cast<std::uint64_t>(q.sizes.k),
                      static_cast<std::uint64_t>(q.key_batch()));
  }

  /// Of a table of the problem's CU count: the ladder of the device's product where that has one.
  MeasuredGroup own_group(std::uint32_t table) const noexcept {
    return q.index.group(table, q.product, static_cast<std::uint64_t>(q.sizes.n), static_cast<std::uint64_t>(q.sizes.k),
                         static_cast<std::uint64_t>(q.key_batch()));
  }

  const InstanceDesc& instance(std::uint32_t index) const noexcept { return *q.state.instances[index]; }
  std::uint64_t m() const noexcept { return static_cast<std::uint64_t>(q.sizes.m); }
};

}  // namespace ckgen::inline v1::detail
