// Dispatcher::select() of problems that no table holds: not recorded, counted, and recorded, each time but the first.
// Arguments: a target, a folder for the record, rounds. Prints lines of rounds.hpp; recorder.py reads them. Exit 1: a
// problem was no miss, or not recorded.
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <random>
#include <vector>

#include <bench/register.hpp>
#include <ckgen/ckgen.hpp>

#include "rounds.hpp"

namespace {

using namespace ckgen;

constexpr std::size_t kRungs = 64, kRepeats = 32;
constexpr std::int32_t kLayers[][2] = {
    {2048, 4096}, {4096, 2048},  {24576, 4096}, {4096, 12288}, {3584, 4096},  {4096, 512},   {768, 4096},
    {4096, 384},  {10240, 5120}, {5120, 8192},  {51200, 5120}, {5120, 25600}, {1280, 5120},  {5120, 1024},
    {6400, 5120}, {5120, 3200},  {7168, 5120},  {5120, 5120},  {34816, 5120}, {5120, 17408}, {1792, 5120},
    {5120, 1280}, {8704, 5120},  {5120, 4352},  {1536, 7168},  {2112, 7168},  {7168, 2048},  {7168, 2304},
};

struct Query {
  std::int32_t m, n, k;
};

/// Calls of a server: every layer at every M, in no order, over and over.
std::vector<Query> queries() {
  std::vector<Query> all;
  for (const auto& layer : kLayers)
    for (std::size_t rung = 1; rung <= kRungs; ++rung)
      all.push_back({static_cast<std::int32_t>(rung * rung), layer[0], layer[1]});
  std::vector<Query> calls;
  for (std::size_t again = 0; again < kRepeats; ++again) calls.insert(calls.end(), all.begin(), all.end());
  std::shuffle(calls.begin(), calls.end(), std::mt19937(1));
  return calls;
}

}  // namespace

int main(int count, char** words) {
  Registry registry;
  if (count != 4 || !::bench::register_all(registry).ok()) return 1;
  DispatcherOptions counts, records;
  counts.count = true;
  records.record = words[2];
  const Dispatcher plain(registry, {}), counted(registry, counts), recorded(registry, records);
  const Device device = Device::simulated(words[1]);
  const Signature signature = ::bench::library().units[0]->signature;
  const std::vector<Query> calls = queries();
  const auto way = [&](const char* name, const Dispatcher& dispatcher) {
    return ::bench::way(name, calls, [&dispatcher, &device, signature](const Query& q) {
      return dispatcher.select(Problem(signature).shape(q.m, q.n, q.k), device) ? 1U : 0U;
    });
  };
  ::bench::by_turns("miss", calls.size(), {way("plain", plain), way("counted", counted), way("recorded", recorded)},
                    std::atoi(words[3]));
  const Counters found = recorded.counters();
  return found.hits() == 0 && found.recorded == std::size(kLayers) * kRungs ? 0 : 1;
}
