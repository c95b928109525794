#include "backends/host/driver.hpp"

#include "backends/host/fused.hpp"
#include "backends/host/pack_source.hpp"
#include "backends/host/threads.hpp"
#include "ckgen/codecs.hpp"
#include "ckgen/preshuffle.hpp"
#include "ckgen/scales.hpp"

#include <algorithm>
#include <cstring>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr DecodeTable kE8m0 = make_decode_table(DType::e8m0);

// One matrix product of the batch or a part of it, in its part of the workspace.
class Problem {
 public:
  Problem(const Geometry& g, const GemmTraits& traits, const GemmArgs& args, std::int64_t batch, const Part& part,
          unsigned char* workspace)
      : g_(g),
        traits_(traits),
        args_(args),
        batch_(batch),
        part_(part),
        mr_(g.micro->mr),
        nr_(g.micro->nr),
        workspace_(workspace) {
    a_ = source(traits.a, args.a, args.lda, a_is_row_major(traits.layout), false, batch * args.batch_stride_a);
    b_ = source(traits.b, args.b, args.ldb, !b_is_row_major(traits.layout), traits.preshuffle_b,
                batch * args.batch_stride_b);
    a_ = combined(a_, traits.a_op, args.a1, batch * args.batch_stride_a);
    b_ = combined(b_, traits.b_op, args.b1, batch * args.batch_stride_b);
    a_.rows = part.rows;
    c_ = static_cast<unsigned char*>(part.c);
    ldc_ = args.ldc;
    bias_ = traits.bias ? static_cast<const float*>(args.bias) : nullptr;
    a_scale_row_major_ = args.a_scale_row_major;
    mx_scale_shuffled_ = args.mx_scale_shuffled;
    a_scale_ = scales(scales_a(traits.quant, traits.scale_block) ? args.a_scale : nullptr,
                      args.batch_stride_a == 0 ? 0 : batch, args.m, traits.quant);
    b_scale_ = scales(
        scales_b(traits.quant, traits.scale_block) ? args.b_scale : nullptr, args.batch_stride_b == 0 ? 0 : batch,
        traits.quant == Quant::blockscale ? ceil_div(args.n, traits.scale_block.n) : args.n, traits.quant);
  }

  void run() noexcept {
    for (std::int64_t n0 = 0; n0 < g_.n_panels; n0 += g_.n_super)
      for (std::int64_t m0 = 0; m0 < g_.m_panels; m0 += g_.m_super) superblock(m0, n0);
  }

 private:
  PackSource source(DType type, const void* base, std::int64_t ld, bool k_contiguous, bool preshuffled,
                    std::int64_t offset) const noexcept {
    return make_pack_source(g_.kind, type, static_cast<const unsigned char*>(base) + bytes_of(type, offset),
                            preshuffled ? g_.size.k : ld, k_contiguous, preshuffled);
  }

  const void* scales(const void* base, std::int64_t batch, std::int64_t rows, Quant quant) const noexcept {
    if (base == nullptr) return nullptr;
    switch (quant) {
      case Quant::rowwise: return static_cast<const float*>(base) + batch * rows;
      case Quant::blockscale: return static_cast<const float*>(base) + batch * rows * g_.groups;
      case Quant::mx:
        return static_cast<const unsigned char*>(base) +
               batch * (mx_scale_shuffled_ ? shuffled_mx_scale_bytes(rows, g_.groups) : rows * g_.groups);
      default: return base;
    }
  }

  unsigned char* slot(int index) const noexcept {
    return workspace_ + g_.slots_offset + g_.slot_bytes * static_cast<std::size_t>(index);
  }

  // All splits of one panel, each starting on a word of its own; `count` rows of it are there.
  void pack_panel(const PackSource& s, std::int64_t p0, std::int64_t count, int width,
                  unsigned char* panel) const noexcept {
    for (std::int64_t i = 0; i < g_.splits; ++i) {
      const std::int64_t k0 = i * g_.split;
      g_.isa->pack(s, p0, std::min<std::int64_t>(width, count), width, k0, std::min(g_.split, g_.size.k - k0),
                   panel + i * g_.split_words * width * 4);
    }
  }

  float mx_scale(const void* scales, std::int64_t row, std::int64_t group) const noexcept {
    const std::int64_t at = mx_scale_shuffled_ ? shuffled_mx_scale(row, group, g_.groups) : row * g_.groups + group;
    return kE8m0.value[static_cast<const unsigned char*>(scales)[at]];
  }

  // The row of A and of its scales that makes row p of the product.
  std::int64_t row_of_a(std::int64_t p) const noexcept { return part_.rows == nullptr ? p : part_.rows[p]; }

