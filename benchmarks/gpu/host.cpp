#include <algorithm>
#include <chrono>
#include <random>
#include <thread>
#include <utility>

#include "modes.hpp"
#include "operands.hpp"

namespace {

using namespace ckgen;

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
  return median(std::move(times));
}

}  // namespace

int host(const Context& context, const std::string& sweep_file) {
  const Registry& registry = context.registry;
  const Device& device = context.device;
  const Signature signature = *parse_signature("gemm_bf16_rcr");
  std::mt19937 random(1);
  const Shape shape{16, 1024, 512, 0};
  Operands one(signature, shape, Data::normal, random), two(signature, shape, Data::normal, random);
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const Problem problem = one.problem();
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
  const auto bound = dispatcher.bind(*plan, first);
  must(bound.status());
  one.poison();
  must(bound->run(stream));
  gpu::wait(stream);
  if (!one.wrong().empty()) std::printf("bound: WRONG\n");
  std::printf("  run, bound                %.3f us\n", per_call(stream, [&](int) { must(bound->run(stream)); }));
  const DeviceLibrary& built = context.built;
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
      Operands operands(signature, shape, Data::normal, own);
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
