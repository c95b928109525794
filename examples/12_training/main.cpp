// A step of training of one attention layer: forward with lse and dropout, backward, and weights that follow their
// gradients. The slope of the loss is held against differences of forward. Exit code 1 where it is another one.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <ckgen/ckgen.hpp>
#include <my_kernels/register.hpp>

namespace {

using Tensor = std::vector<float>;  // [row][head][D]

constexpr std::int64_t kRows = 96;
constexpr int kHeadsQ = 4, kHeadsK = 2, kHdim = 64;

Tensor random(std::size_t size, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> any(-1.0F, 1.0F);
  Tensor found(size);
  for (float& one : found) one = any(engine);
  return found;
}

/// What both directions are given: the same mask, and the same dropout by seed and offset.
ckgen::FmhaArgs args_of(const Tensor& q, const Tensor& k, const Tensor& v, Tensor& o, Tensor& lse) {
  ckgen::FmhaArgs args;
  args.q = q.data(), args.k = k.data(), args.v = v.data(), args.o = o.data(), args.lse = lse.data();
  args.q_strides = args.o_strides = {kHeadsQ * kHdim, kHdim, 0};
  args.k_strides = args.v_strides = {kHeadsK * kHdim, kHdim, 0};
  args.lse_head_stride = kRows;
  args.scale = 1.0F / std::sqrt(static_cast<float>(kHdim));
  args.p_drop = 0.2F, args.seed = 1234, args.offset = 77;
  return args;
}

void need(const ckgen::Status& status) {
  if (status.ok()) return;
  std::printf("refused: %s\n", status.message);
  std::exit(2);
}

void follow(Tensor& weights, const Tensor& direction, float step) {
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += step * direction[i];
}

}  // namespace

int main() {
  ckgen::Registry registry;
  need(my_kernels::register_all(registry));
  const ckgen::Dispatcher dispatcher(registry);
  const ckgen::Device device = ckgen::Device::host();
  ckgen::FmhaShape shape;
  shape.heads_q = kHeadsQ, shape.heads_k = kHeadsK, shape.hdim_q = shape.hdim_v = kHdim;
  shape.seqlen_q = shape.seqlen_k = kRows;
  const auto forward = dispatcher.plan(ckgen::fmha("fp32_masked_lse_dropout").fmha(shape), device);
  const auto backward = dispatcher.plan(ckgen::fmha("fp32_bwd_masked_dropout").fmha(shape), device);
  if (!forward) need(forward.status());
  if (!backward) need(backward.status());

  const std::size_t of_q = kRows * kHeadsQ * kHdim, of_k = kRows * kHeadsK * kHdim;
  Tensor q = random(of_q, 1), k = random(of_k, 2), v = random(of_k, 3), o(of_q), lse(kRows * kHeadsQ);
  const Tensor wanted = random(of_q, 4);
  const auto loss = [&] {  // half of the squared distance from what is wanted, whose gradient by O is O - wanted
    need(dispatcher.run(*forward, args_of(q, k, v, o, lse), nullptr));
    double sum = 0;
    for (std::size_t i = 0; i < of_q; ++i) sum += 0.5 * std::pow(static_cast<double>(o[i] - wanted[i]), 2);
    return sum;
  };

  const double before = loss();
  Tensor dout = o, dq(of_q), dk(of_k), dv(of_k);
  follow(dout, wanted, -1.0F);
  ckgen::FmhaArgs args = args_of(q, k, v, o, lse);
  args.dout = dout.data(), args.dq = dq.data(), args.dk = dk.data(), args.dv = dv.data();
  args.dout_strides = args.dq_strides = args.q_strides;
  args.dk_strides = args.dv_strides = args.k_strides;
  need(dispatcher.run(*backward, args, nullptr));

  // Along the gradient the loss changes by its square, per unit of step.
  double square = 0;
  for (const Tensor* one : {&dq, &dk, &dv})
    for (const float x : *one) square += static_cast<double>(x) * static_cast<double>(x);
  const float step = 1e-2F;
  const auto at = [&](float along) {
    follow(q, dq, along), follow(k, dk, along), follow(v, dv, along);
    return loss();
  };
  const double after = at(-step), ahead = at(2 * step), slope = (ahead - after) / (2 * static_cast<double>(step));
  const bool correct = std::fabs(slope / square - 1) < 1e-2 && after < before;
  std::printf("%s\n%s\n", registry.instance(forward->selection.instance).name,
              registry.instance(backward->selection.instance).name);
  std::printf("%s: a slope of %.4f, by differences %.4f; a step takes the loss from %.4f to %.4f\n",
              correct ? "correct" : "wrong", square, slope, before, after);
  return correct ? 0 : 1;
}
