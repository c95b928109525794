// Gradients of Q, K and V, held against differences of forward along them.
#include <cmath>

#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words, {"host", 1, 4, 2, 32, 32, 32, 32});
  const Gallery gallery(asked);
  const ckgen::Plan forward = gallery.plan(Gallery::need(said(asked, DType::fp32).causal().lse().build()));
  const ckgen::Plan backward = gallery.plan(Gallery::need(said(asked, DType::fp32).causal().backward().build()));
  Operands x(forward.problem);
  std::vector<float> lse(static_cast<std::size_t>(asked.batch * asked.heads_q * asked.seqlen_q));
  x.args.lse = lse.data(), x.args.lse_head_stride = asked.seqlen_q;
  x.args.lse_batch_stride = asked.heads_q * asked.seqlen_q;
  gallery.run(forward, x.args);

  // The loss is the sum of dO times O: its gradient by O is dO.
  const std::int64_t of_o = asked.batch * asked.seqlen_q * asked.heads_q * asked.hdim_v;
  const Tensor dout(DType::fp32, of_o, 5);
  Operands gradients(forward.problem);
  ckgen::FmhaArgs args = x.args;  // what forward was given, and what it gave
  args.dout = dout.data(), args.dout_strides = args.o_strides;
  args.dq = gradients.q.data(), args.dk = gradients.k.data(), args.dv = gradients.v.data();
  args.dq_strides = args.q_strides, args.dk_strides = args.k_strides, args.dv_strides = args.v_strides;
  gallery.run(backward, args);

  const std::int64_t of_q = asked.batch * asked.seqlen_q * asked.heads_q * asked.hdim_q;
  const std::int64_t of_k = of_q / asked.heads_q * asked.heads_k;
  double square = 0, loss[2] = {};
  for (const float step : {-1e-2F, 2e-2F}) {  // to one side, then from there to the other
    const auto move = [&](Tensor& tensor, const Tensor& along, std::int64_t elements) {
      for (std::int64_t i = 0; i < elements; ++i)
        static_cast<float*>(tensor.data())[i] += step * static_cast<float>(along.at(i));
    };
    move(x.q, gradients.q, of_q), move(x.k, gradients.k, of_k), move(x.v, gradients.v, of_k);
    gallery.run(forward, x.args);
    for (std::int64_t i = 0; i < of_o; ++i) loss[step > 0] += dout.at(i) * x.o.at(i);
  }
  for (std::int64_t i = 0; i < of_q; ++i) square += gradients.q.at(i) * gradients.q.at(i);
  for (std::int64_t i = 0; i < of_k; ++i)
    square += gradients.k.at(i) * gradients.k.at(i) + gradients.v.at(i) * gradients.v.at(i);
  const double slope = (loss[1] - loss[0]) / 2e-2;
  std::printf("a slope of %.4f, by differences %.4f\n", square, slope);
  return expect("gradients", std::fabs(slope / square - 1) < 1e-2);
}
