// What a generated library does on the GPU that is there, through the dispatcher alone: `check` holds every kernel
// against a reference in double, `host` times what a launch costs its thread, `table` times kernels by the device's
// events.
//
//   on_device check [SIGNATURE [SEED [SHAPES]]] | host [SWEEP.cubin] | table SWEEP.cubin [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <ckgen/ckgen.hpp>
#include <hopper/device_library.hpp>
#include <hopper_kernels/register.hpp>

#include "cublaslt.hpp"
#include "driver.hpp"

namespace {

using namespace ckgen;

constexpr std::size_t kGuard = 4096;
constexpr unsigned char kPoison = 0xff;  // a NaN in every type

/// Elements of A, B and C.
struct Type {
  const char* signature;
  bool is_bf16;

  float read(std::uint16_t bits) const {
    if (!is_bf16) {
      _Float16 value;
      std::memcpy(&value, &bits, sizeof value);
      return static_cast<float>(value);
    }
    const std::uint32_t wide = std::uint32_t{bits} << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
  std::uint16_t write(float value) const {
    if (!is_bf16) {
      const auto narrow = static_cast<_Float16>(value);
      std::uint16_t bits;
      std::memcpy(&bits, &narrow, sizeof bits);
      return bits;
    }
    std::uint32_t wide;
    std::memcpy(&wide, &value, sizeof wide);
    return static_cast<std::uint16_t>((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
  }
};

constexpr Type kBf16{"gemm_bf16_rcr", true};
constexpr Type kFp16{"gemm_fp16_rcr", false};

struct Shape {
  std::int64_t m, n, k, pad;  // of rows of C
};

/// Operands of a problem on the host and on the device, C with guard bands around it and between its rows.
class Operands {
 public:
  Operands(const Shape& shape, std::mt19937& random, const Type& type = kBf16)
      : type_(type), shape_(shape), a_(count(shape.m, shape.k)), b_(count(shape.n, shape.k)) {
    std::normal_distribution<float> values;
    for (auto* operand : {&a_, &b_})
      for (std::uint16_t& value : *operand) value = type_.write(values(random));
    device_a_ = gpu::allocate(a_.size() * 2);
    device_b_ = gpu::allocate(b_.size() * 2);
    room_ = 2 * kGuard + count(shape.m, ldc()) * 2;
    device_c_ = gpu::allocate(room_);
    gpu::to_device(device_a_, a_.data(), a_.size() * 2);
    gpu::to_device(device_b_, b_.data(), b_.size() * 2);
    compute(random);
  }
  ~Operands() {
    for (void* memory : {device_a_, device_b_, device_c_}) gpu::release(memory);
  }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  GemmArgs args() const {
    GemmArgs args{};
    args.a = device_a_;
    args.b = device_b_;
    args.c = static_cast<char*>(device_c_) + kGuard;
    args.m = shape_.m;
    args.n = shape_.n;
    args.k = args.lda = args.ldb = shape_.k;
    args.ldc = ldc();
    args.batch = 1;
    return args;
  }
  void poison() { gpu::fill(device_c_, kPoison, room_); }

  /// What is wrong with C; empty where every element that was looked at is right, and no byte around it was written.
  std::string wrong() {
    std::vector<unsigned char> all(room_);
    gpu::to_host(all.data(), device_c_, room_);
    const auto* c = reinterpret_cast<const std::uint16_t*>(all.data() + kGuard);
    for (std::size_t i = 0; i < kGuard; ++i)
      if (all[i] != kPoison || all[room_ - 1 - i] != kPoison) return "guard band";
    for (std::int64_t row = 0; row < shape_.m; ++row)
      for (std::int64_t column = 0; column < ldc(); ++column) {
        const std::uint16_t got = c[row * ldc() + column];
        if ((got == 0xffff) != (column >= shape_.n))
          return column < shape_.n ? "an element was not written" : "a gap was";
      }
    for (const Sum& sum : sums_)
      if (const std::string found = differs(c, sum); !found.empty()) return found;
    return "";
  }
  double worst() const { return worst_; }

 private:
  static std::size_t count(std::int64_t rows, std::int64_t columns) { return static_cast<std::size_t>(rows * columns); }
  std::int64_t ldc() const { return shape_.n + shape_.pad; }

  /// An element of C in double, and what its products are in sum.
  struct Sum {
    std::int64_t row, column;
    double value, size;
  };

  void add_sum(std::int64_t row, std::int64_t column, const std::vector<float>& a, const std::vector<float>& b) {
    Sum sum{row, column, 0, 0};
    for (std::size_t i = 0; i < count(1, shape_.k); ++i) {
      const double product = double{a[count(row, shape_.k) + i]} * b[count(column, shape_.k) + i];
      sum.value += product;
      sum.size += std::fabs(product);
    }
    sums_.push_back(sum);
  }

  /// All elements of a small C; of a large one 2,000, a fifth of them on the last row or column.
  void compute(std::mt19937& random) {
    std::vector<float> a(a_.size()), b(b_.size());
    std::transform(a_.begin(), a_.end(), a.begin(), [&](std::uint16_t bits) { return type_.read(bits); });
    std::transform(b_.begin(), b_.end(), b.begin(), [&](std::uint16_t bits) { return type_.read(bits); });
    if (shape_.m * shape_.n * shape_.k <= 1 << 24) {
      for (std::int64_t row = 0; row < shape_.m; ++row)
        for (std::int64_t column = 0; column < shape_.n; ++column) add_sum(row, column, a, b);
      return;
    }
    std::uniform_int_distribution<std::int64_t> rows(0, shape_.m - 1), columns(0, shape_.n - 1);
    for (int i = 0; i < 2000; ++i)
      add_sum(i % 10 == 0 ? shape_.m - 1 : rows(random), i % 10 == 1 ? shape_.n - 1 : columns(random), a, b);
  }

  std::string differs(const std::uint16_t* c, const Sum& sum) {
    const double got = type_.read(c[sum.row * ldc() + sum.column]);
    // Half a unit in C's last place, and what sums in fp32 lose.
    const double bound = std::fabs(sum.value) / (type_.is_bf16 ? 256 : 2048) + sum.size * 1e-5 + 1e-30;
    const double error = std::fabs(got - sum.value);
    worst_ = std::max(worst_, error / bound);
    if (error <= bound) return "";
    char text[128];
    std::snprintf(text, sizeof text, "C[%lld][%lld] is %g, not %g", static_cast<long long>(sum.row),
                  static_cast<long long>(sum.column), got, sum.value);
    return text;
  }

  const Type& type_;
  Shape shape_;
  std::vector<std::uint16_t> a_, b_;
  void *device_a_ = nullptr, *device_b_ = nullptr, *device_c_ = nullptr;
  std::size_t room_ = 0;
  std::vector<Sum> sums_;
  double worst_ = 0;
};

Problem problem_of(const Shape& shape, const Type& type = kBf16) {
  return gemm(type.signature).shape(shape.m, shape.n, shape.k);
}

/// The kernels of a type that have GPU code.
std::vector<std::string> names(const Registry& registry, const Type& type = kBf16) {
  std::vector<std::string> found;
  for (std::uint32_t i = 0; i < registry.size(); ++i)
    if (registry.device_archs(i) != 0 && registry.instance(i).signature == problem_of({8, 8, 8, 0}, type).signature())
      found.emplace_back(registry.instance(i).name);
  return found;
}

int check(const Registry& registry, const Device& device, const Type& type, unsigned seed, std::size_t most) {
  std::mt19937 random(seed);
  std::vector<Shape> shapes;
  for (const std::int64_t m : {1, 2, 15, 16, 17, 63, 64, 65, 127, 129, 255, 257})
    for (const std::int64_t n : {8, 16, 120, 128, 136, 264})
      for (const std::int64_t k : {8, 56, 64, 72, 128, 200, 1032}) shapes.push_back({m, n, k, 8 * (m % 3)});
  std::uniform_int_distribution<std::int64_t> rows(1, 2500), columns(1, 600), depths(1, 600);
  for (int i = 0; i < 60; ++i) shapes.push_back({rows(random), 8 * columns(random), 8 * depths(random), 8 * (i % 2)});
  shapes.push_back({4096, 4096, 4096, 0});
  if (shapes.size() > most) {
    std::shuffle(shapes.begin(), shapes.end(), random);
    shapes.resize(most);
  }
  const std::vector<std::string> all = names(registry, type);
  int runs = 0, bad = 0, refused = 0;
  double worst = 0;
  std::vector<Dispatcher> dispatchers;
  for (const std::string& name : all) dispatchers.emplace_back(registry, DispatcherOptions{false, name, "", ""});
  for (const Shape& shape : shapes) {
    Operands operands(shape, random, type);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto plan = dispatchers[i].plan(problem_of(shape, type), device);
      if (!plan || !plan->launchable.ok()) {
        ++refused;
        continue;
      }
      operands.poison();
      const Status status = dispatchers[i].run(*plan, operands.args(), nullptr);
      const std::string wrong = status.ok() ? operands.wrong() : status.message;
      ++runs;
      if (!wrong.empty() && ++bad <= 20)
        std::printf("WRONG %s at %lldx%lldx%lld: %s\n", all[i].c_str(), static_cast<long long>(shape.m),
                    static_cast<long long>(shape.n), static_cast<long long>(shape.k), wrong.c_str());
    }
    worst = std::max(worst, operands.worst());
  }
  std::printf("check %s: %zu kernels, %zu shapes, %d runs, %d refused, %d wrong, worst error %.3f of its bound\n",
              type.signature, all.size(), shapes.size(), runs, refused, bad, worst);
  // What must be refused: rows that begin between accesses, and addresses.
  Operands operands({64, 128, 128, 0}, random);
  const Dispatcher any{registry, DispatcherOptions{}};
  const auto plan = any.plan(problem_of({64, 128, 128, 0}), device);
  GemmArgs args = operands.args();
  args.c = static_cast<char*>(args.c) + 2;
  std::printf("an odd address: %s\n", any.run(*plan, args, nullptr).message);
  std::printf("an odd K: %s\n", reason(any.select(problem_of({64, 128, 129, 0}), device)).c_str());
  return bad != 0;
}

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Microseconds of host time per call: the median of batches, between which the device catches up.
template <class Call>
double per_call(void* stream, Call call) {
  std::vector<double> times;
  for (int batch = 0; batch < 41; ++batch) {
    const double begin = now_us();
    for (int i = 0; i < 200; ++i) call(i);
    times.push_back((now_us() - begin) / 200);
    gpu::wait(stream);
  }
  std::nth_element(times.begin(), times.begin() + 20, times.end());
  return times[20];
}

void must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.message);
  std::exit(1);
}

int host(const Registry& registry, const Device& device, const std::string& sweep_file) {
  std::mt19937 random(1);
  const Shape shape{16, 1024, 512, 0};
  Operands one(shape, random), two(shape, random);
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const Problem problem = problem_of(shape);
  void* stream = gpu::new_stream();
  const auto plan = dispatcher.plan(problem, device);
  must(plan.status());
  must(dispatcher.preload(*plan));
  const GemmArgs first = one.args(), second = two.args();
  must(dispatcher.run(*plan, first, nullptr, stream));
  gpu::wait(stream);
  std::printf("host time a launch of %s:\n", registry.instance(plan->selection.instance).name);
  std::printf("  select                    %.3f us\n",
              per_call(stream, [&](int) { static_cast<void>(dispatcher.select(problem, device)); }));
  std::printf("  run, same pointers        %.3f us\n",
              per_call(stream, [&](int) { must(dispatcher.run(*plan, first, nullptr, stream)); }));
  std::printf("  run, pointers in turn     %.3f us\n",
              per_call(stream, [&](int i) { must(dispatcher.run(*plan, i % 2 ? first : second, nullptr, stream)); }));
  GemmArgs moving = first;
  void* far = gpu::allocate(1 << 20);
  std::int64_t step = 0;
  std::printf("  run, new pointers         %.3f us\n", per_call(stream, [&](int) {
                moving.a = static_cast<const char*>(far) + 16 * (step++ % 50000);
                must(dispatcher.run(*plan, moving, nullptr, stream));
              }));
  const DeviceLibrary& built = hopper::device_library();
  for (std::uint32_t i = 0; i < built.count; ++i) {
    const InstanceDesc& instance = registry.instance(plan->selection.instance);
    if (built.codes[i]->id != instance.id) continue;
    Launch launch{&instance, &problem, 1, &first, nullptr, stream};
    static KernelCall prepared;
    prepared.reset();
    std::printf("  of which prepared         %.3f us\n", per_call(stream, [&](int) {
                  must(built.codes[i]->prepare(launch, device.arch(), device.cu_num(), prepared));
                }));
    launch.args = &moving;
    std::printf("  with new pointers         %.3f us\n", per_call(stream, [&](int) {
                  moving.a = static_cast<const char*>(far) + 16 * (step++ % 50000);
                  must(built.codes[i]->prepare(launch, device.arch(), device.cu_num(), prepared));
                }));
  }
  std::printf("  plan and run              %.3f us\n", per_call(stream, [&](int) {
                must(dispatcher.run(*dispatcher.plan(problem, device), first, nullptr, stream));
              }));

  if (!sweep_file.empty()) {  // a kernel of three arguments that does nothing
    gpu::Sweep sweep(sweep_file);
    std::printf("  a launch by the driver    %.3f us\n", per_call(stream, [&](int) { sweep(stream, 0, 1); }));
  }

  // A graph of ten launches, replayed.
  void *graph = nullptr, *executable = nullptr;
  one.poison();
  gpu::call("cuStreamBeginCapture_v2", stream, 1U);
  for (int i = 0; i < 10; ++i) must(dispatcher.run(*plan, first, nullptr, stream));
  gpu::call("cuStreamEndCapture", stream, &graph);
  gpu::call("cuGraphInstantiateWithFlags", &executable, graph, 0ULL);
  gpu::call("cuGraphLaunch", executable, stream);
  gpu::wait(stream);
  std::printf("graph of ten: %s, %.3f us of host time a replay\n", one.wrong().empty() ? "right" : "WRONG",
              per_call(stream, [&](int) { gpu::call("cuGraphLaunch", executable, stream); }));

  // Threads with streams of their own, that have no context when they begin.
  std::vector<std::thread> threads;
  std::vector<std::string> wrong(8);
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      static_cast<void>(Device::current());
      std::mt19937 own(static_cast<unsigned>(t));
      Operands operands(shape, own);
      operands.poison();
      void* mine = gpu::new_stream();
      for (int i = 0; i < 2000; ++i) must(dispatcher.run(*plan, operands.args(), nullptr, mine));
      gpu::wait(mine);
      wrong[t] = operands.wrong();
    });
  for (std::thread& thread : threads) thread.join();
  std::printf("eight threads: %s\n",
              std::all_of(wrong.begin(), wrong.end(), [](const std::string& one_of) { return one_of.empty(); })
                  ? "right"
                  : "WRONG");
  const auto timed = dispatcher.bench(*plan, first, {50, 100});
  must(timed.status());
  std::printf("Dispatcher::bench: median %.2f us, %.2f to %.2f, of %d\n", timed->median_us, timed->min_us,
              timed->max_us, timed->runs);
  return 0;
}

