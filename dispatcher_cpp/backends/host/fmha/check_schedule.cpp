#include "backends/host/fmha/check_schedule.hpp"

#include "backends/host/fmha/sequence.hpp"
#include "backends/host/refusal.hpp"
#include "ckgen/fmha_split.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

Status wrong(const char* list, std::int64_t at, const char* what) noexcept {
  return Status::error(StatusCode::invalid_argument, "split.%s[%lld]: %s", list, static_cast<long long>(at), what);
}

/// A request's tiles of rows, of one of the heads that partial rows are numbered for.
class Tiles {
 public:
  Tiles(const InstanceDesc& instance, const FmhaShape& shape, const FmhaArgs& args) noexcept
      : instance_(instance), shape_(shape), args_(args) {}

  /// Rows of a tile; 0 where there is no such tile.
  std::int64_t rows(std::int64_t request, std::int64_t tile) const noexcept {
    if (request >= shape_.batch || tile < 0) return 0;
    const FmhaSequence x = sequence_of(instance_.signature, shape_, args_, request);
    const std::int64_t group = instance_.fmha.merge_heads ? shape_.heads_q / shape_.heads_k : 1;
    const std::int64_t m0 = instance_.fmha.m0;
    return std::clamp<std::int64_t>(x.length_q * group - tile * m0, 0, m0);
  }
  /// Whether `count` partial rows from `first` on are there.
  bool has(std::int64_t first, std::int64_t count) const noexcept {
    return first >= 0 && count <= shape_.split_rows && first <= shape_.split_rows - count;
  }

 private:
  const InstanceDesc& instance_;
  const FmhaShape& shape_;
  const FmhaArgs& args_;
};

}  // namespace

Status check_fmha_schedule(const InstanceDesc& instance, const FmhaShape& x, const FmhaArgs& args) noexcept {
  if (x.split_items == 0) return Status::success();
  const FmhaSchedule& split = args.split;
  if (split.items == nullptr) return invalid("split.items is null");
  if (split.combine_items == nullptr && x.split_combines != 0) return invalid("split.combine_items is null");
  const Tiles tiles(instance, x, args);
  for (std::int64_t i = 0; i < x.split_items; ++i) {
    const FmhaSplitItem& item = split.items[i];
    if (item.request < 0) continue;
    const std::int64_t rows = tiles.rows(item.request, item.q_tile);
    if (rows == 0) return wrong("items", i, "no such tile of a request");
    if (item.kv_begin < 0 || item.kv_begin % instance.fmha.n0 != 0 || item.kv_end < item.kv_begin)
      return wrong("items", i, "its keys do not begin at a tile of the instance, or end before");
    if (item.partial_row >= 0 && !tiles.has(item.partial_row, rows))
      return wrong("items", i, "its partial rows are behind the plan's split_rows");
  }
  for (std::int64_t i = 0; i < x.split_combines; ++i) {
    const FmhaCombineItem& item = split.combine_items[i];
    if (item.request < 0) continue;
    if (item.rows < 1 || item.rows > tiles.rows(item.request, item.q_tile))
      return wrong("combine_items", i, "no such rows of a request");
    if (item.splits < 1 || !tiles.has(item.partial_row, std::int64_t{item.rows} * item.splits))
      return wrong("combine_items", i, "its partial rows are behind the plan's split_rows");
  }
  return Status::success();
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
