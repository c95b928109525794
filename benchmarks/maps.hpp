// Maps of exact shapes, as peers of lookups: one keyed as AITER keys it, and one as fast as a map gets.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace bench {

struct Key {
  std::string_view gfx;
  std::uint32_t arch;  // of gfx, for maps that need no name
  std::int32_t cu_num, batch, m, n, k;
  bool operator==(const Key& o) const {
    return gfx == o.gfx && cu_num == o.cu_num && batch == o.batch && m == o.m && n == o.n && k == o.k;
  }
};

/// The boost hash_combine mix over the same fields.
struct AiterHash {
  std::size_t operator()(const Key& key) const {
    std::size_t h = std::hash<std::string_view>{}(key.gfx);
    for (const std::int32_t x : {key.cu_num, key.batch, key.m, key.n, key.k}) {
      h ^= std::hash<std::int32_t>{}(x) + 0x9e3779b9U + (h << 6) + (h >> 2);
    }
    return h;
  }
};

using AiterMap = std::unordered_map<Key, std::uint32_t, AiterHash>;

/// Open addressing, at most half full: one array, keys of two words, archs as numbers.
class FlatMap {
 public:
  explicit FlatMap(std::size_t most) {
    while (slots_.size() < 2 * most + 2) slots_.resize(2 * slots_.size());
  }
  void emplace(const Key& key, std::uint32_t value) {
    Slot& slot = slots_[at(words(key))];
    if (!slot.used) slot = {words(key), value, true};
  }
  /// 0 where there is none.
  std::uint32_t find(const Key& key) const {
    const Slot& slot = slots_[at(words(key))];
    return slot.used ? slot.value : 0;
  }

 private:
  struct Words {
    std::uint64_t first, second;
    bool operator==(const Words& o) const { return first == o.first && second == o.second; }
  };
  struct Slot {
    Words words{};
    std::uint32_t value = 0;
    bool used = false;
  };

  static Words words(const Key& x) {
    const auto bits = [](std::int32_t value) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(value)); };
    return {bits(x.m) << 32 | std::uint64_t{x.arch} << 24 | bits(x.cu_num) << 12 | bits(x.batch),
            bits(x.n) << 32 | bits(x.k)};
  }
  std::size_t at(const Words& words) const {
    std::uint64_t h = (words.first ^ words.second * 0x9e3779b97f4a7c15U) * 0xff51afd7ed558ccdU;
    h ^= h >> 32;
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = h & mask;
    while (slots_[i].used && !(slots_[i].words == words)) i = (i + 1) & mask;
    return i;
  }

  std::vector<Slot> slots_ = std::vector<Slot>(2);
};

}  // namespace bench
