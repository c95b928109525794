// The door: everything that can be wrong with a call is found here, before any work.
#include "backends/host/fmha/fmha.hpp"

#include "backends/host/fmha/check.hpp"
#include "backends/host/fmha/check_schedule.hpp"
#include "backends/host/fmha/merge.hpp"
#include "backends/host/fmha/packed.hpp"
#include "backends/host/fmha/stream.hpp"
#include "backends/host/fmha/task.hpp"
#include "backends/host/gemm/check.hpp"
#include "backends/host/shares.hpp"
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

void attend(const FmhaRun& run, const FmhaTask& task, int slot) noexcept {
  if (run.g.shared) need_fmha_tiles(run, task.batch * run.g.shape.heads_k + task.head_block);
  (run.g.in_place != nullptr ? stream_fmha_task : run_fmha_task)(run, task, slot);
}

/// All rows, each with the keys of one split.
void attend_equally(FmhaRun& run, int threads) noexcept {
  const FmhaGeometry& g = run.g;
  for (std::int64_t first = 0; first < g.blocks; first += g.chunk) {
    const std::int64_t blocks = std::min(g.chunk, g.blocks - first);
    run.first_block = first;
    if (g.shared) clear_fmha_tiles(run, blocks);
    const std::int64_t tasks = g.row_tiles * g.splits;
    Shares shares(blocks * tasks, threads);
    parallel_for(blocks * tasks, threads, [&](std::int64_t i, int slot) {
      if (g.shared) i = shares.take(slot);
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
  if (g.shared) clear_fmha_tiles(run, g.blocks);
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