struct Timed {
  std::string name;
  std::vector<double> us;
  double median() {
    std::sort(us.begin(), us.end());
    return us[us.size() / 2];
  }
};

int table(const Registry& registry, const Device& device, const std::string& sweep_file, int rounds) {
  gpu::Sweep sweep(sweep_file);
  void* stream = gpu::new_stream();
  gpu::Timer timer;
  const CublasLt peer;
  const std::vector<std::string> all = names(registry);
  std::vector<Dispatcher> forced;
  for (const std::string& name : all) forced.emplace_back(registry, DispatcherOptions{false, name, "", ""});
  const Dispatcher free{registry, DispatcherOptions{}};
  std::mt19937 random(5);
  std::printf("m,n,k,kernel,us,is_selected\n");
  constexpr std::int64_t kNk[][2] = {{4096, 4096},  {7168, 2048}, {5120, 5120},  {1536, 7168},
                                     {24576, 1536}, {2112, 7168}, {28672, 4096}, {4096, 14336}};
  constexpr std::int64_t kM[] = {1, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
  constexpr std::size_t kRoom = std::size_t{8192} * 28672 * 2;
  void* memory[3];
  std::vector<std::uint16_t> values(1 << 22);
  std::normal_distribution<float> normal;
  for (std::uint16_t& value : values) value = kBf16.write(normal(random));
  for (void*& one : memory) {
    one = gpu::allocate(kRoom);
    for (std::size_t at = 0; at + values.size() * 2 <= kRoom; at += values.size() * 2)
      gpu::to_device(static_cast<char*>(one) + at, values.data(), values.size() * 2);
  }
  for (const auto& nk : kNk)
    for (const std::int64_t m : kM) {
      const Shape shape{m, nk[0], nk[1], 0};
      GemmArgs args{};
      args.a = memory[0];
      args.b = memory[1];
      args.c = memory[2];
      args.m = m;
      args.n = args.ldc = nk[0];
      args.k = args.lda = args.ldb = nk[1];
      args.batch = 1;
      std::vector<Timed> timed;
      std::vector<Plan> plans;
      std::vector<std::size_t> of;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto plan = forced[i].plan(problem_of(shape), device);
        if (!plan || !plan->launchable.ok()) continue;
        if (all[i].find("_swap") != std::string::npos && m > 256) continue;
        must(forced[i].run(*plan, args, nullptr, stream));
        plans.push_back(*plan);
        of.push_back(i);
        timed.push_back({all[i], {}});
      }
      const bool has_peer = peer.prepare(m, nk[0], nk[1]);
      if (has_peer) timed.push_back({"cublaslt", {}});
      for (int round = 0; round < rounds; ++round)
        for (std::size_t i = 0; i < timed.size(); ++i) {
          const std::size_t at = (i + static_cast<std::size_t>(round) * 3) % timed.size();
          sweep(stream);
          timer.start(stream);
          if (at < plans.size())
            must(forced[of[at]].run(plans[at], args, nullptr, stream));
          else
            peer.run(args.a, args.b, args.c, stream);
          timer.stop(stream);
          timed[at].us.push_back(timer.microseconds());
        }
      const Selection selected = free.select(problem_of(shape), device);
      const std::string chosen = registry.instance(selected.instance).name;
      for (Timed& one : timed)
        std::printf("%lld,%lld,%lld,%s,%.2f,%d\n", static_cast<long long>(m), static_cast<long long>(nk[0]),
                    static_cast<long long>(nk[1]), one.name.c_str(), one.median(), one.name == chosen);
      std::fflush(stdout);
    }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string mode = count > 1 ? words[1] : "";
  Registry registry;
  must(hopper_kernels::register_all(registry));
  must(registry.attach(hopper::device_library()));
  const Device device = Device::current();
  std::fprintf(stderr, "device: %s:%u %s\n", device.gfx(), device.cu_num(),
               device.kind() == DeviceKind::gpu ? "" : device.note());
  if (device.kind() != DeviceKind::gpu) return 1;
  if (mode == "check") {
    const bool is_half = count > 2 && std::strcmp(words[2], kFp16.signature) == 0;
    const unsigned seed = count > 3 ? static_cast<unsigned>(std::atoi(words[3])) : 1;
    return check(registry, device, is_half ? kFp16 : kBf16, seed,
                 count > 4 ? std::strtoul(words[4], nullptr, 10) : ~0UL);
  }
  if (mode == "host") return host(registry, device, count > 2 ? words[2] : "");
  if (mode == "table" && count > 2) return table(registry, device, words[2], count > 3 ? std::atoi(words[3]) : 11);
  std::fprintf(stderr,
               "on_device check [SIGNATURE [SEED [SHAPES]]] | host [SWEEP.cubin] | table SWEEP.cubin [ROUNDS]\n");
  return 2;
}
