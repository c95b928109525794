// The door: everything that can be wrong with a call is found here, before any work.
#include "backends/host/gemm/gemm.hpp"

#include "backends/host/gemm/blocking.hpp"
#include "backends/host/gemm/check.hpp"
#include "backends/host/gemm/division.hpp"
#include "backends/host/gemm/folded.hpp"
#include "backends/host/gemm/in_place.hpp"
#include "backends/host/gemm/small_m.hpp"
#include "backends/host/gemm/stream_k.hpp"
#include "ckgen/prepack.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

bool empty(std::int64_t m, std::int64_t n, std::int64_t batch) noexcept {
  return m == 0 || n == 0 || batch == 0;
}

Status check_twin_args(const GemmTraits& traits, const GemmArgs& args) noexcept {
  if (args.b_prepacked)
    return Status::error(StatusCode::unsupported,
                         "a GPU's instance reads no prepacked B: pass B as it is, or plan for the CPU's own target");
  return check_args(traits, args);
}

// ---- stream-K -----------------------------------------------------------------------------------------------------

StreamKCut cut_of(const TwinConfig& c, Strategy strategy, std::int64_t workgroups) noexcept {
  return {strategy, c.tile_m, c.tile_n, c.tile_k, workgroups};
}
StreamKCut cut_of(const HostConfig& c, Strategy strategy, std::int64_t workgroups) noexcept {
  return {strategy, c.mc, c.nc, c.kc, workgroups};
}

Status check_cut(const GemmTraits& t, const StreamKCut& cut, const Sizes& size) noexcept {
  if (t.quant == Quant::blockscale || t.quant == Quant::mx)
    return Status::error(StatusCode::unsupported, "stream-K has no kernel for scales of K groups (%s)",
                         name(t.quant).data());
  if (cut.strategy == Strategy::atomic && !t.epilogue.empty())
    return Status::error(StatusCode::unsupported, "atomic stream-K adds parts: an epilogue takes whole sums");
  if (cut.strategy <= Strategy::data_parallel || cut.strategy > Strategy::tree || cut.workgroups < 1)
    return Status::error(StatusCode::invalid_argument, "strategy or workgroups out of range for stream-K");
  const StreamKPartition p =
      stream_k_partition(size.batch, size.m, size.n, size.k, cut.tile_m, cut.tile_n, cut.tile_k, cut.workgroups);
  if (p.feasible()) return Status::success();
  return Status::error(StatusCode::unsupported, "%lld iterations of K are fewer than %lld workgroups",
                       static_cast<long long>(p.sk_iters()), static_cast<long long>(p.grid));
}

Status run_cut(const GemmTraits& traits, const Blocking& blocking, const StreamKCut& cut, const GemmArgs& args,
               void* workspace) noexcept {
  const Sizes size{args.m, args.n, args.k, args.batch};
  const Status s = check_cut(traits, cut, size);
  if (s.ok()) execute_stream_k(make_stream_k_geometry(blocking, cut, size), traits, args, workspace);
  return s;
}

// ---- whole products -------------------------------------------------------------------------------------------------

// How m rows are multiplied with a prepacked B: int8 as its panels are where there are such kernels.
Blocking prepacked_blocking(const GemmTraits& traits, Blocking b, std::int64_t m) noexcept {
  b.prepacked = true;
  const IsaTable::Menu& bytes = b.isa->menu[static_cast<int>(PackKind::i8)];
  const bool grouped = traits.quant == Quant::blockscale || traits.quant == Quant::mx;
  const bool is_faster = m <= b.isa->rows_of_bytes;
  if (is_exact(traits) && !grouped && is_faster && pick_micro(bytes, b.mr, b.nr, 1) != nullptr) b.kind = PackKind::i8;
  return b;
}

// The same of scales in values.
Blocking folded_blocking(Blocking b) noexcept {
  b.folds = true;
  return b;
}

