#include "backends/host/gemm/stream_k.hpp"

#include "backends/host/gemm/ahead.hpp"
#include "backends/host/gemm/fused.hpp"
#include "backends/host/gemm/pack_source.hpp"
#include "backends/host/threads.hpp"
#include "backends/host/workspace.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// Below so many accumulators to be joined, waking threads costs more than they bring.
constexpr std::int64_t kSerialSums = 1 << 16;

class StreamKGemm {
 public:
  StreamKGemm(const StreamKGeometry& g, const GemmTraits& traits, const GemmArgs& args, void* workspace) noexcept
      : g_(g),
        p_(g.partition),
        traits_(traits),
        args_(args),
        mr_(g.micro->mr),
        nr_(g.micro->nr),
        workspace_(static_cast<unsigned char*>(workspace)) {}

  void run() const noexcept {
    parallel_for(p_.grid, g_.threads, [&](std::int64_t g, int index) {
      const TileSession session(*g_.isa, *g_.micro);
      workgroup(g, slot(index));
    });
    const bool serial = p_.grid * g_.cut.tile_m * g_.cut.tile_n < kSerialSums;
    parallel_for(p_.sk_tiles, serial ? 1 : g_.threads, [&](std::int64_t i, int index) {
      const std::int64_t tile = p_.dp_tiles + i;
      if (p_.splits(tile) > 1) meet(at(tile), tile, slot(index));
    });
  }

 private:
  // A tile of one batch: its first row and column of C and how many of each it has.
  struct Tile {
    std::int64_t batch, m0, n0, rows, columns;
  };

  Tile at(std::int64_t tile) const noexcept {
    const std::int64_t column = tile % g_.tiles_n, row = tile / g_.tiles_n % g_.tiles_m;
    Tile t{tile / (g_.tiles_n * g_.tiles_m), row * g_.cut.tile_m, column * g_.cut.tile_n, 0, 0};
    t.rows = std::min(g_.cut.tile_m, g_.size.m - t.m0);
    t.columns = std::min(g_.cut.tile_n, g_.size.n - t.n0);
    return t;
  }

  unsigned char* slot(int index) const noexcept {
    return workspace_ + g_.slots_offset + g_.slot_bytes * static_cast<std::size_t>(index);
  }
  // The part of the tile that a workgroup finishes, and of the one that it does not.
  unsigned char* begun(std::int64_t workgroup) const noexcept {
    return workspace_ + g_.slice_bytes * static_cast<std::size_t>(2 * workgroup);
  }
  unsigned char* handed_over(std::int64_t workgroup) const noexcept { return begun(workgroup) + g_.slice_bytes; }

  void workgroup(std::int64_t g, unsigned char* slot) const noexcept {
    for (std::int64_t i = 0; i < p_.dp_tiles_per_workgroup(); ++i) whole(g + i * p_.grid, slot);
    if (p_.sk_tiles == 0) return;
    for (std::int64_t i = p_.begin(g), end = p_.end(g); i < end;) {
      const std::int64_t tile = p_.tile_of(i), first = p_.tile_begin(tile), last = std::min(p_.tile_end(tile), end);
      if (p_.splits(tile) == 1) {
        whole(tile, slot);
      } else {
        accumulate(at(tile), i - first, last - first, i == first ? begun(g) : handed_over(g), slot);
      }
      i = last;
    }
  }

  void whole(std::int64_t tile, unsigned char* slot) const noexcept {
    const Tile t = at(tile);
    accumulate(t, 0, p_.iters_per_tile, slot, slot);
    for (std::int64_t r = 0; r < t.rows; ++r) store(t, r, row_of(slot, r), slot);
  }

