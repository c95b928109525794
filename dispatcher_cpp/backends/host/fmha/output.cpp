#include "backends/host/fmha/output.hpp"

#include "backends/host/fmha/sequence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLn2 = 0.693147180559945309417F;

}  // namespace

FmhaWhole whole_fmha_row(const FmhaRun& run, std::int64_t head, float most, float sum, bool with_sink) noexcept {
  const FmhaArgs& a = run.args;
  const FmhaTraits& t = run.g.signature.fmha;
  float worth = 1.0F;
  if (with_sink && t.sink && a.sink[head] > -kInfinity) {
    const float sink = a.sink[head] * kFmhaLog2E, top = std::max(most, sink);
    worth = std::exp2(most - top);
    sum = sum * worth + std::exp2(sink - top);
    most = top;
  }
  if (sum == 0.0F) return {false, 0.0F, -kInfinity};
  float factor = worth / sum;
  if (t.quant == FmhaQuant::per_tensor) factor *= a.v_descale[0];
  if (t.dropout != FmhaDropout::none) factor /= 1.0F - a.p_drop;
  const bool has_lse = t.lse || run.g.splits > 1 || run.g.items > 0;
  return {true, factor, has_lse ? most * kLn2 + std::log(sum) : 0.0F};
}

void write_fmha_row(const FmhaRun& run, const FmhaSequence& x, std::int64_t head, std::int64_t row, float lse,
                    const float* out) noexcept {
  const FmhaArgs& a = run.args;
  const DType type = run.g.signature.c;
  const std::int64_t at = x.o + row * a.o_strides.row + head * a.o_strides.head;
  run.g.isa->encode(type, out, static_cast<unsigned char*>(a.o) + bytes_of(type, at), run.g.shape.hdim_v);
  if (run.g.signature.fmha.lse) a.lse[x.lse + head * a.lse_head_stride + row] = lse;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
