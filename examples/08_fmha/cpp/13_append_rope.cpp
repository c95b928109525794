// New rows into a KV cache, keys rotated to their positions, and Q rotated in place.
#include <cmath>

#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words, {"host", 2, 4, 2, 3, 40});  // 3 new rows, room for 40
  const Gallery gallery(asked);
  const std::int64_t rows = asked.seqlen_q, room = asked.seqlen_k, heads = asked.heads_k, half = asked.hdim_q / 2;
  const ckgen::Problem problem =
      Gallery::need(said(asked, DType::bf16).append(rows).rope(ckgen::FmhaRope::half, asked.hdim_q).build());
  Operands x(problem);  // its K and V are the cache
  const Tensor before = x.k, k_new(DType::bf16, asked.batch * rows * heads * asked.hdim_q, 8);
  const Tensor v_new(DType::bf16, asked.batch * rows * heads * asked.hdim_v, 9);
  const Tensor cos(DType::bf16, room * half, 10), sin(DType::bf16, room * half, 11);  // any numbers rotate
  std::vector<std::int32_t> lengths;
  for (std::int64_t b = 0; b < asked.batch; ++b) lengths.push_back(static_cast<std::int32_t>((room - rows) / (b + 1)));
  x.args.k_cache = x.k.data(), x.args.v_cache = x.v.data(), x.args.k = x.args.v = nullptr, x.args.scale = 0;
  x.args.k_new = k_new.data(), x.args.v_new = v_new.data(), x.args.seqlen_k = lengths.data();
  x.args.k_new_strides = {heads * asked.hdim_q, asked.hdim_q, rows * heads * asked.hdim_q};
  x.args.v_new_strides = {heads * asked.hdim_v, asked.hdim_v, rows * heads * asked.hdim_v};
  x.args.rotary_cos = cos.data(), x.args.rotary_sin = sin.data();
  x.args.o = x.q.data(), x.args.o_strides = x.args.q_strides;
  gallery.run(gallery.plan(problem), x.args);

  double off = 0;
  for (std::int64_t b = 0; b < asked.batch; ++b)
    for (std::int64_t at = 0; at < room; ++at)
      for (std::int64_t e = 0; e < heads * asked.hdim_q; ++e) {
        const std::int64_t d = e % asked.hdim_q, i = at - lengths[static_cast<std::size_t>(b)], t = d % half;
        const std::int64_t cell = (b * room + at) * heads * asked.hdim_q + e;
        double want = before.at(cell);
        if (i >= 0 && i < rows) {
          const std::int64_t from = (b * rows + i) * heads * asked.hdim_q + e;
          const double pair = k_new.at(d < half ? from + half : from - half) * sin.at(at * half + t);
          want = k_new.at(from) * cos.at(at * half + t) + (d < half ? -pair : pair);
        }
        off = std::fmax(off, std::fabs(x.k.at(cell) - want));
      }
  std::printf("%.1e off\n", off);
  return expect("the cache has the rotated rows, and all others as they were", off < 1.0 / 128);
}
