#include <algorithm>
#include <random>

#include "modes.hpp"
#include "operands.hpp"

namespace {

using namespace ckgen;

std::vector<Shape> shapes_of(const Signature& signature, std::mt19937& random, std::size_t most) {
  const bool is_narrow = bits(signature.a) == 8, is_blocked = signature.quant == Quant::blockscale;
  const std::int64_t k_grain = is_blocked ? 128 : is_narrow ? 16 : 8;
  const bool a_by_columns = !a_is_row_major(signature.layout), is_k_free = signature.layout == Layout::crr;
  std::vector<std::int64_t> depths = {8, 56, 64, 72, 128, 200, 1032};
  if (is_k_free) depths = {1, 7, 56, 64, 77, 128, 1031};
  if (is_narrow) depths = {16, 48, 112, 128, 144, 400, 1040};
  if (is_blocked) depths = {128, 256, 384, 1152};
  std::vector<Shape> shapes;
  for (const std::int64_t m : {1, 2, 4, 15, 16, 17, 63, 64, 65, 68, 127, 129, 132, 255, 257})
    for (const std::int64_t n : {8, 16, 120, 128, 136, 264})
      for (const std::int64_t k : depths) shapes.push_back({m, n, k, 8 * (m % 3)});
  std::uniform_int_distribution<std::int64_t> rows(1, 2500), columns(1, 600), deep(1, 4800 / k_grain);
  for (int i = 0; i < 60; ++i) {
    const std::int64_t m = rows(random);
    shapes.push_back({i % 2 ? m : (m + 3) / 4 * 4, 8 * columns(random), k_grain * deep(random), 8 * (i % 2)});
  }
  for (Shape& shape : shapes)
    if (a_by_columns) shape.m = (shape.m + 7) / 8 * 8;
  std::shuffle(shapes.begin(), shapes.end(), random);
  if (shapes.size() > most) shapes.resize(most);
  if (shapes.size() > 10 && !signature.batched) shapes.push_back({1024, 2112, 7168, 0});  // few tiles, much K
  for (std::size_t i = 0; i < shapes.size() && signature.batched; ++i) {
    shapes[i].batch = static_cast<std::int64_t>(1 + i % 5);
    shapes[i].shared = i % 4 == 1 ? Shared::a : i % 4 == 3 ? Shared::b : Shared::none;
  }
  return shapes;
}

}  // namespace

int check(const Context& context, const Signature& signature, unsigned seed, std::size_t most) {
  std::mt19937 random(seed);
  const std::vector<Shape> shapes = shapes_of(signature, random, most);
  Registry registry = context.registry;
  const auto version = provider_version(kPeer);
  const Status peer = version ? add_peer(registry, signature, *version + "_first") : version.status();
  if (!peer.ok()) std::fprintf(stderr, "%s\n", peer.message);
  const std::vector<Kernel> kernels = kernels_of(registry, signature);
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  int runs = 0, bad = 0, refused = 0, number = 0;
  double worst = 0;
  for (const Shape& shape : shapes) {
    Operands operands(signature, shape, number++ % 2 ? Data::normal : Data::integers, random);
    const std::vector<Kernel> those = able(dispatcher, operands.problem(), context.device, kernels);
    refused += static_cast<int>(kernels.size() - those.size());
    for (const Kernel& kernel : those) {
      const auto plan = dispatcher.plan(operands.problem(), context.device, kernel.selection);
      if (!plan || !plan->launchable.ok()) {
        ++refused;
        continue;
      }
      operands.poison();
      const Status status = dispatcher.run(*plan, operands.args(), nullptr);
      if (kernel.is_provided() && status.code == StatusCode::unsupported) {  // cuBLASLt has no answer
        ++refused;
        continue;
      }
      const std::string wrong = status.ok() ? operands.wrong() : status.message;
      ++runs;
      if (!wrong.empty() && ++bad <= 20)
        std::printf("WRONG %s at %lldx%lldx%lld, batch %lld: %s\n", kernel.name.c_str(),
                    static_cast<long long>(shape.m), static_cast<long long>(shape.n), static_cast<long long>(shape.k),
                    static_cast<long long>(shape.batch), wrong.c_str());
    }
    worst = std::max(worst, operands.worst());
  }
  std::printf("check %s: %zu kernels, %zu shapes, %d runs, %d refused, %d wrong, worst error %.3f of its bound\n",
              text_of(signature).c_str(), kernels.size(), shapes.size(), runs, refused, bad, worst);
  // What must be refused: an address between accesses.
  Operands operands(signature, {64, 128, 128, 0}, Data::normal, random);
  const auto plan = Dispatcher{context.registry, DispatcherOptions{}}.plan(operands.problem(), context.device);
  GemmArgs args = operands.args();
  args.c = static_cast<char*>(args.c) + 2;
  const Status odd = plan ? dispatcher.run(*plan, args, nullptr) : plan.status();
  std::printf("an odd address: %s\n", odd.message);
  std::fflush(stdout);
  return bad != 0 || odd.ok() || runs == 0;
}
