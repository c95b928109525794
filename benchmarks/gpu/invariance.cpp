#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "modes.hpp"
#include "number.hpp"

namespace {

using namespace ckgen;

constexpr std::int64_t kNk[][2] = {{4096, 4096}, {7168, 2048}, {5120, 5120}, {2112, 7168}, {4096, 14336}};
constexpr std::int64_t kM[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
constexpr std::int64_t kMost = 1024;
constexpr std::int64_t kBlock = 128;

/// A and B of a normal distribution, with scales around 1; three rows of A are one and the same, scales and all.
class Rows {
 public:
  Rows(const Signature& signature, std::int64_t n, std::int64_t k, std::mt19937& random)
      : signature_(signature), n_(n), k_(k), number_(Number::of(signature.a)), a_(drawn(kMost * k, random)) {
    const std::vector<unsigned char> b = drawn(n * k, random);
    device_a_ = gpu::allocate(a_.size());
    device_b_ = gpu::allocate(b.size());
    gpu::to_device(device_b_, b.data(), b.size());
    device_c_ = gpu::allocate(static_cast<std::size_t>(kMost * n * 2));
    groups_ = (k + kBlock - 1) / kBlock;
    if (signature.quant == Quant::none) return;
    of_a_ = scales(kMost * groups_, random);
    const std::vector<float> of_b = scales(std::max(n, groups_ * ((n + kBlock - 1) / kBlock)), random);
    device_of_a_ = gpu::allocate(of_a_.size() * sizeof(float));
    device_of_b_ = gpu::allocate(of_b.size() * sizeof(float));
    gpu::to_device(device_of_b_, of_b.data(), of_b.size() * sizeof(float));
  }
  ~Rows() {
    for (void* memory : {device_a_, device_b_, device_c_, device_of_a_, device_of_b_})
      if (memory != nullptr) gpu::release(memory);
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  /// The problem of M rows, in which the first, the middle and the last are the same.
  GemmArgs of(std::int64_t m) {
    const std::size_t row = a_.size() / kMost;
    std::vector<unsigned char> a(a_.begin(), a_.begin() + static_cast<std::ptrdiff_t>(row) * m);
    for (const std::int64_t at : places(m)) std::memcpy(&a[row * static_cast<std::size_t>(at)], a_.data(), row);
    gpu::to_device(device_a_, a.data(), a.size());
    if (device_of_a_ != nullptr) upload_scales(m);
    GemmArgs args = dense(signature_.layout, m, n_, k_);
    args.a = device_a_;
    args.b = device_b_;
    args.c = device_c_;
    args.a_scale = device_of_a_;
    args.b_scale = device_of_b_;
    return args;
  }
  void poison() { gpu::fill(device_c_, 0xff, static_cast<std::size_t>(kMost * n_ * 2)); }
  /// Bytes of C's row.
  std::string row(std::int64_t at) const {
    std::string bytes(static_cast<std::size_t>(n_) * 2, '\0');
    gpu::to_host(bytes.data(), static_cast<char*>(device_c_) + at * n_ * 2, bytes.size());
    return bytes;
  }
  static std::array<std::int64_t, 3> places(std::int64_t m) { return {0, m / 2, m - 1}; }

 private:
  std::vector<unsigned char> drawn(std::int64_t count, std::mt19937& random) const {
    return number_.stored(normal_values(number_, static_cast<std::size_t>(count), random));
  }
  static std::vector<float> scales(std::int64_t count, std::mt19937& random) {
    std::uniform_real_distribution<float> near(0.5F, 1.5F);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = near(random);
    return values;
  }
  /// One a row, or [K/128][M]; a row's are where it lies first, whatever M is.
  void upload_scales(std::int64_t m) {
    const std::int64_t per_row = signature_.quant == Quant::blockscale ? groups_ : 1;
    std::vector<float> placed(static_cast<std::size_t>(per_row * m));
    for (std::int64_t group = 0; group < per_row; ++group) {
      float* const to = &placed[static_cast<std::size_t>(group * m)];
      const float* const from = &of_a_[static_cast<std::size_t>(group * kMost)];
      std::copy(from, from + m, to);
      for (const std::int64_t at : places(m)) to[at] = from[0];
    }
    gpu::to_device(device_of_a_, placed.data(), placed.size() * sizeof(float));
  }

  Signature signature_;
  std::int64_t n_, k_, groups_ = 0;
  Number number_;
  std::vector<unsigned char> a_;
  std::vector<float> of_a_;
  void *device_a_ = nullptr, *device_b_ = nullptr, *device_c_ = nullptr;
  void *device_of_a_ = nullptr, *device_of_b_ = nullptr;
};

}  // namespace

int invariance(const Context& context, const Signature& signature, const std::string& sweep_file, int rounds) {
  gpu::Sweep sweep(sweep_file);
  gpu::Timer timer;
  void* const stream = nullptr;  // that of copies and fills, which come before and after
  const Dispatcher dispatcher{context.registry, DispatcherOptions{}};
  std::mt19937 random(7);
  int rows = 0, wrong = 0, others = 0, instances = 0;
  double logs = 0;
  int ratios = 0;
  std::printf("signature,m,n,k,in_one_order,fastest,ratio\n");
  for (const auto& [n, k] : kNk) {
    Rows operands(signature, n, k, random);
    std::map<std::uint32_t, std::string> first_of_order;
    std::string first;
    const auto give = [&](const Plan& plan, const GemmArgs& args) {
      operands.poison();
      must(dispatcher.run(plan, args, stream));
      gpu::wait(stream);
      return operands.row(0);
    };
    for (const std::int64_t m : kM) {
      const GemmArgs args = operands.of(m);
      const Problem problem = Problem(signature).shape(m, n, k);
      const Problem wish = Problem(problem).batch_invariant();
      const auto plan = dispatcher.plan(wish, context.device);
      const auto fastest = dispatcher.plan(problem, context.device);
      must(fastest.status());
      if (const Status able = plan ? plan->launchable : plan.status(); !able.ok()) {
        ++wrong;
        std::printf("WRONG: none at %lldx%lldx%lld: %s\n", static_cast<long long>(m), static_cast<long long>(n),
                    static_cast<long long>(k), able.message);
        continue;
      }
      if (const std::string own = give(*plan, args); first.empty()) first = own;
      for (const std::int64_t at : Rows::places(m)) {
        ++rows;
        if (operands.row(at) == first) continue;
        if (++wrong <= 20)
          std::printf("WRONG: row %lld of %lldx%lldx%lld has other bytes\n", static_cast<long long>(at),
                      static_cast<long long>(m), static_cast<long long>(n), static_cast<long long>(k));
      }
      if (give(*fastest, args) != first) ++others;
      std::vector<double> times[2];
      for (int round = 0; round < rounds; ++round)
        for (int i = 0; i < 2; ++i) {
          const int which = (i + round) % 2;
          sweep(stream);
          timer.start(stream);
          must(dispatcher.run(which != 0 ? *fastest : *plan, args, stream));
          timer.stop(stream);
          times[which].push_back(timer.microseconds());
        }
      const bool is_fastest = plan->selection.instance == fastest->selection.instance &&
                              plan->selection.k_batch == fastest->selection.k_batch;
      const double ratio = is_fastest ? 1.0 : median(times[0]) / median(times[1]);
      logs += std::log(ratio);
      ++ratios;
      std::printf("%s,%lld,%lld,%lld,%s,%s,%.3f\n", text_of(signature).c_str(), static_cast<long long>(m),
                  static_cast<long long>(n), static_cast<long long>(k),
                  context.registry.instance(plan->selection.instance).name,
                  context.registry.instance(fastest->selection.instance).name, ratio);
    }
    // Every kernel that says it has an order adds up as all do that say the same.
    const GemmArgs args = operands.of(128);
    const Problem problem = Problem(signature).shape(128, n, k);
    for (const Kernel& kernel : able(dispatcher, problem, context.device, kernels_of(context.registry, signature))) {
      const std::uint32_t order = context.registry.instance(kernel.selection.instance).order.whole;
      if (order == 0 || kernel.selection.k_batch != 1) continue;
      const auto plan = dispatcher.plan(problem, context.device, kernel.selection);
      must(plan.status());
      ++instances;
      const std::string own = give(*plan, args);
      if (first_of_order.try_emplace(order, own).first->second == own) continue;
      if (++wrong <= 20) std::printf("WRONG: %s adds up in another order\n", kernel.name.c_str());
    }
  }
  std::printf("invariance %s: %d rows and %d kernels, %d wrong; without the wish %d of %d results differ; time %.3f\n",
              text_of(signature).c_str(), rows, instances, wrong, others, ratios, std::exp(logs / ratios));
  return wrong != 0;
}
