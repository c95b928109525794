// A mixture-of-experts layer: in one plan, and as its two products over tokens that are sorted here. Both are checked.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <ckgen/ckgen.hpp>
#include <ckgen/codecs.hpp>
#include <my_kernels/register.hpp>

namespace {

constexpr std::int64_t kTokens = 12, kModel = 64, kInter = 96, kBlockM = 32;
constexpr ckgen::Routing kRouting{8, 2};

std::uint16_t bf16(double value) {
  return static_cast<std::uint16_t>(ckgen::encode(ckgen::DType::bf16, static_cast<float>(value)));
}
double number(std::uint16_t code) {
  return static_cast<double>(ckgen::decode(ckgen::DType::bf16, code));
}

// Multiples of 1/16 that bf16 holds.
std::vector<std::uint16_t> matrix(std::int64_t rows, std::int64_t columns, std::int64_t seed) {
  std::vector<std::uint16_t> codes(static_cast<std::size_t>(rows * columns));
  std::uint64_t state = static_cast<std::uint64_t>(seed);
  for (std::uint16_t& code : codes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    code = bf16(static_cast<double>(static_cast<std::int64_t>(state >> 60) - 8) / 16);
  }
  return codes;
}

struct Layer {
  std::vector<std::uint16_t> a = matrix(kTokens, kModel, 1);
  std::vector<std::uint16_t> w1 = matrix(kRouting.experts * 2 * kInter, kModel, 2);  // of each expert gate, then up
  std::vector<std::uint16_t> w2 = matrix(kRouting.experts * kModel, kInter, 3);
  std::vector<std::int32_t> ids;
  std::vector<float> weights;

