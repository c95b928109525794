#include <array>
#include <fstream>
#include <random>

#include "modes.hpp"
#include "number.hpp"
#include "peers.hpp"

namespace {

using namespace ckgen;

constexpr std::int64_t kNk[][2] = {{4096, 4096},  {7168, 2048}, {5120, 5120},  {1536, 7168},
                                   {24576, 1536}, {2112, 7168}, {28672, 4096}, {4096, 14336}};
constexpr std::int64_t kSmall[][2] = {{128, 512}, {512, 128}, {1024, 1024}, {256, 4096}};
constexpr std::int64_t kM[] = {1, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
constexpr std::size_t kRoom = std::size_t{8192} * 28672 * 2;
constexpr std::size_t kScales = std::size_t{1} << 23;

struct Sizes {
  std::int64_t batch, m, n, k;
};

/// M, N and K of each line of the file that CKGEN_SHAPES names, else the sheet of models' layers; of a batch small
/// matrices.
std::vector<Sizes> problems(const Signature& signature) {
  std::vector<Sizes> found;
  if (const char* file = std::getenv("CKGEN_SHAPES")) {
    std::ifstream lines(file);
    char comma = 0;
    for (Sizes one{}; lines >> one.m >> comma >> one.n >> comma >> one.k;) found.push_back(one);
    return found;
  }
  if (signature.batched) {
    for (const std::int64_t batch : {16, 128})
      for (const auto& nk : kSmall)
        for (const std::int64_t m : {1, 16, 64, 256, 1024})
          if (static_cast<std::size_t>(2 * batch * m * std::max(nk[0], nk[1])) <= kRoom)
            found.push_back({batch, m, nk[0], nk[1]});
    return found;
  }
  for (const auto& nk : kNk)
    for (const std::int64_t m : kM) found.push_back({0, m, nk[0], nk[1]});
  return found;
}

/// Operands that are large enough for every problem: of a normal distribution, with scales of 1.
class Memory {
 public:
  explicit Memory(const Signature& signature) : number_(Number::of(signature.a)), layout_(signature.layout) {
    std::mt19937 random(5);
    const auto count = (std::size_t{1} << 23) / static_cast<std::size_t>(number_.bytes());
    const std::vector<unsigned char> values = number_.stored(normal_values(number_, count, random));
    for (void*& one : matrices_) {
      one = gpu::allocate(2 * kRoom);  // C of int32 has elements of four bytes
      for (std::size_t at = 0; at + values.size() <= kRoom; at += values.size())
        gpu::to_device(static_cast<char*>(one) + at, values.data(), values.size());
    }
    const std::vector<float> ones(kScales, 1.0F);
    scales_ = gpu::allocate(kScales * sizeof(float));
    gpu::to_device(scales_, ones.data(), kScales * sizeof(float));
  }
  GemmArgs args(const Sizes& of) const {
    GemmArgs args = dense(layout_, of.m, of.n, of.k);
    if (of.batch > 0) args.batch = of.batch;
    args.batch_stride_a = of.m * of.k;
    args.batch_stride_b = of.n * of.k;
    args.batch_stride_c = of.m * of.n;
    args.a = matrices_[0];
    args.b = matrices_[1];
    args.c = matrices_[2];
    args.a_scale = args.b_scale = args.bias = scales_;
    for (int i = 0; i < kMaxD; ++i) args.d[i] = matrices_[3], args.ldd[i] = of.n;  // not read where there is none
    return args;
  }

 private:
  Number number_;
  Layout layout_;
  void *matrices_[4] = {}, *scales_ = nullptr;
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
  std::printf("signature,batch,m,n,k,kernel,us,is_selected\n");
  for (const Sizes& sizes : problems(signature)) {
    const auto [batch, m, n, k] = sizes;
    Problem problem = Problem(signature).shape(m, n, k);
    if (batch > 0) problem.batch(batch);
    const GemmArgs args = memory.args(sizes);
    const Selection selected = dispatcher.select(problem, context.device);
    const Peers peers(context, problem, answers);
    std::vector<TimedRun> timed;
    /// Keeps what runs once.
    const auto keep = [&](const std::string& name, bool is_selected, const Dispatcher& of, const Plan& plan) {
      const Status status = plan.launchable.ok() ? of.run(plan, args, stream) : plan.launchable;
      const auto run = [&of, &args, stream, plan] { return of.run(plan, args, stream); };
      if (status.ok()) return timed.push_back({name, is_selected, run, {}});
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
    time_in_turns(timed, rounds, sweep, timer, stream);
    for (const TimedRun& one : timed)
      std::printf("%s,%lld,%lld,%lld,%lld,%s,%.2f,%d\n", text_of(signature).c_str(), static_cast<long long>(batch),
                  static_cast<long long>(m), static_cast<long long>(n), static_cast<long long>(k), one.name.c_str(),
                  median(one.us), one.is_selected);
    std::fflush(stdout);
  }
  return 0;
}