  // out[group * stride + r] for r < width: the scale of row (or column) r of the part, counted from p0, whatever shape
  // the caller keeps them in; 1 where this side has none.
  void gather_a_scales(std::int64_t p0, std::int64_t stride, float* out) const noexcept {
    if (g_.groups == 0) return;
    for (std::int64_t r = 0; r < mr_; ++r) {
      const bool inside = p0 + r < g_.size.m;
      const std::int64_t p = inside ? row_of_a(part_.m0 + p0 + r) : 0;
      for (std::int64_t q = 0; q < g_.groups; ++q) {
        float v = 0.0f;
        if (inside) {
          if (traits_.quant == Quant::mx)
            v = mx_scale(a_scale_, p, q);
          else if (a_scale_ == nullptr)
            v = 1.0f;
          else
            v = static_cast<const float*>(a_scale_)[a_scale_row_major_ ? p * g_.groups + q : q * args_.m + p];
        }
        out[q * stride + r] = v;
      }
    }
  }

  void gather_b_scales(std::int64_t p0, std::int64_t width, std::int64_t stride, float* out) const noexcept {
    if (g_.groups == 0) return;
    for (std::int64_t r = 0; r < width; ++r) {
      const std::int64_t p = part_.n0 + p0 + r;
      const std::int64_t of_block = p / traits_.scale_block.n * g_.groups;
      for (std::int64_t q = 0; q < g_.groups; ++q) {
        float v = 0.0f;
        if (p0 + r < g_.size.n) {
          if (traits_.quant == Quant::mx)
            v = mx_scale(b_scale_, p, q);
          else if (b_scale_ == nullptr)
            v = 1.0f;
          else
            v = static_cast<const float*>(b_scale_)[of_block + q];
        }
        out[q * stride + r] = v;
      }
    }
  }

  std::int64_t panel_bytes(std::int64_t width) const noexcept { return g_.words * width * 4; }

  void superblock(std::int64_t m0, std::int64_t n0) noexcept {
    const std::int64_t m_count = std::min(g_.m_super, g_.m_panels - m0);
    const std::int64_t n_count = std::min(g_.n_super, g_.n_panels - n0);
    const bool pack_b = !g_.fused && m0 == 0;
    const std::int64_t to_pack = m_count + (pack_b ? n_count : 0);
    float* a_scales = reinterpret_cast<float*>(workspace_ + g_.a_scale_offset);
    float* b_scales = reinterpret_cast<float*>(workspace_ + g_.b_scale_offset);
    parallel_for(to_pack, g_.threads, [&](std::int64_t i, int) {
      if (i < m_count) {
        const std::int64_t p0 = (m0 + i) * mr_;
        pack_panel(a_, part_.m0 + p0, g_.size.m - p0, static_cast<int>(mr_), workspace_ + i * panel_bytes(mr_));
        gather_a_scales(p0, g_.m_super * mr_, a_scales + i * mr_);
      } else {
        const std::int64_t j = i - m_count, p0 = (n0 + j) * nr_;
        pack_panel(b_, part_.n0 + p0, g_.size.n - p0, static_cast<int>(nr_),
                   workspace_ + g_.b_offset + j * panel_bytes(nr_));
        gather_b_scales(p0, nr_, g_.n_super * nr_, b_scales + j * nr_);
      }
    });
    const std::int64_t m_items = ceil_div(m_count, g_.pm), n_items = ceil_div(n_count, g_.pn);
    parallel_for(m_items * n_items, g_.threads, [&](std::int64_t i, int index) {
      Item item{};
      item.m0 = m0;
      item.n0 = n0;
      item.i0 = i % m_items * g_.pm;  // m fastest: neighbours share a block of B
      item.j0 = i / m_items * g_.pn;
      item.i_count = std::min(g_.pm, m_count - item.i0);
      item.j_count = std::min(g_.pn, n_count - item.j0);
      run_item(item, slot(index));
    });
  }

  // Panels [i0, i0+i_count) x [j0, j0+j_count) of the superblock that starts at panels m0, n0.
  struct Item {
    std::int64_t m0, n0, i0, j0, i_count, j_count;
  };

  void run_item(const Item& item, unsigned char* slot) const noexcept {
    unsigned char* acc = slot;
    unsigned char* total = slot + g_.slot_total_offset;
    const bool fold = g_.splits > 1;
    if (g_.splits == 0) std::memset(acc, 0, g_.slot_total_offset);
    if (g_.fused && g_.groups > 0)
      gather_b_scales((item.n0 + item.j0) * nr_, item.j_count * nr_, g_.pn * nr_,
                      reinterpret_cast<float*>(slot + g_.slot_b_scale_offset));
    for (std::int64_t s = 0; s < g_.splits; ++s) {
      accumulate(item, s, slot);
      if (fold) fold_split(item, s, acc, total, slot);
    }
    store(item, fold ? total : acc, slot);
  }

