#include "backends/host/fmha/backward_tile.hpp"

#include "backends/host/fmha/pack.hpp"
#include "backends/host/gemm/pack_source.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t kTileBytes = 32 * 1024;  // of rows that stay in the first-level cache beside a panel
constexpr FmhaComing kNothing{};

/// `count` rows of a tensor, of `hdim` elements each.
struct RowsOf {
  const void* base;
  std::int64_t at, stride, count, hdim;
};

PackSource source_of(const FmhaBackwardGeometry& g, const RowsOf& x, bool by_rows) noexcept {
  const DType type = g.signature.a;
  return make_pack_source(g.kind, type, element(x.base, type, x.at), x.stride, by_rows, false);
}

/// As B of products along the head dimension: panels of rows.
void pack_columns_of(const FmhaBackwardGeometry& g, const RowsOf& x, std::int64_t words, std::uint32_t* out) noexcept {
  const PackSource source = source_of(g, x, true);
  for (std::int64_t j = 0; j < x.count; j += g.panel)
    g.isa->pack(source, j, std::min(g.panel, x.count - j), static_cast<int>(g.panel), 0, x.hdim, out + j * words);
}

/// As B of products along the rows: panels of dimensions, `words` words of rows each.
void pack_rows_of(const FmhaBackwardGeometry& g, const RowsOf& x, std::int64_t words, std::uint32_t* out) noexcept {
  const PackSource source = source_of(g, x, false);
  for (std::int64_t d = 0; d < x.hdim; d += g.panel)
    g.isa->pack(source, d, std::min(g.panel, x.hdim - d), static_cast<int>(g.panel), 0, x.count, out + d * words);
}

/// As A of products along the head dimension: row by row; zeros up to `rows`. fp32 rows that are whole panels, and so
/// near one another that the first-level cache holds a tile of them, are read where they are.
FmhaBackwardTile::Operand operand_of(const FmhaBackwardGeometry& g, const RowsOf& x, std::int64_t rows, std::int64_t ld,
                                     std::uint32_t* out) noexcept {
  const DType type = g.signature.a;
  if (type == DType::fp32 && x.hdim % g.panel == 0 && x.stride * g.m0 * 4 <= kTileBytes)
    return {element(x.base, type, x.at), x.stride};
  for (std::int64_t r = 0; r < x.count; ++r)
    pack_fmha_row(*g.isa, g.kind, type, element(x.base, type, x.at + r * x.stride), x.hdim, ld, out + r * ld);
  for (std::int64_t r = x.count; r < rows; ++r) std::fill_n(out + r * ld, ld, 0U);
  return {out, ld};
}

/// The next tile's rows, where `left` are left.
FmhaComing behind(const FmhaBackwardGeometry& g, const RowsOf& x, std::int64_t left) noexcept {
  const DType type = g.signature.a;
  return {element(x.base, type, x.at + x.count * x.stride), bytes_of(type, x.stride), std::min(left, g.m0),
          bytes_of(type, x.hdim)};
}

}  // namespace

void FmhaBackwardTile::keys(const FmhaSequence& x, std::int64_t b, std::int64_t kv_head, std::int64_t block) noexcept {
  const FmhaArgs& a = run_.args;
  x_ = x;
  b_ = b;
  column_ = block * g_.n0;
  columns_ = std::min(g_.n0, x.length_k - column_);
  const RowsOf k{a.k, x.k + kv_head * a.k_strides.head + column_ * a.k_strides.row, a.k_strides.row, columns_,
                 g_.shape.hdim_q};
  const RowsOf v{a.v, x.v + kv_head * a.v_strides.head + column_ * a.v_strides.row, a.v_strides.row, columns_,
                 g_.shape.hdim_v};
  pack_columns_of(g_, k, g_.q_words, at<std::uint32_t>(g_.k_columns));
  pack_columns_of(g_, v, g_.v_words, at<std::uint32_t>(g_.v_columns));
  pack_rows_of(g_, k, g_.key_words, at<std::uint32_t>(g_.k_rows));
}

