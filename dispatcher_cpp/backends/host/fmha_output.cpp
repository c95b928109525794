#include "backends/host/fmha_output.hpp"

#include "backends/host/fmha_sequence.hpp"

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

void write_fmha_row(const FmhaRun& run, const FmhaSequence& x, std::int64_t head, std::int64_t row, float most,
                    float sum, float* out) noexcept {
  const FmhaGeometry& g = run.g;
  const FmhaArgs& a = run.args;
  const FmhaTraits& t = g.signature.fmha;
  float worth = 1.0F;
  if (t.sink && a.sink[head] > -kInfinity) {
    const float sink = a.sink[head] * kFmhaLog2E, top = std::max(most, sink);
    worth = std::exp2(most - top);
    sum = sum * worth + std::exp2(sink - top);
    most = top;
  }
  const std::int64_t hdim = g.shape.hdim_v;
  if (sum == 0.0F) {
    std::fill_n(out, hdim, 0.0F);
  } else {
    float factor = worth / sum;
    if (t.quant == FmhaQuant::per_tensor) factor *= a.v_descale[0];
    if (t.dropout != FmhaDropout::none) factor /= 1.0F - a.p_drop;
    for (std::int64_t d = 0; d < hdim; ++d) out[d] *= factor;
  }
  const DType type = g.signature.c;
  const std::int64_t at = x.o + row * a.o_strides.row + head * a.o_strides.head;
  g.isa->encode(type, out, static_cast<unsigned char*>(a.o) + bytes_of(type, at), hdim);
  if (t.lse) a.lse[x.lse + head * a.lse_head_stride + row] = sum == 0.0F ? -kInfinity : most * kLn2 + std::log(sum);
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
