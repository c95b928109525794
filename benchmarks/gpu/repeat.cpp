// What differs from run to run: a kernel whose bytes are to be the same always is launched thousands of times, and all
// of C is compared on the device. A race that spoils one tile in a million shows here, and hardly in checks of samples.
#include <chrono>
#include <random>

#include "grouped.hpp"

namespace {

using namespace ckgen;

constexpr std::int64_t kMnk[][3] = {
    {1, 4096, 4096}, {16, 7168, 2048}, {64, 4096, 4096}, {512, 2112, 7168}, {1348, 4064, 2048}, {2048, 2048, 2048},
};
constexpr std::int64_t kRowsOfGroups[] = {700, 1, 384, 0, 129, 512, 65, 300, 256, 33, 640, 500};
constexpr std::int64_t kColumnsOfGroups = 2560, kDepthOfGroups = 1024;
constexpr int kAtOnce = 50;

/// Launches, and bursts of kAtOnce of them in which one gave other bytes.
struct Told {
  std::uint64_t launches = 0, wrong = 0;
  int kinds = 0;
};

/// The bytes of all results, again and again.
template <class Of>
class Compared {
 public:
  Compared(const Dispatcher& dispatcher, const Plan& plan, Of& operands, gpu::Differ& differ)
      : dispatcher_(dispatcher), plan_(plan), operands_(operands), differ_(differ), results_(operands.results()) {
    run();
    for (const Memory& one : results_) {
      first_.push_back(gpu::allocate(one.bytes));
      gpu::copy(first_.back(), one.at, one.bytes);
    }
  }
  ~Compared() {
    for (void* memory : first_) gpu::release(memory);
  }
  Compared(const Compared&) = delete;
  Compared& operator=(const Compared&) = delete;

  /// One more launch, beside the first.
  void again() {
    run();
    for (std::size_t i = 0; i < results_.size(); ++i)
      differ_.add(first_[i], results_[i].at, results_[i].bytes, nullptr);
  }

 private:
  void run() {
    operands_.poison();
    must(dispatcher_.run(plan_, operands_.args(), nullptr));
  }

  const Dispatcher& dispatcher_;
  const Plan& plan_;
  Of& operands_;
  gpu::Differ& differ_;
  std::vector<Memory> results_;
  std::vector<void*> first_;
};

/// Launches for so many seconds; of the first bursts that are wrong it says how much, and where in a C that begins.
template <class Of>
void repeat_kernel(Compared<Of>& compared, gpu::Differ& differ, double seconds, const std::string& what, Told& told) {
  std::uint64_t wrong = 0;
  const auto begun = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count() < seconds) {
    for (int i = 0; i < kAtOnce; ++i, ++told.launches) compared.again();
    const auto found = differ.take();
    if (found.count != 0 && ++wrong <= 5)
      std::printf("OTHER BYTES %s: %llu x 16 bytes in %d launches, first %llu bytes into a C\n", what.c_str(),
                  static_cast<unsigned long long>(found.count), kAtOnce,
                  static_cast<unsigned long long>(found.first * gpu::Differ::kGrain));
  }
  told.wrong += wrong;
  ++told.kinds;
}

/// All kernels of a problem.
template <class Of>
void repeat_problem(const Context& context, Of& operands, const std::vector<Kernel>& kernels, gpu::Differ& differ,
                    double seconds, const std::string& problem, Told& told) {
  const Dispatcher dispatcher{context.registry, DispatcherOptions{}};
  const Problem asked = operands.problem().deterministic();
  for (const Kernel& kernel : able(dispatcher, asked, context.device, kernels)) {
    const auto plan = dispatcher.plan(asked, context.device, kernel.selection);
    if (!plan || !plan->launchable.ok() || kernel.is_provided()) continue;
    Compared compared(dispatcher, *plan, operands, differ);
    repeat_kernel(compared, differ, seconds, kernel.name + " at " + problem, told);
  }
}

}  // namespace

int repeat(const Context& context, const Signature& signature, const std::string& sweep_file, double seconds) {
  gpu::Differ differ(sweep_file);
  const std::vector<Kernel> kernels = kernels_of(context.registry, signature);
  std::mt19937 random(5);
  Told told;
  if (signature.op == Op::grouped_gemm) {
    std::vector<GroupSize> sizes;
    for (const std::int64_t rows : kRowsOfGroups) sizes.push_back({rows, kColumnsOfGroups, kDepthOfGroups});
    for (const bool is_on_device : {false, true}) {
      Grouped groups(signature, sizes, is_on_device, ScalesOfAll::apart, Data::normal, random);
      repeat_problem(context, groups, kernels, differ, seconds, is_on_device ? "groups on the device" : "groups", told);
    }
  } else {
    for (const auto& [m, n, k] : kMnk) {
      Operands operands(signature, {m, n, k, 0}, Data::normal, random);
      const std::string sizes = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
      repeat_problem(context, operands, kernels, differ, seconds, sizes, told);
    }
  }
  std::printf("repeat %s: %d kernels and problems, %llu launches, %llu bursts with other bytes\n",
              text_of(signature).c_str(), told.kinds, static_cast<unsigned long long>(told.launches),
              static_cast<unsigned long long>(told.wrong));
  return told.wrong != 0 || told.launches == 0;
}
