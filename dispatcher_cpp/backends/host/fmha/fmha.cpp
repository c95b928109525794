// The door: everything that can be wrong with a call is found here, before any work.
#include "backends/host/fmha/fmha.hpp"

#include "backends/host/fmha/check.hpp"
#include "backends/host/fmha/check_schedule.hpp"
#include "backends/host/fmha/columns.hpp"
#include "backends/host/fmha/merge.hpp"
#include "backends/host/fmha/pack.hpp"
#include "backends/host/fmha/stream.hpp"
#include "backends/host/fmha/task.hpp"
#include "backends/host/gemm/check.hpp"
#include "backends/host/threads.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// Below this much arithmetic, waking threads costs more than they bring.
constexpr double kSerialFlops = 1e6;

bool empty(const FmhaShape& shape) noexcept {
  return shape.seqlen_q == 0;
}

/// Whether the heads of a row lie side by side.
bool rows_first(const FmhaArgs& args) noexcept {
  return args.k_strides.head < args.k_strides.row && args.v_strides.head < args.v_strides.row;
}

int threads_for(const FmhaGeometry& g) noexcept {
  const FmhaShape& x = g.shape;
  const double products = static_cast<double>(x.batch) * x.heads_q * static_cast<double>(x.seqlen_q) *
                          static_cast<double>(x.seqlen_k) * (x.hdim_q + x.hdim_v);
  return 2.0 * products < kSerialFlops ? 1 : g.threads;
}

/// The tile's columns, as far as a row of the pair sees some.
void pack_tile(const FmhaRun& run, std::int64_t pair, std::int64_t tile) noexcept {
  const FmhaGeometry& g = run.g;
  const std::int64_t heads = g.shape.heads_k;
  const FmhaSequence x = sequence_of(g.signature, g.shape, run.args, pair / heads);
  const std::int64_t column = tile * g.tile_columns;
  if (x.length_q == 0 || column >= x.length_k) return;
  const FmhaSequenceMask mask(g.shape, g.signature.fmha.masked, x.length_q, x.length_k);
  const FmhaTiles seen(mask.rows(0, x.length_q), g.tile_columns);
  if (tile >= seen.sink && (tile < seen.first || tile >= seen.last)) return;
  pack_fmha_tile(g, run.args, x, pair % heads, column, std::min(g.tile_columns, x.length_k - column),
                 run.tile(pair, tile));
}

void attend(const FmhaRun& run, const FmhaTask& task, int slot) noexcept {
  (run.g.in_place != nullptr ? stream_fmha_task : run_fmha_task)(run, task, slot);
}

/// Those of `blocks` pairs from run.first_block on.
void pack_tiles(const FmhaRun& run, std::int64_t blocks, int threads) noexcept {
  const std::int64_t tiles = run.g.tiles;
  parallel_for(blocks * tiles, threads,
               [&](std::int64_t i, int) { pack_tile(run, run.first_block + i / tiles, i % tiles); });
}

/// All rows, each with the keys of one split.
void attend_equally(FmhaRun& run, int threads) noexcept {
  const FmhaGeometry& g = run.g;
  for (std::int64_t first = 0; first < g.blocks; first += g.chunk) {
    const std::int64_t blocks = std::min(g.chunk, g.blocks - first);
    run.first_block = first;
    if (g.shared) pack_tiles(run, blocks, threads);
    const std::int64_t tasks = g.row_tiles * g.splits;
    parallel_for(blocks * tasks, threads, [&](std::int64_t i, int slot) {
      // A causal pair's last rows see most: they come first, so that no thread is left with them.
      const std::int64_t block = first + i / tasks, row_tile = g.row_tiles - 1 - i % tasks / g.splits;
      attend(run, {block / g.head_blocks(), block % g.head_blocks(), row_tile, i % g.splits, nullptr}, slot);
    });
  }
  const std::int64_t rows = g.shape.seqlen_q * g.group;
  if (g.splits > 1)
    parallel_for(g.pairs * rows, threads,
                 [&](std::int64_t i, int slot) { merge_fmha_row(run, i / rows, i % rows, slot); });
}

/// The items of a schedule in their order, which is that of their length.
void attend_scheduled(const FmhaRun& run, int threads) noexcept {
  const FmhaGeometry& g = run.g;
  if (g.shared) pack_tiles(run, g.blocks, threads);
  const std::int64_t blocks = g.head_blocks();
  parallel_for(g.items * blocks, threads, [&](std::int64_t i, int slot) {
    const FmhaSplitItem& item = run.args.split.items[i / blocks];
    if (item.request >= 0) attend(run, {item.request, i % blocks, item.q_tile, item.split, &item}, slot);
  });
  const std::int64_t heads = g.merges_heads ? g.shape.heads_k : g.shape.heads_q;
  const std::int64_t rows = g.merges_heads ? g.m0 : g.m0 / g.group;
  parallel_for(g.shape.split_combines * heads * rows, threads, [&](std::int64_t i, int slot) {
    merge_fmha_item(run, run.args.split.combine_items[i / (heads * rows)], i / rows % heads, i % rows, slot);
  });
}

void execute(const FmhaGeometry& g, const FmhaArgs& args, void* workspace) noexcept {
  FmhaRun run{g, args, static_cast<unsigned char*>(workspace), 0};
  if (g.items > 0)
    attend_scheduled(run, threads_for(g));
  else
    attend_equally(run, threads_for(g));
}

}  // namespace

std::size_t fmha_workspace(const InstanceDesc& instance, const Problem& problem, std::uint32_t k_batch) noexcept {
  if (!check_fmha(instance, problem.fmha()).ok() || empty(problem.fmha())) return 0;
  return make_fmha_geometry(instance, problem, k_batch).bytes;
}

Status fmha(const Launch& launch) noexcept {
  const InstanceDesc& instance = *launch.instance;
  const Problem& problem = *launch.problem;
  Status s = check_fmha(instance, problem.fmha());
  if (!s.ok() || empty(problem.fmha())) return s;
  s = check_fmha_args(instance.signature, problem.fmha(), *launch.fmha);
  if (s.ok()) s = check_fmha_schedule(instance, problem.fmha(), *launch.fmha);
  if (s.ok()) s = check_workspace(launch.workspace);
  if (!s.ok()) return s;
  FmhaGeometry g = make_fmha_geometry(instance, problem, launch.k_batch);
  if (!rows_first(*launch.fmha)) g.take_heads(1);
  execute(g, *launch.fmha, launch.workspace);
  return s;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
