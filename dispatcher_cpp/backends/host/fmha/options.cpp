#include "backends/host/fmha/options.hpp"

#include "backends/host/fmha/pack.hpp"

#include <algorithm>
#include <cmath>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr std::int64_t kScaleRows = 128;  // of a blockscale

}  // namespace

FmhaOptions::FmhaOptions(const FmhaRun& run, const FmhaSequence& sequence, std::int64_t batch,
                         unsigned char* memory) noexcept
    : run_(run), traits_(run.g.signature.fmha), sequence_(sequence), batch_(batch), memory_(memory) {
  const FmhaArgs& a = run.args;
  scale_ = a.scale;
  if (traits_.quant == FmhaQuant::per_tensor) scale_ *= a.k_descale[0];
  if (traits_.quant == FmhaQuant::per_tensor && a.q_descale != nullptr) scale_ *= a.q_descale[0];
  const bool pages = traits_.quant == FmhaQuant::kv_blockscale;
  if (pages && a.q_descale != nullptr) scale_ *= a.q_descale[0];
  const bool blocks = pages || traits_.quant == FmhaQuant::blockscale;
  // What hides a column is -infinity, which survives a positive factor only.
  scales_ = traits_.softcap || traits_.bias != FmhaBias::none || blocks || !(scale_ > 0.0F);
  factors_ = blocks || traits_.dropout != FmhaDropout::none;
  kept_ = static_cast<int>(std::floor((1.0F - a.p_drop) * 255.0F));
}

void FmhaOptions::start_tile(std::int64_t kv_head, std::int64_t column, std::int64_t count) noexcept {
  column_ = column;
  count_ = count;
  const bool pages = traits_.quant == FmhaQuant::kv_blockscale;
  if (!pages && traits_.quant != FmhaQuant::blockscale) return;
  const FmhaGeometry& g = run_.g;
  const std::int64_t blocks = (g.shape.seqlen_k + kScaleRows - 1) / kScaleRows;
  const std::int64_t at = (batch_ * g.shape.heads_k + kv_head) * blocks;
  float* const k = reinterpret_cast<float*>(memory_ + g.columns);
  float* const v = k + kFmhaStride;
  for (std::int64_t j = 0; j < kFmhaStride; ++j) {
    const std::int64_t of = column + std::min(j, count - 1);
    const std::int64_t block = pages ? sequence_.pages[of / g.shape.page_size] * std::int64_t{g.shape.heads_k} + kv_head
                                     : at + of / kScaleRows;
    k[j] = run_.args.k_descale[block];
    v[j] = run_.args.v_descale[block];
  }
}

void FmhaOptions::adjust(FmhaStep& step, const FmhaRowIds* rows) const noexcept {
  if (scales_) adjust_scores(step, rows);
  if (factors_) make_factors(step, rows);
}

void FmhaOptions::adjust_scores(const FmhaStep& step, const FmhaRowIds* rows) const noexcept {
  const FmhaGeometry& g = run_.g;
  const FmhaArgs& a = run_.args;
  float scale[kFmhaRows], slope[kFmhaRows], position[kFmhaRows];
  FmhaAdjust x{};
  x.row_scale = scale;
  std::fill_n(scale, kFmhaRows, scale_);
  const bool of_rows = traits_.quant == FmhaQuant::blockscale;
  if (of_rows || traits_.quant == FmhaQuant::kv_blockscale)
    x.column_scale = reinterpret_cast<const float*>(memory_ + g.columns);
  if (of_rows) {
    const std::int64_t blocks = (g.shape.seqlen_q + kScaleRows - 1) / kScaleRows;
    for (int r = 0; r < step.rows && a.q_descale != nullptr; ++r)
      scale[r] *= a.q_descale[(batch_ * g.shape.heads_q + rows[r].head) * blocks + rows[r].position / kScaleRows];
  }
  if (traits_.softcap) x.softcap = a.softcap;
  if (traits_.bias == FmhaBias::elementwise) {
    float* const bias = reinterpret_cast<float*>(memory_ + g.bias);
    for (int r = 0; r < step.rows; ++r) {
      const std::int64_t row =
          sequence_.bias + rows[r].position * a.bias_strides.row + rows[r].head * a.bias_strides.head;
      decode_fmha(g, g.signature.a, a.bias, row + column_ + step.first, step.last - step.first,
                  bias + r * kFmhaStride + step.first);
    }
    x.bias = bias;
  }
  if (traits_.bias == FmhaBias::alibi) {
    const float* const slopes = static_cast<const float*>(a.bias) + sequence_.bias;
    for (int r = 0; r < step.rows; ++r) {
      slope[r] = slopes[rows[r].head * a.bias_strides.head];
      position[r] = static_cast<float>(rows[r].position + sequence_.length_k - sequence_.length_q - column_);
    }
    x.slope = slope;
    x.position = position;
  }
  g.kernels->adjust(step, x);
}

void FmhaOptions::make_factors(FmhaStep& step, const FmhaRowIds* rows) const noexcept {
  const FmhaGeometry& g = run_.g;
  float* const factor = reinterpret_cast<float*>(memory_ + g.factor);
  const float* const v = reinterpret_cast<const float*>(memory_ + g.columns) + kFmhaStride;
  for (int r = 0; r < step.rows; ++r) {
    float* const row = factor + r * kFmhaStride;
    if (traits_.quant == FmhaQuant::blockscale || traits_.quant == FmhaQuant::kv_blockscale)
      std::copy_n(v, kFmhaStride, row);
    else
      std::fill_n(row, kFmhaStride, 1.0F);
  }
  if (traits_.dropout != FmhaDropout::none) drop(step, rows, factor);
  step.factor = factor;
}

void FmhaOptions::draw(const FmhaRowIds& row, unsigned char* bytes) const noexcept {
  const std::int64_t head = batch_ * run_.g.shape.heads_q + row.head;
  const std::uint64_t base =
      run_.args.offset + 64 * static_cast<std::uint64_t>(head) + 32 * static_cast<std::uint64_t>(row.position / 8 % 2);
  run_.g.kernels->philox(run_.args.seed, base, static_cast<std::uint32_t>(row.position / 32), column_, count_, bytes);
}

void FmhaOptions::drop(const FmhaStep& step, const FmhaRowIds* rows, float* factor) const noexcept {
  const FmhaArgs& a = run_.args;
  unsigned char* const drawn = memory_ + run_.g.keep;
  for (int r = 0; r < step.rows; ++r) {
    const unsigned char* bytes = nullptr;
    std::int64_t stride = 1;
    if (traits_.dropout == FmhaDropout::philox) {
      const bool same = r > 0 && rows[r].head == rows[r - 1].head && rows[r].position / 8 == rows[r - 1].position / 8;
      if (!same) draw(rows[r], drawn);
      bytes = drawn + rows[r].position / 16 % 2 * 8 + rows[r].position % 8;
      stride = 16;
    } else {
      const FmhaStrides& s = a.rand_val_strides;
      bytes = a.rand_val + sequence_.rand_val + rows[r].position * s.row + rows[r].head * s.head + column_;
    }
    float* const row = factor + r * kFmhaStride;
    for (std::int64_t j = step.first; j < step.last; ++j) row[j] = bytes[j * stride] <= kept_ ? row[j] : 0.0F;
  }
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
