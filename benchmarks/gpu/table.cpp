#include <array>
#include <fstream>
#include <memory>
#include <random>

#include "modes.hpp"
#include "number.hpp"

namespace {

using namespace ckgen;

constexpr std::int64_t kNk[][2] = {{4096, 4096},  {7168, 2048}, {5120, 5120},  {1536, 7168},
                                   {24576, 1536}, {2112, 7168}, {28672, 4096}, {4096, 14336}};
constexpr std::int64_t kM[] = {1, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
constexpr std::size_t kRoom = std::size_t{8192} * 28672 * 2;
constexpr std::size_t kScales = std::size_t{1} << 23;

struct Timed {
  std::string name;
  bool is_selected;
  const Dispatcher* dispatcher;
  Plan plan;
  std::vector<double> us;
};

/// M, N and K of each line of the file that CKGEN_SHAPES names, else the sheet of models' layers.
std::vector<std::array<std::int64_t, 3>> problems() {
  std::vector<std::array<std::int64_t, 3>> found;
  if (const char* file = std::getenv("CKGEN_SHAPES")) {
    std::ifstream lines(file);
    char comma = 0;
    for (std::array<std::int64_t, 3> one; lines >> one[0] >> comma >> one[1] >> comma >> one[2];) found.push_back(one);
    return found;
  }
  for (const auto& nk : kNk)
    for (const std::int64_t m : kM) found.push_back({m, nk[0], nk[1]});
  return found;
}

/// Operands that are large enough for every problem: of a normal distribution, with scales of 1.
class Memory {
 public:
  explicit Memory(const Signature& signature) : number_(Number::of(signature.a)) {
    std::mt19937 random(5);
    const auto count = (std::size_t{1} << 23) / static_cast<std::size_t>(number_.bytes());
    const std::vector<unsigned char> values = number_.stored(normal_values(count, random));
    for (void*& one : matrices_) {
      one = gpu::allocate(kRoom);
      for (std::size_t at = 0; at + values.size() <= kRoom; at += values.size())
        gpu::to_device(static_cast<char*>(one) + at, values.data(), values.size());
    }
    const std::vector<float> ones(kScales, 1.0F);
    scales_ = gpu::allocate(kScales * sizeof(float));
    gpu::to_device(scales_, ones.data(), kScales * sizeof(float));
  }
  GemmArgs args(std::int64_t m, std::int64_t n, std::int64_t k) const {
    GemmArgs args = dense(m, n, k);
    args.a = matrices_[0];
    args.b = matrices_[1];
    args.c = matrices_[2];
    args.a_scale = args.b_scale = scales_;
    return args;
  }

 private:
  Number number_;
  void *matrices_[3] = {}, *scales_ = nullptr;
};

/// cuBLASLt's kernels for one problem, behind a dispatcher of their own: selection of ours does not see them.
class Peers {
 public:
  Peers(const Context& context, const Problem& problem, std::uint32_t answers) {
    const auto version = provider_version(kPeer);
    if (!version) {
      std::fprintf(stderr, "%s\n", version.status().message);
      return;
    }
    std::vector<std::string> kernels = {*version + "_first"};
    if (answers != 0) {
      const auto found = provider_kernels(kPeer, problem, answers);
      must(found.status());
      kernels.insert(kernels.end(), found->begin(), found->end());
    }
    Registry registry;
    for (const std::string& kernel : kernels) {
      const std::uint32_t instance = registry.size();
      const Status status = add_peer(registry, problem.signature(), kernel);
      if (status.ok()) found_.push_back({kernel, instance});
      if (!status.ok()) std::fprintf(stderr, "%s: %s\n", kernel.c_str(), status.message);
    }
    dispatcher_ = std::make_unique<Dispatcher>(registry, DispatcherOptions{});
    device_ = context.device;
  }

  /// Calls `take(name, dispatcher, plan)` of each that takes the problem; the first one's name is that of the peer.
  template <class Take>
  void each(const Problem& problem, Take take) const {
    for (const auto& [kernel, instance] : found_) {
      Selection selection;
      selection.instance = instance;
      selection.k_batch = 0;
      const auto plan = dispatcher_->plan(problem, device_, selection);
      const bool is_first = &kernel == &found_.front().first;
      if (plan) take(is_first ? std::string(kPeer) : std::string(kPeer) + ':' + kernel, *dispatcher_, *plan);
    }
  }

 private:
  std::vector<std::pair<std::string, std::uint32_t>> found_;
  std::unique_ptr<Dispatcher> dispatcher_;
  Device device_;
};

}  // namespace

int table(const Context& context, const Signature& signature, const std::string& sweep_file, int rounds,
          std::uint32_t answers) {
  gpu::Sweep sweep(sweep_file);
  void* stream = gpu::new_stream();
  gpu::Timer timer;
  const std::vector<Kernel> kernels = kernels_of(context.registry, signature);
  const Dispatcher dispatcher{context.registry, DispatcherOptions{}};
  const Memory memory(signature);
  const char* only = std::getenv("CKGEN_TABLE_SELECTED");
  std::printf("signature,m,n,k,kernel,us,is_selected\n");
  for (const auto& [m, n, k] : problems()) {
    const Problem problem = Problem(signature).shape(m, n, k);
    const GemmArgs args = memory.args(m, n, k);
    const Selection selected = dispatcher.select(problem, context.device);
    const Peers peers(context, problem, answers);
    std::vector<Timed> timed;
    /// Keeps what runs once.
    const auto keep = [&](const std::string& name, bool is_selected, const Dispatcher& of, const Plan& plan) {
      const Status status = plan.launchable.ok() ? of.run(plan, args, stream) : plan.launchable;
      if (status.ok()) return timed.push_back({name, is_selected, &of, plan, {}});
      std::fprintf(stderr, "%s at %lldx%lldx%lld: %s\n", name.c_str(), static_cast<long long>(m),
                   static_cast<long long>(n), static_cast<long long>(k), status.message);
    };
    for (const Kernel& kernel : able(dispatcher, problem, context.device, kernels)) {
      const bool is_selected =
          selected.instance == kernel.selection.instance && selected.k_batch == kernel.selection.k_batch;
      const bool is_unlikely = (kernel.selection.k_batch > 1 && m > 4096) || kernel.is_provided();
      if (!is_selected && (only != nullptr || is_unlikely)) continue;
      if (!is_selected && m > 256 && kernel.name.find("_swap") != std::string::npos) continue;
      if (const auto plan = dispatcher.plan(problem, context.device, kernel.selection))
        keep(kernel.name, is_selected, dispatcher, *plan);
    }
    peers.each(problem,
               [&](const std::string& name, const Dispatcher& of, const Plan& plan) { keep(name, false, of, plan); });
    for (int round = 0; round < rounds; ++round)
      for (std::size_t i = 0; i < timed.size(); ++i) {
        Timed& one = timed[(i + static_cast<std::size_t>(round) * 3) % timed.size()];
        sweep(stream);
        timer.start(stream);
        must(one.dispatcher->run(one.plan, args, stream));
        timer.stop(stream);
        one.us.push_back(timer.microseconds());
      }
    for (const Timed& one : timed)
      std::printf("%s,%lld,%lld,%lld,%s,%.2f,%d\n", text_of(signature).c_str(), static_cast<long long>(m),
                  static_cast<long long>(n), static_cast<long long>(k), one.name.c_str(), median(one.us),
                  one.is_selected);
    std::fflush(stdout);
  }
  return 0;
}
