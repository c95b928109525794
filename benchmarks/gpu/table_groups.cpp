#include <algorithm>
#include <map>
#include <memory>
#include <random>

#include "modes.hpp"
#include "number.hpp"
#include "peers.hpp"

namespace {

using namespace ckgen;

constexpr std::int64_t kBlock = 128;

/// So many rows on average, from none to twice as many; of scales of blocks whole fours, which cuBLASLt asks for.
std::vector<std::int64_t> uneven_rows(const Signature& signature, std::size_t count, std::int64_t mean) {
  const std::int64_t grain = signature.quant == Quant::blockscale ? 4 : 1;
  std::mt19937 random(7);
  std::vector<std::int64_t> rows(count);
  for (std::int64_t& one : rows) {
    one = static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(2 * mean + 1));
    one = (one + grain - 1) / grain * grain;
  }
  return rows;
}

struct Layer {
  std::size_t groups;
  std::int64_t n, k;
};
constexpr Layer kLayers[] = {{8, 14336, 4096}, {8, 4096, 14336}, {64, 2048, 7168}, {128, 1536, 4096}};
constexpr std::int64_t kMeans[] = {2, 16, 64, 256, 1024};

/// Operands of a layer's groups, one behind the other, of a normal distribution, with scales of 1. D tensors are of C's
/// sizes.
class LayerMemory {
 public:
  LayerMemory(const Signature& signature, const Layer& layer)
      : layer_(layer),
        d_count_(signature.epilogue.d_count()),
        bytes_(static_cast<std::int64_t>(bits(signature.a)) / 8),
        bytes_c_(static_cast<std::int64_t>(bits(signature.c)) / 8) {
    const auto count = static_cast<std::int64_t>(layer.groups);
    const std::int64_t most = count * (2 * kMeans[std::size(kMeans) - 1] + 3);
    std::mt19937 random(5);
    const Number number = Number::of(signature.a);
    a_ = filled(number, most * layer.k, random);
    b_ = filled(number, count * layer.n * layer.k, random);
    c_ = gpu::allocate(static_cast<std::size_t>(most * layer.n * bytes_c_));
    if (d_count_ != 0) d_ = filled(Number::of(signature.c), most * layer.n, random);
    const bool has_blocks = signature.quant == Quant::blockscale;
    scales_of_row_ = has_blocks ? layer.k / kBlock : 1;
    scales_of_b_ = has_blocks ? layer.n / kBlock * (layer.k / kBlock) : layer.n;
    a_scales_ = ones(most * scales_of_row_);
    b_scales_ = ones(count * scales_of_b_);
  }
  ~LayerMemory() {
    for (void* memory : {a_, b_, c_, d_, a_scales_, b_scales_})
      if (memory != nullptr) gpu::release(memory);
  }
  LayerMemory(const LayerMemory&) = delete;
  LayerMemory& operator=(const LayerMemory&) = delete;

  std::vector<GroupOperands> operands(const std::vector<GroupSize>& sizes) const {
    std::vector<GroupOperands> all;
    std::int64_t row = 0;
    for (const GroupSize& size : sizes) {
      GroupOperands of{};
      const auto number = static_cast<std::int64_t>(all.size());
      of.a = static_cast<const char*>(a_) + row * layer_.k * bytes_;
      of.b = static_cast<const char*>(b_) + number * layer_.n * layer_.k * bytes_;
      of.c = static_cast<char*>(c_) + row * layer_.n * bytes_c_;
      of.a_scale = static_cast<const float*>(a_scales_) + row * scales_of_row_;
      of.b_scale = static_cast<const float*>(b_scales_) + number * scales_of_b_;
      for (int i = 0; i < d_count_; ++i) {
        of.d[i] = static_cast<const char*>(d_) + row * layer_.n * bytes_c_;
        of.ldd[i] = layer_.n;
      }
      of.lda = of.ldb = layer_.k;
      of.ldc = layer_.n;
      all.push_back(of);
      row += size.m;
    }
    return all;
  }

 private:
  static void* filled(const Number& number, std::int64_t count, std::mt19937& random) {
    const std::vector<unsigned char> part = number.stored(normal_values(number, std::size_t{1} << 22, random));
    const std::size_t bytes = static_cast<std::size_t>(count * number.bytes());
    void* memory = gpu::allocate(bytes);
    for (std::size_t at = 0; at < bytes; at += part.size())
      gpu::to_device(static_cast<char*>(memory) + at, part.data(), std::min(part.size(), bytes - at));
    return memory;
  }

  static void* ones(std::int64_t count) {
    const std::vector<float> values(static_cast<std::size_t>(count), 1.0F);
    void* memory = gpu::allocate(values.size() * sizeof(float));
    gpu::to_device(memory, values.data(), values.size() * sizeof(float));
    return memory;
  }

  Layer layer_;
  int d_count_;
  std::int64_t bytes_, bytes_c_, scales_of_row_ = 0, scales_of_b_ = 0;
  void *a_ = nullptr, *b_ = nullptr, *c_ = nullptr, *d_ = nullptr, *a_scales_ = nullptr, *b_scales_ = nullptr;
};

