#include <map>
#include <memory>
#include <random>

#include "modes.hpp"
#include "number.hpp"
#include "peers.hpp"

namespace {

using namespace ckgen;

/// So many rows on average, from none to twice as many.
std::vector<std::int64_t> uneven_rows(std::size_t count, std::int64_t mean) {
  std::mt19937 random(7);
  std::vector<std::int64_t> rows(count);
  for (std::int64_t& one : rows) one = static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(2 * mean + 1));
  return rows;
}

struct Layer {
  std::size_t groups;
  std::int64_t n, k;
};
constexpr Layer kLayers[] = {{8, 14336, 4096}, {8, 4096, 14336}, {64, 2048, 7168}, {128, 1536, 4096}};
constexpr std::int64_t kMeans[] = {2, 16, 64, 256, 1024};

/// Operands of a layer's groups, one behind the other, of a normal distribution, with scales of 1.
class LayerMemory {
 public:
  LayerMemory(const Signature& signature, const Layer& layer)
      : layer_(layer), bytes_(static_cast<std::int64_t>(bits(signature.a)) / 8) {
    const auto most = static_cast<std::int64_t>(layer.groups) * 2 * kMeans[std::size(kMeans) - 1];
    std::mt19937 random(5);
    const Number number = Number::of(signature.a);
    a_ = filled(number, most * layer.k, random);
    b_ = filled(number, static_cast<std::int64_t>(layer.groups) * layer.n * layer.k, random);
    c_ = gpu::allocate(static_cast<std::size_t>(most * layer.n * 2));
    const std::vector<float> ones(static_cast<std::size_t>(std::max<std::int64_t>(most, layer.n)), 1.0F);
    scales_ = gpu::allocate(ones.size() * sizeof(float));
    gpu::to_device(scales_, ones.data(), ones.size() * sizeof(float));
  }
  ~LayerMemory() {
    for (void* memory : {a_, b_, c_, scales_}) gpu::release(memory);
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
      of.c = static_cast<char*>(c_) + row * layer_.n * 2;
      of.a_scale = of.b_scale = scales_;
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

  Layer layer_;
  std::int64_t bytes_;
  void *a_ = nullptr, *b_ = nullptr, *c_ = nullptr, *scales_ = nullptr;
};

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
      for (const std::int64_t m : uneven_rows(layer.groups, mean)) sizes.push_back({m, layer.n, layer.k});
      const std::vector<GroupOperands> operands = memory.operands(sizes);
      gpu::to_device(device_operands, operands.data(), operands.size() * sizeof(GroupOperands));
      gpu::to_device(device_sizes, sizes.data(), sizes.size() * sizeof(GroupSize));
      const auto count = static_cast<std::int64_t>(sizes.size());
      const Groups on_host(sizes.data(), count);
      const Groups on_device = Groups::on_device(count, 2 * mean, layer.n, layer.k);
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
      // One product of cuBLASLt's after the other.
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
      if (!loop.empty())
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
