// The work of moe/moe.hpp: what goes where in the workspace, and execution.
#pragma once

#include "backends/host/gemm/parts.hpp"
#include "backends/host/moe/moe.hpp"

#include <cstddef>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

/// The matrices of one of the two products, expert by expert.
struct ExpertWeights {
  const void* base;
  const void* scales;
  std::int64_t rows, k;  // of one expert
};

struct MoePlan {
  MoeShape shape;
  MoeTraits moe;
  GemmTraits product;   // of both products: fp32 results without an epilogue
  std::int64_t rows;    // tokens * top_k
  std::int64_t hidden;  // columns of H
  int threads;
  std::int64_t part_rows;     // rows of an expert that gate_up takes at a time
  std::int64_t up_columns;    // columns of H of an item
  std::int64_t down_columns;  // columns of C of an item
  // Byte offsets.
  std::size_t h_offset, codes_offset, scales_offset, largest_offset, slots_offset;
  std::size_t up_offset, result_offset, line_offset, slot_bytes, bytes;  // the first three within a slot
};

constexpr bool has_gate_up(MoePart part) noexcept {
  return part != MoePart::down;
}
constexpr bool has_down(MoePart part) noexcept {
  return part != MoePart::gate_up;
}

/// Precondition: legal traits and sizes, at least one row.
MoePlan make_moe_plan(const Cutting& cutting, const MoeTraits& moe, const MoeShape& shape) noexcept;

/// One expert's product as GemmArgs: A of `a_rows` rows.
GemmArgs expert_args(const GemmTraits& product, const ExpertWeights& weights, std::int64_t expert, const MoeArgs& args,
                     std::int64_t a_rows) noexcept;
ExpertWeights up_weights(const MoeTraits& moe, const MoeShape& shape, const MoeArgs& args) noexcept;
ExpertWeights down_weights(const MoeTraits& moe, const MoeShape& shape, const MoeArgs& args) noexcept;

/// false: an id is not an expert or the sorted form is not one; nothing but the workspace was written.
bool run_moe(const Cutting& cutting, const MoePlan& plan, const MoeArgs& args, void* workspace) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