// Few rows have kernels of their own, but not for every stride, and B may be prepacked where no twin is: memory for
// all.
std::size_t whole_workspace(const GemmTraits& traits, const Blocking& blocking, const Sizes& size) noexcept {
  const Blocking whole = in_place_blocking(traits, blocking, size.m);
  std::size_t plain = std::max(make_division(traits, whole, size).bytes, small_m_workspace(traits, blocking, size));
  if (can_fold(traits, blocking)) plain = std::max(plain, make_division(traits, folded_blocking(whole), size).bytes);
  if (!blocking.dots || !can_prepack(traits.b)) return plain;
  return std::max(plain, make_division(traits, prepacked_blocking(traits, blocking, size.m), size).bytes);
}

void run_whole(const GemmTraits& traits, Blocking blocking, const GemmArgs& args, RowOrder rows,
               void* workspace) noexcept {
  const bool any_order = rows == RowOrder::any || is_exact(traits);
  blocking.few_rows =
      any_order && !is_faster_by_tiles(blocking, args.m) && !is_faster_in_place(traits, blocking, args.m);
  if (!args.b_prepacked && execute_small_m(traits, blocking, args, workspace)) return;
  Blocking whole =
      args.b_prepacked ? prepacked_blocking(traits, blocking, args.m) : in_place_blocking(traits, blocking, args.m);
  if (any_order && can_fold(traits, blocking, args)) whole = folded_blocking(whole);
  execute(make_division(traits, whole, {args.m, args.n, args.k, args.batch}), traits, args, workspace);
}

}  // namespace

Status gemm_twin_supports(const GemmTraits& traits, const TwinConfig& config) noexcept {
  if (const Status s = check_config(config); !s.ok()) return s;
  if (!isa_available(Isa::x86_64_v3))
    return Status::error(StatusCode::unsupported, "%s has no AVX2, FMA and F16C", cpu_brand());
  return check_traits(traits);
}

Status gemm_host_supports(const GemmTraits& traits, const HostConfig& config) noexcept {
  if (const Status s = check_config(config); !s.ok()) return s;
  if (const Status s = check_isa(config.isa); !s.ok()) return s;
  if (const Status s = check_traits(traits); !s.ok()) return s;
  RegisterTile tiles[32];
  const int n = host_register_tiles(traits, config.isa, tiles, 32);
  for (int i = 0; i < n; ++i)
    if (tiles[i].mr == config.mr && tiles[i].nr == config.nr) return Status::success();
  return Status::error(StatusCode::unsupported, "no %dx%d register tile for %s x %s on %s", config.mr, config.nr,
                       name(traits.a).data(), name(traits.b).data(), isa_name(config.isa));
}

int host_register_tiles(const GemmTraits& traits, Isa isa, RegisterTile* out, int capacity) noexcept {
  const IsaTable* table = table_for(isa);
  if (table == nullptr) return 0;
  const IsaTable::Menu& menu = table->menu[static_cast<int>(host_kind(traits, *table))];
  int n = 0;
  for (; n < menu.count && n < capacity; ++n) out[n] = {menu.kernels[n].mr, menu.kernels[n].nr};
  return n;
}

std::size_t gemm_twin_workspace(const GemmTraits& traits, const TwinConfig& config, std::int64_t k_batch,
                                std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) noexcept {
  if (!check_twin(traits, config, k_batch).ok() || !check_sizes(m, n, k, batch).ok() || empty(m, n, batch)) return 0;
  return whole_workspace(traits, twin_blocking(traits, config, k_batch, k), {m, n, k, batch});
}

std::size_t gemm_host_workspace(const GemmTraits& traits, const HostConfig& config, std::int64_t m, std::int64_t n,
                                std::int64_t k, std::int64_t batch) noexcept {
  if (!gemm_host_supports(traits, config).ok() || !check_sizes(m, n, k, batch).ok() || empty(m, n, batch)) return 0;
  return whole_workspace(traits, host_blocking(traits, config, k), {m, n, k, batch});
}

