#include "backends/host/gemm/driver.hpp"

#include "backends/host/gemm/ahead.hpp"
#include "backends/host/gemm/fused.hpp"
#include "backends/host/gemm/pack_source.hpp"
#include "backends/host/gemm/part_scales.hpp"
#include "backends/host/gemm/result_lines.hpp"
#include "ckgen/prepack.hpp"

#include <algorithm>
#include <cstring>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// A part of one matrix product of the batch.
class Problem {
 public:
  Problem(const Geometry& g, const GemmTraits& traits, const GemmArgs& args, std::int64_t batch, const Part& part,
          unsigned char* workspace)
      : g_(g),
        traits_(traits),
        args_(args),
        batch_(batch),
        part_(part),
        scales_(g, traits, args, batch, part),
        mr_(g.micro->mr),
        nr_(g.micro->nr),
        workspace_(workspace) {
    a_ = a_source(g.kind, traits, args, batch);
    b_ = b_source(g.kind, traits, args, batch);
    a_.rows = part.rows;
    c_ = static_cast<unsigned char*>(part.c);
    ldc_ = args.ldc;
    bias_ = traits.bias ? static_cast<const float*>(args.bias) : nullptr;
    sums_in_c_ = can_sum_in_c();
    a_in_place_ = can_read_a_in_place();
    rounds_tiles_ = can_round_tiles();
  }

  void run() noexcept {
    const TileSession session(*g_.isa, *g_.micro);
    for (std::int64_t m0 = 0; m0 < g_.m_panels; m0 += g_.m_super) superblock(m0);
  }

 private:
  const MicroKernel& micro_of(std::int64_t m_panel) const noexcept {
    return m_panel == g_.m_panels - 1 ? *g_.tail : *g_.micro;
  }

  // Where word `word` of K of a panel of a superblock is, which `micro` multiplies.
  unsigned char* rows_at(std::int64_t panel, std::int64_t word, const MicroKernel& micro) const noexcept {
    return workspace_ + (panel % g_.a_panels * g_.a_words * mr_ + word % g_.a_words * micro.mr) * 4;
  }

  // Element k of the first row of a panel of the part, as it lies in memory.
  const unsigned char* row_of_a_at(std::int64_t m_panel, std::int64_t k) const noexcept {
    return a_.base + bytes_of(a_.type, (part_.m0 + m_panel * mr_) * a_.ld + k);
  }

  // Panels of A from m0 on, as many as are kept, by all columns.
  void superblock(std::int64_t m0) noexcept {
    const std::int64_t m_count = std::min(g_.m_super, g_.m_panels - m0);
    float* a_scales = reinterpret_cast<float*>(workspace_ + g_.a_scale_offset);
    for (std::int64_t i = 0; i < m_count; ++i) scales_.gather_a((m0 + i) * mr_, g_.m_super * mr_, a_scales + i * mr_);
    const auto first = [&](std::int64_t item) { return item * g_.n_panels / g_.across; };
    const bool is_last = m0 + m_count == g_.m_panels;
    for (std::int64_t i = 0; i < g_.across; ++i) {
      const std::int64_t next = (i + 1) % g_.across;
      const std::int64_t next_count = is_last && next == 0 ? 0 : first(next + 1) - first(next);
      run_item({m0, first(i), m_count, first(i + 1) - first(i), first(next), next_count}, workspace_ + g_.slot_offset);
    }
  }

  // All panels of a superblock that starts at panel m0, by panels [j0, j0 + j_count) of columns; the columns of the
  // next item are next_j0 ff.; none follows where next_j_count is 0.
  struct Item {
    std::int64_t m0, j0, i_count, j_count, next_j0, next_j_count;
  };
  // Panels [i0, i0 + i_count) of a superblock, and where their accumulators are.
  struct Block {
    std::int64_t i0, i_count;
    unsigned char *acc, *total;
  };

