#include <ckgen/grouped.hpp>

#include <algorithm>
#include <limits>
#include <numeric>

#include "src/operation/shape.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr GroupSize kNone[1] = {};  // what an empty list points at, so that null stays "on the device"

/// Of numbers from 0 on; kMost where it is beyond.
std::int64_t product(std::int64_t x, std::int64_t y) noexcept {
  std::int64_t result = 0;
  return __builtin_mul_overflow(x, y, &result) ? kMost : result;
}

std::int64_t sum(std::int64_t x, std::int64_t y) noexcept {
  std::int64_t result = 0;
  return __builtin_add_overflow(x, y, &result) ? kMost : result;
}

std::int64_t parts(std::int64_t size, std::int64_t part) noexcept {
  return size / part + (size % part != 0 ? 1 : 0);
}

}  // namespace

Groups::Groups(const GroupSize* sizes, std::int64_t count) noexcept
    : sizes_(sizes != nullptr ? sizes : kNone), count_(count), valid_(count == 0 || (count > 0 && sizes != nullptr)) {
  if (!valid_) count_ = 0;
  detail::ShapeHash hash;
  for (std::int64_t i = 0; i < count_; ++i) {
    count_in(sizes_[i]);
    hash.add(sizes_[i].m, sizes_[i].n);
    hash.add(sizes_[i].k, 0);
  }
  digest_ = hash.value();
}

Groups Groups::on_device(std::int64_t count, std::int64_t m_max, std::int64_t n, std::int64_t k) noexcept {
  Groups groups;
  groups.valid_ = count >= 0;
  if (count <= 0) return groups;
  groups.count_in({m_max, n, k});
  detail::ShapeHash hash;
  hash.add(m_max, n);
  hash.add(k, 1);
  groups.digest_ = hash.value();
  groups.count_ = count;
  if (groups.busy_ == 0) return groups;
  groups.busy_ = count;
  groups.rows_ = product(count, m_max);
  groups.valid_ = groups.valid_ && groups.rows_ != kMost;
  groups.smallest_.m = groups.divisor_.m = 1;
  return groups;
}

void Groups::count_in(const GroupSize& size) noexcept {
  if (size.m < 0 || size.n < 0 || size.k < 0) {
    valid_ = false;
    return;
  }
  if (size.m == 0 || size.n == 0) return;
  const bool first = busy_++ == 0;
  largest_ = {std::max(largest_.m, size.m), std::max(largest_.n, size.n), std::max(largest_.k, size.k)};
  smallest_ =
      first ? size
            : GroupSize{std::min(smallest_.m, size.m), std::min(smallest_.n, size.n), std::min(smallest_.k, size.k)};
  divisor_ = {std::gcd(divisor_.m, size.m), std::gcd(divisor_.n, size.n), std::gcd(divisor_.k, size.k)};
  largest_a_ = std::max(largest_a_, product(size.m, size.k));
  largest_b_ = std::max(largest_b_, product(size.n, size.k));
  largest_c_ = std::max(largest_c_, product(size.m, size.n));
  rows_ = sum(rows_, size.m);
  valid_ = valid_ && std::max({largest_a_, largest_b_, largest_c_, rows_}) != kMost;
}

std::int64_t Groups::tiles(std::int64_t tile_m, std::int64_t tile_n) const noexcept {
  if (tile_m < 1 || tile_n < 1) return 0;
  const auto of = [&](const GroupSize& size) { return product(parts(size.m, tile_m), parts(size.n, tile_n)); };
  if (are_on_device()) return product(busy_, of(largest_));
  std::int64_t all = 0;
  for (std::int64_t i = 0; i < count_; ++i) all = sum(all, of(sizes_[i]));
  return all;
}

}  // namespace v1
}  // namespace ckgen