  // The same by a kernel that reads B in place: all rows are in this item.
  void accumulate_in_place(const Item& item, std::int64_t s, unsigned char* slot) const noexcept {
    const std::int64_t begin = s * g_.split, end = std::min(begin + g_.split, g_.size.k), count = columns(item);
    const auto* a = reinterpret_cast<const std::uint32_t*>(workspace_) + s * g_.split_words * mr_;
    auto* acc = reinterpret_cast<float*>(slot);
    InPlaceCall call{&b_,         part_.n0 + (item.n0 + item.j0) * nr_,
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
      call.n0 = part_.n0 + (item.n0 + item.j0) * nr_ + n;
      call.columns = std::min(kColumns, count - n);
      call.acc = acc + n;
      for (std::int64_t k = begin; k < end; k = call.k0 + call.depth) {
        const std::int64_t q = k / g_.group, of_block = begin + ((k - begin) / g_.kc + 1) * g_.kc;
        call.k0 = k;
        call.depth = std::min({(q + 1) * g_.group, of_block, end}) - k;
        call.a = a + (k - begin) * mr_;
        call.flags = k == begin ? kScaled : kScaled | kAccumulate;
        call.a_scale = a_scales + q * g_.m_super * mr_;
        call.b_scale = b_scales + q * g_.pn * nr_ + n;
        g_.in_place(call);
      }
    }
  }

  // The accumulators of one split, from zero.
  void accumulate(const Item& item, std::int64_t s, unsigned char* slot) const noexcept {
    if (g_.in_place != nullptr) return accumulate_in_place(item, s, slot);
    const std::int64_t e = elements_per_word(g_.kind);
    const std::int64_t begin = s * g_.split, end = std::min(begin + g_.split, g_.size.k);
    const float* a_scales = reinterpret_cast<const float*>(workspace_ + g_.a_scale_offset);
    const float* b_scales =
        reinterpret_cast<const float*>(g_.fused ? slot + g_.slot_b_scale_offset : workspace_ + g_.b_scale_offset);
    const std::int64_t b_scale_stride = (g_.fused ? g_.pn : g_.n_super) * nr_;
    for (std::int64_t k0 = begin; k0 < end; k0 += g_.kc) {
      const std::int64_t k1 = std::min(k0 + g_.kc, end);
      const std::int64_t word0 = s * g_.split_words + (k0 - begin) / e;
      const std::int64_t step_words = ceil_div(k1 - k0, e);
      for (std::int64_t j = 0; j < item.j_count; ++j) {
        const unsigned char* b_panel = nullptr;
        if (g_.fused) {
          unsigned char* own = slot + g_.slot_b_offset;
          const std::int64_t p0 = (item.n0 + item.j0 + j) * nr_;
          g_.isa->pack(b_, part_.n0 + p0, std::min(nr_, g_.size.n - p0), static_cast<int>(nr_), k0, k1 - k0, own);
          b_panel = own;
        } else {
          b_panel = workspace_ + g_.b_offset + (item.j0 + j) * panel_bytes(nr_) + word0 * nr_ * 4;
        }
        for (std::int64_t i = 0; i < item.i_count; ++i) {
          const unsigned char* a_panel = workspace_ + (item.i0 + i) * panel_bytes(mr_) + word0 * mr_ * 4;
          unsigned char* tile = slot + (i * mr_ * g_.acc_ld + j * nr_) * 4;
          if (g_.group == 0) {
            g_.micro->run(step_words, a_panel, b_panel, tile, g_.acc_ld, k0 == begin ? 0u : kAccumulate, nullptr,
                          nullptr);
            continue;
          }
          const float* sa = a_scales + (item.i0 + i) * mr_;
          const float* sb = b_scales + (g_.fused ? j : item.j0 + j) * nr_;
          for (std::int64_t k = k0; k < k1;) {
            const std::int64_t q = k / g_.group, next = std::min((q + 1) * g_.group, k1);
            g_.micro->run(next - k, a_panel + (k - k0) * mr_ * 4, b_panel + (k - k0) * nr_ * 4, tile, g_.acc_ld,
                          k == begin ? kScaled : kScaled | kAccumulate, sa + q * g_.m_super * mr_,
                          sb + q * b_scale_stride);
            k = next;
          }
        }
      }
    }
  }

