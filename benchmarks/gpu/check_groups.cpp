#include <algorithm>
#include <random>

#include "grouped.hpp"

namespace {

using namespace ckgen;

/// Up to 20 groups, a few of them without rows. N and K differ where the host knows them; K is whole blocks of scales.
std::vector<GroupSize> drawn_sizes(const Signature& signature, bool is_on_device, std::mt19937& random) {
  const std::int64_t k_grain = signature.quant == Quant::blockscale ? 128 : bits(signature.a) == 8 ? 16 : 8;
  std::uniform_int_distribution<std::int64_t> count(1, 20), rows(-40, 300), columns(1, 48), deep(1, 800 / k_grain);
  std::vector<GroupSize> sizes(static_cast<std::size_t>(count(random)));
  for (GroupSize& size : sizes) {
    size = {std::max<std::int64_t>(rows(random), 0), 8 * columns(random), k_grain * deep(random)};
    if (is_on_device) size = {size.m, sizes[0].n, sizes[0].k};
  }
  sizes.back().m = std::max<std::int64_t>(sizes.back().m, 1);
  return sizes;
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
    const auto scales = signature.quant == Quant::blockscale ? static_cast<ScalesOfAll>(i / 4 % 3) : ScalesOfAll::apart;
    Grouped groups(signature, sizes, is_on_device, scales, i / 2 % 2 == 0 ? Data::integers : Data::normal, random);
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
        std::printf("WRONG %s, %zu groups%s%s: %s\n", kernel.name.c_str(), sizes.size(),
                    is_on_device ? " on the device" : "", scales == ScalesOfAll::apart ? "" : ", one matrix of scales",
                    wrong.c_str());
    }
    worst = std::max(worst, groups.worst());
  }
  std::printf("check %s: %zu kernels, %zu shapes, %d runs, %d refused, %d wrong, worst error %.3f of its bound\n",
              text_of(signature).c_str(), kernels.size(), problems, runs, refused, bad, worst);
  std::fflush(stdout);
  return bad != 0 || runs == 0;
}