std::int64_t most_rows(const std::vector<GroupSize>& sizes) {
  std::int64_t most = 0;
  for (const GroupSize& size : sizes) most = std::max(most, size.m);
  return most;
}

std::string rows_text(const std::vector<GroupSize>& sizes) {
  std::string text;
  for (const GroupSize& size : sizes) text += (text.empty() ? "" : ";") + std::to_string(size.m);
  return text;
}

}  // namespace

int table_groups(const Context& context, const Signature& signature, const std::string& sweep_file, int rounds) {
  gpu::Sweep sweep(sweep_file);
  void* stream = gpu::new_stream();
  gpu::Timer timer;
  const std::vector<Kernel> kernels = kernels_of(context.registry, signature);
  const Dispatcher dispatcher{context.registry, DispatcherOptions{}};
  std::printf("signature,groups,m,n,k,kernel,us,is_selected\n");
  for (const Layer& layer : kLayers) {
    const LayerMemory memory(signature, layer);
    void* device_operands = gpu::allocate(layer.groups * sizeof(GroupOperands));
    void* device_sizes = gpu::allocate(layer.groups * sizeof(GroupSize));
    for (const std::int64_t mean : kMeans) {
      std::vector<GroupSize> sizes;
      for (const std::int64_t m : uneven_rows(signature, layer.groups, mean)) sizes.push_back({m, layer.n, layer.k});
      const std::vector<GroupOperands> operands = memory.operands(sizes);
      gpu::to_device(device_operands, operands.data(), operands.size() * sizeof(GroupOperands));
      gpu::to_device(device_sizes, sizes.data(), sizes.size() * sizeof(GroupSize));
      const auto count = static_cast<std::int64_t>(sizes.size());
      const Groups on_host(sizes.data(), count);
      const Groups on_device = Groups::on_device(count, most_rows(sizes), layer.n, layer.k);
      GroupedArgs of_host{};
      of_host.operands = operands.data();
      of_host.sizes = sizes.data();
      of_host.count = count;
      of_host.alpha = 1;
      GroupedArgs of_device = of_host;
      of_device.operands = static_cast<const GroupOperands*>(device_operands);
      of_device.sizes = static_cast<const GroupSize*>(device_sizes);

      std::vector<TimedRun> timed;
      const auto keep = [&](const std::string& name, bool is_selected, std::function<Status()> run) {
        if (const Status status = run(); status.ok())
          timed.push_back({name, is_selected, std::move(run), {}});
        else
          std::fprintf(stderr, "%s: %s\n", name.c_str(), status.message);
      };
      for (const bool is_known : {true, false}) {
        const Problem problem = Problem(signature).groups(is_known ? on_host : on_device);
        const Selection selected = dispatcher.select(problem, context.device);
        const GroupedArgs& args = is_known ? of_host : of_device;
        for (const Kernel& kernel : able(dispatcher, problem, context.device, kernels)) {
          const auto plan = dispatcher.plan(problem, context.device, kernel.selection);
          if (!plan || !plan->launchable.ok()) continue;
          keep(kernel.name + (is_known ? "" : "@device"), selected.instance == kernel.selection.instance,
               [&dispatcher, &args, stream, plan = *plan] { return dispatcher.run(plan, args, stream); });
        }
      }
      // One product of cuBLASLt's after the other, where it computes each.
      std::map<std::int64_t, std::unique_ptr<Peers>> peers;
      struct One {
        const Dispatcher* dispatcher;
        Plan plan;
        GemmArgs args;
      };
      std::vector<One> loop;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i].m == 0) continue;
        const Problem problem = Problem(alone(signature)).shape(sizes[i].m, layer.n, layer.k);
        auto& of = peers[sizes[i].m];
        if (!of) of = std::make_unique<Peers>(context, problem, 0);
        GemmArgs args = dense(signature.layout, sizes[i].m, layer.n, layer.k);
        args.a = operands[i].a;
        args.b = operands[i].b;
        args.c = operands[i].c;
        args.a_scale = operands[i].a_scale;
        args.b_scale = operands[i].b_scale;
        of->each(problem, [&](const std::string&, const Dispatcher& from, const Plan& plan) {
          loop.push_back({&from, plan, args});
        });
      }
      if (!loop.empty() && static_cast<std::int64_t>(loop.size()) == on_host.busy())
        keep(std::string(kPeer) + "_loop", false, [&loop, stream] {
          for (const One& one : loop)
            if (const Status status = one.dispatcher->run(one.plan, one.args, stream); !status.ok()) return status;
          return Status::success();
        });
      time_in_turns(timed, rounds, sweep, timer, stream);
      for (const TimedRun& one : timed)
        std::printf("%s,%s,%lld,%lld,%lld,%s,%.2f,%d\n", text_of(signature).c_str(), rows_text(sizes).c_str(),
                    static_cast<long long>(mean), static_cast<long long>(layer.n), static_cast<long long>(layer.k),
                    one.name.c_str(), median(one.us), one.is_selected);
      std::fflush(stdout);
    }
    gpu::release(device_operands);
    gpu::release(device_sizes);
  }
  return 0;
}
