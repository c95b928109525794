// Which columns a split of KV has, where a plan cuts all tiles into equally many.
#pragma once

#include "backends/host/fmha/columns.hpp"
#include "backends/host/fmha/geometry.hpp"

#include <algorithm>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

/// Columns [begin, end) of a sequence; none where they are equal.
struct FmhaPart {
  std::int64_t begin, end;
};

/// Of a task's rows, which see `seen` together. tiles: as many tiles of n0 for each split, the last ones fewer. blocks:
/// blocks of a quarter of n0, shared out evenly (backends/hip/fmha_decode.hpp). columns: as many columns of the
/// sequence for each split, whatever is seen (ck_tile's split-KV kernels).
inline FmhaPart fmha_part(const FmhaGeometry& g, const FmhaColumns& seen, std::int64_t length_k,
                          std::int64_t split) noexcept {
  if (g.splits == 1) return {0, length_k};
  if (g.cut == FmhaCut::columns) {
    const std::int64_t share = std::max<std::int64_t>((length_k + g.splits - 1) / g.splits, 1);
    const std::int64_t begin = std::min(split * share, length_k);
    return {begin, std::min(begin + share, length_k)};
  }
  const bool evenly = g.cut == FmhaCut::blocks;
  const std::int64_t size = evenly ? std::max<std::int64_t>(g.n0 / 4, 1) : g.n0;
  const FmhaTiles all(seen, size);
  const std::int64_t count = all.count(), share = (count + g.splits - 1) / g.splits;
  const auto cut = [&](std::int64_t i) {
    const std::int64_t at = evenly ? count * i / g.splits : std::min(i * share, count);
    return at < count ? all[at] * size : length_k;
  };
  return {cut(split), cut(split + 1)};
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