  // Elements [k0, k1) of split s of `i_count` panels of A from i0 on, which the first item of a superblock packs.
  void pack_rows(const Item& item, std::int64_t i0, std::int64_t i_count, std::int64_t s, std::int64_t k0,
                 std::int64_t k1) const noexcept {
    const std::int64_t word = s * g_.split_words + (k0 - s * g_.split) / elements_per_word(g_.kind);
    for (std::int64_t i = i0; i < i0 + i_count; ++i) {
      if (is_a_in_place(item.m0 + i)) continue;
      const MicroKernel& micro = micro_of(item.m0 + i);
      const std::int64_t row = (item.m0 + i) * mr_, count = std::min<std::int64_t>(micro.mr, g_.size.m - row);
      pack_panel(*g_.isa, micro, a_, part_.m0 + row, count, k0, k1 - k0, rows_at(i, word, micro));
      if (g_.folds) scales_.fold_a(row, count, k0, k1, micro.mr, rows_at(i, word, micro));
    }
  }

  template <class F>
  void each_block(const Item& item, unsigned char* slot, F&& f) const noexcept {
    for (std::int64_t i = 0; i < item.i_count; i += g_.pm) {
      const std::int64_t at = g_.one_pass ? 0 : i * mr_ * g_.acc_ld * 4;
      f(Block{i, std::min(g_.pm, item.i_count - i), slot + at, slot + g_.slot_total_offset + at});
    }
  }

  void run_item(const Item& item, unsigned char* slot) const noexcept {
    if (g_.group > 0)
      scales_.gather_b(item.j0 * nr_, item.j_count * nr_, g_.item_n * nr_,
                       reinterpret_cast<float*>(slot + g_.slot_b_scale_offset));
    if (g_.splits == 0) {
      std::memset(slot, 0, g_.slot_total_offset);
      each_block(item, slot, [&](const Block& block) { store(item, block, block.acc, slot); });
    }
    for (std::int64_t s = 0; s < g_.splits; ++s) {
      if (g_.in_place != nullptr) {
        accumulate_in_place(item, s, slot);
        finish_split(item, {0, item.i_count, slot, slot + g_.slot_total_offset}, s, slot);
        continue;
      }
      const std::int64_t begin = s * g_.split, end = std::min(begin + g_.split, g_.size.k);
      for (std::int64_t d0 = begin; d0 < end; d0 += g_.depth) {
        const std::int64_t d1 = std::min(d0 + g_.depth, end), column = item.j0 * nr_;
        if (!g_.reads_prepacked) {
          const std::int64_t count = std::min(item.j_count * nr_, g_.size.n - column);
          pack_columns(*g_.isa, b_, part_.n0 + column, count, item.j_count * nr_, d0, d1 - d0, b_stride(),
                       slot + g_.slot_b_offset);
          if (g_.folds) scales_.fold_b(column, count, d0, d1, b_stride(), slot + g_.slot_b_offset);
        }
        Ahead columns_ahead = after(item, d1);
        each_block(item, slot, [&](const Block& block) {
          if (item.j0 == 0) pack_rows(item, block.i0, block.i_count, s, d0, d1);
          Ahead rows_ahead = rows_after(item, block, d0, d1);
          accumulate(item, block, s, d0, d1, slot, rows_ahead, columns_ahead);
          if (d1 == end && !rounds_tiles_) finish_split(item, block, s, slot);
        });
      }
    }
  }

  // What is read of B after element d1 of an item, by it or by the next one.
  Ahead after(const Item& item, std::int64_t d1) const noexcept {
    const bool is_same = d1 < g_.size.k;
    const std::int64_t column = (is_same ? item.j0 : item.next_j0) * nr_, from = is_same ? d1 : 0;
    const std::int64_t columns = std::min((is_same ? item.j_count : item.next_j_count) * nr_, g_.size.n - column);
    if (columns <= 0) return {};
    return {b_, part_.n0 + column, columns, from, std::min(g_.depth, g_.size.k - from)};
  }

