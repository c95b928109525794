// Lookup over the shipped rows: generated ladders against an unordered_map keyed as AITER keys it, in one program.
// Prints "<name> <ns per lookup>" lines; benchmarks/lookup.py writes rows.inc and tables.inc and reads them.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <ckgen/library.hpp>

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

struct Key {
  std::string_view gfx;
  std::int32_t cu_num, m, n, k;
  bool operator==(const Key& o) const { return gfx == o.gfx && cu_num == o.cu_num && m == o.m && n == o.n && k == o.k; }
};

// The boost hash_combine mix over the same five fields.
struct Hash {
  std::size_t operator()(const Key& key) const {
    std::size_t h = std::hash<std::string_view>{}(key.gfx);
    for (const std::int32_t x : {key.cu_num, key.m, key.n, key.k}) {
      h ^= std::hash<std::int32_t>{}(x) + 0x9e3779b9U + (h << 6) + (h >> 2);
    }
    return h;
  }
};

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

template <class F>
double median_ns(const std::vector<Query>& queries, F&& lookup) {
  std::vector<double> times;
  for (int round = 0; round < 11; ++round) {
    const auto start = std::chrono::steady_clock::now();
    std::uint64_t sum = 0;
    for (const Query& q : queries) sum += lookup(q);
    const auto stop = std::chrono::steady_clock::now();
    volatile std::uint64_t sink = sum;
    (void)sink;
    times.push_back(std::chrono::duration<double, std::nano>(stop - start).count() /
                    static_cast<double>(queries.size()));
  }
  std::nth_element(times.begin(), times.begin() + 5, times.end());
  return times[5];
}

}  // namespace

int main() {
  std::unordered_map<Key, std::uint32_t, Hash> map;
  for (std::size_t i = 0; i < row_count; ++i) {
    map.emplace(Key{rows[i].gfx, rows[i].cu_num, rows[i].m, rows[i].n, rows[i].k}, static_cast<std::uint32_t>(i));
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
    const auto found = map.find(Key{q.gfx, q.cu_num, q.m, q.n, q.k});
    return found == map.end() ? 0 : found->second;
  };
  std::size_t wrong = 0;
  for (const Query& q : hit) wrong += find(q) == 0;
  std::printf("rows %zu\nunanswered %zu\n", row_count, wrong);
  const std::pair<const char*, const std::vector<Query>*> sets[] = {
      {"hit", &hit}, {"between", &between}, {"miss", &miss}};
  for (const auto& [name, queries] : sets) {
    std::printf("ckgen_%s %.2f\n", name, median_ns(*queries, find));
    std::printf("map_%s %.2f\n", name, median_ns(*queries, in_map));
  }
}
