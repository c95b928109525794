#include "backends/host/gemm/grouped.hpp"

#include "backends/host/gemm/check.hpp"
#include "backends/host/gemm/in_place.hpp"
#include "backends/host/gemm/parts.hpp"
#include "backends/host/gemm/small_m.hpp"
#include "backends/host/threads.hpp"
#include "ckgen/group_args.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// Parts per thread: the last ones leave a thread idle for at most a part.
constexpr double kPartsPerThread = 8;

bool is_empty(const GroupSize& size) noexcept {
  return size.m == 0 || size.n == 0;
}

double flops_of(const GroupSize& size) noexcept {
  return host::flops_of(size.m, size.n, size.k);
}

struct Memory {
  std::size_t order_offset, first_offset, slots_offset, slot_bytes, bytes;
  int threads;
  double part_flops;  // what a part should have
};

Memory lay_out(std::int64_t count, int threads, double part_flops, std::size_t slot_bytes) noexcept {
  Memory memory{};
  memory.threads = threads;
  memory.part_flops = part_flops;
  memory.first_offset = aligned_64(static_cast<std::size_t>(count) * sizeof(std::int64_t));
  memory.slots_offset = memory.first_offset + aligned_64((static_cast<std::size_t>(count) + 1) * sizeof(std::int64_t));
  memory.slot_bytes = aligned_64(slot_bytes);
  memory.bytes = memory.slots_offset + memory.slot_bytes * static_cast<std::size_t>(threads);
  return memory;
}

Memory lay_out(const Cutting& cutting, const GroupSize* sizes, std::int64_t count) noexcept {
  double flops = 0;
  for (std::int64_t i = 0; i < count; ++i) flops += flops_of(sizes[i]);
  const int threads = flops < kSerialFlops ? 1 : cutting.blocking(1).threads;
  const double part_flops = threads == 1 ? flops : std::max(kSerialFlops, flops / (kPartsPerThread * threads));
  std::size_t slot = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const GroupSize& size = sizes[i];
    if (is_empty(size)) continue;
    const Blocking blocking = cutting.part_blocking(size.k);
    const Cut cut = cut_product(blocking, size.m, size.n, size.k, part_flops);
    slot = std::max(slot, part_bytes(cutting.traits(), blocking, cut.rows, cut.columns, size.k));
  }
  return lay_out(count, threads, part_flops, slot);
}

class GroupedGemm {
 public:
  GroupedGemm(const Cutting& cutting, const GroupedArgs& args, void* workspace) noexcept
      : cutting_(cutting),
        args_(args),
        memory_(lay_out(cutting, args.sizes, args.count)),
        workspace_(static_cast<unsigned char*>(workspace)),
        order_(reinterpret_cast<std::int64_t*>(workspace_)),
        first_(reinterpret_cast<std::int64_t*>(workspace_ + memory_.first_offset)) {}

  void run() noexcept {
    list();
    parallel_for(first_[args_.count], memory_.threads, [&](std::int64_t i, int slot) {
      const std::int64_t at = std::upper_bound(first_, first_ + args_.count + 1, i) - first_ - 1;
      part(order_[at], i - first_[at],
           workspace_ + memory_.slots_offset + memory_.slot_bytes * static_cast<std::size_t>(slot));
    });
  }

 private:
  // The groups, most arithmetic first, and how many parts those before each have.
  void list() noexcept {
    for (std::int64_t i = 0; i < args_.count; ++i) order_[i] = i;
    std::sort(order_, order_ + args_.count, [this](std::int64_t x, std::int64_t y) {
      const double fx = flops_of(args_.sizes[x]), fy = flops_of(args_.sizes[y]);
      return fx != fy ? fx > fy : x < y;
    });
    std::int64_t parts = 0;
    for (std::int64_t i = 0; i < args_.count; ++i) {
      first_[i] = parts;
      if (!is_empty(args_.sizes[order_[i]])) parts += cut(order_[i]).count();
    }
    first_[args_.count] = parts;
  }

  Cut cut(std::int64_t group) const noexcept {
    const GroupSize& size = args_.sizes[group];
    return cut_product(cutting_.part_blocking(size.k), size.m, size.n, size.k, memory_.part_flops);
  }