  // What is packed of A after elements [d0, d1) of a block: those of the next block, or what follows of K of the first.
  Ahead rows_after(const Item& item, const Block& block, std::int64_t d0, std::int64_t d1) const noexcept {
    const bool is_last = block.i0 + block.i_count == item.i_count;
    const std::int64_t row = (item.m0 + (is_last ? 0 : block.i0 + block.i_count)) * mr_, from = is_last ? d1 : d0;
    if (item.j0 != 0 || from >= g_.size.k) return {};
    return {a_, part_.m0 + row, std::min(g_.pm * mr_, g_.size.m - row), from, std::min(g_.depth, g_.size.k - from)};
  }

  // What follows the last element of K of a split.
  void finish_split(const Item& item, const Block& block, std::int64_t s, unsigned char* slot) const noexcept {
    if (g_.splits > 1) fold_split(item, block, s, slot);
    if (s == g_.splits - 1) store(item, block, g_.splits > 1 ? block.total : block.acc, slot);
  }

  // The same by a kernel that reads B in place: all rows are in this item.
  void accumulate_in_place(const Item& item, std::int64_t s, unsigned char* slot) const noexcept {
    const std::int64_t begin = s * g_.split, end = std::min(begin + g_.split, g_.size.k), count = columns(item);
    if (item.j0 == 0) pack_rows(item, 0, item.i_count, s, begin, end);
    const auto* a = reinterpret_cast<const std::uint32_t*>(workspace_) + s * g_.split_words * mr_;
    auto* acc = reinterpret_cast<float*>(slot);
    InPlaceCall call{&b_,         part_.n0 + item.j0 * nr_,
                     count,       begin,
                     end - begin, a,
                     mr_,         g_.words * mr_,
                     g_.size.m,   acc,
                     g_.acc_ld,   0,
                     nullptr,     nullptr};
    if (g_.group == 0) return g_.in_place(call);
    const auto* a_scales = reinterpret_cast<const float*>(workspace_ + g_.a_scale_offset);
    const auto* b_scales = reinterpret_cast<const float*>(slot + g_.slot_b_scale_offset);
    constexpr std::int64_t kColumns = 32;  // go through all groups together
    for (std::int64_t n = 0; n < count; n += kColumns) {
      call.n0 = part_.n0 + item.j0 * nr_ + n;
      call.columns = std::min(kColumns, count - n);
      call.acc = acc + n;
      for (std::int64_t k = begin; k < end; k = call.k0 + call.depth) {
        const std::int64_t q = k / g_.group, of_block = begin + ((k - begin) / g_.kc + 1) * g_.kc;
        call.k0 = k;
        call.depth = std::min({(q + 1) * g_.group, of_block, end}) - k;
        call.a = a + (k - begin) / elements_per_word(g_.kind) * mr_;
        call.flags = k == begin ? kScaled : kScaled | kAccumulate;
        call.a_scale = a_scales + q * g_.m_super * mr_;
        call.b_scale = b_scales + q * g_.item_n * nr_ + n;
        g_.in_place(call);
      }
    }
  }

  // The panels that a register tile reads, as a micro-kernel takes them.
  struct Columns {
    const unsigned char* base;
    std::int64_t panels[kMostPanels];
  };

  // Those of panel j of an item, from word `word` of K on, which is word `packed` of the columns that the item packed.
  Columns columns_of(const Item& item, std::int64_t j, std::int64_t word, std::int64_t packed,
                     unsigned char* slot) const noexcept {
    Columns c{};
    std::int64_t stride = b_stride(), last = kMostPanels;
    if (g_.reads_prepacked) {  // what is beyond N is the last panel once more, and never stored
      const std::int64_t first = (item.j0 + j) * nr_ / kPanelColumns;
      last = ceil_div(g_.size.n, kPanelColumns) - 1 - first;
      stride = b_.ld * kPanelColumns;
      c.base = b_.base + ((part_.n0 / kPanelColumns + first) * b_.ld + word) * kPanelColumns * 4;
    } else {
      c.base = slot + g_.slot_b_offset + (j * nr_ / kPanelColumns * stride + packed * kPanelColumns) * 4;
    }
    for (std::int64_t i = 0; i < kMostPanels; ++i) c.panels[i] = std::min(i, last) * stride;
    return c;
  }

