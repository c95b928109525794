// Dispatcher::select() over a generated library of the shipped tables, per module and tier, beside maps of its rows:
// one find of the exact shape. Arguments: rounds, then targets. Prints lines of rounds.hpp, "<module> <tier>" their
// name; select_kernel.py reads them.
#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <bench/register.hpp>
#include <ckgen/ckgen.hpp>

#include "maps.hpp"
#include "rounds.hpp"

namespace {

using namespace ckgen;

constexpr std::size_t kProblems = 65536;

struct Query {
  const LookupTable* table;
  const Device* device;
  std::int32_t batch, m, n, k;
};

struct Module {
  const SignatureUnit* unit;
  std::vector<Query> rows;  // what can run and was measured
};

std::vector<Device>& devices() {
  static std::vector<Device> all;
  return all;
}

const Device* device_of(const LookupTable& table) {
  for (const Device& device : devices()) {
    if (device.arch() == table.arch && device.cu_num() == table.cu_num) return &device;
  }
  return nullptr;
}

Module read(const SignatureUnit& unit) {
  Module module{&unit, {}};
  for (std::uint32_t t = 0; t < unit.table_count; ++t) {
    const LookupTable& table = *unit.tables[t];
    const Device* device = device_of(table);
    for (std::uint32_t g = 0; g < table.group_count && device != nullptr; ++g) {
      const Group& group = table.groups[g];
      for (std::uint32_t r = 0; r < group.rung_count; ++r) {
        const Rung& rung = group.rungs[r];
        for (std::uint64_t m = rung.first; m <= rung.last; m += rung.step)
          module.rows.push_back({&table, device, static_cast<std::int32_t>(group.batch), static_cast<std::int32_t>(m),
                                 static_cast<std::int32_t>(group.n), static_cast<std::int32_t>(group.k)});
      }
    }
  }
  return module;
}

/// What a caller writes: the problem is made anew for every call.
Selection select(const Dispatcher& dispatcher, const Signature& signature, const Query& q) {
  return dispatcher.select(Problem(signature).shape(q.m, q.n, q.k).batch(q.batch == 0 ? 1 : q.batch), *q.device);
}

enum Set { exact, near, far, untuned, set_count };
constexpr const char* set_names[set_count] = {"exact", "near", "far", "untuned"};

Set set_of(Tier tier) {
  switch (tier) {
    case Tier::exact: return exact;
    case Tier::near_: return near;
    case Tier::far_: return far;
    case Tier::heuristic:
    case Tier::predicted:
    case Tier::other_cu:
    case Tier::default_: return untuned;
    default: return set_count;
  }
}

/// Random problems around the module's rows, sorted by the tier that answers them.
void draw(const Dispatcher& dispatcher, const Module& module, std::vector<Query> (&sets)[set_count]) {
  std::mt19937 random(1);
  for (std::size_t tries = 0; tries < 100 * kProblems; ++tries) {
    Query q = module.rows[random() % module.rows.size()];
    switch (random() % 4) {
      case 0: break;
      case 1: q.m += 1 + static_cast<std::int32_t>(random() % 64); break;
      case 2: q.m = 1 + static_cast<std::int32_t>(random() % 100'000); break;
      default: q.n += 128 * (1 + static_cast<std::int32_t>(random() % 64));
    }
    const Set set = set_of(select(dispatcher, module.unit->signature, q).tier);
    if (set != set_count && sets[set].size() < kProblems) sets[set].push_back(q);
    if (std::all_of(sets, sets + set_count, [](const auto& found) { return found.size() == kProblems; })) return;
  }
}

void measure(const Dispatcher& dispatcher, const Module& module, int rounds) {
  bench::AiterMap map;
  bench::FlatMap flat(module.rows.size());
  const auto key_of = [](const Query& q) {
    return bench::Key{q.device->gfx(),
                      static_cast<std::uint32_t>(q.device->arch()),
                      static_cast<std::int32_t>(q.device->cu_num()),
                      q.batch,
                      q.m,
                      q.n,
                      q.k};
  };
  for (const Query& row : module.rows) {
    const auto at = static_cast<std::uint32_t>(map.size());
    map.emplace(key_of(row), at);
    flat.emplace(key_of(row), at);
  }
  std::vector<Query> sets[set_count];
  draw(dispatcher, module, sets);
  for (int set = 0; set < set_count; ++set) {
    if (sets[set].empty()) continue;
    // A process has one device: its problems come together.
    std::stable_sort(sets[set].begin(), sets[set].end(),
                     [](const Query& x, const Query& y) { return x.device < y.device; });
    const auto ours = [&](const Query& q) { return select(dispatcher, module.unit->signature, q).instance; };
    const auto in_map = [&](const Query& q) -> std::uint32_t {
      const auto found = map.find(key_of(q));
      return found == map.end() ? 0 : found->second;
    };
    const auto in_flat = [&](const Query& q) { return flat.find(key_of(q)); };
    bench::by_turns(std::string(module.unit->name) + " " + set_names[set], sets[set].size(),
                    {bench::way("ckgen", sets[set], ours), bench::way("aiter", sets[set], in_map),
                     bench::way("flat", sets[set], in_flat)},
                    rounds);
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 2; i < argc; ++i) devices().push_back(Device::simulated(argv[i]));
  Registry registry;
  if (!bench::register_all(registry).ok()) return 1;
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const Library& library = bench::library();
  for (std::uint32_t i = 0; i < library.unit_count; ++i) {
    const Module module = read(*library.units[i]);
    if (!module.rows.empty()) measure(dispatcher, module, std::atoi(argv[1]));
  }
  return 0;
}
