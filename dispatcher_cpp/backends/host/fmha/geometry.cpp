#include "backends/host/fmha/geometry.hpp"

#include "backends/host/fmha/check.hpp"
#include "backends/host/fmha/reach.hpp"
#include "backends/host/fmha/task.hpp"
#include "backends/host/gemm/blocking.hpp"
#include "backends/host/gemm/driver.hpp"
#include "backends/host/gemm/pack_source.hpp"
#include "backends/host/workspace.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// What is packed at a time stays near the caches, but for a single pair beyond it.
constexpr std::size_t kPackedBytes = std::size_t{64} << 20;

std::size_t take(std::size_t& end, std::size_t bytes) noexcept {
  const std::size_t at = end;
  end += aligned_64(bytes);
  return at;
}

/// Beyond, unpacking pays. Of heads together FmhaConfig::rows_together says as many.
constexpr std::int64_t kRowsInPlace = kFmhaGroups * kFmhaRows;

// The least block of K or V of all heads, and the next one, which is on its way, stay in the second-level cache.
constexpr std::int64_t kBlockBytes = std::int64_t{128} << 10;

FmhaRowType row_type(DType type) noexcept {
  switch (type) {
    case DType::fp32: return kFmhaRowsFp32;
    case DType::fp16: return kFmhaRowsFp16;
    case DType::bf16: return kFmhaRowsBf16;
    case DType::fp8_fnuz:
    case DType::bf8_fnuz: return kFmhaRowsFnuz;
    default: return kFmhaRowsFp8;
  }
}

const FmhaRowKernels* row_kernels(const FmhaGeometry& g, std::int64_t rows) noexcept {
  if (rows > kRowsInPlace || g.signature.fmha.v_column) return nullptr;
  const FmhaRowKernels* kernels = &g.kernels->rows[row_type(g.signature.b)];
  return kernels->scores == nullptr ? nullptr : kernels;
}

FmhaCut cut_of(const InstanceDesc& instance, const FmhaShape& shape) noexcept {
  if (instance.backend == Backend::hip) return FmhaCut::blocks;
  // Kernels that cut anywhere have no sink tokens.
  return instance.backend == Backend::ck_tile && shape.sink_tokens == 0 ? FmhaCut::columns : FmhaCut::tiles;
}

/// Splits of tiles that tasks share begin at any n0.
std::int64_t columns_of_tile(const FmhaGeometry& g) noexcept {
  if (g.in_place != nullptr) return kFmhaMaxColumns / g.n0 * g.n0;
  if (g.items > 0 || (g.splits > 1 && g.cut == FmhaCut::tiles)) return g.n0;
  const std::int64_t most = g.kernels->groups.columns / g.n0 * g.n0;
  return std::clamp(ceil_div(g.shape.seqlen_k, g.n0) * g.n0, g.n0, std::max(most, g.n0));
}

/// The more rows a task has, the less often packed tiles come from beyond the second-level cache; some tasks are left
/// for every thread.
std::int64_t rows_of_task(const FmhaGeometry& g, std::int64_t rows) noexcept {
  constexpr std::int64_t kMostRows = 128, kTasks = 4;
  std::int64_t m0 = g.m0;
  while (2 * m0 <= kMostRows && g.pairs * g.splits * ceil_div(rows, 2 * m0) >= kTasks * g.threads) m0 *= 2;
  return m0;
}

/// Whether tasks begin at whole tiles, and those of a schedule, which is in no order of pairs, can have all at once.
bool cuts_at_tiles(const FmhaGeometry& g, std::size_t pair_bytes) noexcept {
  if (g.items > 0) return static_cast<std::size_t>(g.pairs) <= kPackedBytes / pair_bytes;
  return g.splits == 1 || g.cut == FmhaCut::tiles;
}

/// As many heads as leave a task for every thread and fit the cache.
std::int64_t heads_of_task(const FmhaGeometry& g) noexcept {
  const FmhaShape& x = g.shape;
  const std::int64_t bytes = kFmhaBlock * bytes_of(g.signature.b, std::max(x.hdim_q, x.hdim_v));
  const std::int64_t units = kFmhaUnits / ceil_div(g.m0, kFmhaRows);
  const std::int64_t most = std::clamp<std::int64_t>(std::min(kBlockBytes / bytes, units), 1, x.heads_k);
  const std::int64_t rest = g.items > 0 ? g.items : x.batch * g.splits;
  const std::int64_t blocks = std::max(ceil_div(x.heads_k, most), ceil_div(g.threads, rest));
  return ceil_div(x.heads_k, std::min<std::int64_t>(blocks, x.heads_k));
}

}  // namespace

