// What a run counted.
#pragma once

#include <array>
#include <cstdint>

namespace ckgen::emu {

enum class Class : std::uint8_t { scalar, vector, matrix, scalar_memory, vector_memory, lds, control };
constexpr std::size_t kClasses = 7;

struct Stats {
  std::array<std::uint64_t, kClasses> instructions{};  // executed by waves
  std::uint64_t global_read = 0, global_written = 0;   // bytes, of lanes that are in range
  std::uint64_t atomics = 0;                           // lanes
  std::uint64_t lds_read = 0, lds_written = 0;         // bytes
  std::uint64_t lds_cycles = 0;                        // of the banks
  std::uint64_t lds_conflict_cycles = 0;               // those of them that a conflict-free access would not take
  std::uint64_t groups = 0, waves = 0;

  void operator+=(const Stats& other) noexcept;
};

}  // namespace ckgen::emu
