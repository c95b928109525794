// The gate of a SwiGLU layer as two GEMMs: up = X * W_up, out = silu(X * W_gate) * up, the second with a fused
// epilogue. Every result is checked.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <ckgen/ckgen.hpp>
#include <ckgen/codecs.hpp>
#include <my_kernels/register.hpp>

namespace {

constexpr std::int64_t M = 40, N = 96, K = 256;

float x_value(std::int64_t m, std::int64_t k) {
  return static_cast<float>((m * 3 + k) % 5 - 2) / 4.0F;
}
float gate_value(std::int64_t n, std::int64_t k) {
  return static_cast<float>((n + k * 7) % 3 - 1) / 8.0F;
}
float up_value(std::int64_t n, std::int64_t k) {
  return static_cast<float>((n * 5 + k) % 4 - 1) / 8.0F;
}

std::uint16_t bf16(float value) {
  return static_cast<std::uint16_t>(ckgen::encode(ckgen::DType::bf16, value));
}
double number(std::uint16_t code) {
  return static_cast<double>(ckgen::decode(ckgen::DType::bf16, code));
}

int fail(const ckgen::Status& status) {
  std::printf("failed: %s\n", status.message);
  return 1;
}

struct Layer {
  std::vector<std::uint16_t> x, w_gate, w_up, up, out;

  Layer() : x(M * K), w_gate(N * K), w_up(N * K), up(M * N), out(M * N) {
    for (std::int64_t i = 0; i < M * K; ++i) x[i] = bf16(x_value(i / K, i % K));
    for (std::int64_t i = 0; i < N * K; ++i) w_gate[i] = bf16(gate_value(i / K, i % K));
    for (std::int64_t i = 0; i < N * K; ++i) w_up[i] = bf16(up_value(i / K, i % K));
  }
};

ckgen::GemmArgs product(const Layer& layer, const std::vector<std::uint16_t>& weights,
                        std::vector<std::uint16_t>& result) {
  ckgen::GemmArgs args{};
  args.a = layer.x.data();
  args.b = weights.data();
  args.c = result.data();
  args.m = M;
  args.n = N;
  args.k = K;
  args.batch = 1;
  args.lda = K;
  args.ldb = K;
  args.ldc = N;
  return args;
}

ckgen::Status run(const ckgen::Dispatcher& dispatcher, const ckgen::Device& device, const char* signature,
                  const ckgen::GemmArgs& args) {
  const auto plan = dispatcher.plan(ckgen::gemm(signature).shape(M, N, K), device);
  return plan ? dispatcher.run(*plan, args, nullptr) : plan.status();
}

int check(const Layer& layer) {
  for (std::int64_t m = 0; m < M; ++m) {
    for (std::int64_t n = 0; n < N; ++n) {
      double gate = 0;
      for (std::int64_t k = 0; k < K; ++k) gate += static_cast<double>(x_value(m, k)) * gate_value(n, k);
      const double want = gate / (1 + std::exp(-gate)) * number(layer.up[m * N + n]);
      const double got = number(layer.out[m * N + n]);
      if (std::abs(got - want) > std::abs(want) / 250 + 1e-6) {  // one rounding to bf16
        std::printf("wrong at (%d, %d): %g, expected %g\n", static_cast<int>(m), static_cast<int>(n), got, want);
        return 1;
      }
    }
  }
  return 0;
}

}  // namespace

int main() {
  ckgen::Registry registry;
  if (const ckgen::Status status = my_kernels::register_all(registry); !status.ok()) return fail(status);
  const ckgen::Dispatcher dispatcher(registry);
  for (const ckgen::Device& device : {ckgen::Device::simulated("gfx950:256"), ckgen::Device::host()}) {
    Layer layer;
    if (const auto status = run(dispatcher, device, "bf16", product(layer, layer.w_up, layer.up)); !status.ok())
      return fail(status);
    ckgen::GemmArgs gated = product(layer, layer.w_gate, layer.out);
    gated.d[0] = layer.up.data();
    gated.ldd[0] = N;
    const auto status = run(dispatcher, device, "gemm_bf16_rcr_epi_silu_mul", gated);
    if (!status.ok()) return fail(status);
    if (check(layer) != 0) return 1;
    std::printf("%s: correct, %d gated results\n", device.gfx(), static_cast<int>(M * N));
  }
  return 0;
}