  // Words from one panel of packed columns to the next.
  std::int64_t b_stride() const noexcept { return g_.depth_words * kPanelColumns; }

  // Whether what a tile sums up is the result as it is stored, in one go.
  bool can_sum_in_c() const noexcept {
    return g_.one_pass && g_.splits == 1 && g_.kind == PackKind::f32 && traits_.c == DType::fp32 &&
           traits_.quant == Quant::none && traits_.epilogue.empty() && bias_ == nullptr && g_.in_place == nullptr &&
           stays_in_cache(mr_, bytes_of(traits_.c, ldc_)) && reinterpret_cast<std::uintptr_t>(c_) % alignof(float) == 0;
  }
  // Whether each tile's sums, found in one call, are all that there is to store: kernels of tiles round one tile while
  // they multiply the next.
  bool can_round_tiles() const noexcept {
    return g_.micro->grain > 1 && g_.micro->nr == kTileColumns && g_.one_pass && g_.splits == 1 && g_.kc >= g_.size.k &&
           g_.kind == PackKind::bf16 && traits_.c == DType::bf16 && (traits_.quant == Quant::none || g_.groups != 0) &&
           traits_.epilogue.empty() && bias_ == nullptr;
  }
  // Whether tile instructions take A as it lies in memory: whole lines of whole words, which one item alone reads.
  bool can_read_a_in_place() const noexcept {
    constexpr std::uintptr_t kLine = 64;
    const DType as_it_is = g_.kind == PackKind::i8 ? DType::int8 : DType::bf16;
    return g_.micro->grain > 1 && g_.across == 1 && g_.splits == 1 && a_.type == as_it_is && a_.k_contiguous &&
           a_.op == OperandOp::none && a_.rows == nullptr && g_.size.k % elements_per_word(g_.kind) == 0 &&
           reinterpret_cast<std::uintptr_t>(a_.base) % kLine == 0 &&
           static_cast<std::uintptr_t>(bytes_of(a_.type, a_.ld)) % kLine == 0;
  }
  // Of a panel of the part: rows beyond it are nobody's.
  bool is_a_in_place(std::int64_t m_panel) const noexcept {
    return a_in_place_ && m_panel * mr_ + micro_of(m_panel).mr <= g_.size.m;
  }

  // Whether a tile, counted in panels of the part, has no row or column beyond it.
  bool is_whole(std::int64_t m_panel, std::int64_t n_panel) const noexcept {
    return (m_panel + 1) * mr_ <= g_.size.m && (n_panel + 1) * nr_ <= g_.size.n;
  }

