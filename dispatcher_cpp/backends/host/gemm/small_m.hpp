// Few rows of A against rows of B that are read once, as they lie in memory and in their own precision: GEMV and its
// kin, for which packing B would cost more than the product.
//
// B's rows are contiguous in K and start on whole bytes. A is decoded once into a panel. Sums are fp32 by lanes, joined
// at the end (int8: exact int32), so they differ from those of execute() by rounding only; kernels of fp32 FMA (every
// twin) give the same bits on every ISA. Scales of K groups are applied as ckgen/gemm_types.hpp says; rows whose scales
// could overflow on the way are computed group by group, in that order. Nothing allocates or throws; thread-safe.
#pragma once

#include "backends/host/gemm/driver.hpp"
#include "backends/host/workspace.hpp"

#include <cstddef>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

inline constexpr std::int64_t kSmallRows = 16;  // rows of A of a panel, at most

/// How the traits are computed for one depth; `kernels` is null where there is no such kernel.
struct SmallPlan {
  const IsaTable* isa;
  const SmallKernels* kernels;
  DType a, b;
  Quant quant;
  ScaleBlock scale_block;
  std::int64_t k, group, groups;         // group: K elements that share a scale; without such scales one group of all K
  std::int64_t row_bytes, scale_stride;  // of a panel: bytes of a row's values, floats of a row's scales
};

/// Whether there are scales of K groups.
constexpr bool by_group(const SmallPlan& plan) noexcept {
  return plan.quant == Quant::mx || plan.quant == Quant::blockscale;
}

/// No kernel for: a blocking without few_rows, B row-major or preshuffled, operands of two tensors, a depth of 0, K
/// split, groups of neither 32 nor multiples of 64.
SmallPlan small_plan(const GemmTraits& traits, const Blocking& blocking, std::int64_t k) noexcept;

/// Bytes of a panel of m rows, a multiple of 64; a panel aligned to 64 bytes is faster.
std::size_t small_panel_bytes(const SmallPlan& plan, std::int64_t m) noexcept;

/// One operand's scales of K groups; `base` null: this side has none (or they are not by group).
struct GroupScales {
  const void* base;
  std::int64_t line;   // blockscale: scales from line to line
  std::int64_t block;  // rows that share a scale
  bool group_major;    // blockscale: [group][row], not [row][group]
  bool shuffled;       // mx: as ckgen/preshuffle.hpp lays them out
};

/// Row `row` of A, decoded into row `at` of the panel. `a` is a source of PackKind::f32 (int8: i16), see
/// gemm/pack_source.hpp.
void small_prepare(const SmallPlan& plan, const PackSource& a, const GroupScales& scales, std::int64_t row,
                   std::int64_t at, void* panel) noexcept;

/// Everything that a product of a panel and rows of B reads.
struct SmallOperands {
  const void* panel;
  std::int64_t m;  // rows of the panel
  const void* b;   // row 0
  std::int64_t ldb_bytes;
  GroupScales b_scales;
  bool ahead;  // see SmallCall
};

/// acc[r * ld + j] = A row r times B row n0 + j, for r < m and j < count: fp32 with group scales applied, int32 for
/// int8. `scratch`: small_scratch_bytes() of this call alone.
void small_rows(const SmallPlan& plan, const SmallOperands& operands, std::int64_t n0, std::int64_t count, void* acc,
                std::int64_t ld, void* scratch) noexcept;
std::size_t small_scratch_bytes(const SmallPlan& plan) noexcept;

/// Whether tile instructions multiply m rows faster, packing included: these kernels read B again for each four.
bool is_faster_by_tiles(const Blocking& blocking, std::int64_t m) noexcept;

/// A whole GEMM by these kernels. 0 bytes: not for these traits and sizes.
std::size_t small_m_workspace(const GemmTraits& traits, const Blocking& blocking, const Sizes& sizes) noexcept;
/// false: not for these arguments, nothing is done.
bool execute_small_m(const GemmTraits& traits, const Blocking& blocking, const GemmArgs& args,
                     void* workspace) noexcept;

/// The same of a part (see gemm/driver.hpp) of `sizes`, by one thread; its workspace is small_m_workspace() of them.
/// The bits are those of the whole product.
bool execute_small_part(const GemmTraits& traits, const Blocking& blocking, const Sizes& sizes, const GemmArgs& args,
                        const Part& part, void* workspace) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