  Layer() {
    for (std::int32_t token = 0; token < kTokens; ++token) {
      ids.insert(ids.end(), {token % 3, 7});  // expert 7 is everyone's, 3 to 6 have no token
      weights.insert(weights.end(), {0.75F, 0.25F});
    }
  }
};

int fail(const ckgen::Status& status) {
  std::printf("failed: %s\n", status.message);
  return 1;
}

double product(const std::uint16_t* x, const std::uint16_t* y, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += number(x[i]) * number(y[i]);
  return sum;
}

/// The formula of ckgen/moe.hpp, with H rounded to bf16 as it is between the products.
std::vector<double> reference(const Layer& layer) {
  std::vector<double> c(static_cast<std::size_t>(kTokens * kModel));
  std::vector<std::uint16_t> h(static_cast<std::size_t>(kInter));
  for (std::int64_t token = 0; token < kTokens; ++token) {
    for (std::int64_t slot = 0; slot < kRouting.top_k; ++slot) {
      const auto at = static_cast<std::size_t>(token * kRouting.top_k + slot);
      const std::uint16_t* w1 = layer.w1.data() + layer.ids[at] * 2 * kInter * kModel;
      const std::uint16_t* w2 = layer.w2.data() + layer.ids[at] * kModel * kInter;
      const std::uint16_t* a = layer.a.data() + token * kModel;
      for (std::int64_t i = 0; i < kInter; ++i) {
        const double gate = product(a, w1 + i * kModel, kModel);
        const double up = product(a, w1 + (kInter + i) * kModel, kModel);
        h[static_cast<std::size_t>(i)] = bf16(gate / (1 + std::exp(-gate)) * up);
      }
      for (std::int64_t j = 0; j < kModel; ++j)
        c[static_cast<std::size_t>(token * kModel + j)] +=
            static_cast<double>(layer.weights[at]) * product(h.data(), w2 + j * kInter, kInter);
    }
  }
  return c;
}

/// Within a few roundings to bf16: of C, and of an H that lies between two of its values.
bool is_right(const std::vector<std::uint16_t>& c, const std::vector<double>& want) {
  for (std::size_t i = 0; i < want.size(); ++i)
    if (!(std::abs(number(c[i]) - want[i]) <= std::abs(want[i]) / 128 + 1e-2)) return false;
  return true;
}

ckgen::Result<ckgen::Plan> planned(const ckgen::Dispatcher& dispatcher, const char* signature, std::int64_t n,
                                   std::int64_t k, std::int32_t block_m) {
  return dispatcher.plan(ckgen::moe(signature).shape(kTokens, n, k).routing(kRouting).block_m(block_m),
                         ckgen::Device::host());
}

ckgen::Status run_layer(const ckgen::Dispatcher& dispatcher, const Layer& layer, std::vector<std::uint16_t>& c) {
  const auto plan = planned(dispatcher, "bf16:gated:silu", kInter, kModel, 0);
  if (!plan) return plan.status();
  ckgen::MoeArgs args{};
  args.a = layer.a.data();
  args.w1 = layer.w1.data();
  args.w2 = layer.w2.data();
  args.c = c.data();
  args.tokens = kTokens;
  args.lda = args.ldc = kModel;
  args.topk_ids = layer.ids.data();
  args.topk_weights = layer.weights.data();
  return dispatcher.run(*plan, args, nullptr);
}

ckgen::Status run_parts(const ckgen::Dispatcher& dispatcher, const Layer& layer, std::vector<std::uint16_t>& c) {
  const auto gate_up = planned(dispatcher, "bf16:gate_up:gated:silu", kInter, kModel, kBlockM);
  if (!gate_up) return gate_up.status();
  const auto down = planned(dispatcher, "bf16:down", kModel, kInter, kBlockM);
  if (!down) return down.status();

  const auto capacity = static_cast<std::size_t>(ckgen::sorted_capacity(kTokens, kRouting, kBlockM));
  std::vector<std::int32_t> token_ids(capacity), expert_ids(capacity / kBlockM), valid(2);
  std::vector<float> sorted_weights(capacity);
  const ckgen::SortedTokens sorted{token_ids.data(), sorted_weights.data(), expert_ids.data(), valid.data()};
  if (!ckgen::sort_tokens(layer.ids.data(), layer.weights.data(), kTokens, kRouting, kBlockM, sorted))
    return ckgen::Status::error(ckgen::StatusCode::invalid_argument, "the tokens do not sort");

  std::vector<std::uint16_t> h(static_cast<std::size_t>(kTokens * kRouting.top_k * kInter));
  ckgen::MoeArgs args{};
  args.a = layer.a.data();
  args.w1 = layer.w1.data();
  args.c = h.data();
  args.tokens = kTokens;
  args.lda = kModel;
  args.ldc = kInter;
  args.sorted = sorted;
  if (const ckgen::Status status = dispatcher.run(*gate_up, args, nullptr); !status.ok()) return status;
  args.a = h.data();
  args.w1 = nullptr;
  args.w2 = layer.w2.data();
  args.c = c.data();
  args.lda = kInter;
  args.ldc = kModel;
  return dispatcher.run(*down, args, nullptr);
}

}  // namespace

int main() {
  ckgen::Registry registry;
  if (const ckgen::Status status = my_kernels::register_all(registry); !status.ok()) return fail(status);
  const ckgen::Dispatcher dispatcher(registry);
  const Layer layer;
  const std::vector<double> want = reference(layer);
  std::vector<std::uint16_t> whole(want.size()), parts(want.size());
  if (const ckgen::Status status = run_layer(dispatcher, layer, whole); !status.ok()) return fail(status);
  if (const ckgen::Status status = run_parts(dispatcher, layer, parts); !status.ok()) return fail(status);
  if (!is_right(whole, want) || !is_right(parts, want)) {
    std::printf("wrong\n");
    return 1;
  }
  std::printf("layer: correct, %d results\ngate_up, down: correct\n", static_cast<int>(want.size()));
  // tokens in blocks that no kernel takes
  const auto refused = planned(dispatcher, "bf16:down", kModel, kInter, 48);
  if (refused) return 1;
  std::printf("\nrefused: %s\n", refused.status().message);
  return 0;
}
