#include "backends/host/fmha/backward_bias.hpp"

#include "backends/host/gemm/pack_source.hpp"
#include "backends/host/threads.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

/// Which sequences, heads and row tiles share elements of a bias: those along strides of 0.
struct Sharing {
  bool batch, heads, rows;
};

Sharing sharing_of(const FmhaBackwardGeometry& g, const FmhaStrides& bias) noexcept {
  // Sequences of varlen have rows of their own, or all share one.
  const bool batch = g.signature.fmha.varlen ? bias.row == 0 : bias.batch == 0;
  return {batch, bias.head == 0, bias.row == 0};
}

struct Range {
  std::int64_t begin, end;
};

/// A tile of dbias: of one row where rows are shared.
struct BiasTile {
  Range batch, heads, tiles;
  std::int64_t block;
};

class BiasSum {
 public:
  BiasSum(const FmhaBackwardRun& run, int slot) noexcept : run_(run), g_(run.g), memory_(run.slot(slot)) {}

  void write(const BiasTile& of, const Sharing& shared) noexcept {
    const std::int64_t rows = shared.rows ? 1 : g_.m0;
    std::fill_n(sums(), rows * g_.ld, 0.0F);
    std::int64_t live = 0, columns = 0;
    FmhaBackwardTile tile(run_, memory_);
    for (std::int64_t b = of.batch.begin; b < of.batch.end; ++b) {
      const FmhaSequence x = run_.sequence(b);
      const std::int64_t end = std::min(of.tiles.end, run_.row_tiles(x));
      const std::int64_t seen = std::min(g_.n0, x.length_k - of.block * g_.n0);
      if (seen <= 0 || of.tiles.begin >= end) continue;
      columns = std::max(columns, seen);
      live = std::max(live, shared.rows ? 1 : std::min(g_.m0, x.length_q - of.tiles.begin * g_.m0));
      for (std::int64_t head = of.heads.begin; head < of.heads.end; ++head) {
        if (head == of.heads.begin || head % g_.group == 0) tile.keys(x, b, head / g_.group, of.block);
        for (std::int64_t i = of.tiles.begin; i < end; ++i) add(tile, x, head, i, of.block, shared.rows);
      }
    }
    if (live > 0) store(of, live, columns);
  }

 private:
  float* sums() const noexcept { return reinterpret_cast<float*>(memory_ + g_.bias) + (g_.m0 + 1) / 2 * 2 * g_.ld; }

  void add(FmhaBackwardTile& tile, const FmhaSequence& x, std::int64_t head, std::int64_t i, std::int64_t block,
           bool into_one) noexcept {
    const FmhaTiles seen = run_.blocks_of(x, i);
    if (block >= seen.sink && (block < seen.first || block >= seen.last)) return;
    tile.rows(head, i, {});
    const std::int64_t rows = std::min(g_.m0, x.length_q - i * g_.m0);
    for (std::int64_t r = 0; r < rows; ++r) {
      const float* const from = tile.gradients() + r * g_.ld;
      float* const to = sums() + (into_one ? 0 : r * g_.ld);
      for (std::int64_t j = 0; j < tile.column_count(); ++j) to[j] += from[j];
    }
  }

  void store(const BiasTile& of, std::int64_t rows, std::int64_t columns) noexcept {
    const FmhaArgs& a = run_.args;
    const FmhaStrides& s = a.dbias_strides;
    const DType type = g_.signature.a;
    const std::int64_t first = g_.signature.fmha.varlen ? run_.first_row(of.batch.begin) : 0;
    std::int64_t at = of.heads.begin * s.head + of.block * g_.n0;
    if (!g_.signature.fmha.varlen) at += of.batch.begin * s.batch;
    if (a.bias_strides.row != 0) at += (first + of.tiles.begin * g_.m0) * s.row;
    for (std::int64_t r = 0; r < rows; ++r)
      g_.isa->encode(type, sums() + r * g_.ld, static_cast<unsigned char*>(a.dbias) + bytes_of(type, at + r * s.row),
                     columns);
  }

  const FmhaBackwardRun& run_;
  const FmhaBackwardGeometry& g_;
  unsigned char* const memory_;
};

}  // namespace

void write_fmha_dbias(const FmhaBackwardRun& run, int threads) noexcept {
  const FmhaBackwardGeometry& g = run.g;
  const Sharing shared = sharing_of(g, run.args.bias_strides);
  const std::int64_t batches = shared.batch ? 1 : g.shape.batch, heads = shared.heads ? 1 : g.shape.heads_q;
  const std::int64_t tiles = shared.rows ? 1 : g.row_tiles;
  const auto range = [](bool is_shared, std::int64_t i, std::int64_t all) {
    return is_shared ? Range{0, all} : Range{i, i + 1};
  };
  parallel_for(batches * heads * tiles * g.blocks, threads, [&](std::int64_t i, int slot) {
    const std::int64_t block = i % g.blocks, tile = i / g.blocks % tiles, rest = i / g.blocks / tiles;
    const BiasTile of{range(shared.batch, rest / heads, g.shape.batch),
                      range(shared.heads, rest % heads, g.shape.heads_q), range(shared.rows, tile, g.row_tiles), block};
    BiasSum(run, slot).write(of, shared);
  });
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