  // The tile of C that is stored soon.
  unsigned char* c_at(std::int64_t m_panel, std::int64_t n_panel) const noexcept {
    return c_ + bytes_of(traits_.c, m_panel * mr_ * ldc_ + n_panel * nr_);
  }
  // Its lines, which lie in another core's cache or further off.
  void ask_for_c(std::int64_t m_panel, std::int64_t n_panel, std::int64_t rows) const noexcept {
    const auto first = reinterpret_cast<std::uintptr_t>(c_at(m_panel, n_panel));
    const auto row = static_cast<std::uintptr_t>(bytes_of(traits_.c, ldc_)),
               length = static_cast<std::uintptr_t>(bytes_of(traits_.c, nr_));
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::uintptr_t i = 0; i < length; i += 64) ask_to_write(first + static_cast<std::uintptr_t>(r) * row + i);
  }

  struct Slice {
    std::int64_t k0, k1, begin;  // of K, and where its split begins
    std::int64_t word, packed;   // k0 as a word of A's panels, and of the columns that the item packed
  };

  // Adds elements [d0, d1) of K of split s, whose columns of B are packed, to a block.
  void accumulate(const Item& item, const Block& block, std::int64_t s, std::int64_t d0, std::int64_t d1,
                  unsigned char* slot, Ahead& rows_ahead, Ahead& columns_ahead) const noexcept {
    const std::int64_t e = elements_per_word(g_.kind), begin = s * g_.split;
    Beside beside{rows_ahead, columns_ahead, {}, {}};
    for (std::int64_t k0 = d0; k0 < d1; k0 += g_.kc) {
      const Slice slice{k0, std::min(k0 + g_.kc, d1), begin, s * g_.split_words + (k0 - begin) / e, (k0 - d0) / e};
      if (g_.micro->grain > 1) {  // A stays in the first-level cache, C is written in long runs
        for (std::int64_t i = 0; i < block.i_count; ++i)
          for (std::int64_t j = 0; j < item.j_count; ++j)
            add_tile(item, block, i, j, slice, columns_of(item, j, slice.word, slice.packed, slot), slot, beside);
        continue;
      }
      for (std::int64_t j = 0; j < item.j_count; ++j) {
        const Columns b = columns_of(item, j, slice.word, slice.packed, slot);
        for (std::int64_t i = 0; i < block.i_count; ++i) add_tile(item, block, i, j, slice, b, slot, beside);
      }
    }
    round_tile(beside.before, mr_, nr_);
  }

  // What goes on while a tile is multiplied.
  struct Beside {
    Ahead& rows_ahead;
    Ahead& columns_ahead;
    TileResult before;  // see rounds_tiles_
    alignas(64) std::int32_t excess[kMostPanels * kPanelColumns];
  };

  // A slice of tile j of panel i of a block.
  void add_tile(const Item& item, const Block& block, std::int64_t i, std::int64_t j, const Slice& slice,
                const Columns& b, unsigned char* slot, Beside& beside) const noexcept {
    const std::int64_t panel = block.i0 + i, of_part = item.m0 + panel, column = item.j0 + j;
    const std::int64_t words = ceil_div(slice.k1 - slice.k0, elements_per_word(g_.kind));
    const MicroKernel& micro = micro_of(of_part);
    const bool in_place = is_a_in_place(of_part);
    const unsigned char* a = in_place ? row_of_a_at(of_part, slice.k0) : rows_at(panel, slice.word, micro);
    unsigned char* tile = rounds_tiles_ ? block.acc : block.acc + (i * mr_ * g_.acc_ld + j * nr_) * 4;
    std::int64_t ld = rounds_tiles_ ? kTileColumns : g_.acc_ld;
    if (sums_in_c_ && is_whole(of_part, column)) {
      tile = c_at(of_part, column);
      ld = ldc_;
    }
    const bool is_last = slice.k1 == g_.size.k, asks_itself = g_.micro->grain > 1 && bytes_of(traits_.c, nr_) <= 64;
    if (is_last && !asks_itself) ask_for_c(of_part, column, micro.mr);
    const unsigned char* const* ahead = beside.rows_ahead.take(words);
    if (ahead == nullptr) ahead = beside.columns_ahead.take(words);
    if (g_.group != 0 && micro.grain == 1) return accumulate_scaled(micro, slice, a, b, tile, panel, j, slot, ahead);
    const unsigned flags =
        (slice.k0 == slice.begin ? 0U : kAccumulate) | (i == 0 && g_.kind == PackKind::i8 ? kFindExcess : 0U);
    MicroCall call{words, a, b.base, b.panels, tile, ld, flags, nullptr, nullptr, beside.excess, ahead};
    if (is_last && asks_itself) call.result = reinterpret_cast<std::uintptr_t>(c_at(of_part, column));
    call.result_next = bytes_of(traits_.c, ldc_);
    if (in_place) call.a_row = bytes_of(a_.type, a_.ld);
    call.before = beside.before;
    if (g_.group != 0) set_groups(call, slice, panel, j, slot);
    micro.run(call);
    if (!rounds_tiles_) return;
    beside.before = {reinterpret_cast<const float*>(tile), c_at(of_part, column), call.result_next, micro.mr};
    if (is_whole(of_part, column)) return;
    round_tile(beside.before, g_.size.m - of_part * mr_, g_.size.n - column * nr_);
    beside.before = {};
  }

  // Rows and columns of a tile up to these.
  void round_tile(const TileResult& tile, std::int64_t rows, std::int64_t columns) const noexcept {
    const std::int64_t n = std::min<std::int64_t>(kTileColumns, columns), m = std::min<std::int64_t>(tile.rows, rows);
    for (std::int64_t r = 0; r < m; ++r)
      g_.isa->encode(traits_.c, tile.sums + r * kTileColumns, tile.out + r * tile.next, n);
  }

  // The scales of a slice of one tile.
  void set_groups(MicroCall& call, const Slice& slice, std::int64_t panel, std::int64_t j,
                  unsigned char* slot) const noexcept {
    const std::int64_t q = slice.k0 / g_.group;
    call.flags |= kScaled;
    call.group = g_.group / elements_per_word(g_.kind);
    call.a_scale_next = g_.m_super * mr_;
    call.b_scale_next = g_.item_n * nr_;
    call.a_scale = reinterpret_cast<const float*>(workspace_ + g_.a_scale_offset) + q * call.a_scale_next + panel * mr_;
    call.b_scale = reinterpret_cast<const float*>(slot + g_.slot_b_scale_offset) + q * call.b_scale_next + j * nr_;
  }

  // A slice of one tile, group of K by group of K.
  void accumulate_scaled(const MicroKernel& micro, const Slice& slice, const unsigned char* a, const Columns& b,
                         unsigned char* tile, std::int64_t panel, std::int64_t j, unsigned char* slot,
                         const unsigned char* const* ahead) const noexcept {
    const float* sa = reinterpret_cast<const float*>(workspace_ + g_.a_scale_offset) + panel * mr_;
    const float* sb = reinterpret_cast<const float*>(slot + g_.slot_b_scale_offset) + j * nr_;
    const std::int64_t e = elements_per_word(g_.kind), a_next = g_.m_super * mr_, b_next = g_.item_n * nr_;
    for (std::int64_t k = slice.k0; k < slice.k1;) {
      const std::int64_t q = k / g_.group, done = (k - slice.k0) / e, next = std::min((q + 1) * g_.group, slice.k1);
      const bool begins_line = ahead != nullptr && done % kAheadWords == 0;
      micro.run({ceil_div(next - k, e), a + done * micro.mr * 4, b.base + done * kPanelColumns * 4, b.panels, tile,
                 g_.acc_ld, k == slice.begin ? kScaled : kScaled | kAccumulate, sa + q * a_next, sb + q * b_next,
                 nullptr, begins_line ? ahead + done / kAheadWords : nullptr});
      k = next;
    }
  }

  std::int64_t first_row(const Item& item, const Block& block) const noexcept { return (item.m0 + block.i0) * mr_; }
  std::int64_t rows(const Item& item, const Block& block) const noexcept {
    return std::min(block.i_count * mr_, g_.size.m - first_row(item, block));
  }
  std::int64_t columns(const Item& item) const noexcept {
    return std::min(item.j_count * nr_, g_.size.n - item.j0 * nr_);
  }

  // Row `r` of the part.
  void finish_row(const Item& item, std::int64_t r, const void* acc, bool with_bias, float* out) const noexcept {
    const std::int64_t row = part_.m0 + r, column = part_.n0 + item.j0 * nr_;
    FinishArgs f{acc, has_int_sums(g_.kind), columns(item), 1.0f, 1.0f, nullptr, nullptr};
    if (traits_.quant == Quant::per_tensor) {
      f.a_scale = *scales_.a();
      f.b_scalar = *scales_.b();
    } else if (traits_.quant == Quant::rowwise) {
      f.a_scale = scales_.a()[part_.rows == nullptr ? row : part_.rows[row]];
      f.b_scale = scales_.b() + column;
    }
    if (with_bias && bias_ != nullptr) f.bias = bias_ + column;
    g_.isa->finish(f, out);
    apply_epilogue(*g_.isa, traits_, args_, batch_, row, column, f.n, out);
  }

  bool int_total() const noexcept { return has_int_sums(g_.kind) && (g_.split_mode != 2 || traits_.c == DType::int32); }

  // total += this split, the way the split mode says. Integer sums wrap like the GPU's, hence unsigned.
  void fold_split(const Item& item, const Block& block, std::int64_t s, unsigned char* slot) const noexcept {
    const std::int64_t n = columns(item), first = first_row(item, block);
    for (std::int64_t r = 0; r < rows(item, block); ++r) {
      unsigned char* from = block.acc + r * g_.acc_ld * 4;
      unsigned char* to = block.total + r * g_.acc_ld * 4;
      if (int_total()) {
        const std::uint32_t* x = reinterpret_cast<const std::uint32_t*>(from);
        std::uint32_t* y = reinterpret_cast<std::uint32_t*>(to);
        for (std::int64_t j = 0; j < n; ++j) y[j] = s == 0 ? x[j] : y[j] + x[j];
        continue;
      }
      const float* x = reinterpret_cast<const float*>(from);
      float* y = reinterpret_cast<float*>(to);
      if (g_.split_mode == 2) {
        float* row = reinterpret_cast<float*>(slot + g_.slot_row_offset);
        finish_row(item, first + r, from, s == 0, row);
        g_.isa->round(traits_.c, row, n);
        x = row;
      }
      for (std::int64_t j = 0; j < n; ++j) y[j] = s == 0 ? x[j] : y[j] + x[j];
      if (g_.split_mode == 2) g_.isa->round(traits_.c, y, n);
    }
  }

  // Of row r of a block, whose whole tiles are in C, the other columns.
  void store_rest(const unsigned char* result, std::int64_t r, std::int64_t first, const Item& item, std::int64_t done,
                  std::int64_t n) const noexcept {
    const std::int64_t column = item.j0 * nr_ + done;
    std::memcpy(c_ + ((first + r) * ldc_ + column) * 4, result + (r * g_.acc_ld + done) * 4,
                static_cast<std::size_t>(n - done) * 4);
  }

  void store(const Item& item, const Block& block, const unsigned char* result, unsigned char* slot) const noexcept {
    const std::int64_t n = columns(item), first = first_row(item, block);
    float* row = reinterpret_cast<float*>(slot + g_.slot_row_offset);
    const bool finished = g_.splits > 1 && g_.split_mode == 2;
    const bool plain = (traits_.quant == Quant::none || g_.groups != 0) && traits_.epilogue.empty();
    const std::int64_t in_whole_tiles = std::min(item.j_count, g_.size.n / nr_ - item.j0) * nr_;
    for (std::int64_t r = 0; r < rows(item, block); ++r) {
      if (sums_in_c_ && is_whole((first + r) / mr_, item.j0)) {
        store_rest(result, r, first, item, in_whole_tiles, n);
        continue;
      }
      const unsigned char* acc = result + r * g_.acc_ld * 4;
      unsigned char* out = c_ + bytes_of(traits_.c, (first + r) * ldc_ + item.j0 * nr_);
      const float* values = reinterpret_cast<const float*>(acc);
      if (traits_.c == DType::int32) {
        std::memcpy(out, acc, static_cast<std::size_t>(n) * 4);
        continue;
      }
      if (!finished && !(plain && bias_ == nullptr && !has_int_sums(g_.kind))) {
        finish_row(item, first + r, acc, true, row);
        values = row;
      }
      g_.isa->encode(traits_.c, values, out, n);
    }
  }

  const Geometry& g_;
  const GemmTraits traits_;
  const GemmArgs& args_;
  const std::int64_t batch_;
  const Part part_;
  const PartScales scales_;
  const std::int64_t mr_, nr_;
  unsigned char* const workspace_;
  PackSource a_{}, b_{};
  unsigned char* c_ = nullptr;
  std::int64_t ldc_ = 0;
  const float* bias_ = nullptr;
  bool sums_in_c_ = false, a_in_place_ = false, rounds_tiles_ = false;
};

}  // namespace

void execute_part(const Geometry& g, const GemmTraits& traits, const GemmArgs& args, const Part& part, void* workspace,
                  std::int64_t batch) noexcept {
  Problem(g, traits, args, batch, part, static_cast<unsigned char*>(workspace)).run();
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
