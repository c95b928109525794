#include <map>
#include <memory>
#include <optional>
#include <random>

#include "modes.hpp"
#include "operands.hpp"
#include "peers.hpp"

namespace {

using namespace ckgen;

/// The signature of one group alone.
Signature alone(Signature signature) {
  signature.op = Op::gemm;
  return signature;
}

/// Groups of operands, and the arrays that say where they are, on the host or on the device.
class Grouped {
 public:
  Grouped(const Signature& signature, const std::vector<GroupSize>& sizes, bool is_on_device, Data data,
          std::mt19937& random)
      : signature_(signature), sizes_(sizes), is_on_device_(is_on_device) {
    for (const GroupSize& size : sizes) {
      GroupOperands of{};
      operands_.push_back(nullptr);
      if (size.m != 0) {
        const std::int64_t pad = 8 * static_cast<std::int64_t>(operands_.size() % 2);
        operands_.back() =
            std::make_unique<Operands>(alone(signature), Shape{size.m, size.n, size.k, pad}, data, random);
        const GemmArgs args = operands_.back()->args();
        of.a = args.a;
        of.b = args.b;
        of.c = args.c;
        of.a_scale = args.a_scale;
        of.b_scale = args.b_scale;
        of.lda = args.lda;
        of.ldb = args.ldb;
        of.ldc = args.ldc;
      }
      described_.push_back(of);
    }
    std::int64_t most = 1;
    for (const GroupSize& size : sizes) most = std::max(most, size.m);
    const auto count = static_cast<std::int64_t>(sizes.size());
    groups_.emplace(is_on_device ? Groups::on_device(count, most + 3, sizes[0].n, sizes[0].k)
                                 : Groups(sizes_.data(), count));
    if (!is_on_device) return;
    device_operands_ = copied(described_);
    device_sizes_ = copied(sizes_);
  }
  ~Grouped() {
    for (void* memory : {device_operands_, device_sizes_})
      if (memory != nullptr) gpu::release(memory);
  }
  Grouped(const Grouped&) = delete;
  Grouped& operator=(const Grouped&) = delete;

  Problem problem() const { return Problem(signature_).groups(*groups_); }
  GroupedArgs args() const {
    GroupedArgs args{};
    args.operands = is_on_device_ ? static_cast<const GroupOperands*>(device_operands_) : described_.data();
    args.sizes = is_on_device_ ? static_cast<const GroupSize*>(device_sizes_) : sizes_.data();
    args.count = static_cast<std::int64_t>(sizes_.size());
    args.alpha = 1;
    return args;
  }
  void poison() {
    for (const auto& one : operands_)
      if (one) one->poison();
  }
  std::string wrong() {
    for (std::size_t i = 0; i < operands_.size(); ++i)
      if (operands_[i])
        if (const std::string found = operands_[i]->wrong(); !found.empty())
          return "group " + std::to_string(i) + ": " + found;
    return "";
  }
  double worst() const {
    double worst = 0;
    for (const auto& one : operands_) worst = std::max(worst, one ? one->worst() : 0);
    return worst;
  }

 private:
  template <class T>
  static void* copied(const std::vector<T>& values) {
    void* memory = gpu::allocate(values.size() * sizeof(T));
    gpu::to_device(memory, values.data(), values.size() * sizeof(T));
    return memory;
  }

  Signature signature_;
  std::vector<GroupSize> sizes_;
  bool is_on_device_;
  std::vector<std::unique_ptr<Operands>> operands_;
  std::vector<GroupOperands> described_;
  std::optional<Groups> groups_;
  void *device_operands_ = nullptr, *device_sizes_ = nullptr;
};

/// Up to 20 groups, a few of them without rows. N and K differ where the host knows them.
std::vector<GroupSize> drawn_sizes(const Signature& signature, bool is_on_device, std::mt19937& random) {
  const std::int64_t k_grain = bits(signature.a) == 8 ? 16 : 8;
  std::uniform_int_distribution<std::int64_t> count(1, 20), rows(-40, 300), columns(1, 48), deep(1, 800 / k_grain);
  std::vector<GroupSize> sizes(static_cast<std::size_t>(count(random)));
  for (GroupSize& size : sizes) {
    size = {std::max<std::int64_t>(rows(random), 0), 8 * columns(random), k_grain * deep(random)};
    if (is_on_device) size = {size.m, sizes[0].n, sizes[0].k};
  }
  sizes.back().m = std::max<std::int64_t>(sizes.back().m, 1);
  return sizes;
}

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
    const std::vector<unsigned char> part = number.stored(normal_values(std::size_t{1} << 22, random));
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

int check_groups(const Context& context, const Signature& signature, unsigned seed, std::size_t most) {
  std::mt19937 random(seed);
  const std::vector<Kernel> kernels = kernels_of(context.registry, signature);
  const Dispatcher dispatcher{context.registry, DispatcherOptions{}};
  const std::size_t problems = std::min<std::size_t>(most, 400);
  int runs = 0, bad = 0, refused = 0;
  double worst = 0;
  for (std::size_t i = 0; i < problems; ++i) {
    const bool is_on_device = i % 2 == 1;
    const std::vector<GroupSize> sizes = drawn_sizes(signature, is_on_device, random);
    Grouped groups(signature, sizes, is_on_device, i / 2 % 2 == 0 ? Data::integers : Data::normal, random);
    for (const Kernel& kernel : able(dispatcher, groups.problem(), context.device, kernels)) {
      const auto plan = dispatcher.plan(groups.problem(), context.device, kernel.selection);
      if (!plan || !plan->launchable.ok()) {
        ++refused;
        continue;
      }
      groups.poison();
      const Status status = dispatcher.run(*plan, groups.args(), nullptr);
      const std::string wrong = status.ok() ? groups.wrong() : status.message;
      ++runs;
      if (!wrong.empty() && ++bad <= 20)
        std::printf("WRONG %s, %zu groups%s: %s\n", kernel.name.c_str(), sizes.size(),
                    is_on_device ? " on the device" : "", wrong.c_str());
    }
    worst = std::max(worst, groups.worst());
  }
  std::printf("check %s: %zu kernels, %zu shapes, %d runs, %d refused, %d wrong, worst error %.3f of its bound\n",
              text_of(signature).c_str(), kernels.size(), problems, runs, refused, bad, worst);
  std::fflush(stdout);
  return bad != 0 || runs == 0;
}

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
        GemmArgs args = dense(sizes[i].m, layer.n, layer.k);
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
