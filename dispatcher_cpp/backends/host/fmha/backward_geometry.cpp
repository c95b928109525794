#include "backends/host/fmha/backward_geometry.hpp"

#include "backends/host/fmha/check.hpp"
#include "backends/host/gemm/blocking.hpp"
#include "backends/host/gemm/driver.hpp"
#include "backends/host/workspace.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

/// Rows of tiles are no power of two apart, for the cache's sets.
constexpr std::int64_t kGap = 16;

class Layout {
 public:
  std::size_t take(std::int64_t count, std::size_t each) noexcept {
    const std::size_t at = end_;
    end_ += aligned_64(static_cast<std::size_t>(count) * each);
    return at;
  }
  std::size_t end() const noexcept { return end_; }

 private:
  std::size_t end_ = 0;
};

void lay_out_slot(FmhaBackwardGeometry& g) noexcept {
  const FmhaTraits& t = g.signature.fmha;
  const bool narrow = g.kind != PackKind::f32;
  const std::int64_t rows = (g.m0 + 1) / 2 * 2, tile = rows * g.ld;
  Layout slot;
  g.k_columns = slot.take(g.k_panels * g.q_words * g.panel, 4);
  g.v_columns = slot.take(g.k_panels * g.v_words * g.panel, 4);
  g.k_rows = slot.take(g.q_panels * g.key_words * g.panel, 4);
  g.q_a = slot.take(rows * g.q_ld, 4);
  g.q_b = slot.take(narrow ? g.q_panels * g.row_words * g.panel : 0, 4);
  g.do_a = slot.take(rows * g.v_ld, 4);
  g.do_b = slot.take(narrow ? g.v_panels * g.row_words * g.panel : 0, 4);
  g.scores = slot.take(tile, 4);
  g.dp = slot.take(tile, 4);
  g.p_rows = slot.take(narrow ? tile / 2 : 0, 4);
  g.ds_rows = slot.take(narrow ? tile / 2 : 0, 4);
  g.ds_columns = slot.take(narrow ? tile / 2 : 0, 4);
  g.dq_tile = slot.take(rows * g.q_panels * g.panel, 4);
  g.dk = slot.take(g.n0 * g.q_panels * g.panel, 4);
  g.dv = slot.take(g.n0 * g.v_panels * g.panel, 4);
  g.bias = slot.take(t.bias == FmhaBias::elementwise ? 2 * tile : 0, 4);  // and sums of its gradient
  g.factor = slot.take(t.dropout != FmhaDropout::none ? tile : 0, 4);
  g.drawn = slot.take(t.dropout == FmhaDropout::philox ? 16 * g.n0 : 0, 1);
  g.lse = slot.take(rows, 4);
  g.row_delta = slot.take(rows, 4);
  g.spans = slot.take(rows, sizeof(FmhaSpan));
  g.row = slot.take(g.shape.hdim_q, 4);
  g.slot_bytes = slot.end();
}

}  // namespace

FmhaBackwardGeometry make_fmha_backward_geometry(const InstanceDesc& instance, const Problem& problem) noexcept {
  FmhaBackwardGeometry g{};
  g.signature = instance.signature;
  g.shape = problem.fmha();
  const FmhaShape& x = g.shape;
  const Isa isa = fmha_isa(instance);
  g.isa = table_for(isa);
  g.kind = fmha_kind(g.signature, isa);
  g.kernels = g.isa->fmha[static_cast<int>(g.kind)];
  g.threads = fmha_threads(instance);
  // Small problems have small tiles: what a slot holds is zeroed and written whole.
  g.panel = g.kernels->panel;
  g.m0 = std::clamp<std::int64_t>(x.seqlen_q, 1, instance.fmha.m0);
  g.n0 = std::clamp<std::int64_t>(x.seqlen_k, 1, instance.fmha.n0);
  g.group = x.heads_q / x.heads_k;
  g.pairs = x.batch * x.heads_k;
  g.blocks = ceil_div(x.seqlen_k, g.n0);
  g.row_tiles = ceil_div(x.seqlen_q, g.m0);
  g.rows = g.signature.fmha.varlen && x.total_q != 0 ? x.total_q : x.batch * x.seqlen_q;
  const std::int64_t elements = elements_per_word(g.kind);
  g.q_words = ceil_div(x.hdim_q, elements);
  g.v_words = ceil_div(x.hdim_v, elements);
  g.q_ld = ceil_div(g.q_words, kGap) * kGap + kGap;
  g.v_ld = ceil_div(g.v_words, kGap) * kGap + kGap;
  g.q_panels = ceil_div(x.hdim_q, g.panel);
  g.v_panels = ceil_div(x.hdim_v, g.panel);
  g.k_panels = ceil_div(g.n0, g.panel);
  g.row_words = ceil_div(g.m0, elements);
  g.key_words = ceil_div(g.n0, elements);
  g.ld = g.k_panels * g.panel + 2 * kGap;
  g.keeps_dq = g.signature.a != DType::fp32;

  Layout all;
  g.delta = all.take(g.rows * x.heads_q, sizeof(float));
  g.dq = all.take(g.keeps_dq ? g.rows * x.heads_q * x.hdim_q : 0, sizeof(float));
  g.tickets = all.take(g.blocks > 1 ? x.batch * x.heads_q * g.row_tiles : 0, sizeof(std::uint32_t));
  g.slots = all.end();
  lay_out_slot(g);
  g.bytes = g.slots + static_cast<std::size_t>(g.threads) * g.slot_bytes;
  return g;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
