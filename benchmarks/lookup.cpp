// Lookup over the shipped rows: generated ladders against maps of exact shapes. Argument: rounds. Prints lines of
// rounds.hpp; benchmarks/lookup.py writes rows.inc and tables.inc and reads them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include <ckgen/library.hpp>

#include "maps.hpp"
#include "rounds.hpp"
#include "tables.inc"

namespace {

struct Row {
  const char* gfx;
  std::uint32_t arch;
  std::int32_t cu_num, m, n, k;
};

constexpr Row rows[] = {
#include "rows.inc"
};
constexpr std::size_t row_count = sizeof(rows) / sizeof(rows[0]);

struct Query {
  std::string_view gfx;
  ckgen::Arch arch;
  std::int32_t cu_num, m, n, k;
};

// What a dispatcher does with a tuned signature: its table for the device, the ladder of (N, K), the rung of M.
std::uint32_t find(const Query& q) {
  const ckgen::LookupTable* table = nullptr;
  for (const ckgen::LookupTable* known : tables) {
    const bool same = known->arch == q.arch && known->cu_num == static_cast<std::uint32_t>(q.cu_num);
    table = same ? known : table;
  }
  if (table == nullptr) return 0;
  const auto m = static_cast<std::uint64_t>(q.m);
  const ckgen::Group* group =
      ckgen::find_group(*table, static_cast<std::uint64_t>(q.n), static_cast<std::uint64_t>(q.k), 0);
  if (group == nullptr) return 0;
  const std::uint32_t at = ckgen::rung_at_or_above(*group, m);
  if (at == group->rung_count) return 0;
  const ckgen::Rung& rung = group->rungs[at];
  return rung.choice.instance + static_cast<std::uint32_t>(ckgen::measured_at_or_above(rung, m));
}

bench::Key key_of(const Query& q) {
  return {q.gfx, static_cast<std::uint32_t>(q.arch), q.cu_num, 0, q.m, q.n, q.k};
}

}  // namespace

int main(int, char** words) {
  bench::AiterMap map;
  bench::FlatMap flat(row_count);
  for (std::size_t i = 0; i < row_count; ++i) {
    const bench::Key key{rows[i].gfx, rows[i].arch, rows[i].cu_num, 0, rows[i].m, rows[i].n, rows[i].k};
    map.emplace(key, static_cast<std::uint32_t>(i));
    flat.emplace(key, static_cast<std::uint32_t>(i));
  }
  std::mt19937 random(1);
  std::vector<Query> hit, between, miss;
  for (int i = 0; i < 65536; ++i) {
    const Row& r = rows[random() % row_count];
    const auto arch = static_cast<ckgen::Arch>(r.arch);
    hit.push_back({r.gfx, arch, r.cu_num, r.m, r.n, r.k});
    between.push_back({r.gfx, arch, r.cu_num, r.m + 1 + static_cast<std::int32_t>(random() % 100), r.n, r.k});
    miss.push_back({r.gfx, arch, r.cu_num, r.m, r.n + 1, r.k});
  }
  const auto in_map = [&map](const Query& q) -> std::uint32_t {
    const auto found = map.find(key_of(q));
    return found == map.end() ? 0 : found->second;
  };
  const auto in_flat = [&flat](const Query& q) { return flat.find(key_of(q)); };
  for (const Query& q : hit) {
    if (find(q) != 0 && in_flat(q) == in_map(q)) continue;
    std::fprintf(stderr, "a row is not answered, or the maps differ\n");
    return 1;
  }
  const std::pair<const char*, const std::vector<Query>*> sets[] = {
      {"hit", &hit}, {"between", &between}, {"miss", &miss}};
  for (const auto& [name, queries] : sets)
    bench::by_turns(name, queries->size(),
                    {bench::way("ckgen", *queries, find), bench::way("aiter", *queries, in_map),
                     bench::way("flat", *queries, in_flat)},
                    std::atoi(words[1]));
}
