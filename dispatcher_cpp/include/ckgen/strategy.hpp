// How the K iterations of a GEMM's tiles are given to workgroups: a property of a Config, and a wish of a Problem.
#pragma once

#include <cstdint>

#include <ckgen/words.hpp>

namespace ckgen {
inline namespace v1 {

/// `blocks_per_cu`: workgroups that a compute unit holds at once, as the kernel's launch bounds guarantee it.
struct StreamK {
  Strategy strategy = Strategy::data_parallel;
  std::int32_t blocks_per_cu = 1;

  constexpr bool is_used() const noexcept { return is_stream_k(strategy); }
};

}  // namespace v1
}  // namespace ckgen
