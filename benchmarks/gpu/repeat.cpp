// What differs from run to run: a kernel whose bytes are to be the same always is launched thousands of times, and all
// of C is compared on the device. A race that spoils one tile in a million shows here, and hardly in checks of samples.
#include <chrono>
#include <random>

#include "modes.hpp"
#include "operands.hpp"

namespace {

using namespace ckgen;

constexpr std::int64_t kMnk[][3] = {
    {1, 4096, 4096}, {16, 7168, 2048}, {64, 4096, 4096}, {512, 2112, 7168}, {1348, 4064, 2048}, {2048, 2048, 2048},
};
constexpr int kAtOnce = 50;

/// Launches, and bursts of kAtOnce of them in which one gave other bytes.
struct Told {
  std::uint64_t launches = 0, wrong = 0;
};

/// Launches for so many seconds; of the first bursts that are wrong it says how much, and where that begins.
Told repeated(const Dispatcher& dispatcher, const Plan& plan, Operands& operands, int size, gpu::Differ& differ,
              double seconds, const char* name) {
  const GemmArgs args = operands.args();
  const std::size_t bytes = static_cast<std::size_t>(args.m * args.ldc * size);
  void* const first = gpu::allocate(bytes);
  operands.poison();
  must(dispatcher.run(plan, args, nullptr));
  gpu::copy(first, args.c, bytes);
  Told told;
  const auto begun = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count() < seconds) {
    for (int i = 0; i < kAtOnce; ++i, ++told.launches) {
      operands.poison();
      must(dispatcher.run(plan, args, nullptr));
      differ.add(first, args.c, bytes, nullptr);
    }
    const auto found = differ.take();
    if (found.count == 0) continue;
    const auto element = static_cast<std::int64_t>(found.first * gpu::Differ::kGrain / static_cast<unsigned>(size));
    if (++told.wrong <= 5)
      std::printf("OTHER BYTES %s at %lldx%lldx%lld: %llu x 16 bytes in %d launches, first C[%lld][%lld]\n", name,
                  static_cast<long long>(args.m), static_cast<long long>(args.n), static_cast<long long>(args.k),
                  static_cast<unsigned long long>(found.count), kAtOnce, static_cast<long long>(element / args.ldc),
                  static_cast<long long>(element % args.ldc));
  }
  gpu::release(first);
  return told;
}

}  // namespace

int repeat(const Context& context, const Signature& signature, const std::string& sweep_file, double seconds) {
  gpu::Differ differ(sweep_file);
  const Dispatcher dispatcher{context.registry, DispatcherOptions{}};
  const std::vector<Kernel> kernels = kernels_of(context.registry, signature);
  std::mt19937 random(5);
  Told all;
  int kinds = 0;
  for (const auto& [m, n, k] : kMnk) {
    Operands operands(signature, {m, n, k, 0}, Data::normal, random);
    const Problem asked = operands.problem().deterministic();
    for (const Kernel& kernel : able(dispatcher, asked, context.device, kernels)) {
      const auto plan = dispatcher.plan(asked, context.device, kernel.selection);
      if (!plan || !plan->launchable.ok() || kernel.is_provided()) continue;
      const Told told =
          repeated(dispatcher, *plan, operands, bits(signature.c) / 8, differ, seconds, kernel.name.c_str());
      all.launches += told.launches;
      all.wrong += told.wrong;
      ++kinds;
    }
  }
  std::printf("repeat %s: %d kernels and problems, %llu launches, %llu bursts with other bytes\n",
              text_of(signature).c_str(), kinds, static_cast<unsigned long long>(all.launches),
              static_cast<unsigned long long>(all.wrong));
  return all.wrong != 0 || all.launches == 0;
}