void FmhaBackwardTile::load_rows(std::int64_t head) noexcept {
  const FmhaArgs& a = run_.args;
  const std::int64_t d_o =
      g_.signature.fmha.varlen ? run_.first_row(b_) * a.dout_strides.row : b_ * a.dout_strides.batch;
  const RowsOf q{a.q, x_.q + head * a.q_strides.head + row_ * a.q_strides.row, a.q_strides.row, live_, g_.shape.hdim_q};
  const RowsOf dout{a.dout, d_o + head * a.dout_strides.head + row_ * a.dout_strides.row, a.dout_strides.row, live_,
                    g_.shape.hdim_v};
  q_ = operand_of(g_, q, rows_, g_.q_ld, at<std::uint32_t>(g_.q_a));
  dout_ = operand_of(g_, dout, rows_, g_.v_ld, at<std::uint32_t>(g_.do_a));
  next_q_ = behind(g_, q, x_.length_q - row_ - live_);
  next_dout_ = behind(g_, dout, x_.length_q - row_ - live_);
  if (g_.kind != PackKind::f32) {  // else rows as they are serve as B too
    pack_rows_of(g_, q, g_.row_words, at<std::uint32_t>(g_.q_b));
    pack_rows_of(g_, dout, g_.row_words, at<std::uint32_t>(g_.do_b));
  }
  float *const lse = at<float>(g_.lse), *const delta = at<float>(g_.row_delta);
  const float* const given = a.lse + x_.lse + head * a.lse_head_stride + row_;
  for (std::int64_t r = 0; r < rows_; ++r) {
    const bool sees = r < live_ && given[r] > -kInfinity;  // else all its weights are 0
    lse[r] = sees ? given[r] : kInfinity;
    delta[r] = sees ? *run_.delta(head, run_.first_row(b_) + row_ + r) : 0.0F;
  }
}

void FmhaBackwardTile::see() noexcept {
  const FmhaSequenceMask mask = run_.mask(x_);
  seen_ = std::min(mask.rows(row_, row_ + live_).end - column_, columns_);
  spans_ = nullptr;
  const bool whole = live_ == rows_ && seen_ % g_.panel == 0;
  if (whole && mask.all_see(row_, row_ + live_, column_, column_ + seen_)) return;
  FmhaSpan* const spans = at<FmhaSpan>(g_.spans);
  const auto within = [this](std::int64_t j) {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(j - column_, 0, seen_));
  };
  for (std::int64_t r = 0; r < rows_; ++r) {
    const FmhaColumns seen = mask.row(row_ + std::min(r, live_ - 1));
    spans[r] = {within(seen.begin), within(seen.end), within(seen.sink_end)};
  }
  spans_ = spans;
}

void FmhaBackwardTile::load_bias(std::int64_t head) noexcept {
  const FmhaArgs& a = run_.args;
  const DType type = g_.signature.a;
  float* const out = at<float>(g_.bias);
  for (std::int64_t r = 0; r < rows_; ++r) {
    const std::int64_t row =
        x_.bias + (row_ + std::min(r, live_ - 1)) * a.bias_strides.row + head * a.bias_strides.head;
    const PackSource source =
        make_pack_source(PackKind::f32, type, element(a.bias, type, row + column_), 0, true, false);
    g_.isa->pack(source, 0, 1, 1, 0, columns_, out + r * g_.ld);
    std::fill(out + r * g_.ld + columns_, out + r * g_.ld + g_.k_panels * g_.panel, 0.0F);
  }
}

void FmhaBackwardTile::draw(std::int64_t head) noexcept {
  const FmhaArgs& a = run_.args;
  const bool draws = g_.signature.fmha.dropout == FmhaDropout::philox;
  const int kept = static_cast<int>(std::floor((1.0F - a.p_drop) * 255.0F));
  const float factor = 1.0F / (1.0F - a.p_drop);
  unsigned char* const drawn = at<unsigned char>(g_.drawn);
  const auto plane = static_cast<std::uint64_t>(b_ * g_.shape.heads_q + head);
  for (std::int64_t r = 0; r < rows_; ++r) {
    float* const out = at<float>(g_.factor) + r * g_.ld;
    std::fill_n(out, g_.k_panels * g_.panel, 0.0F);
    if (r >= live_) continue;
    const std::int64_t i = row_ + r;
    const unsigned char* bytes = nullptr;
    std::int64_t stride = 1;
    if (draws) {
      if (r == 0 || i % 8 == 0)
        g_.kernels->philox(a.seed, a.offset + 64 * plane + 32 * static_cast<std::uint64_t>(i / 8 % 2),
                           static_cast<std::uint32_t>(i / 32), column_, columns_, drawn);
      bytes = drawn + i / 16 % 2 * 8 + i % 8;
      stride = 16;
    } else {
      const FmhaStrides& s = a.rand_val_strides;
      bytes = a.rand_val + x_.rand_val + i * s.row + head * s.head + column_;
    }
    for (std::int64_t j = 0; j < columns_; ++j) out[j] = bytes[j * stride] <= kept ? factor : 0.0F;
  }
}

