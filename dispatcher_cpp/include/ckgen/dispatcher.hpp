// Picks an instance for a problem on a device, says why, and runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <ckgen/export.h>
#include <ckgen/bound_run.hpp>
#include <ckgen/counters.hpp>
#include <ckgen/plan.hpp>
#include <ckgen/registry.hpp>
#include <ckgen/run_args.hpp>
#include <ckgen/verbose.hpp>

namespace ckgen {
inline namespace v1 {

struct BenchOptions {
  int warmup = 50;
  int runs = 100;

  /// CK_TILE_BENCH_WARMUP and CK_TILE_BENCH_REPEAT, where they are numbers that bench() takes.
  CKGEN_API static BenchOptions from_environment() noexcept;
};

/// Microseconds from a run's launch to its completion: on a GPU between events of the device, else of wall clock.
struct BenchResult {
  double median_us = 0;
  double min_us = 0;
  double max_us = 0;
  int runs = 0;
};

/// Why nothing was chosen, e.g. "K = 2050 is not a multiple of 128 (rule gemm.blockscale.k-group)"; empty for a
/// selection that holds an instance.
CKGEN_API std::string reason(const Selection& selection);

/// Called for each instance that supports a problem; false ends the enumeration.
using EnumerateFn = bool (*)(void* context, const Selection& selection);

/// Immutable after construction but for the rows that it loads, so one may serve any number of threads: every const
/// member is thread-safe. select() neither allocates nor throws nor locks, unless recording or verbose output is on.
/// The tiers and their order: docs/selection.md.
class CKGEN_API Dispatcher {
 public:
  /// Takes a snapshot of the registry. Without options: DispatcherOptions::from_environment().
  explicit Dispatcher(const Registry& registry) noexcept;
  Dispatcher(const Registry& registry, const DispatcherOptions& options) noexcept;
  ~Dispatcher();
  Dispatcher(Dispatcher&&) noexcept;
  Dispatcher& operator=(Dispatcher&&) noexcept;

  /// Whether the options could be honoured: an unknown forced name, an unreadable or stale override file.
  const Status& status() const noexcept;
  /// The snapshot that indices of a Selection refer to.
  const Registry& registry() const noexcept;

  /// The first candidate of the walk that supports the problem.
  Selection select(const Problem& problem, const Device& device) const noexcept;

  /// The first candidate behind `after` in the walk that is another instance or another k_batch.
  Selection next(const Problem& problem, const Device& device, const Selection& after) const noexcept;

  /// Whether a measured row answers the problem, at or near its sizes and for the device's own target, whatever is
  /// forced or overridden. Neither counted nor recorded.
  bool is_tuned(const Problem& problem, const Device& device) const noexcept;

  /// Zeros unless DispatcherOptions::count or record is on.
  Counters counters() const noexcept;

  /// Every instance that supports the problem on the device with k_batch 1, in the order of registration.
  void enumerate(const Problem& problem, const Device& device, EnumerateFn call, void* context) const noexcept;

  /// Pure: no GPU call. The reason where nothing can be selected. `Plan::launchable` says if it can also be run here.
  Result<Plan> plan(const Problem& problem, const Device& device) const noexcept;
  /// The plan of a given selection, e.g. from next().
  Result<Plan> plan(const Problem& problem, const Device& device, const Selection& selection) const noexcept;

  /// Loads the plan's GPU code on its device, which must be the calling thread's current one, unless it is loaded: what
  /// the first run() would do otherwise, and must not do while its stream is captured into a graph. Nothing to do, and
  /// ok, for a plan without attached GPU code.
  Status preload(const Plan& plan) const noexcept;

  /// Checks the arguments against the plan, then launches and returns. It does not time, allocate or synchronise, but
  /// for loading attached GPU code the first time on a device. On a GPU the calling thread's current device must be the
  /// plan's.
  /// `workspace`: plan.workspace_size bytes, 64-byte aligned, of the device (host memory on a simulated device).
  /// `args`: the struct of the plan's operation; its own comment says what else a run needs.
  Status run(const Plan& plan, const RunArgs& args, void* workspace, Stream stream) const noexcept;
  /// The same with workspace from the dispatcher's pool for (device, stream); allocates when it must grow.
  Status run(const Plan& plan, const RunArgs& args, Stream stream) const noexcept;

  /// Checks and prepares what run() would launch, for BoundRun::run to launch again and again. `args` and what it
  /// points to must outlive that, and say the same. Loads the plan's GPU code and allocates the workspace.
  Result<BoundRun> bind(const Plan& plan, const RunArgs& args) const noexcept;

  /// The median of timed runs on the default stream, workspace from the pool. Overwrites C.
  Result<BenchResult> bench(const Plan& plan, const RunArgs& args,
                            const BenchOptions& options = BenchOptions::from_environment()) const noexcept;

  /// The whole trail as text: each tier, each rejected candidate with its rule. Empty only when memory is exhausted.
  std::string explain(const Problem& problem, const Device& device) const noexcept;

  /// Reads an override file in place of the one before; its columns are in docs/runtime.md. Not ok: rows that were left
  /// out, with line and reason; the others hold nevertheless. An unreadable file changes nothing; nor does one that is
  /// not regular, such as a folder, pipe or device, or has more than 64 MiB. Messages show bytes of the file that are
  /// not printable as `\xNN`. Safe beside concurrent const members and other calls of it.
  Status load_overrides(const char* path) noexcept;

  /// Reads tuned tables of ckgen's own, FILE[:FILE…], in place of those before; "" leaves none. Their columns, and
  /// which row answers, are in docs/runtime.md. Not ok: rows that were left out, because their instance is not in the
  /// library, no longer takes their problem, or they say none. The message has the first with its line, stderr all; the
  /// others hold nevertheless. What a file must be, and threads: as load_overrides.
  Status load_tables(const char* paths) noexcept;

  /// A number that changes with each load_tables and load_overrides. Who keeps a plan reads it before asking for the
  /// plan: while it is the same, the plan is what the rows say now. One load of an atomic.
  std::uint64_t generation() const noexcept;

  /// Equal where the same rows answer: of what was compiled, and of the bytes of the files that are loaded. Stable
  /// among processes and machines; ranks compare it. Costs a walk over all rows.
  std::uint64_t tables_digest() const noexcept;

  /// Of the bytes of the files that are loaded, in their order, as `ckgen tables digest` prints it; 0 without any.
  std::uint64_t loaded_tables_digest() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace v1
}  // namespace ckgen
