// GEMM on the CPU: twins of GPU instances (their Config as data) and instances of the CPU's own.
//
// Shapes, layouts, scales and formulas: ckgen/gemm_types.hpp. All entry points are thread-safe and re-entrant; they
// allocate nothing beyond the caller's workspace and never throw. Results depend on the arguments, the traits and the
// split (k_batch, tile_k, mode) only: not on the number of threads, on the macro tile or, for fp32 accumulation by FMA
// (every twin), on the ISA; few rows may be added up in an order of their own (RowOrder).
#pragma once

#include "backends/host/register_tiles.hpp"
#include "ckgen/gemm_types.hpp"
#include "ckgen/status.hpp"
#include "ckgen/strategy.hpp"

#include <cstddef>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

using v1::HostConfig;
using v1::Isa;
using v1::TwinConfig;

// The best ISA this CPU has, at most CKGEN_HOST_ISA (read once); x86_64_v3 if it has none (isa_available then says so).
Isa detect_isa() noexcept;
bool isa_available(Isa isa) noexcept;  // of this build on this CPU, whatever CKGEN_HOST_ISA says
Status check_isa(Isa isa) noexcept;    // unsupported, with what lacks it: the CPU or the build
const char* isa_name(Isa isa) noexcept;
const char* cpu_model() noexcept;  // vendor, family and model, as arch specs name products; static storage
const char* cpu_brand() noexcept;  // cpuid brand string, trimmed; static storage
int core_count() noexcept;         // CPUs this process may run on
int all_threads() noexcept;        // the pool's and the caller's: CKGEN_NUM_THREADS (read once), else core_count()
int thread_count() noexcept;       // threads a call of this thread may use: all, or a ThreadLimit's

// Whether few rows may be added up in another order than many, by kernels of their own that are faster
// (gemm/small_m.hpp), and products whose scales allow it in another one than others (gemm/folded.hpp), or each row
// alike, whatever stands beside it. Sums of int8 are exact in any order.
enum class RowOrder : std::uint8_t { any, alike };

// Exact bytes of workspace for either order, 0 when the arguments cannot run; `run_*` needs them aligned to 16 bytes;
// 64 is faster.
std::size_t gemm_twin_workspace(const GemmTraits& traits, const TwinConfig& config, std::int64_t k_batch,
                                std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) noexcept;
std::size_t gemm_host_workspace(const GemmTraits& traits, const HostConfig& config, std::int64_t m, std::int64_t n,
                                std::int64_t k, std::int64_t batch) noexcept;

// unsupported: dtypes, quantization, padding or ISA; invalid_argument: sizes, strides, pointers, k_batch.
Status run_gemm_twin(const GemmTraits& traits, const TwinConfig& config, std::int64_t k_batch, const GemmArgs& args,
                     void* workspace, RowOrder rows = RowOrder::any) noexcept;
Status run_gemm_host(const GemmTraits& traits, const HostConfig& config, const GemmArgs& args, void* workspace,
                     RowOrder rows = RowOrder::any) noexcept;

// Would run_gemm_* accept these traits and this Config on this CPU, whatever the sizes?
Status gemm_twin_supports(const GemmTraits& traits, const TwinConfig& config) noexcept;
Status gemm_host_supports(const GemmTraits& traits, const HostConfig& config) noexcept;

// Stream-K (see ckgen/stream_k.hpp): the tile, what an iteration takes of K, and the workgroups that share them.
struct StreamKCut {
  Strategy strategy;
  std::int64_t tile_m, tile_n, tile_k;
  std::int64_t workgroups;
};

// As above; refused besides: scales per K group, fewer iterations than workgroups.
std::size_t gemm_twin_stream_k_workspace(const GemmTraits& traits, const TwinConfig& config, Strategy strategy,
                                         std::int64_t workgroups, std::int64_t m, std::int64_t n, std::int64_t k,
                                         std::int64_t batch) noexcept;
std::size_t gemm_host_stream_k_workspace(const GemmTraits& traits, const HostConfig& config, Strategy strategy,
                                         std::int64_t workgroups, std::int64_t m, std::int64_t n, std::int64_t k,
                                         std::int64_t batch) noexcept;
Status run_gemm_twin_stream_k(const GemmTraits& traits, const TwinConfig& config, Strategy strategy,
                              std::int64_t workgroups, const GemmArgs& args, void* workspace) noexcept;
Status run_gemm_host_stream_k(const GemmTraits& traits, const HostConfig& config, Strategy strategy,
                              std::int64_t workgroups, const GemmArgs& args, void* workspace) noexcept;

// The menu of register tiles for operands of these traits on an ISA: writes up to `capacity` pairs, returns their
// number.
int host_register_tiles(const GemmTraits& traits, Isa isa, RegisterTile* out, int capacity) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
