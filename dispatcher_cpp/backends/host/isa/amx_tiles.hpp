// What files of AMX share: what LDTILECFG reads, and the order of memory around tiles. Included by those files only.
#pragma once

#include <cstdint>

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

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