  std::int64_t rows(const Item& item) const noexcept {
    return std::min(item.i_count * mr_, g_.size.m - (item.m0 + item.i0) * mr_);
  }
  std::int64_t columns(const Item& item) const noexcept {
    return std::min(item.j_count * nr_, g_.size.n - (item.n0 + item.j0) * nr_);
  }

  void finish_row(const Item& item, std::int64_t r, const void* acc, bool with_bias, float* out) const noexcept {
    const std::int64_t row = part_.m0 + (item.m0 + item.i0) * mr_ + r, column = part_.n0 + (item.n0 + item.j0) * nr_;
    FinishArgs f{acc, g_.kind == PackKind::i16, columns(item), 1.0f, 1.0f, nullptr, nullptr};
    if (traits_.quant == Quant::per_tensor) {
      f.a_scale = *static_cast<const float*>(a_scale_);
      f.b_scalar = *static_cast<const float*>(b_scale_);
    } else if (traits_.quant == Quant::rowwise) {
      f.a_scale = static_cast<const float*>(a_scale_)[row_of_a(row)];
      f.b_scale = static_cast<const float*>(b_scale_) + column;
    }
    if (with_bias && bias_ != nullptr) f.bias = bias_ + column;
    g_.isa->finish(f, out);
    apply_epilogue(*g_.isa, traits_, args_, batch_, row, column, f.n, out);
  }

  bool int_total() const noexcept {
    return g_.kind == PackKind::i16 && (g_.split_mode != 2 || traits_.c == DType::int32);
  }

  // total += this split, the way the split mode says. Integer sums wrap like the GPU's, hence unsigned.
  void fold_split(const Item& item, std::int64_t s, unsigned char* acc, unsigned char* total,
                  unsigned char* slot) const noexcept {
    const std::int64_t n = columns(item);
    for (std::int64_t r = 0; r < rows(item); ++r) {
      unsigned char* from = acc + r * g_.acc_ld * 4;
      unsigned char* to = total + r * g_.acc_ld * 4;
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
        finish_row(item, r, from, s == 0, row);
        g_.isa->round(traits_.c, row, n);
        x = row;
      }
      for (std::int64_t j = 0; j < n; ++j) y[j] = s == 0 ? x[j] : y[j] + x[j];
      if (g_.split_mode == 2) g_.isa->round(traits_.c, y, n);
    }
  }

  void store(const Item& item, const unsigned char* result, unsigned char* slot) const noexcept {
    const std::int64_t n = columns(item);
    float* row = reinterpret_cast<float*>(slot + g_.slot_row_offset);
    const bool finished = g_.splits > 1 && g_.split_mode == 2;
    const bool plain = (traits_.quant == Quant::none || g_.group != 0) && traits_.epilogue.empty();
    for (std::int64_t r = 0; r < rows(item); ++r) {
      const unsigned char* acc = result + r * g_.acc_ld * 4;
      unsigned char* out = c_ + bytes_of(traits_.c, ((item.m0 + item.i0) * mr_ + r) * ldc_ + (item.n0 + item.j0) * nr_);
      const float* values = reinterpret_cast<const float*>(acc);
      if (traits_.c == DType::int32) {
        std::memcpy(out, acc, static_cast<std::size_t>(n) * 4);
        continue;
      }
      if (!finished && !(plain && bias_ == nullptr && g_.kind != PackKind::i16)) {
        finish_row(item, r, acc, true, row);
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
  const std::int64_t mr_, nr_;
  unsigned char* const workspace_;
  PackSource a_{}, b_{};
  unsigned char* c_ = nullptr;
  std::int64_t ldc_ = 0;
  const float* bias_ = nullptr;
  bool a_scale_row_major_ = true, mx_scale_shuffled_ = false;
  const void* a_scale_ = nullptr;
  const void* b_scale_ = nullptr;
};

}  // namespace

void execute(const Geometry& g, const GemmTraits& traits, const GemmArgs& args, void* workspace) noexcept {
  unsigned char* base = static_cast<unsigned char*>(workspace);
  parallel_for(g.size.batch, g.instances, [&](std::int64_t i, int index) {
    auto* c = static_cast<unsigned char*>(args.c) + bytes_of(traits.c, i * args.batch_stride_c);
    Problem(g, traits, args, i, {0, 0, c, nullptr}, base + g.problem_bytes * static_cast<std::size_t>(index)).run();
  });
}

void execute_part(const Geometry& g, const GemmTraits& traits, const GemmArgs& args, const Part& part,
                  void* workspace) noexcept {
  Problem(g, traits, args, 0, part, static_cast<unsigned char*>(workspace)).run();
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