  // acc = the sum over the K iterations [begin, end) of a tile.
  void accumulate(const Tile& t, std::int64_t begin, std::int64_t end, unsigned char* acc,
                  unsigned char* slot) const noexcept {
    const PackSource a = a_source(g_.kind, traits_, args_, t.batch), b = b_source(g_.kind, traits_, args_, t.batch);
    const unsigned of_first = g_.kind == PackKind::i8 ? kFindExcess : 0U;
    alignas(64) std::int32_t excess[kMostPanels * kPanelColumns];
    const std::int64_t e = elements_per_word(g_.kind);
    const std::int64_t k_begin = begin * g_.cut.tile_k, k_end = std::min(end * g_.cut.tile_k, g_.size.k);
    unsigned char* a_panels = slot + g_.slot_a_offset;
    unsigned char* b_panel = slot + g_.slot_b_offset;
    for (std::int64_t k0 = k_begin; k0 < k_end; k0 += g_.kc) {
      const std::int64_t depth = std::min(g_.kc, k_end - k0), words = ceil_div(depth, e),
                         a_words = panel_words(*g_.micro, words);
      const unsigned flags = k0 == k_begin ? 0U : kAccumulate;
      Ahead ahead =
          k0 + depth < k_end ? Ahead(b, t.n0, t.columns, k0 + depth, std::min(g_.kc, k_end - k0 - depth)) : Ahead();
      for (std::int64_t i = 0; i < t.rows; i += mr_)
        pack_panel(*g_.isa, *g_.micro, a, t.m0 + i, std::min(mr_, t.rows - i), k0, depth, a_panels + i * a_words * 4);
      for (std::int64_t j = 0; j < t.columns; j += nr_) {
        const std::int64_t stride = words * kPanelColumns;
        const std::array<std::int64_t, kMostPanels> at{0, stride, 2 * stride, 3 * stride};
        pack_columns(*g_.isa, b, t.n0 + j, std::min(nr_, t.columns - j), nr_, k0, depth, stride, b_panel);
        for (std::int64_t i = 0; i < t.rows; i += mr_)
          g_.micro->run({words, a_panels + i * a_words * 4, b_panel, at.data(), acc + (i * g_.acc_ld + j) * 4,
                         g_.acc_ld, flags | (i == 0 ? of_first : 0U), nullptr, nullptr, excess, ahead.take(words)});
      }
    }
  }

  unsigned char* row_of(unsigned char* acc, std::int64_t r) const noexcept { return acc + r * g_.acc_ld * 4; }

  // Joins the parts of a split tile and stores it.
  void meet(const Tile& t, std::int64_t tile, unsigned char* slot) const noexcept {
    const std::int64_t first = p_.first_workgroup(tile), parts = p_.splits(tile);
    const auto part = [&](std::int64_t i) { return i == 0 ? begun(first) : handed_over(first + i); };
    for (std::int64_t r = 0; r < t.rows; ++r) {
      unsigned char* sum = row_of(part(0), r);
      if (g_.cut.strategy == Strategy::linear || (g_.cut.strategy == Strategy::atomic && traits_.c == DType::int32)) {
        for (std::int64_t i = 1; i < parts; ++i) add(sum, row_of(part(i), r), t.columns);
      } else if (g_.cut.strategy == Strategy::tree) {
        for (std::int64_t s = 1; s < parts; s *= 2)
          for (std::int64_t i = 0; i + s < parts; i += 2 * s)
            add(row_of(part(i), r), row_of(part(i + s), r), t.columns);
      } else {
        add_in_c(t, r, part, parts, slot);
        continue;
      }
      store(t, r, sum, slot);
    }
  }

  // to += from, in the accumulator's type; integer sums wrap like the GPU's.
  void add(unsigned char* to, const unsigned char* from, std::int64_t n) const noexcept {
    if (has_int_sums(g_.kind)) {
      auto* y = reinterpret_cast<std::uint32_t*>(to);
      const auto* x = reinterpret_cast<const std::uint32_t*>(from);
      for (std::int64_t j = 0; j < n; ++j) y[j] += x[j];
    } else {
      auto* y = reinterpret_cast<float*>(to);
      const auto* x = reinterpret_cast<const float*>(from);
      for (std::int64_t j = 0; j < n; ++j) y[j] += x[j];
    }
  }

  // What atomic additions into a zeroed row of C leave if the parts come in order of K; the first has the bias.
  template <class Part>
  void add_in_c(const Tile& t, std::int64_t r, const Part& part, std::int64_t parts,
                unsigned char* slot) const noexcept {
    auto* row = reinterpret_cast<float*>(slot + g_.slot_row_offset);
    auto* sum = row + g_.acc_ld;
    for (std::int64_t i = 0; i < parts; ++i) {
      finish(t, r, row_of(part(i), r), i == 0, row);
      g_.isa->round(traits_.c, row, t.columns);
      for (std::int64_t j = 0; j < t.columns; ++j) sum[j] = i == 0 ? row[j] : sum[j] + row[j];
      g_.isa->round(traits_.c, sum, t.columns);
    }
    g_.isa->encode(traits_.c, sum, c_at(t, r), t.columns);
  }

  unsigned char* c_at(const Tile& t, std::int64_t r) const noexcept {
    const std::int64_t element = t.batch * args_.batch_stride_c + (t.m0 + r) * args_.ldc + t.n0;
    return static_cast<unsigned char*>(args_.c) + bytes_of(traits_.c, element);
  }

