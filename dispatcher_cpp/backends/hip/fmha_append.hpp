// Appending to a KV cache of any layout: new rows of K and V, with RoPE of K and Q; see include/ckgen/fmha.hpp.
//
// 64 lanes take one head of K, V or Q, of up to 8 tokens one after the other; a lane takes pairs of elements, those
// that rotate together. Every element is computed in fp32 and rounded once. C++20, compiled as HIP for any arch.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "element.hpp"
#include "fmha_append_args.hpp"

namespace ckgen::hip {

/// One sequence: rows of the cache before, and new ones; places in elements of its first new row, and of its part of a
/// contiguous cache.
struct AppendedSequence {
  std::int64_t before;
  std::int32_t added, rotated;
  std::int64_t k_new, v_new, q, o, k, v;
  const std::int32_t* pages;
};

template <FmhaTraits kTraits>
__device__ AppendedSequence appended_sequence(const FmhaAppendArgs& x, std::int32_t b) {
  AppendedSequence s{0, x.added, x.rotated, 0, 0, 0, 0, 0, 0, nullptr};
  std::int64_t first = 0, entry = b;
  if constexpr (kTraits.varlen) {
    first = x.seqstart_q[b];
    s.added = x.seqlen_q != nullptr ? x.seqlen_q[b] : x.seqstart_q[b + 1] - x.seqstart_q[b];
    s.rotated = x.rotated != 0 ? s.added : 0;
    entry = 0;
  }
  const auto at = [&](const FmhaStrides& strides) { return entry * strides.batch + first * strides.row; };
  s.k_new = at(x.k_new_strides);
  s.v_new = at(x.v_new_strides);
  s.q = at(x.q_strides);
  s.o = at(x.o_strides);
  if constexpr (kTraits.kv == FmhaKv::page_list) {
    const std::int32_t begin = x.page_starts[b], count = x.page_starts[b + 1] - begin;
    const std::int64_t rows = count == 0 ? 0 : std::int64_t{count - 1} * x.page_size + x.last_page[b];
    s.pages = x.pages + begin;
    s.before = rows - s.added;
  } else {
    s.before = x.seqlen_k[b];
    if constexpr (kTraits.kv == FmhaKv::block_table) {
      s.pages = x.pages + b * x.table_stride;
    } else {
      const std::int64_t start = kTraits.varlen ? x.seqstart_k[b] : 0;
      s.k = entry * x.k_strides.batch + start * x.k_strides.row;
      s.v = entry * x.v_strides.batch + (kTraits.v_column ? start : start * x.v_strides.row);
    }
  }
  return s;
}

template <DType kRow, DType kCache, FmhaTraits kTraits>
struct FmhaAppend {
  using Row = MemoryElement<kRow>;
  using Cache = MemoryElement<kCache>;
  using Args = FmhaAppendArgs;
  static constexpr bool kPaged = kTraits.kv != FmhaKv::contiguous;
  static constexpr bool kVectorized = kTraits.kv_layout == FmhaKvLayout::vectorized;
  static constexpr bool kHalves = kTraits.rope == FmhaRope::half;

  /// Where element d of a row lies: `at`, and behind it as the layout says.
  struct Place {
    std::int64_t at, plane;
    std::int32_t row;
  };

  /// The first of a pair's elements, and how far the second one is; pair p of all rotates where p < half.
  struct Pair {
    std::int32_t first, apart;
  };
  __device__ static Pair pair_of(std::int32_t p, std::int32_t half) {
    return kHalves && p < half ? Pair{p, half} : Pair{2 * p, 1};
  }

  __device__ static Place place(const Args& x, const AppendedSequence& s, const FmhaStrides& strides, bool of_v,
                                std::int32_t head, std::int32_t page, std::int64_t row) {
    if constexpr (kPaged) return {page * strides.batch + head * strides.head, 0, static_cast<std::int32_t>(row)};
    return {(of_v ? s.v : s.k) + head * strides.head + (of_v && kTraits.v_column ? row : row * strides.row), 0, 0};
  }
  __device__ static std::int64_t element(const Args& x, const FmhaStrides& strides, const Place& to, bool of_v,
                                         std::int32_t d) {
    constexpr std::int32_t kVector = 16 / Cache::kBytes;
    if constexpr (kVectorized) {
      if (of_v) return to.at + (std::int64_t{to.row / kVector} * x.hdim_v + d) * kVector + to.row % kVector;
      return to.at + (std::int64_t{d / kVector} * x.page_size + to.row) * kVector + d % kVector;
    }
    if (of_v && kTraits.v_column) return to.at + d * strides.row;
    return to.at + (kPaged ? to.row * strides.row : 0) + d;
  }

  /// The pair, rotated to a position.
  __device__ static void rotate(const Args& x, std::int64_t position, std::int32_t p, float& a, float& b) {
    const float cos = Row::load(x.cos, position * x.half + p), sin = Row::load(x.sin, position * x.half + p);
    const float x0 = a, x1 = b;
    a = x0 * cos - x1 * sin;
    b = x1 * cos + x0 * sin;
  }