Status run_gemm_twin(const GemmTraits& traits, const TwinConfig& config, std::int64_t k_batch, const GemmArgs& args,
                     void* workspace, RowOrder rows) noexcept {
  Status s = check_twin(traits, config, k_batch);
  if (s.ok()) s = check_sizes(args.m, args.n, args.k, args.batch);
  if (!s.ok() || empty(args.m, args.n, args.batch)) return s;
  s = check_twin_args(traits, args);
  if (s.ok()) s = check_workspace(workspace);
  if (s.ok()) s = check_padding(traits, config, k_batch, args);
  if (!s.ok()) return s;
  run_whole(traits, twin_blocking(traits, config, k_batch, args.k), args, rows, workspace);
  return s;
}

Status run_gemm_host(const GemmTraits& traits, const HostConfig& config, const GemmArgs& args, void* workspace,
                     RowOrder rows) noexcept {
  Status s = gemm_host_supports(traits, config);
  if (s.ok()) s = check_sizes(args.m, args.n, args.k, args.batch);
  if (!s.ok() || empty(args.m, args.n, args.batch)) return s;
  s = check_args(traits, args);
  if (s.ok()) s = check_workspace(workspace);
  if (!s.ok()) return s;
  run_whole(traits, host_blocking(traits, config, args.k), args, rows, workspace);
  return s;
}

std::size_t gemm_twin_stream_k_workspace(const GemmTraits& traits, const TwinConfig& config, Strategy strategy,
                                         std::int64_t workgroups, std::int64_t m, std::int64_t n, std::int64_t k,
                                         std::int64_t batch) noexcept {
  if (!check_twin(traits, config, 1).ok() || !check_sizes(m, n, k, batch).ok() || empty(m, n, batch)) return 0;
  const StreamKCut cut = cut_of(config, strategy, workgroups);
  const Sizes size{m, n, k, batch};
  if (!check_cut(traits, cut, size).ok()) return 0;
  return make_stream_k_geometry(twin_blocking(traits, config, 1, k), cut, size).bytes;
}

std::size_t gemm_host_stream_k_workspace(const GemmTraits& traits, const HostConfig& config, Strategy strategy,
                                         std::int64_t workgroups, std::int64_t m, std::int64_t n, std::int64_t k,
                                         std::int64_t batch) noexcept {
  if (!gemm_host_supports(traits, config).ok() || !check_sizes(m, n, k, batch).ok() || empty(m, n, batch)) return 0;
  const StreamKCut cut = cut_of(config, strategy, workgroups);
  const Sizes size{m, n, k, batch};
  if (!check_cut(traits, cut, size).ok()) return 0;
  return make_stream_k_geometry(host_blocking(traits, config, k), cut, size).bytes;
}

Status run_gemm_twin_stream_k(const GemmTraits& traits, const TwinConfig& config, Strategy strategy,
                              std::int64_t workgroups, const GemmArgs& args, void* workspace) noexcept {
  Status s = check_twin(traits, config, 1);
  if (s.ok()) s = check_sizes(args.m, args.n, args.k, args.batch);
  if (!s.ok() || empty(args.m, args.n, args.batch)) return s;
  s = check_twin_args(traits, args);
  if (s.ok()) s = check_workspace(workspace);
  if (s.ok()) s = check_padding(traits, config, 1, args);
  if (!s.ok()) return s;
  return run_cut(traits, twin_blocking(traits, config, 1, args.k), cut_of(config, strategy, workgroups), args,
                 workspace);
}

Status run_gemm_host_stream_k(const GemmTraits& traits, const HostConfig& config, Strategy strategy,
                              std::int64_t workgroups, const GemmArgs& args, void* workspace) noexcept {
  Status s = gemm_host_supports(traits, config);
  if (s.ok()) s = check_sizes(args.m, args.n, args.k, args.batch);
  if (!s.ok() || empty(args.m, args.n, args.batch)) return s;
  s = check_args(traits, args);
  if (s.ok()) s = check_workspace(workspace);
  if (!s.ok()) return s;
  return run_cut(traits, host_blocking(traits, config, args.k), cut_of(config, strategy, workgroups), args, workspace);
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