void FmhaBackwardTile::rows(std::int64_t head, std::int64_t tile, const FmhaComing& soon) noexcept {
  const FmhaTraits& t = g_.signature.fmha;
  const FmhaArgs& a = run_.args;
  const std::int64_t elements = elements_per_word(g_.kind);
  row_ = tile * g_.m0;
  live_ = std::min(g_.m0, x_.length_q - row_);
  rows_ = (live_ + elements - 1) / elements * elements;
  load_rows(head);
  see();
  if (t.bias == FmhaBias::elementwise) load_bias(head);
  if (t.dropout != FmhaDropout::none) draw(head);
  const std::int64_t panels = (seen_ + g_.panel - 1) / g_.panel;
  const FmhaBackwardKernels& kernels = g_.kernels->backward;
  kernels.product({q_.first, q_.ld, 1, at<void*>(g_.k_columns), g_.panel, g_.q_words * g_.panel, at<float>(g_.scores),
                   g_.ld, rows_, g_.q_words, panels, false, kNothing});
  kernels.product({dout_.first, dout_.ld, 1, at<void*>(g_.v_columns), g_.panel, g_.v_words * g_.panel, at<float>(g_.dp),
                   g_.ld, rows_, g_.v_words, panels, false, soon});
  FmhaGradients x{};
  x.scores = at<float>(g_.scores);
  x.dp = at<float>(g_.dp);
  x.ld = g_.ld;
  x.rows = static_cast<std::int32_t>(rows_);
  x.columns = static_cast<std::int32_t>(seen_);
  x.scale = a.scale;
  x.softcap = t.softcap ? a.softcap : 0.0F;
  if (t.bias == FmhaBias::elementwise) x.bias = at<float>(g_.bias);
  if (t.bias == FmhaBias::alibi) {
    x.has_slope = true;
    x.slope = static_cast<const float*>(a.bias)[x_.bias + head * a.bias_strides.head];
    x.position = static_cast<float>(row_ + x_.length_k - x_.length_q - column_);
  }
  if (t.dropout != FmhaDropout::none) x.factor = at<float>(g_.factor);
  x.lse = at<float>(g_.lse);
  x.delta = at<float>(g_.row_delta);
  x.spans = spans_;
  kernels.gradients(x);
  if (kernels.narrow != nullptr) narrow();
}

void FmhaBackwardTile::narrow() noexcept {
  const std::int64_t columns = (seen_ + g_.panel - 1) / g_.panel * g_.panel;
  g_.kernels->backward.narrow(
      {at<float>(g_.scores), g_.ld, rows_, columns, at<std::uint32_t>(g_.p_rows), g_.ld, nullptr, 0});
  g_.kernels->backward.narrow({at<float>(g_.dp), g_.ld, rows_, columns, at<std::uint32_t>(g_.ds_rows), g_.ld,
                               at<std::uint32_t>(g_.ds_columns), g_.ld / 2});
}

void FmhaBackwardTile::clear_keys() noexcept {
  std::fill_n(at<float>(g_.dk), g_.n0 * g_.q_panels * g_.panel, 0.0F);
  std::fill_n(at<float>(g_.dv), g_.n0 * g_.v_panels * g_.panel, 0.0F);
}

void FmhaBackwardTile::add_keys() noexcept {
  const bool narrow = g_.kind != PackKind::f32;
  const std::int64_t words = rows_ / elements_per_word(g_.kind), panel = g_.panel;
  const auto add = [&](std::size_t scores, const Operand& rows, std::size_t packed, std::size_t out,
                       std::int64_t panels, const FmhaComing& soon) {
    const void* const b = narrow ? at<void>(packed) : rows.first;
    const std::int64_t word = narrow ? panel : rows.ld, of_panel = narrow ? g_.row_words * panel : panel;
    g_.kernels->backward.product({at<void>(scores), 1, g_.ld, b, word, of_panel, at<float>(out), panels * panel, seen_,
                                  words, panels, true, soon});
  };
  add(narrow ? g_.p_rows : g_.scores, dout_, g_.do_b, g_.dv, g_.v_panels, next_q_);
  add(narrow ? g_.ds_rows : g_.dp, q_, g_.q_b, g_.dk, g_.q_panels, next_dout_);
}

void FmhaBackwardTile::dq(float* sums, std::int64_t ld, bool adds) noexcept {
  const bool narrow = g_.kind != PackKind::f32, whole = g_.shape.hdim_q % g_.panel == 0 && rows_ == live_;
  const std::int64_t elements = elements_per_word(g_.kind), panel = g_.panel;
  float* const out = whole ? sums : at<float>(g_.dq_tile);
  const std::int64_t out_ld = whole ? ld : g_.q_panels * panel;
  g_.kernels->backward.product({at<void>(narrow ? g_.ds_columns : g_.dp), narrow ? g_.ld / 2 : g_.ld, 1,
                                at<void>(g_.k_rows), panel, g_.key_words * panel, out, out_ld, rows_,
                                (seen_ + elements - 1) / elements, g_.q_panels, adds && whole, kNothing});
  if (!whole) g_.kernels->backward.add({out, out_ld, sums, ld, live_, g_.shape.hdim_q, 1.0F, adds});
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
