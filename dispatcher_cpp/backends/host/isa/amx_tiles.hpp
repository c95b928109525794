// What files of AMX share: what LDTILECFG reads, and the order of memory around tiles. Included by those files only.
#pragma once

#include <cstdint>

#include <immintrin.h>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr int kTileRows = 16;
constexpr std::int64_t kTileBytes = 1024;

// What LDTILECFG reads.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};

  // Tiles first .. last.
  constexpr TileConfig& with(int first, int last, int row_count, int bytes) {
    for (int t = first; t <= last; ++t) {
      row_bytes[t] = static_cast<std::uint16_t>(bytes);
      rows[t] = static_cast<std::uint8_t>(row_count);
    }
    return *this;
  }
};

// The asm of GCC's tile intrinsics does not say that it reads memory: what is stored before stays before.
[[gnu::always_inline]] inline void keep_order() {
  __asm__ volatile("" ::: "memory");
}

// What this thread's tiles are: to load a configuration takes as long as some ten products.
thread_local const TileConfig* tiles_in_use = nullptr;

inline void forget_tiles() {
  tiles_in_use = nullptr;
}

// Between forget_tiles() and the end of a turn in which nothing else loads one.
inline void use_tiles(const TileConfig& config) {
  if (tiles_in_use == &config) return;
  tiles_in_use = &config;
  _tile_loadconfig(&config);
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
