// A tile of an item as its lanes see it: their row of Q, their keys of each block and where these lie.
//
// C++20, compiled as HIP for any arch; code for gfx90a, gfx942 and gfx950.
#pragma once

#include "fmha_decode_keys.hpp"
#include "fmha_decode_values.hpp"

namespace ckgen::hip {

/// One kernel. `kv8`: K and V are 8-bit floats, else of Q's type.
struct FmhaDecodeConfig {
  bool bf16;  // else fp16
  bool kv8;
  int hdim_q, hdim_v;
  FmhaTraits traits;
};

template <FmhaDecodeConfig kConfig>
struct FmhaDecodeLanes {
  static constexpr FmhaTraits kTraits = kConfig.traits;
  static constexpr bool kVarlen = kTraits.varlen;
  static constexpr bool kPaged = kTraits.kv != FmhaKv::contiguous;
  static constexpr bool kVectorized = kTraits.kv_layout == FmhaKvLayout::vectorized;
  static constexpr bool kPageDescales = kTraits.quant == FmhaQuant::kv_blockscale;
  static constexpr int kBytes = kConfig.kv8 ? 1 : 2;  // of an element of K and V
  static constexpr int kRun = kLoadBytes / kBytes;
  static constexpr int kBlock = 4 * kRun;
  static constexpr int kParts = kBlock / 32;              // of a block, each one step of the second product
  static constexpr int kKeys = kBlock / kDecodeRows;      // of K that a lane loads
  static constexpr int kLoads = kConfig.hdim_q / kBlock;  // of each of them
  static constexpr int kHalves = kRun / 8;                // fragments of a load
  static constexpr int kTiles = kConfig.hdim_v / 16;      // of O
  static constexpr int kWavesPerSimd = kConfig.hdim_q + kConfig.hdim_v > 256 ? 1 : 2;
  static_assert(kConfig.hdim_q % 64 == 0 && kConfig.hdim_v % 64 == 0, "whole loads of all lanes");

#if CKGEN_HAS_HALF_PRODUCTS
  using Math = HalfMath<kConfig.bf16 ? Half::bf16 : Half::fp16>;
  using Values = DecodeValues<Math, kBytes, kConfig.hdim_v, kVectorized>;

  /// What is known of the lane's row of the tile.
  struct Row {
    std::int32_t query, head;  // of Q
    std::int32_t begin, end, sink_end;
    bool is_there;  // else the last one that is

    __device__ bool sees(std::int32_t key) const { return key < end && (key >= begin || key < sink_end); }
  };

  /// A block, and the pages of the lane's keys.
  struct Found {
    std::int32_t first;
    bool is_edge;  // some row does not see all of it
    std::int32_t of_k[kKeys];
    std::int32_t of_run[kRun];
  };

  struct Keys {
    Dwords4 held[kKeys][kLoads];
  };

  const FmhaDecodeArgs& x;
  DecodeTile tile;
  DecodeBlocks blocks;
  DecodePages<kPaged> pages;
  Row row;
  std::int32_t lane, m, g;
  const char* k;  // of the head, and the lane's part of a row
  const char* v;

  __device__ FmhaDecodeLanes(const FmhaDecodeArgs& args, const DecodeTile& of)
      : x(args), tile(of), pages{nullptr, args.shape.page_size, args.page}, lane(threadIdx.x % kWave) {
    m = lane % 16;
    g = lane / 16;
    find_request();
  }

  __device__ std::int32_t group() const { return x.shape.heads_q / x.shape.heads_k; }
  __device__ std::int32_t rows() const { return tile.length_q * group(); }

  /// Its lengths, where its rows begin, and its pages.
  __device__ void find_request() {
    const std::int32_t b = tile.request;
    tile.length_q = static_cast<std::int32_t>(x.shape.seqlen_q);
    tile.length_k = static_cast<std::int32_t>(x.shape.seqlen_k);
    tile.first_q = tile.first_k = 0;
    if constexpr (kVarlen) {
      tile.first_q = load_scalar(x.seqstart_q, b);
      tile.length_q = load_scalar(x.seqstart_q, b + 1) - tile.first_q;
      if (x.seqlen_q != nullptr) tile.length_q = load_scalar(x.seqlen_q, b);
    }
    if constexpr (kVarlen && !kPaged) {
      tile.first_k = load_scalar(x.seqstart_k, b);
      tile.length_k = load_scalar(x.seqstart_k, b + 1) - tile.first_k;
    }
    if constexpr (kTraits.kv == FmhaKv::page_list) {
      const std::int32_t from = load_scalar(x.page_starts, b), count = load_scalar(x.page_starts, b + 1) - from;
      pages.table = x.pages + from;
      tile.length_k = count > 0 ? (count - 1) * x.shape.page_size + load_scalar(x.last_page, b) : 0;
    } else {
      if constexpr (kPaged) pages.table = x.pages + b * x.table_stride;
      if (x.seqlen_k != nullptr) tile.length_k = load_scalar(x.seqlen_k, b);
    }
  }

  /// The tile's rows and keys; false where it has no row.
  __device__ bool find_rows() {
    const std::int32_t first = tile.q_tile * kDecodeRows, last = std::min(first + kDecodeRows, rows()) - 1;
    if (last < first) return false;
    const FmhaShape& s = x.shape;
    const FmhaMask mask{kTraits.masked, s.corner, s.window_left, s.window_right, s.sink_tokens};
    blocks = blocks_of(mask, tile, first / group(), last / group(), kBlock);
    const std::int32_t at = std::min(first + m, last);
    row.query = at / group();
    row.head = tile.head * group() + at % group();
    row.is_there = first + m <= last;
    const FmhaColumns seen = fmha_columns(mask, tile.length_q, tile.length_k, row.query, row.query);
    row.begin = static_cast<std::int32_t>(seen.begin);
    row.end = static_cast<std::int32_t>(seen.end);
    row.sink_end = static_cast<std::int32_t>(seen.sink_end);
    return true;
  }