  void finish(const Tile& t, std::int64_t r, const void* acc, bool with_bias, float* out) const noexcept {
    FinishArgs f{acc, has_int_sums(g_.kind), t.columns, 1.0F, 1.0F, nullptr, nullptr};
    if (traits_.quant != Quant::none) {
      const auto* a_scale = static_cast<const float*>(args_.a_scale);
      const auto* b_scale = static_cast<const float*>(args_.b_scale);
      const bool rowwise = traits_.quant == Quant::rowwise;
      const std::int64_t a_batch = args_.batch_stride_a == 0 ? 0 : t.batch,
                         b_batch = args_.batch_stride_b == 0 ? 0 : t.batch;
      f.a_scale = a_scale[rowwise ? a_batch * g_.size.m + t.m0 + r : 0];
      if (rowwise) {
        f.b_scale = b_scale + b_batch * g_.size.n + t.n0;
      } else {
        f.b_scalar = b_scale[0];
      }
    }
    if (with_bias && traits_.bias) f.bias = static_cast<const float*>(args_.bias) + t.n0;
    g_.isa->finish(f, out);
    apply_epilogue(*g_.isa, traits_, args_, t.batch, t.m0 + r, t.n0, t.columns, out);
  }

  void store(const Tile& t, std::int64_t r, const unsigned char* acc, unsigned char* slot) const noexcept {
    if (traits_.c == DType::int32) {
      std::memcpy(c_at(t, r), acc, static_cast<std::size_t>(t.columns) * 4);
      return;
    }
    auto* row = reinterpret_cast<float*>(slot + g_.slot_row_offset);
    const bool plain =
        traits_.quant == Quant::none && !traits_.bias && !has_int_sums(g_.kind) && traits_.epilogue.empty();
    if (!plain) finish(t, r, acc, true, row);
    g_.isa->encode(traits_.c, plain ? reinterpret_cast<const float*>(acc) : row, c_at(t, r), t.columns);
  }

  const StreamKGeometry& g_;
  const StreamKPartition& p_;
  const GemmTraits& traits_;
  const GemmArgs& args_;
  const std::int64_t mr_, nr_;
  unsigned char* const workspace_;
};

}  // namespace

StreamKGeometry make_stream_k_geometry(const Blocking& blocking, const StreamKCut& cut, const Sizes& sizes) noexcept {
  StreamKGeometry g{};
  g.isa = blocking.isa;
  g.kind = blocking.kind;
  g.size = sizes;
  g.cut = cut;
  g.partition =
      stream_k_partition(sizes.batch, sizes.m, sizes.n, sizes.k, cut.tile_m, cut.tile_n, cut.tile_k, cut.workgroups);
  g.tiles_m = ceil_div(sizes.m, cut.tile_m);
  g.tiles_n = ceil_div(sizes.n, cut.tile_n);
  const std::int64_t rows = std::min(cut.tile_m, sizes.m), columns = std::min(cut.tile_n, sizes.n);
  g.micro = pick_micro(blocking.isa->menu[static_cast<int>(blocking.kind)], blocking.mr, blocking.nr, rows);
  const std::int64_t mr = g.micro->mr, nr = g.micro->nr, e = elements_per_word(g.kind);
  const std::int64_t grain = g.micro->grain * e;
  g.kc = ceil_div(std::min(std::max<std::int64_t>(1, blocking.kc), sizes.k), grain) * grain;
  g.m_panels = ceil_div(rows, mr);
  g.n_panels = ceil_div(columns, nr);
  g.acc_ld = g.n_panels * nr + 16;  // not a power of two, or the rows of a tile would fight for one cache set
  const double flops = 2.0 * static_cast<double>(sizes.m) * static_cast<double>(sizes.n) *
                       static_cast<double>(sizes.k) * static_cast<double>(sizes.batch);
  g.threads = flops < kSerialFlops ? 1 : static_cast<int>(std::min<std::int64_t>(blocking.threads, cut.workgroups));

  g.slice_bytes = words_bytes(g.m_panels * mr, g.acc_ld);
  g.slots_offset = g.partition.sk_tiles == 0 ? 0 : g.slice_bytes * static_cast<std::size_t>(2 * cut.workgroups);
  g.slot_a_offset = g.slice_bytes;
  g.slot_b_offset = g.slot_a_offset + words_bytes(g.m_panels * mr, g.kc / e);
  g.slot_row_offset = g.slot_b_offset + words_bytes(nr, g.kc / e);
  g.slot_bytes = g.slot_row_offset + words_bytes(2, g.acc_ld);
  g.bytes = g.slots_offset + g.slot_bytes * static_cast<std::size_t>(g.threads);
  return g;
}

void execute_stream_k(const StreamKGeometry& geometry, const GemmTraits& traits, const GemmArgs& args,
                      void* workspace) noexcept {
  StreamKGemm(geometry, traits, args, workspace).run();
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