FmhaGeometry make_fmha_geometry(const InstanceDesc& instance, const Problem& problem, std::uint32_t k_batch) noexcept {
  FmhaGeometry g{};
  g.signature = instance.signature;
  g.shape = problem.fmha();
  const FmhaTraits& traits = g.signature.fmha;
  const FmhaShape& shape = g.shape;
  const Isa isa = fmha_isa(instance);
  g.isa = table_for(isa);
  g.kind = fmha_kind(g.signature, isa);
  g.kernels = g.isa->fmha[static_cast<int>(g.kind)];
  g.threads = fmha_threads(instance);
  g.m0 = instance.fmha.m0;
  g.n0 = instance.fmha.n0;
  g.splits = std::max<std::uint32_t>(k_batch, 1);
  g.cut = cut_of(instance, shape);
  g.items = shape.split_items;
  g.group = shape.heads_q / shape.heads_k;
  g.pairs = shape.batch * shape.heads_k;
  const std::int64_t rows = shape.seqlen_q * g.group, most_rows = std::max<std::int64_t>(rows, 1);
  const std::int64_t elements = elements_per_word(g.kind), panel = g.kernels->panel;
  g.words = ceil_div(shape.hdim_q, elements);
  g.v_panels = ceil_div(shape.hdim_v, panel);
  const bool of_tiles = g.items > 0 || (g.splits > 1 && g.cut == FmhaCut::blocks);  // who asks for rows of a tile
  if (of_tiles) g.m0 = std::clamp<std::int64_t>(instance.fmha.merge_heads ? g.m0 : g.m0 * g.group, 1, most_rows);
  // Where sequences differ in length, how many rows there are at most is another sequence's affair.
  const bool alike = problem.batch_invariant() && traits.varlen;
  g.in_place = alike ? nullptr : row_kernels(g, of_tiles ? g.m0 : rows);
  if (g.in_place == nullptr && !of_tiles && instance.backend == Backend::host && g.kernels->groups.most > 1)
    g.m0 = rows_of_task(g, rows);
  g.tile_columns = columns_of_tile(g);
  g.tiles = ceil_div(shape.seqlen_k, g.tile_columns);
  g.v_words = ceil_div(g.tile_columns, elements);
  g.k_panels = ceil_div(g.tile_columns, panel);
  if (g.in_place != nullptr && !of_tiles) g.m0 = most_rows;  // all read the same memory
  g.row_tiles = ceil_div(rows, g.m0);
  g.table16 = make_pack_source(PackKind::bf16, g.signature.b, nullptr, 0, true, false).table16;
  const bool vectors = traits.kv_layout == FmhaKvLayout::vectorized;
  g.take_heads(g.in_place == nullptr || vectors ? 1 : heads_of_task(g));

  const auto bytes = [](std::int64_t count, std::size_t each) { return static_cast<std::size_t>(count) * each; };
  std::size_t end = 0;
  take(end, bytes(g.k_panels * g.words * panel, 4));
  g.v_offset = end;
  take(end, bytes(g.v_panels * g.v_words * panel, 4));
  g.tile_bytes = end;

  end = 0;
  const std::size_t pair_bytes = std::max<std::size_t>(bytes(g.tiles, g.tile_bytes), 1);
  g.shared = g.row_tiles > 1 && g.in_place == nullptr && cuts_at_tiles(g, pair_bytes);
  if (g.shared) {
    g.chunk = std::clamp<std::int64_t>(static_cast<std::int64_t>(kPackedBytes / pair_bytes), 1, g.blocks);
    take(end, bytes(g.chunk, pair_bytes));
  } else {
    g.chunk = g.blocks;
  }
  g.progress_offset = take(end, bytes(g.shared ? g.chunk : 0, sizeof(FmhaProgress)));
  std::int64_t partials = g.splits > 1 ? g.pairs * rows * g.splits : 0;
  if (g.items > 0) partials = shape.split_rows * (instance.fmha.merge_heads ? shape.heads_k : shape.heads_q);
  g.merges_heads = instance.fmha.merge_heads;
  g.partial_offset = take(end, bytes(partials * shape.hdim_v, sizeof(float)));
  g.lse_offset = take(end, bytes(partials, sizeof(float)));
  g.slots_offset = end;

  const std::int64_t lanes = panel / 2;  // of a vector
  const std::int64_t together = g.kernels->groups.most;
  const std::int64_t whole = g.in_place != nullptr ? 2 * lanes : std::max(g.kernels->groups.grain, 1);
  g.q_words = ceil_div(g.words, whole) * whole * kFmhaRows;
  const std::int64_t groups = ceil_div(std::min(g.m0, rows), kFmhaRows);
  end = 0;
  g.q = take(end, bytes(groups * g.q_words, 4));
  g.out = take(end, bytes(groups * g.v_panels * kFmhaRows * panel, 4));
  g.state = take(end, bytes(groups, sizeof(FmhaState)));
  g.own_bytes = end;

  const bool has_factors = traits.dropout != FmhaDropout::none || traits.quant == FmhaQuant::blockscale ||
                           traits.quant == FmhaQuant::kv_blockscale;
  constexpr std::int64_t kScores = kFmhaRows * kFmhaStride;
  const std::size_t scores = kScores * sizeof(float);
  g.score_places = g.in_place == nullptr ? together : g.heads * groups;
  end = 0;
  g.tile = take(end, g.shared || g.in_place != nullptr ? 0 : g.tile_bytes);
  g.pointers = take(end, g.in_place == nullptr ? 0 : bytes(FmhaReach::kPointers, sizeof(void*)));
  g.gathered_bytes = static_cast<std::size_t>(bytes_of(g.signature.b, g.tile_columns * (shape.hdim_q + shape.hdim_v)));
  g.gathered = take(end, g.in_place != nullptr && vectors ? 2 * g.gathered_bytes : 0);
  g.own = take(end, bytes(g.heads, g.own_bytes));
  g.scores = take(end, bytes(g.score_places, scores));
  g.weights = take(end, g.kind == PackKind::f32 ? 0 : bytes(g.score_places, scores));
  g.bias = take(end, traits.bias == FmhaBias::elementwise ? scores : 0);
  g.factor = take(end, has_factors ? scores : 0);
  g.keep = take(end, traits.dropout == FmhaDropout::philox ? 16 * kFmhaMostColumns : 0);
  g.columns = take(end, 2 * kFmhaStride * sizeof(float));
  g.row = take(end, bytes(std::max(g.words, g.v_panels * panel), 4));
  g.slot_bytes = end;
  g.bytes = g.slots_offset + static_cast<std::size_t>(g.threads) * g.slot_bytes;
  return g;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