  /// Where heads begin: element of a row of Q or O, from the tensor's first.
  __device__ std::int64_t row_at(const FmhaStrides& strides) const {
    const std::int64_t first = kVarlen ? tile.first_q * strides.row : tile.request * strides.batch;
    return first + row.query * strides.row + row.head * strides.head;
  }

  __device__ void find_heads() {
    const std::int64_t of_k = tile.head * x.k_strides.head, of_v = tile.head * x.v_strides.head;
    const std::int64_t b = kPaged || kVarlen ? 0 : tile.request;
    const std::int64_t chunk = kVectorized ? std::int64_t{kLoadBytes} * x.shape.page_size : kLoadBytes;
    k = static_cast<const char*>(x.k) + (of_k + b * x.k_strides.batch) * kBytes + g * chunk;
    v = static_cast<const char*>(x.v) + (of_v + b * x.v_strides.batch) * kBytes + Values::lane_offset(m);
  }

  __device__ std::int32_t key_of_k(const Found& of, int n) const { return of.first + kRun * (m / 4) + 4 * n + m % 4; }
  __device__ std::int32_t key_of_run(const Found& of, int n) const { return of.first + kRun * g + n; }

  /// The pages of block `index`.
  __device__ Found find(std::int32_t index) const {
    Found out;
    out.first = blocks.block(index) * kBlock;
    out.is_edge = out.first < blocks.all_begin || out.first + kBlock > blocks.all_end;
#pragma unroll
    for (int n = 0; n < kKeys; ++n) out.of_k[n] = pages.page_of(blocks.seen(key_of_k(out, n)));
    const bool alike = kVectorized || (!out.is_edge && x.shape.page_size % kRun == 0);
#pragma unroll
    for (int n = 0; n < kRun; ++n)
      out.of_run[n] = n == 0 || !alike ? pages.page_of(blocks.seen(key_of_run(out, n))) : out.of_run[0];
    return out;
  }

  __device__ Keys load_keys(const Found& of) const {
    const std::int64_t page = x.k_strides.batch * kBytes;
    const std::int64_t each = kVectorized ? kLoadBytes : x.k_strides.row * kBytes;
    const std::int64_t chunks = kVectorized ? std::int64_t{4} * kLoadBytes * x.shape.page_size : 4 * kLoadBytes;
    Keys out;
#pragma unroll
    for (int n = 0; n < kKeys; ++n) {
      const std::int64_t in_page = pages.row_of(blocks.seen(key_of_k(of, n))) + tile.first_k;
      const std::int64_t at = of.of_k[n] * page + in_page * each;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) out.held[n][i] = load_at<Dwords4>(k, at + i * chunks);
    }
    return out;
  }

  __device__ Values load_values(const Found& of) const {
    const std::int64_t page = x.v_strides.batch * kBytes;
    Values out;
    if constexpr (kVectorized) {
      const std::int64_t vector = pages.row_of(blocks.seen(key_of_run(of, 0))) / kRun;
      out.load(0, v, of.of_run[0] * page + vector * (kConfig.hdim_v * kLoadBytes));
    } else {
#pragma unroll
      for (int n = 0; n < kRun; ++n) {
        const std::int64_t in_page = pages.row_of(blocks.seen(key_of_run(of, n))) + tile.first_k;
        out.load(n, v, of.of_run[n] * page + in_page * (x.v_strides.row * kBytes));
      }
    }
    return out;
  }

  __device__ void load_q(Dwords4 (&q)[kLoads * kHalves]) const {
    const std::int64_t first = row_at(x.q_strides);
#pragma unroll
    for (int i = 0; i < kLoads * kHalves; ++i)
      q[i] = load_at<Dwords4>(x.q, 2 * (first + (4 * (i / kHalves) + g) * kRun + 8 * (i % kHalves)));
  }

  /// The lane's row among the partial ones; -1: O is written.
  __device__ std::int64_t partial_row() const {
    if (x.items != nullptr) return tile.partial_row < 0 ? -1 : tile.head * x.partial_rows + tile.partial_row + m;
    if (tile.splits == 1) return -1;
    const std::int64_t of_split = tile.split * (kVarlen ? 1 : x.shape.batch) + (kVarlen ? 0 : tile.request);
    return (of_split * x.shape.heads_q + row.head) * x.partial_rows + tile.first_q + row.query;
  }

  /// The item of workgroup `index`: the plan's, or of a grid of requests x tiles x splits x heads.
  __device__ static DecodeTile tile_of(const FmhaDecodeArgs& x, std::uint32_t index) {
    const auto heads = static_cast<std::uint32_t>(x.shape.heads_k), item = index / heads;
    DecodeTile out{};
    out.head = static_cast<std::int32_t>(index % heads);
    if (x.items != nullptr) {
      const FmhaSplitItem found = load_scalar(x.items, item);
      out.request = found.request;
      out.q_tile = found.q_tile;
      out.split = found.split;
      out.splits = found.splits;
      out.kv_begin = found.kv_begin;
      out.kv_end = found.kv_end;
      out.partial_row = found.partial_row;
      return out;
    }
    const auto splits = static_cast<std::uint32_t>(x.splits), tiles = static_cast<std::uint32_t>(x.q_tiles);
    out.split = static_cast<std::int32_t>(item % splits);
    out.splits = x.splits;
    out.q_tile = static_cast<std::int32_t>(item / splits % tiles);
    out.request = static_cast<std::int32_t>(item / splits / tiles);
    out.kv_end = 2147483647;
    return out;
  }
#endif
};

}  // namespace ckgen::hip