  void part(std::int64_t group, std::int64_t index, unsigned char* slot) const noexcept {
    const GroupSize& size = args_.sizes[group];
    const Cut c = cut(group);
    const std::int64_t m0 = index % c.down * c.rows, n0 = index / c.down * c.columns;
    const GemmArgs p = args_of_group(args_, args_.operands[group], args_.sizes[group]);
    auto* at = static_cast<unsigned char*>(p.c) + bytes_of(cutting_.traits().c, m0 * p.ldc + n0);
    const Blocking blocking = cutting_.part_blocking(size.k);
    const bool few_rows = size.m <= kSmallRows && !is_faster_by_tiles(blocking, size.m) &&
                          !is_faster_in_place(cutting_.traits(), blocking, size.m);
    run_part(cutting_.traits(), blocking, std::min(c.rows, size.m - m0), std::min(c.columns, size.n - n0), few_rows, p,
             {m0, n0, at, nullptr}, slot);
  }

  const Cutting& cutting_;
  const GroupedArgs& args_;
  const Memory memory_;
  unsigned char* const workspace_;
  std::int64_t* const order_;
  std::int64_t* const first_;
};

Status check_group(const Cutting& cutting, const GroupedArgs& args, std::int64_t group) noexcept {
  const GroupSize& size = args.sizes[group];
  if (is_empty(size) && std::min({size.m, size.n, size.k}) >= 0) return Status::success();
  Status s = check_sizes(size.m, size.n, size.k, 1);
  if (!s.ok()) return s;
  const GemmArgs p = args_of_group(args, args.operands[group], args.sizes[group]);
  s = check_args(cutting.traits(), p);
  if (s.ok() && cutting.twin() != nullptr) s = check_padding(cutting.traits(), *cutting.twin(), cutting.k_batch(), p);
  return s;
}

Status run(const Cutting& cutting, const GroupedArgs& args, void* workspace) noexcept {
  if (const Status s = cutting.check(); !s.ok()) return s;
  if (args.count < 0 || (args.count > 0 && (args.sizes == nullptr || args.operands == nullptr)))
    return Status::error(StatusCode::invalid_argument, "count is negative, or sizes or operands are null");
  bool busy = false;
  for (std::int64_t i = 0; i < args.count; ++i) {
    if (const Status s = check_group(cutting, args, i); !s.ok())
      return Status::error(s.code, "group %lld: %s", static_cast<long long>(i), s.message);
    busy = busy || !is_empty(args.sizes[i]);
  }
  if (!busy) return Status::success();
  if (const Status s = check_workspace(workspace); !s.ok()) return s;
  GroupedGemm(cutting, args, workspace).run();
  return Status::success();
}

std::size_t workspace_of(const Cutting& cutting, const Groups& groups) noexcept {
  if (!cutting.check().ok() || !groups.is_valid() || groups.busy() == 0) return 0;
  const GroupSize& most = groups.largest();
  if (!check_sizes(most.m, most.n, most.k, 1).ok()) return 0;
  if (!groups.are_on_device()) return lay_out(cutting, groups.sizes(), groups.count()).bytes;
  const Blocking blocking = cutting.part_blocking(most.k);
  const std::size_t slot = part_bytes(cutting.traits(), blocking, most.m, most.n, most.k);
  return lay_out(groups.count(), cutting.blocking(1).threads, 0, slot).bytes;
}

}  // namespace

std::size_t grouped_twin_workspace(const GemmTraits& traits, const TwinConfig& config, std::int64_t k_batch,
                                   const Groups& groups) noexcept {
  return workspace_of(Cutting(traits, config, k_batch), groups);
}

std::size_t grouped_host_workspace(const GemmTraits& traits, const HostConfig& config, const Groups& groups) noexcept {
  return workspace_of(Cutting(traits, config), groups);
}

Status run_grouped_twin(const GemmTraits& traits, const TwinConfig& config, std::int64_t k_batch,
                        const GroupedArgs& args, void* workspace, RowOrder rows) noexcept {
  return run(Cutting(traits, config, k_batch, rows), args, workspace);
}

Status run_grouped_host(const GemmTraits& traits, const HostConfig& config, const GroupedArgs& args, void* workspace,
                        RowOrder rows) noexcept {
  return run(Cutting(traits, config, rows), args, workspace);
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
