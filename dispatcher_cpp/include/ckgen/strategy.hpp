// How the K iterations of a GEMM's tiles are given to workgroups: a property of a Config, and a wish of a Problem.
#pragma once

#include <cstdint>
#include <string_view>

namespace ckgen {
inline namespace v1 {

/// data_parallel: each workgroup has whole tiles, or a fixed split of them (k_batch). The others are stream-K, see
/// stream_k.hpp: they differ in how the parts of a tile meet. `any` is only a wish.
enum class Strategy : std::uint8_t { any, data_parallel, atomic, linear, tree };

constexpr std::string_view name(Strategy s) noexcept {
  constexpr std::string_view names[] = {"any", "data_parallel", "atomic", "linear", "tree"};
  return s <= Strategy::tree ? names[static_cast<unsigned>(s)] : "unknown";
}

/// `blocks_per_cu`: workgroups that a compute unit holds at once, as the kernel's launch bounds guarantee it.
struct StreamK {
  Strategy strategy = Strategy::data_parallel;
  std::int32_t blocks_per_cu = 1;

  constexpr bool is_used() const noexcept { return strategy > Strategy::data_parallel; }
};

}  // namespace v1
}  // namespace ckgen