  /// New row i of a head of K or V.
  __device__ static void append(const Args& x, const AppendedSequence& s, bool of_v, std::int32_t head, std::int32_t i,
                                int lane) {
    const FmhaStrides& from = of_v ? x.v_new_strides : x.k_new_strides;
    const FmhaStrides& strides = of_v ? x.v_strides : x.k_strides;
    const std::int32_t hdim = of_v ? x.hdim_v : x.hdim_q;
    const std::int64_t position = s.before + i;
    std::int32_t page = 0;
    std::int64_t row = position;
    if constexpr (kPaged) {
      const auto whole = static_cast<std::uint32_t>(position), size = static_cast<std::uint32_t>(x.page_size);
      page = s.pages[whole / size];
      row = whole % size;
    }
    const Place to = place(x, s, strides, of_v, head, page, row);
    const std::int64_t line = (of_v ? s.v_new : s.k_new) + i * from.row + head * from.head;
    const void* const rows = of_v ? x.v_new : x.k_new;
    void* const cache = of_v ? x.v_cache : x.k_cache;
    float descale = 1;
    if constexpr (kTraits.quant == FmhaQuant::per_tensor) descale = *(of_v ? x.v_descale : x.k_descale);
    if constexpr (kTraits.quant == FmhaQuant::kv_blockscale)
      descale = (of_v ? x.v_descale : x.k_descale)[std::int64_t{page} * x.heads_k + head];
    const bool rotates = kTraits.rope != FmhaRope::none && !of_v;
    const std::int32_t half = rotates ? x.half : 0;
    for (std::int32_t p = lane; p < (hdim + 1) / 2; p += 64) {
      const Pair pair = pair_of(p, half);
      const bool has_second = pair.first + pair.apart < hdim;
      float a = Row::load(rows, line + pair.first);
      float b = has_second ? Row::load(rows, line + pair.first + pair.apart) : 0.0F;
      if (p < half) rotate(x, position, p, a, b);
      if constexpr (kTraits.quant != FmhaQuant::none) a /= descale, b /= descale;
      Cache::store(cache, element(x, strides, to, of_v, pair.first), a);
      if (has_second) Cache::store(cache, element(x, strides, to, of_v, pair.first + pair.apart), b);
    }
  }

  /// Row i of a head of Q.
  __device__ static void turn(const Args& x, const AppendedSequence& s, std::int32_t head, std::int32_t i, int lane) {
    const std::int64_t from = s.q + i * x.q_strides.row + head * x.q_strides.head;
    const std::int64_t to = s.o + i * x.o_strides.row + head * x.o_strides.head;
    for (std::int32_t p = lane; p < (x.hdim_q + 1) / 2; p += 64) {
      const Pair pair = pair_of(p, x.half);
      const bool has_second = pair.first + pair.apart < x.hdim_q;
      float a = Row::load(x.q, from + pair.first), b = has_second ? Row::load(x.q, from + pair.first + pair.apart) : 0;
      if (p < x.half) rotate(x, s.before + i, p, a, b);
      Row::store(x.o, to + pair.first, a);
      if (has_second) Row::store(x.o, to + pair.first + pair.apart, b);
    }
  }

  __device__ static void run(const Args& x) {
    const int lane = static_cast<int>(threadIdx.x) % 64;
    const std::int32_t line = static_cast<std::int32_t>(blockIdx.y) * kAppendLines + static_cast<int>(threadIdx.x) / 64;
    const std::int32_t b = static_cast<std::int32_t>(blockIdx.x) / x.tiles;
    const std::int32_t first = static_cast<std::int32_t>(blockIdx.x) % x.tiles * kAppendRows;
    const AppendedSequence s = appended_sequence<kTraits>(x, b);
    const bool of_q = line >= 2 * x.heads_k;
    const std::int32_t rows = of_q ? s.rotated : s.added;
    if (of_q && (kTraits.rope == FmhaRope::none || line >= 2 * x.heads_k + x.heads_q)) return;
    for (std::int32_t i = first; i < first + kAppendRows && i < rows; ++i) {
      if (!of_q)
        append(x, s, line >= x.heads_k, line % x.heads_k, i, lane);
      else if constexpr (kTraits.rope != FmhaRope::none)
        turn(x, s, line - 2 * x.heads_k, i, lane);
    }
  }
};

}  // namespace ckgen::hip

/// Defines the device entry `symbol` for rows of one type, a cache of another, and traits.
#define CKGEN_FMHA_APPEND_KERNEL(symbol, Row, Cache, ...)                                                            \
  extern "C" __global__ void __launch_bounds__(ckgen::hip::kAppendThreads) symbol(ckgen::hip::FmhaAppendArgs args) { \
    ckgen::hip::FmhaAppend<Row, Cache, __VA_ARGS__>::run(args);                                                      \
  }
