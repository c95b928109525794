// A MoE layer in parts: what each part's problem is, and how the memory between the parts is laid out.
#pragma once

#include <algorithm>

#include <ckgen/instance.hpp>
#include <ckgen/plan.hpp>
#include <ckgen/preshuffle.hpp>
#include <ckgen/scales.hpp>

#include "src/plan/slices.hpp"

namespace ckgen::inline v1::detail {

struct RegistryState;

/// fill_stages() of a MoE layer or a part of one: on a GPU a layer without code of its own runs by the instances of its
/// parts.
Status fill_moe_stages(const RegistryState& state, const Problem& asked, const Stage& kernel, Plan& plan) noexcept;

inline bool is(const Stage& stage, MoeStage which) noexcept {
  return stage.kind == StageKind::own && stage.own == static_cast<std::uint8_t>(which);
}

/// The problem of a part of `layer`; its block_m is the layer's.
inline Problem part_problem(const Problem& layer, const InstanceDesc& part) noexcept {
  const bool is_down = part.signature.moe.part == MoePart::down;
  return Problem(part.signature)
      .shape(layer.m(), is_down ? layer.k() : layer.n(), is_down ? layer.n() : layer.k())
      .routing(layer.routing())
      .block_m(layer.block_m())
      .deterministic(layer.deterministic())
      .batch_invariant(layer.batch_invariant())
      .num_threads(layer.num_threads());
}

/// The arrays of SortedTokens in one piece of memory.
struct SortedLayout {
  std::uint64_t weights, expert_ids, valid, bytes;

  static SortedLayout of(const Problem& problem) noexcept {
    const std::int64_t capacity = sorted_capacity(problem.m(), problem.routing(), problem.block_m());
    const auto entries = static_cast<std::uint64_t>(std::max<std::int64_t>(capacity, 0));
    Slices room;
    room.take(entries * sizeof(std::int32_t));
    SortedLayout layout{};
    layout.weights = room.take(entries * sizeof(float));
    layout.expert_ids = room.take(entries / static_cast<std::uint64_t>(problem.block_m()) * sizeof(std::int32_t));
    layout.valid = room.take(2 * sizeof(std::int32_t));
    layout.bytes = room.total();
    return layout;
  }
  SortedTokens at(void* memory) const noexcept {
    char* begin = static_cast<char*>(memory);
    return {reinterpret_cast<std::int32_t*>(begin), reinterpret_cast<float*>(begin + weights),
            reinterpret_cast<std::int32_t*>(begin + expert_ids), reinterpret_cast<std::int32_t*>(begin + valid)};
  }
};

/// Bytes of `rows` x `columns` without gaps; more than any workspace has where 64 bits do not count their bits.
inline std::uint64_t matrix_bytes(std::int64_t rows, std::int64_t columns, DType dtype) noexcept {
  std::int64_t all = 0;
  if (__builtin_mul_overflow(rows, columns, &all) || __builtin_mul_overflow(all, std::int64_t{bits(dtype)}, &all))
    return ~std::uint64_t{0};
  return static_cast<std::uint64_t>(all) / 8 + (all % 8 != 0 ? 1 : 0);
}

/// A of a quantised down and its scales in one piece of memory.
struct QuantisedLayout {
  std::uint64_t scales, bytes;
  bool fits;

  static QuantisedLayout of(const Problem& down) noexcept {
    const std::int64_t rows = down.m() * down.routing().top_k;
    Slices room;
    room.take(matrix_bytes(rows, down.k(), down.signature().a));
    QuantisedLayout layout{};
    layout.scales = room.take(scale_bytes(down, rows));
    layout.bytes = room.total();
    layout.fits = room.fits();
    return layout;
  }

 private:
  static std::uint64_t scale_bytes(const Problem& down, std::int64_t rows) noexcept {
    const Signature& s = down.signature();
    if (!scales_a(s.quant, s.scale_block)) return 0;
    const auto groups = [&](std::int64_t size) { return (down.k() + size - 1) / size; };
    switch (s.quant) {
      case Quant::none: return 0;
      case Quant::per_tensor: return sizeof(float);
      case Quant::rowwise: return static_cast<std::uint64_t>(rows) * sizeof(float);
      case Quant::blockscale: return matrix_bytes(rows, groups(s.scale_block.k), DType::fp32);
      case Quant::mx: {  // in the order of the rows or in that of the sorted tokens, shuffled or not
        const std::int64_t sorted = sorted_capacity(down.m(), down.routing(), down.block_m());
        return static_cast<std::uint64_t>(shuffled_mx_scale_bytes(std::max(rows, sorted), groups(32)));
      }
    }
    return 0;
  }
};

}  // namespace ckgen::inline v1::detail
